// What the studies of `tagring sim` share.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "cli/exit.hpp"
#include "evaluation/events.hpp"

namespace tagring::studies {

using cli::kExitFailed;
using cli::kExitOk;
using cli::report;

// `tagring sim` with all studies, as the commands of cli/commands.hpp.
void add_sim(CLI::App& app, int& status);

// Of a clock that never goes back.
double steady_seconds();

// A bar with the time left, on standard error, if that is a terminal.
class Progress {
 public:
  Progress();
  // `done` from 0 to 1, which clears it.
  void show(std::string_view step, double done) const;

 private:
  bool terminal_;
  double start_;
};

// The whole of it. kInvalid, with the path and the reason, also beyond 256 MiB.
Result<std::string> read_file(const std::string& path);
// A table of outages; that of data/evaluation if `path` is empty.
Result<std::vector<evaluation::Outage>> read_outages(const std::string& path);
// Writes the figures to a file, or to standard output for "-". The exit code.
int finish(const std::string& path, const json::object& figures);
// Adds --seed and --json.
void add_common_options(CLI::App& command, std::uint64_t& seed, std::string& json);

inline constexpr std::string_view kRingSummary =
    "the ring under joins and crashes, its invariants checked after every event";
void add_sim_ring(CLI::App& sim, int& status);
inline constexpr std::string_view kChurnSummary =
    "look-ups in a ring whose nodes come and go as real servers did";
void add_sim_churn(CLI::App& sim, int& status);
inline constexpr std::string_view kScaleSummary =
    "rings of 100 to 100,000 nodes: calls of a look-up, messages, memory, healing";
void add_sim_scale(CLI::App& sim, int& status);
inline constexpr std::string_view kAttackSummary =
    "look-ups in a ring of which a part lies: how often they find the true owner";
void add_sim_attack(CLI::App& sim, int& status);
inline constexpr std::string_view kFlashCrowdSummary =
    "a burst of posts under one hashtag with 1,000 subscribers: relays come to help and go again";
void add_sim_flash_crowd(CLI::App& sim, int& status);
inline constexpr std::string_view kLiarsSummary =
    "whole nodes of which a part lies, all together: what do people miss, and what are they shown that is "
    "not "
    "so?";
void add_sim_liars(CLI::App& sim, int& status);
inline constexpr std::string_view kWorldSummary =
    "whole networks drawn by their seeds, with faults: is nothing lost, and does every owner hold what it "
    "should?";
void add_sim_world(CLI::App& sim, int& status);

}  // namespace tagring::studies
