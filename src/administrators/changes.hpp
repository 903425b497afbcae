// Who changed what at a node: each change is a line in the log, event "admin", and is kept for the page and
// `tagring show changes`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::administrators {

struct Change {
  WallTime at;
  std::string who;      // an administrator's name, "local socket" or "SIGHUP"
  std::string does;     // the control request: "/blocks/add"
  std::string about;    // what it said, one line
  std::string outcome;  // "done", or why not; of what takes long there is another before, "begun"

  friend bool operator==(const Change&, const Change&) = default;
};

class ChangeStore {
 public:
  virtual ~ChangeStore() = default;
  // Only the last `kept` stay.
  virtual Task<Result<void>> add_change(Change change, std::size_t kept) = 0;
  // The latest first.
  virtual Task<Result<std::vector<Change>>> changes(std::size_t limit) = 0;
};

class Changes {
 public:
  static constexpr std::size_t kKept = 2'000;

  Changes(ChangeStore& store, const Clock& clock, Log& log) : store_(store), clock_(clock), log_(log) {}

  // `change.at` is filled in. It has happened, or begun: if it cannot be kept, the log says so, and has it.
  [[nodiscard]] Task<void> note(Change change);
  [[nodiscard]] Task<Result<std::vector<Change>>> latest(std::size_t limit) { return store_.changes(limit); }

 private:
  ChangeStore& store_;
  const Clock& clock_;
  Log& log_;
};

}  // namespace tagring::administrators
