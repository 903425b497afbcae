// tagring backup, tagring restore: what a node has, in one file.
#include "sql/backup.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <unistd.h>

#include "client/ask.hpp"
#include "config/config.hpp"
#include "db/schema.hpp"
#include "operation/commands.hpp"

namespace tagring::operation {
namespace {

struct Options {
  client::ControlOptions control;
  std::string file;
};

int back_up(const Options& options) {
  const std::string file = std::filesystem::absolute(options.file);
  return client::tell(options.control, client::ask_node(options.control, "POST", "/backup", {{"file", file}}),
                      [](const json::object& answer) {
                        fmt::print(
                            "{}: {} bytes. The node's key is in it: keep it where nobody else reads it.\n",
                            client::text_of(answer, "file"), client::number_of(answer, "octets"));
                      });
}

// The database is locked by who uses it, so whoever can open it is alone; and has what was beside it put into
// it. A damaged one is nobody's.
Result<void> check_unused(const std::filesystem::path& database) {
  std::error_code error;
  if (!std::filesystem::exists(database, error)) return {};
  const auto opened = sql::Connection::open(database);
  if (!opened && opened.error().code != ErrorCode::kCorrupt)
    return fail(ErrorCode::kConflict, fmt::format("{}: stop the node first", opened.error().message));
  return {};
}

std::unexpected<Error> cannot(const char* what, const std::filesystem::path& path,
                              const std::error_code& error) {
  return fail(ErrorCode::kUnavailable, fmt::format("cannot {} {}: {}", what, path.string(), error.message()));
}

// `former` becomes another name of the database. What a damaged one has beside it must not get into the next.
Result<void> set_aside(const std::filesystem::path& database, const std::filesystem::path& former) {
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(former.string() + suffix, error);
  if (!std::filesystem::exists(database, error)) return {};
  std::filesystem::create_hard_link(database, former, error);
  if (error) return cannot("write", former, error);
  for (const char* suffix : {"-wal", "-shm"}) {
    const std::filesystem::path beside = database.string() + suffix;
    if (std::filesystem::exists(beside, error))
      std::filesystem::rename(beside, former.string() + suffix, error);
    if (error) return cannot("rename", beside, error);
  }
  return {};
}

// At any moment the database is the former or the restored one, whole: also if this is killed.
Result<json::object> restore_from(const Options& options) {
  TRY(const config::Config config, config::Config::load(options.control.config));
  TRY(const int version, sql::verify(options.file));
  if (version > db::kSchemaVersion) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{} is of version {}, this program knows up to {}: install the newer "
                            "program first",
                            options.file, version, db::kSchemaVersion));
  }
  const std::filesystem::path database = config.data / "tagring.db";
  std::error_code error;
  std::filesystem::create_directories(config.data, error);
  TRY_VOID(check_unused(database));
  const std::filesystem::path fresh = database.string() + ".restored";
  std::filesystem::remove(fresh, error);  // of one that was killed
  std::filesystem::copy_file(options.file, fresh, error);
  if (error) return cannot("write", fresh, error);
  std::filesystem::permissions(
      fresh, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
  TRY_VOID(sql::sync(fresh));
  const std::filesystem::path former = database.string() + ".before-restore";
  TRY_VOID(set_aside(database, former));
  std::filesystem::rename(fresh, database, error);
  if (error) return cannot("rename", fresh, error);
  TRY_VOID(sql::sync(config.data));
  return json::object{{"restored", database.string()}, {"former", former.string()}};
}

void add(CLI::App& app, const std::shared_ptr<Options>& options, const char* name, const char* what,
         const char* footer, std::function<void()> callback) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("file", options->file, "The file with the copy")->required();
  client::add_control_options(*command, options->control);
  command->footer(footer);
  command->callback(std::move(callback));
}

}  // namespace

void add_backup(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  add(app, options, "backup", "Write a copy of all that a running node has to a file",
      "The node goes on meanwhile. The file must not exist yet, and is written by the node's own user.\n"
      "Example:\n  tagring backup /var/backups/tagring-$(date +%F).db",
      [options, &status] { status = back_up(*options); });
}

void add_restore(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  add(app, options, "restore", "Put such a copy in the place of what a stopped node has",
      "The copy is verified first. What was there is kept beside it. As the user of the node:\n"
      "Example:\n  sudo -u tagring tagring restore /var/backups/tagring-2026-11-23.db",
      [options, &status] {
        status = client::tell(options->control, restore_from(*options), [](const json::object& answer) {
          fmt::print("restored {}; what was there is {}. Start the node now.\n",
                     client::text_of(answer, "restored"), client::text_of(answer, "former"));
        });
      });
}

}  // namespace tagring::operation
