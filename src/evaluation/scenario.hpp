// The studies that `tagring sim` offers: each answers with figures for machines and a report for people.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/json.hpp"
#include "evaluation/dynamics.hpp"
#include "evaluation/network.hpp"
#include "evaluation/report.hpp"

namespace tagring::evaluation {

struct ScenarioInput {
  std::vector<NodeRow> nodes;
  std::vector<SpectrumRow> spectrum;
  std::uint64_t seed = 1;
  // For `dynamic`; nothing: what the binary carries.
  std::optional<std::vector<Outage>> outages;
  std::optional<Stream> stream;
  double mbit_per_second = 100;
  std::function<double()> clock;  // seconds, never backwards
  std::function<void(std::string_view step, double done)> on_progress = [](std::string_view, double) {};
};

struct ScenarioOutput {
  json::object figures;
  Report report;
};

struct Scenario {
  std::string_view name;
  std::string_view summary;
  ScenarioOutput (*run)(const ScenarioInput& input);
};

std::span<const Scenario> scenarios();

ScenarioOutput run_table1(const ScenarioInput& input);
ScenarioOutput run_dynamic(const ScenarioInput& input);
ScenarioOutput run_parameters(const ScenarioInput& input);
ScenarioOutput run_node_placement(const ScenarioInput& input);
ScenarioOutput run_targeting(const ScenarioInput& input);
ScenarioOutput run_hashtag_distribution(const ScenarioInput& input);

// Of the loads of nodes, from the emptiest to the fullest, for series of utilisation().
Plot utilisation_plot();
Series series_of(std::string name, const std::vector<double>& utilisation);

// What a report says of its data.
std::string describe_data(const ScenarioInput& input);

}  // namespace tagring::evaluation
