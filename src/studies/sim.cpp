// tagring sim: the studies of evaluation/, with a progress bar and figures.
#include "studies/sim.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <memory>
#include <unistd.h>

#include "base/json.hpp"
#include "cli/number.hpp"
#include "config/file.hpp"
#include "scenarios/scenario.hpp"

namespace tagring::studies {
namespace {

constexpr std::size_t kSizeMax = 1'000'000;
constexpr std::size_t kFileSizeMax = 256U << 20U;  // it may be a device that has no end
constexpr int kBarWidth = 30;
constexpr double kGuessFrom = 0.05;  // before that nobody knows how long it takes

struct SimOptions {
  std::size_t nodes = 0;
  std::uint64_t seed = 1;
  std::string nodes_file;
  std::string spectrum_file;
  std::string outages_file;
  std::string stream_file;
  double mbit_per_second = 100;
  std::string json = "-";
};

Result<scenarios::ScenarioInput> input_of(const SimOptions& options) {
  scenarios::ScenarioInput input;
  std::string nodes(evaluation::built_in_nodes());
  if (!options.nodes_file.empty()) {
    TRY(nodes, read_file(options.nodes_file));
  }
  Result<std::vector<evaluation::NodeRow>> rows = evaluation::parse_nodes(nodes);
  if (!rows) return fail(rows.error().code, "--nodes-file: " + rows.error().message);
  input.nodes = std::move(*rows);
  if (options.nodes > 0)
    input.nodes = evaluation::resize_nodes(std::move(input.nodes), options.nodes, options.seed);
  std::string spectrum(evaluation::built_in_spectrum());
  if (!options.spectrum_file.empty()) {
    TRY(spectrum, read_file(options.spectrum_file));
  }
  auto counts = evaluation::parse_spectrum(spectrum);
  if (!counts) return fail(counts.error().code, "--spectrum-file: " + counts.error().message);
  input.spectrum = std::move(*counts);
  if (!options.outages_file.empty()) {
    TRY(input.outages, read_outages(options.outages_file));
  }
  if (!options.stream_file.empty()) {
    TRY(const std::string text, read_file(options.stream_file));
    auto stream = evaluation::parse_stream(text);
    if (!stream) return fail(stream.error().code, "--stream-file: " + stream.error().message);
    input.stream = std::move(*stream);
  }
  input.mbit_per_second = options.mbit_per_second;
  input.seed = options.seed;
  input.clock = steady_seconds;
  input.on_progress = [progress = Progress()](std::string_view step, double done) {
    progress.show(step, done);
  };
  return input;
}

int run_scenario(const scenarios::Scenario& scenario, const SimOptions& options) {
  const Result<scenarios::ScenarioInput> input = input_of(options);
  if (!input) return report(input.error());
  return finish(options.json, scenario.run(*input));
}

int list_scenarios(bool as_json) {
  std::vector<std::pair<std::string_view, std::string_view>> all = {{"ring", kRingSummary},
                                                                    {"churn", kChurnSummary},
                                                                    {"scale", kScaleSummary},
                                                                    {"attack", kAttackSummary},
                                                                    {"flash-crowd", kFlashCrowdSummary},
                                                                    {"liars", kLiarsSummary},
                                                                    {"world", kWorldSummary}};
  for (const scenarios::Scenario& scenario : scenarios::scenarios())
    all.emplace_back(scenario.name, scenario.summary);
  json::array list;
  for (const auto& [name, summary] : all) {
    list.push_back(json::object{{"name", name}, {"summary", summary}});
    if (!as_json) fmt::print("{:<22}{}\n", name, summary);
  }
  if (as_json) fmt::print("{}\n", json::serialize(list));
  return kExitOk;
}

}  // namespace

// --- what they share ---------------------------------------------------------------------------------------

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), start_(steady_seconds()) {}

