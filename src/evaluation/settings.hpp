// Settings in which hashtags of a year are placed on nodes: the paper's, and ours.
#pragma once

#include <string>

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

}  // namespace tagring::evaluation
