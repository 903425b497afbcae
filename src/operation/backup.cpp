// tagring backup, tagring restore: what a node has, in one file.
#include "sql/backup.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <optional>
#include <set>
#include <sys/sendfile.h>
#include <unistd.h>

#include "administrators/administrator.hpp"
#include "base/bytes.hpp"
#include "base/printable.hpp"
#include "cli/exit.hpp"
#include "client/ask.hpp"
#include "config/config.hpp"
#include "crypto/key.hpp"
#include "db/moderation_store.hpp"
#include "db/new_name.hpp"
#include "db/schema.hpp"
#include "http/url.hpp"
#include "machine/checks.hpp"
#include "machine/owner.hpp"
#include "net/system_clock.hpp"
#include "operation/commands.hpp"
#include "sql/connection.hpp"

namespace tagring::operation {
namespace {

struct BackupOptions {
  client::ControlOptions control;
  std::string file;
};

std::unexpected<Error> cannot(const char* what, const std::filesystem::path& path, int error) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  const int number_;
};

// To another file system. It has no name there until it is whole, so that nothing is left if this is killed;
// where there are no such files, the name of a part.
Result<void> carry_over(const File& from, const std::filesystem::path& target) {
  const std::filesystem::path part = target.string() + ".part";
  constexpr mode_t kOwnOnly = S_IRUSR | S_IWUSR;
  const File nameless(::open(target.parent_path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kOwnOnly));
  const File named(
      nameless.is_open() ? -1 : ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnOnly));
  const File& to = nameless.is_open() ? nameless : named;
  if (!to.is_open()) return cannot("write", target, errno);
  constexpr std::size_t kPiece = 1U << 30U;
  ssize_t size = 0;
  do {
    size = ::sendfile(to.number(), from.number(), nullptr, kPiece);
  } while (size > 0);
  if (size < 0 || ::fsync(to.number()) != 0) {
    const int error = errno;
    ::unlink(part.c_str());
    return cannot("write", target, error);
  }
  const std::string link = fmt::format("/proc/self/fd/{}", to.number());
  const int done = nameless.is_open()
                       ? ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW)
                       : ::rename(part.c_str(), target.c_str());
  if (done != 0) return cannot("write", target, errno);
  return {};
}

// Gives the node's copy to who asked for it, where they want it, with their rights: the node may not write
// there.
Result<void> fetch(const std::filesystem::path& copy, const std::filesystem::path& target) {
  const File from(::open(copy.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.is_open()) return cannot("read", copy, errno);
  Result<void> done;
  if (::link(copy.c_str(), target.c_str()) == 0) {
    if (::fchown(from.number(), ::geteuid(), ::getegid()) != 0) done = cannot("own", target, errno);
  } else {
    done = errno == EXDEV ? carry_over(from, target) : cannot("write", target, errno);
  }
  ::unlink(copy.c_str());
  TRY_VOID(done);
  return sql::sync(target.parent_path());
}

Result<json::object> back_up(const BackupOptions& options) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::absolute(options.file, error);
  if (error) return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", options.file, error.message()));
  for (const std::string& taken : {target.string(), target.string() + "-wal"}) {
    if (std::filesystem::exists(taken, error))
      return fail(ErrorCode::kInvalid, fmt::format("{} is there already: give another name", taken));
  }
  if (::access(target.parent_path().c_str(), W_OK | X_OK) != 0) return cannot("write", target, errno);
  TRY(json::object answer, client::ask_node(options.control, "POST", "/backup", {}, client::kLongTimeout));
  TRY_VOID(fetch(json::text_of(answer, "file"), target));
  answer["file"] = target.string();
  return answer;
}

// What is in the place of the database. It is locked by who uses it, so whoever has it open is alone until
// they close it; and has what was beside it put into it.
struct Former {
  bool is_there = false;
  std::optional<sql::Connection> held = std::nullopt;  // none of a damaged one: no node can open that either
};