void Progress::show(std::string_view step, double done) const {
  if (!terminal_) return;
  const double spent = steady_seconds() - start_;
  const int filled = static_cast<int>(done * kBarWidth);
  const std::string left =
      done > kGuessFrom ? fmt::format("about {:.0f} s left", spent / done * (1 - done)) : "";
  fmt::print(stderr, "\r\033[K[{:=<{}}{: <{}}] {}  {}", "", filled, "", kBarWidth - filled, step, left);
  if (done >= 1) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

Result<std::string> read_file(const std::string& path) {
  Result<std::string> text = config::read_file(path, kFileSizeMax);
  if (!text) return fail(ErrorCode::kInvalid, text.error().message);
  return text;
}

int finish(const std::string& path, const json::object& figures) {
  if (path == "-") {
    fmt::print("{}\n", json::serialize(figures));
    return kExitOk;
  }
  std::ofstream file(path, std::ios::binary);
  file << json::serialize(figures) << '\n';
  file.close();
  return file ? kExitOk : report(Error(ErrorCode::kUnavailable, path + ": cannot be written"));
}

namespace {

// Asked before the run, which may take hours.
std::string why_not_writable(const std::string& path) {
  if (path == "-") return {};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(path, error);
  const bool is_there = std::filesystem::exists(file, error);
  if (std::filesystem::is_directory(file, error)) return path + " is a folder";
  if (::access(is_there ? file.c_str() : file.parent_path().c_str(), W_OK) == 0) return {};
  return fmt::format("{} cannot be written: {}", path, std::strerror(errno));
}

}  // namespace

void add_common_options(CLI::App& command, std::uint64_t& seed, std::string& json) {
  command.add_option("--seed", seed, "Another seed, another run")
      ->check(cli::whole_number(0))
      ->capture_default_str();
  command.add_option("--json", json, "Write the figures to that file; - is standard output")
      ->check(CLI::Validator(why_not_writable, ""))
      ->capture_default_str();
}

Result<std::vector<evaluation::Outage>> read_outages(const std::string& path) {
  std::string text(evaluation::built_in_outages());
  if (!path.empty()) {
    TRY(text, read_file(path));
  }
  auto outages = evaluation::parse_outages(text);
  if (!outages) return fail(outages.error().code, "--outages-file: " + outages.error().message);
  return outages;
}

// --- the command -------------------------------------------------------------------------------------------

void add_sim(CLI::App& app, int& status) {
  CLI::App* sim = app.add_subcommand("sim", "Studies of the network by simulation, for researchers");
  sim->require_subcommand(1);
  sim->footer(
      "Each study takes the options that \"tagring sim STUDY --help\" shows, and gives the same figures for "
      "the\n"
      "same seed and data.\n\nExample:\n  tagring sim table1 --json table1.json");
  auto as_json = std::make_shared<bool>(false);
  CLI::App* list = sim->add_subcommand("list", "List the studies");
  list->add_flag("--json", *as_json, "Print a JSON array: name, summary");
  list->callback([as_json, &status] { status = list_scenarios(*as_json); });
  add_sim_ring(*sim, status);
  add_sim_churn(*sim, status);
  add_sim_scale(*sim, status);
  add_sim_attack(*sim, status);
  add_sim_flash_crowd(*sim, status);
  add_sim_liars(*sim, status);
  add_sim_world(*sim, status);
  for (const scenarios::Scenario& scenario : scenarios::scenarios()) {
    auto options = std::make_shared<SimOptions>();
    CLI::App* command = sim->add_subcommand(std::string(scenario.name), std::string(scenario.summary));
    command->add_option("--nodes", options->nodes, "Draw as many nodes from the table, or repeat it")
        ->check(CLI::Range(std::size_t{2}, kSizeMax));
    command->add_option("--nodes-file", options->nodes_file,
                        "Table of nodes, tab-separated: domain, address, weight (of its capacity)");
    command->add_option(
        "--spectrum-file", options->spectrum_file,
        "Table of hashtags, tab-separated: posts, tags (how many hashtags have so many posts)");
    if (scenario.name == "dynamic") {
      command->add_option("--outages-file", options->outages_file,
                          "Table of outages, tab-separated: rank (of the node by size), down, up (hours)");
      command->add_option(
          "--stream-file", options->stream_file,
          "Table of posts, tab-separated: rank_before, posts (day:posts ...; hour:posts of \"all\")");
      command->add_option("--bandwidth", options->mbit_per_second, "Mbit/s with which a node moves data")
          ->check(CLI::Range(0.1, 1e6))
          ->capture_default_str();
    }
    add_common_options(*command, options->seed, options->json);
    command->callback([options, &scenario, &status] { status = run_scenario(scenario, *options); });
  }
}

}  // namespace tagring::studies
