// A PostgreSQL of the tests' own, which listens on a socket in a temporary directory and nowhere else. The
// first test that needs it starts it; it ends with the program, however that ends.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "sql/libpq.hpp"
#include "tests/db/temporary_directory.hpp"

namespace tagring::db {

class PostgresServer {
 public:
  static PostgresServer& get() {
    static PostgresServer server;
    return server;
  }

  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // Texts are sorted as in a dictionary unless a column says otherwise: what relies on bytes must say so.
  [[nodiscard]] std::string dsn(const std::string& database = "postgres",
                                const std::string& user = "admin") const {
    return fmt::format("host={} dbname={} user={}", directory_.file(""), database, user);
  }
  // The connection string of a database with no tables.
  std::string fresh() {
    const std::string schema = fmt::format("fresh{}", ++schemas_);
    run("CREATE SCHEMA " + schema);
    return fmt::format("{} options=-csearch_path={}", dsn(), schema);
  }
  // The first value of the last statement.
  std::string run(const std::string& statements, const std::string& database = "postgres") {
    const sql::PostgresLink link(PQconnectdb(dsn(database).c_str()));
    PQsetNoticeProcessor(link.get(), [](void*, const char*) {}, nullptr);
    const sql::PostgresAnswer answer(PQexec(link.get(), statements.c_str()));
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      throw std::runtime_error(statements + ": " + PQerrorMessage(link.get()));
    return PQntuples(answer.get()) > 0 ? PQgetvalue(answer.get(), 0, 0) : "";
  }
  // As if the power went, and came back.
  void stop() { shell(control_ + " -m immediate stop"); }
  void start() { shell(control_ + " start"); }

 private:
  PostgresServer() {
    // The server refuses to run as root.
    const std::string as = ::geteuid() == 0 ? "runuser -u postgres -- " : "";
    const std::string root = directory_.file("");
    if (!as.empty()) shell("chown postgres " + root);
    shell(fmt::format(
        "{}{}/initdb -D {}data -A trust -U admin --no-sync -E UTF8 --locale=C --locale-provider=icu "
        "--icu-locale=en-US",
        as, programs(), root));
    control_ = fmt::format("{}{}/pg_ctl -w -D {}data -l {}log -o \"-k {} -c listen_addresses='' -F\"", as,
                           programs(), root, root, root);
    start();
    // Sees this process end, and stops it then.
    watcher_ = ::popen(
        fmt::format("cat > /dev/null; {} -m immediate stop > /dev/null 2>&1; rm -rf {}", control_, root)
            .c_str(),
        "we");
  }
  ~PostgresServer() { ::pclose(watcher_); }

  // The newest of /usr/lib/postgresql/VERSION/bin, where Debian has them.
  static std::string programs() {
    std::string newest;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", error))
      newest = std::max(newest, (entry.path() / "bin").string());
    if (newest.empty()) throw std::runtime_error("there is no PostgreSQL: make test installs it");
    return newest;
  }
  static void shell(const std::string& command) {
    if (std::system((command + " > /dev/null 2>&1").c_str()) != 0)
      throw std::runtime_error("failed: " + command);
  }

  TemporaryDirectory directory_;
  std::string control_;
  FILE* watcher_ = nullptr;
  int schemas_ = 0;
};

}  // namespace tagring::db
