// What others complained of, on disk. A call that writes has committed when it completes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::reports {

struct Report {
  std::uint64_t id = 0;  // given by the store, and never again
  WallTime at;
  std::string activity;  // id of the Flag
  std::string reporter;  // an actor; most servers keep the person to themselves and send their own
  std::string comment;
  std::vector<std::string> about;      // URIs of this node's actors and of posts
  std::vector<std::string> forwarded;  // posts of which their authors' servers were told
  bool open = true;

  friend bool operator==(const Report&, const Report&) = default;
};

class ReportStore {
 public:
  virtual ~ReportStore() = default;

  // False, and nothing is changed, if that activity was kept before.
  virtual Task<Result<bool>> add_report(Report report) = 0;
  // The author's server of that post was told. Nothing if there is no such report any more.
  virtual Task<Result<void>> note_forwarded(std::uint64_t id, std::string uri) = 0;
  // False if it is not open. Of those that are closed, only the newest `closed_max` stay.
  virtual Task<Result<bool>> close_report(std::uint64_t id, std::size_t closed_max) = 0;
  // The open ones first, of either kind the newest first.
  virtual Task<Result<std::vector<Report>>> reports(std::size_t limit) = 0;
  // kNotFound
  virtual Task<Result<Report>> report(std::uint64_t id) = 0;
  // Who sent those that are open, once for each of them.
  virtual Task<Result<std::vector<std::string>>> open_reporters() = 0;
  // When the oldest of those that are open came.
  virtual Task<Result<std::optional<WallTime>>> oldest_open() = 0;
};

}  // namespace tagring::reports
