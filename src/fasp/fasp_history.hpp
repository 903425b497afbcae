// What was there before: the history of a hashtag for a server that is subscribed to it (docs/fasp.md).
#pragma once

#include <deque>
#include <map>
#include <string>

#include "base/time.hpp"
#include "federation/blocks.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"
#include "storage/history_service.hpp"

namespace tagring::fasp {

class FaspHistory {
 public:
  static constexpr std::size_t kAMinute = 60;  // of one server

  FaspHistory(storage::HistoryService& history, const federation::Blocks& blocks, const Clock& clock)
      : history_(history), blocks_(blocks), clock_(clock) {}

  // Answers ?before=…&limit=…: {"hashtag", "objects": [{"uri", "published"}], "next"?}. 429 beyond kAMinute.
  [[nodiscard]] Task<HttpResponse> answer(std::string host, Tag tag, std::string query);
  // The server is gone.
  void forget(const std::string& host) { asked_.erase(host); }

 private:
  [[nodiscard]] bool may_read(const std::string& host);

  storage::HistoryService& history_;
  const federation::Blocks& blocks_;
  const Clock& clock_;
  std::map<std::string, std::deque<Instant>> asked_;  // in the last minute, by host
};

}  // namespace tagring::fasp
