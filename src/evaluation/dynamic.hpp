// A network in the course of weeks: posts arrive, nodes go down and come back, balancing decides all the
// time, and whatever changes its place must be carried over the nodes' lines.
#pragma once

#include <array>
#include <functional>

#include "evaluation/balancing.hpp"
#include "evaluation/events.hpp"
#include "evaluation/holdings.hpp"
#include "evaluation/settings.hpp"

namespace tagring::evaluation {

struct DynamicOptions {
  std::vector<NodeRow> nodes;
  std::vector<SpectrumRow> spectrum;  // of the year that has passed at the end
  std::vector<Outage> outages;
  Stream stream;
  Setting setting;               // the placement at the start is what balancing the whole network gives
  bool balances = true;          // during the run; the start is balanced in any case
  double mbit_per_second = 100;  // what a node sends, and what it receives, for moving data
  double decide_every = 1;       // hours between two decisions of a node
  double patience = 6;           // hours for which a node is overloaded before anybody moves for it
  std::uint64_t seed = 1;
  std::function<void(double done)> on_progress = [](double) {};
};

struct Hour {
  double owned_over = 0;   // of all bytes: what lies above the capacity of who owns it
  double stored_over = 0;  // the same of what lies on disks, copies that wait to be dropped included
  std::size_t nodes_over = 0;
  std::size_t nodes_up = 0;
  double fill = 0;  // of the capacity of the nodes that are up
};

struct Dynamic {
  double posted_gib = 0;  // with replicas
  std::array<double, kCauses> moved_gib{};
  std::size_t moves = 0;
  std::size_t splits = 0;  // doublings of a hashtag's partitions
  std::size_t outages = 0;
  std::vector<Hour> hours;

  // The longest time, in hours, during which more than that part of all bytes was over capacity.
  [[nodiscard]] unsigned longest_over(double ratio) const;
};

// How decisions are made while the network lives.
Setting dynamic_setting();
Dynamic run_network(const DynamicOptions& options);

}  // namespace tagring::evaluation
