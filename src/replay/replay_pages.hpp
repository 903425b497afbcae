// Reads the history of a hashtag for a replay: first where its pages begin and end, then each once more when
// its turn comes, so that nothing that was removed meanwhile is sent.
#pragma once

#include <vector>

#include "hashtag/tag.hpp"
#include "replay/replay_store.hpp"
#include "storage/history_service.hpp"

namespace tagring::replay {

class ReplayPages {
 public:
  static constexpr std::size_t kSize = 40;  // posts

  ReplayPages(storage::HistoryService& history, ReplayStore& store) : history_(history), store_(store) {}

  struct Found {
    std::vector<ReplayPage> pages;  // newest first
    std::uint64_t posts = 0;
  };
  // As far back as the replay goes. kUnavailable if the history cannot be read to its end.
  [[nodiscard]] Task<Result<Found>> find(Replay replay);

  struct Post {
    storage::HistoryEntry entry;
    bool skip = false;  // the instance has got it by another replay
  };
  // What is left of the replay's current page, the next post last.
  [[nodiscard]] Task<Result<std::vector<Post>>> read(Replay replay);

 private:
  Task<Result<std::vector<storage::HistoryEntry>>> read_stretch(Tag tag, storage::HistoryCursor after,
                                                                storage::HistoryCursor last);

  storage::HistoryService& history_;
  ReplayStore& store_;
};

}  // namespace tagring::replay