Result<Former> hold(const std::filesystem::path& database) {
  std::error_code error;
  if (!std::filesystem::exists(database, error)) {
    // It would get into whatever takes that place.
    const std::filesystem::path beside = database.string() + "-wal";
    if (!std::filesystem::exists(beside, error) || std::filesystem::file_size(beside, error) == 0)
      return Former{};
    return fail(ErrorCode::kInvalid,
                fmt::format("{} is there without its database: move it away first", beside.string()));
  }
  Result<sql::Connection> opened = sql::Connection::open(database);
  if (opened) return Former{.is_there = true, .held = std::move(*opened)};
  if (opened.error().code != ErrorCode::kCorrupt) return std::unexpected(opened.error());
  return Former{.is_there = true};
}

// A name for what is in the place of the database: one that is free, or that it got of a restore that was
// killed. What former restores have set aside stays: the wrong copy may have come before the right one.
std::filesystem::path name_aside(const std::filesystem::path& database) {
  std::error_code error;
  const std::string first = database.string() + machine::kBeforeRestore;
  for (int number = 1;; ++number) {
    const std::filesystem::path former = number == 1 ? first : fmt::format("{}-{}", first, number);
    if (!std::filesystem::exists(former, error) || std::filesystem::equivalent(former, database, error))
      return former;
  }
}

// `former` becomes another name of the database. What a damaged one has beside it must not get into the next.
Result<void> set_aside(const std::filesystem::path& database, const std::filesystem::path& former) {
  std::error_code error;
  std::filesystem::remove(former, error);
  std::filesystem::create_hard_link(database, former, error);
  if (error) return cannot("write", former, error.value());
  for (const char* suffix : {"-wal", "-shm"}) {
    const std::filesystem::path beside = database.string() + suffix;
    if (std::filesystem::exists(beside, error))
      std::filesystem::rename(beside, former.string() + suffix, error);
    if (error) return cannot("rename", beside, error.value());
  }
  return {};
}

// Where there was no database, a node may have begun one meanwhile.
Result<void> put_where_none_is(const std::filesystem::path& fresh, const std::filesystem::path& database) {
  if (::link(fresh.c_str(), database.c_str()) != 0) {
    if (errno != EEXIST) return cannot("write", database, errno);
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} was made meanwhile. Was the node started? Stop it first, and tagring.socket, "
                            "which would start it again",
                            database.string()));
  }
  ::unlink(fresh.c_str());
  return {};
}

