// tagring migrate-database: takes what a stopped node has from SQLite to PostgreSQL, or back.
#include <chrono>
#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "cli/terminal.hpp"
#include "client/ask.hpp"
#include "config/config.hpp"
#include "db/copy.hpp"
#include "operation/commands.hpp"
#include "sql/backup.hpp"
#include "sql/connection.hpp"

namespace tagring::operation {
namespace {

struct MigrateOptions {
  client::ControlOptions control;
  std::string from;
  std::string to;
};

// A line that changes, on a terminal; elsewhere one every ten seconds.
class Progress {
 public:
  explicit Progress(bool is_quiet) : is_quiet_(is_quiet) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\n");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const db::CopyStep& step) {
    const auto now = std::chrono::steady_clock::now();
    const auto every = width_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000);
    const bool finishes = step.doing == db::CopyStep::Doing::kFinishes;
    if (is_quiet_ || (now - told_ < every && !finishes)) return;
    told_ = now;
    const bool compares = step.doing == db::CopyStep::Doing::kCompares;
    const std::string doing = finishes ? "gathering statistics"
                                       : fmt::format("{} {}", compares ? "comparing" : "copying", step.table);
    const std::uint64_t percent =
        step.of == 0 ? 100 : std::min<std::uint64_t>(100, step.rows * 100 / step.of);
    const std::string bar(percent / 5, '#');
    fmt::print(stderr, "{}[{:<20}] {:>3} % {}, {} of {} rows{}", width_ ? "\r" : "", bar, percent, doing,
               step.rows, step.of, width_ ? "\033[K" : "\n");
    std::fflush(stderr);
    shown_ = width_.has_value();
  }

 private:
  bool is_quiet_;
  bool shown_ = false;
  std::optional<std::size_t> width_ = cli::terminal_width();
  std::chrono::steady_clock::time_point told_;
};

Result<sql::Connection> open(const std::string& place, bool must_exist) {
  if (config::names_postgres(place)) return sql::Connection::connect(place);
  std::error_code error;
  if (must_exist && !std::filesystem::is_regular_file(place, error))
    return fail(ErrorCode::kNotFound, fmt::format("{}: no such file", place));
  if (must_exist) {
    TRY_VOID(sql::check_begun(place));
  }
  return sql::Connection::open(place);
}

Result<json::object> migrate(const MigrateOptions& options) {
  if (options.from == options.to) return fail(ErrorCode::kInvalid, "--from and --to are the same");
  TRY(sql::Connection from, open(options.from, /*must_exist=*/true));
  TRY(sql::Connection to, open(options.to, /*must_exist=*/false));
  json::object answer{{"from", from.name()}, {"to", to.name()}};
  Progress progress(options.control.json);
  TRY(const db::Copied copied, db::copy_database(std::move(from), std::move(to),
                                                 [&](const db::CopyStep& step) { progress.show(step); }));
  answer["tables"] = copied.tables;
  answer["rows"] = copied.rows;
  answer["resumed"] = copied.resumed;
  return answer;
}

void print_migrated(const json::object& answer) {
  fmt::print("{} rows of {} tables are in {}, the same as in {}, which has not changed.\n",
             client::number_of(answer, "rows"), client::number_of(answer, "tables"),
             json::text_of(answer, "to"), json::text_of(answer, "from"));
  fmt::print(
      "Say in the node's configuration where it has its database now, start it, and move the other away: a "
      "node\nthat ran on it would be out of date.\n");
}

}  // namespace

void add_migrate_database(CLI::App& app, int& status) {
  auto options = std::make_shared<MigrateOptions>();
  CLI::App* command =
      app.add_subcommand("migrate-database", "Copy what a stopped node has into another kind of database");
  command->add_option("--from", options->from, "A file of SQLite, or a connection string of PostgreSQL")
      ->required();
  command->add_option("--to", options->to, "The same, of one without tables")->required();
  command->add_flag("--json", options->control.json, "Print the result as JSON, and no progress");
  command->footer(
      "Stop the node first (systemctl stop tagring.socket tagring). Whoever is interrupted types the same\n"
      "again: it goes on where it was. At the end every table is compared on both sides. As the user of the\n"
      "node, who must own the file.\n"
      "Example:\n"
      "  sudo -u tagring tagring migrate-database --from /var/lib/tagring/tagring.db --to "
      "postgresql:///tagring\n"
      "and then, in the configuration:\n"
      "  [database]\n"
      "  postgres = \"postgresql:///tagring\"");
  command->callback(
      [options, &status] { status = client::tell(options->control, migrate(*options), print_migrated); });
}

}  // namespace tagring::operation
