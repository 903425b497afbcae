// The paper's table 1 (§8.3): how well hashtags of a year fit on nodes of very different size, without
// balancing, with the paper's parameters, and with ours.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluation/balancing.hpp"

namespace tagring::evaluation {

// How nodes and keys are placed, and how nodes decide.
struct Setting {
  std::string name;
  std::string meaning;  // for people
  Placing placing;
  BalancingOptions balancing;
};

// Parameters as printed in the paper; its setting (R, κ, IDs, whole keys) with our decisions; and what we
// recommend.
Setting printed_setting();
Setting paper_setting();
Setting recommended_setting();

struct Outcome {
  std::string name;
  Fit fit;
  unsigned rounds = 0;
  double moved_ratio = 0;        // by balancing, of all bytes
  double joins_moved_ratio = 0;  // by joining one after the other into a full network
  std::size_t vservers = 0;
};

struct Table1 {
  std::size_t nodes = 0;
  double total_gib = 0;
  double heaviest_key_gib = 0;  // whole
  Outcome unbalanced;
  Outcome printed;
  Outcome paper;
  Outcome recommended;
};

struct Table1Options {
  std::vector<NodeRow> nodes;
  std::vector<SpectrumRow> spectrum;
  std::uint64_t seed = 1;
  std::function<void(std::string_view step, double done)> on_progress = [](std::string_view, double) {};
};

Table1 make_table1(const Table1Options& options);

}  // namespace tagring::evaluation