// The name that what was there has now; empty if nothing was. No node may use the fresh one until the former
// is closed: SQLite then removes what is beside it, by its name of before.
Result<std::filesystem::path> put_in_place(const std::filesystem::path& fresh,
                                           const std::filesystem::path& database, Former former) {
  TRY(const sql::Connection fresh_held, sql::Connection::open(fresh));
  if (!former.is_there) {
    TRY_VOID(put_where_none_is(fresh, database));
    return std::filesystem::path();
  }
  if (former.held) {
    // What is beside it must not get into the next if this is killed.
    TRY_VOID(former.held->run("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  const std::filesystem::path aside = name_aside(database);
  TRY_VOID(set_aside(database, aside));
  std::error_code error;
  std::filesystem::rename(fresh, database, error);
  if (error) return cannot("rename", fresh, error.value());
  if (former.held) std::filesystem::remove(aside.string() + "-wal", error);  // it is empty
  former.held.reset();
  return aside;
}

Result<std::set<std::string>> tables_of(sql::Connection& connection) {
  TRY(const auto names,
      sql::all_rows<std::string>(connection.query("SELECT name FROM sqlite_master WHERE type = 'table'"),
                                 [](const sql::Statement& row) { return row.text(0); }));
  return std::set(names.begin(), names.end());
}

// The node's key, in a database that has one.
Result<std::string> key_in(sql::Connection& connection) {
  TRY(const auto keys,
      sql::all_rows<std::string>(connection.query("SELECT value FROM meta WHERE name = 'key'"),
                                 [](const sql::Statement& row) { return row.text(0); }));
  if (keys.empty()) return fail(ErrorCode::kCorrupt, "it has no key of a node");
  TRY(const crypto::PrivateKey key, crypto::PrivateKey::from_pem(keys.front()));
  return key.public_key().pem();
}

void remove_with_what_is_beside(const std::filesystem::path& database) {
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(database.string() + suffix, error);
}

// That a node has in a database of that version. `scratch` is written, and gone afterwards.
Result<std::set<std::string>> expected_tables(const std::filesystem::path& scratch, int version) {
  remove_with_what_is_beside(scratch);
  Result<std::set<std::string>> tables = [&]() -> Result<std::set<std::string>> {
    TRY(sql::Connection empty, sql::Connection::open(scratch));
    TRY_VOID(db::migrate(empty, version));
    return tables_of(empty);
  }();
  remove_with_what_is_beside(scratch);
  return tables;
}

// A copy that is whole as a file may still lack what a node has. Its key.
Result<std::string> look_into(const std::filesystem::path& copy, int version) {
  TRY(const std::set<std::string> wanted, expected_tables(copy.string() + ".tables", version));
  TRY(sql::Connection connection, sql::Connection::open(copy));
  TRY(const std::set<std::string> there, tables_of(connection));
  for (const std::string& table : wanted) {
    if (!there.contains(table)) return fail(ErrorCode::kCorrupt, "it lacks the table " + table);
  }
  return key_in(connection);
}

Result<void> check_readable(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return fail(ErrorCode::kNotFound, fmt::format("{}: no such file", file));
  if (::access(file.c_str(), R_OK) != 0)
    return fail(ErrorCode::kDenied, fmt::format("cannot read {}: {}", file, std::strerror(errno)));
  return {};
}

Result<void> copy_with_wal(const std::string& file, const std::string& fresh) {
  std::error_code error;
  for (const std::string suffix : {"", "-wal"}) {
    if (!suffix.empty() && !std::filesystem::exists(file + suffix, error)) continue;
    std::filesystem::copy_file(file + suffix, fresh + suffix, error);
    if (error)
      return fail(ErrorCode::kUnavailable,
                  fmt::format("cannot copy {} to {}: {}", file + suffix, fresh + suffix, error.message()));
    std::filesystem::permissions(
        fresh + suffix, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
  }
  return {};
}

// Puts what is beside it into it; the version of what that makes.
Result<int> recover(const std::filesystem::path& fresh) {
  {
    TRY(sql::Connection opened, sql::Connection::open(fresh));
    TRY_VOID(opened.run("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  return sql::verify(fresh);
}

// Copies `file` to `fresh`; the key in it. What a node that was killed had written last is only beside its
// database, so nothing can be said of that before both are copied.
Result<std::string> take_copy(const std::string& file, const std::filesystem::path& fresh) {
  TRY_VOID(copy_with_wal(file, fresh));
  const auto refuse = [&file](const Error& why) -> std::unexpected<Error> {
    if (why.code == ErrorCode::kUnavailable) return std::unexpected(why);
    return fail(ErrorCode::kCorrupt, fmt::format("{} is no whole backup: {}", file, why.message));
  };
  const Result<int> version = recover(fresh);
  if (!version) return refuse(version.error());
  if (*version > db::kSchemaVersion) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{} is of version {}, this program knows up to {}: install the newer "
                            "program first",
                            file, *version, db::kSchemaVersion));
  }
  Result<std::string> key = look_into(fresh, *version);
  if (!key) return refuse(key.error());
  return key;
}

// What was there stays beside it.
Result<void> check_room(const std::filesystem::path& folder, const std::string& file) {
  std::error_code error;
  std::uintmax_t size = std::filesystem::file_size(file, error);
  const auto disk = machine::disk_of(folder);
  if (error || !disk) return {};
  const std::uintmax_t beside = std::filesystem::file_size(file + "-wal", error);
  if (!error) size += beside;
  if (const Result<void> fits = machine::check_room(*disk, size); !fits)
    return fail(
        fits.error().code,
        fmt::format("{}: {}. Make room: former restores have set aside what is called \"*{}*\" there; "
                    "what is there now may be moved away, too",
                    folder.string(), fits.error().message, machine::kBeforeRestore));
  return {};
}

// Who restores it may be root; the node that uses it is not.
Result<void> give_to_node(const config::Config& config, const std::string& config_file,
                          const std::filesystem::path& file) {
  const std::optional<machine::Owner> user = machine::node_user(config.data, config_file);
  if (::geteuid() != 0 || !user) return {};
  for (const std::filesystem::path& each : {config.data, file}) {
    const std::optional<machine::Owner> owner = machine::owner_of(each);
    if (owner && owner->user != user->user && ::chown(each.c_str(), user->user, user->group) != 0)
      return cannot("own", each, errno);
  }
  return {};
}

// What is there now has another key: others know the node by that one.
bool is_of_another_node(Former& former, const std::string& key) {
  if (!former.held) return false;
  const Result<std::string> own = key_in(*former.held);
  return own && *own != key;
}

// Of the node that this one goes on for, what it can go on with. Whether it was that one's.
Result<bool> take_over(const config::Config& config, const std::filesystem::path& copy) {
  TRY(sql::Connection opened, sql::Connection::open(copy));
  if (config.moved_from.empty()) {
    TRY(const std::string owner, db::origin_in(opened));
    if (owner.empty() || host_of(owner) == config.host) return false;
    return fail(ErrorCode::kInvalid,
                fmt::format("{} is a copy of what {} has, and this is {}: if this node goes on for that one, "
                            "put moved_from = \"{}\" under [node] (docs/runbook.md, \"Another name\")",
                            copy.string(), owner, config.origin(), owner));
  }
  Result<bool> taken = db::take_over(opened, config.origin(), config.moved_from);
  if (!taken) return fail(taken.error().code, fmt::format("{}: {}", copy.string(), taken.error().message));
  return taken;
}

Result<void> ask_owners_again(const std::filesystem::path& copy) {
  TRY(sql::Connection opened, sql::Connection::open(copy));
  return db::ask_owners_again(opened);
}

// What was changed since the copy, this undoes.
Result<void> note_restore(const std::filesystem::path& copy, const std::string& file) {
  TRY(sql::Connection opened, sql::Connection::open(copy));
  TRY(const std::set<std::string> tables, tables_of(opened));
  if (!tables.contains("changes")) return {};  // of a version that noted nothing
  return db::add_change(opened,
                        {.at = net::system_wall_now(),
                         .who = administrators::local_socket(cli::user_name()).name,
                         .does = "/restore",
                         .about = is_utf8(file) ? printable("file=" + file) : "",
                         .outcome = "done"},
                        administrators::Changes::kKept);
}

// Makes a folder, which goes again if nothing has come into it.
class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    is_new_ = std::filesystem::create_directories(path_, error);
    if (is_new_) std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
  }
  ~Folder() {
    std::error_code error;
    if (is_new_) std::filesystem::remove(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  std::filesystem::path path_;
  bool is_new_ = false;
};

// At any moment the database is the former or the restored one, whole: also if this is killed.
Result<json::object> restore_from(const BackupOptions& options) {
  TRY(const config::Config config, config::Config::load(options.control.config));
  if (!config.postgres.empty())
    return fail(ErrorCode::kInvalid,
                "what this node has is in PostgreSQL: pg_restore puts a copy of it in its place");
  TRY_VOID(check_readable(options.file));
  const std::filesystem::path database = config.data / "tagring.db";
  const Folder folder(config.data);
  TRY(Former former, hold(database));  // to the end: it may take minutes, and somebody may start the node
  const std::filesystem::path fresh = database.string() + ".restored";
  remove_with_what_is_beside(fresh);  // of one that was killed
  TRY_VOID(check_room(config.data, options.file));
  const auto undo = [&fresh](Error why) {
    remove_with_what_is_beside(fresh);
    return std::unexpected(std::move(why));
  };
  const Result<std::string> key = take_copy(options.file, fresh);
  if (!key) return undo(key.error());
  const bool is_other = is_of_another_node(former, *key);
  if (const Result<void> given = give_to_node(config, options.control.config, fresh); !given)
    return undo(given.error());
  const Result<bool> taken_over = take_over(config, fresh);
  if (!taken_over) return undo(taken_over.error());
  // The next start would make a third key, and those who know the one that was there would refuse what it
  // signs.
  if (is_other && *taken_over)
    return undo(Error(
        ErrorCode::kInvalid,
        fmt::format(
            "this node has run already, and {} has its own key and followers, which would go: a copy of "
            "what {} has is for before the first start. If it is to be so all the same, move that file "
            "away, with its -wal",
            database.string(), config.moved_from)));
  if (const Result<void> asks = ask_owners_again(fresh); !asks) return undo(asks.error());
  if (const Result<void> noted = note_restore(fresh, options.file); !noted) return undo(noted.error());
  if (const Result<void> written = sql::sync(fresh); !written) return undo(written.error());
  const Result<std::filesystem::path> aside = put_in_place(fresh, database, std::move(former));
  if (!aside) return undo(aside.error());
  TRY_VOID(sql::sync(config.data));
  return json::object{{"restored", database.string()},
                      {"former", aside->string()},
                      {"other_key", is_other},
                      {"taken_over_from", *taken_over ? config.moved_from : ""}};
}

void add(CLI::App& app, const std::shared_ptr<BackupOptions>& options, const char* name, const char* what,
         const char* footer, std::function<void()> callback) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("file", options->file, "The file with the copy")->required();
  client::add_control_options(*command, options->control);
  command->footer(footer);
  command->callback(std::move(callback));
}

}  // namespace

void add_backup(CLI::App& app, int& status) {
  auto options = std::make_shared<BackupOptions>();
  add(app, options, "backup", "Write a copy of all that a running node has to a file",
      "The node goes on meanwhile. The file must not exist yet. It is written with the rights of who types "
      "this,\n"
      "and nobody else can read it. On another disk than the node's data, there must be room for it on both\n"
      "for a moment.\n"
      "Example:\n  tagring backup /var/backups/tagring-$(date +%F).db",
      [options, &status] {
        status = client::tell(options->control, back_up(*options), [](const json::object& answer) {
          fmt::print("{}: {} bytes. The node's key is in it: keep it where nobody else reads it.\n",
                     json::text_of(answer, "file"), client::number_of(answer, "octets"));
        });
      });
}

void add_restore(CLI::App& app, int& status) {
  auto options = std::make_shared<BackupOptions>();
  add(app, options, "restore", "Put such a copy in the place of what a stopped node has",
      "Stop the node first (systemctl stop tagring.socket tagring). The copy is verified. What was there is\n"
      "kept beside it. As root, or as the user of the node. The database of a machine that is gone does as\n"
      "well, with its tagring.db-wal beside it.\n"
      "Example:\n  sudo tagring restore /var/backups/tagring-2026-11-23.db",
      [options, &status] {
        status = client::tell(options->control, restore_from(*options), [](const json::object& answer) {
          const std::string former = json::text_of(answer, "former");
          fmt::print("restored {}. Start the node now.\n", json::text_of(answer, "restored"));
          if (const std::string from = json::text_of(answer, "taken_over_from"); !from.empty())
            fmt::print("It is a copy of what {} has: who follows that one or has its relay stays there.\n",
                       from);
          if (!former.empty()) fmt::print("What was there is {}: remove it when all is well.\n", former);
          if (json::get_flag(answer, "other_key"))
            fmt::print(
                "Beware: the copy has another key than what was there, so it is of another node. If that one "
                "still "
                "runs, put {} back.\n",
                former);
        });
      });
}

}  // namespace tagring::operation
