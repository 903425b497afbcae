// The studies of tables of nodes and hashtags: each answers with its figures.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/json.hpp"
#include "evaluation/events.hpp"
#include "evaluation/network.hpp"

namespace tagring::scenarios {

struct ScenarioInput {
  std::vector<evaluation::NodeRow> nodes;
  std::vector<evaluation::SpectrumRow> spectrum;
  std::uint64_t seed = 1;
  // For `dynamic`; nothing: what the binary carries.
  std::optional<std::vector<evaluation::Outage>> outages;
  std::optional<evaluation::Stream> stream;
  double mbit_per_second = 100;
  std::function<double()> clock;  // seconds, never backwards
  std::function<void(std::string_view step, double done)> on_progress = [](std::string_view, double) {};
};

struct Scenario {
  std::string_view name;
  std::string_view summary;
  json::object (*run)(const ScenarioInput& input);
};

std::span<const Scenario> scenarios();

json::object run_table1(const ScenarioInput& input);
json::object run_dynamic(const ScenarioInput& input);
json::object run_parameters(const ScenarioInput& input);
json::object run_node_placement(const ScenarioInput& input);
json::object run_targeting(const ScenarioInput& input);
json::object run_copies(const ScenarioInput& input);
json::object run_hashtag_distribution(const ScenarioInput& input);

}  // namespace tagring::scenarios
