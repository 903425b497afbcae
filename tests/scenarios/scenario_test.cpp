#include "scenarios/scenario.hpp"

#include <gtest/gtest.h>

namespace tagring::scenarios {

using namespace evaluation;

namespace {

TEST(Scenarios, EachGivesFiguresOfASmallNetwork) {
  ScenarioInput input;
  input.nodes = resize_nodes(parse_nodes(built_in_nodes()).value(), 40, 3);
  input.spectrum = {{1, 2'000}, {50, 10}};
  double now = 0;
  input.clock = [&] { return now += 0.001; };
  for (const Scenario& scenario : scenarios()) {
    const json::object figures = scenario.run(input);
    EXPECT_EQ(figures.at("scenario").as_string(), scenario.name);
    EXPECT_EQ(json::serialize(figures).find("nan"), std::string::npos) << scenario.name;
  }
}

// What the documentation promises of the built-in data; seed 1.
TEST(Scenarios, Table1ReachesItsGoals) {
  ScenarioInput input;
  input.nodes = parse_nodes(built_in_nodes()).value();
  input.spectrum = parse_spectrum(built_in_spectrum()).value();
  input.clock = [] { return 0.0; };
  const json::object figures = run_table1(input);
  const auto over = [&](const char* setting) {
    return figures.at(setting).at("bytes_over_ratio").as_double();
  };
  EXPECT_NEAR(figures.at("unbalanced").at("mean_abs_gib").as_double(), 62, 1.5);
  EXPECT_GT(over("unbalanced"), 0.8);
  EXPECT_LT(over("paper"), over("printed"));
  EXPECT_LT(over("recommended"), 0.005);
  EXPECT_LE(figures.at("recommended").at("nodes_over").to_number<int>(), 42);
  EXPECT_LE(figures.at("recommended").at("rounds").to_number<int>(), 10);
  EXPECT_LT(figures.at("recommended").at("moved_ratio").as_double(), 3);
}

}  // namespace
}  // namespace tagring::scenarios
