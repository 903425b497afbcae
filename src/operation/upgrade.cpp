// tagring upgrade: brings the database of a stopped node, or a backup, to this version, as the start does; or
// only tries that.
//
// A rehearsal is a transaction that is rolled back: it takes what the upgrade takes, on the same data, and
// needs no second disk. To rehearse while the node of the older version runs, give it a backup.
#include <chrono>
#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "client/ask.hpp"
#include "config/config.hpp"
#include "db/schema.hpp"
#include "operation/commands.hpp"
#include "sql/backup.hpp"
#include "sql/connection.hpp"

namespace tagring::operation {
namespace {

struct UpgradeOptions {
  client::ControlOptions control;
  std::string file;  // empty: the node's
  bool dry_run = false;
};

// Steps as they are done, with how long each took; for people on the way as well.
class Report {
 public:
  explicit Report(bool is_quiet) : is_quiet_(is_quiet) {}

  void note(const db::MigrationStep& step) {
    using enum db::MigrationStep::State;
    const auto now = std::chrono::steady_clock::now();
    if (step.state == kBegins) {
      begun_ = told_ = now;
      tell(fmt::format("step {} of {}: {}", step.number, step.of, step.does));
    } else if (step.state == kGoesOn && now - told_ > std::chrono::seconds(2)) {
      told_ = now;
      const std::string of = step.total ? fmt::format(" of {}", *step.total) : "";
      tell(fmt::format("  {} s, {}{} rows written", milliseconds(now) / 1000, step.rows, of));
    } else if (step.state == kDone) {
      steps_.push_back(json::object{{"does", step.does}, {"rows", step.rows}, {"ms", milliseconds(now)}});
      total_ += milliseconds(now);
      tell(fmt::format("  done in {} ms, {} rows written", milliseconds(now), step.rows));
    }
  }
  [[nodiscard]] const json::array& steps() const { return steps_; }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  using Moment = std::chrono::steady_clock::time_point;
  [[nodiscard]] std::int64_t milliseconds(Moment now) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_).count();
  }
  void tell(const std::string& line) const {
    if (is_quiet_) return;
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  bool is_quiet_;
  Moment begun_;
  Moment told_;
  json::array steps_;
  std::int64_t total_ = 0;
};

Result<json::object> upgrade(const UpgradeOptions& options) {
  std::string file = options.file;
  std::string postgres;
  if (file.empty()) {
    TRY(const config::Config config, config::Config::load(options.control.config));
    file = config.data / "tagring.db";
    postgres = config.postgres;
  }
  std::error_code error;
  if (postgres.empty() && !std::filesystem::is_regular_file(file, error))
    return fail(ErrorCode::kNotFound, fmt::format("{}: no such file", file));
  if (postgres.empty()) {
    TRY_VOID(sql::check_begun(file));
  }
  TRY(sql::Connection opened,
      postgres.empty() ? sql::Connection::open(file) : sql::Connection::connect(postgres));
  file = opened.name();
  TRY(const int from, db::version_of(opened));
  if (from == 0) return fail(ErrorCode::kInvalid, fmt::format("{} is no database of tagring", file));
  if (!options.dry_run) {
    TRY_VOID(opened.take_term());
  }
  Report report(options.control.json);
  const db::MigrationWatch watch = [&report](const db::MigrationStep& step) { report.note(step); };
  const Result<void> done =
      options.dry_run ? db::rehearse(opened, watch) : db::migrate(opened, db::kSchemaVersion, watch);
  if (!done) return fail(done.error().code, fmt::format("{}: {}", file, done.error().message));
  return json::object{{"file", file},
                      {"from", from},
                      {"to", db::kSchemaVersion},
                      {"dry_run", options.dry_run},
                      {"steps", report.steps()},
                      {"ms", report.total()}};
}

void print_upgrade(const json::object& answer) {
  const std::string file = json::text_of(answer, "file");
  const std::int64_t from = client::number_of(answer, "from");
  const std::int64_t to = client::number_of(answer, "to");
  const double seconds = static_cast<double>(client::number_of(answer, "ms")) / 1000;
  if (from == to) {
    fmt::print("{} has version {}: there is nothing to do\n", file, to);
  } else if (answer.at("dry_run").get_bool()) {
    fmt::print("{} can be brought from version {} to {}: {:.1f} s here. Nothing was changed.\n", file, from,
               to, seconds);
  } else {
    fmt::print("{} was brought from version {} to {} in {:.1f} s\n", file, from, to, seconds);
  }
}

}  // namespace

void add_upgrade(CLI::App& app, int& status) {
  auto options = std::make_shared<UpgradeOptions>();
  CLI::App* command =
      app.add_subcommand("upgrade", "Bring the database of a stopped node, or a backup, to this version");
  command->add_option("file", options->file, "A backup; without it, the node's own database");
  command->add_flag("--dry-run", options->dry_run, "Try it, say how long it took, and change nothing");
  client::add_control_options(*command, options->control);
  command->footer(
      "The start of a node does the same, and may be killed on the way: it goes on where it was.\n"
      "Example, before a newer program is installed in place of the one that runs:\n"
      "  tagring backup /var/backups/tagring.db\n"
      "  ./newer/tagring upgrade --dry-run /var/backups/tagring.db");
  command->callback(
      [options, &status] { status = client::tell(options->control, upgrade(*options), print_upgrade); });
}

}  // namespace tagring::operation
