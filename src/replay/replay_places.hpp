// Whose posts of replays may go to an instance today, and from when on. Mastodon counts a post under a
// hashtag on the day on which it comes: five authors of a day make a trend, with mail to the moderators. So
// under each hashtag of a post replays bring so few authors of a day that there are no more than the limit
// with those who come live: as many as on the busiest of the last days, or today, if that is more. And they
// are brought late in the day, when most of those have come.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "budget/day_authors.hpp"
#include "replay/replay_sender.hpp"
#include "replay/replay_store.hpp"
#include "storage/history.hpp"

namespace tagring::replay {

class ReplayPlaces {
 public:
  static constexpr Duration kOpen = std::chrono::hours(18);  // of a day, in UTC
  // A whole day since the order is seen first.
  static constexpr Duration kSeenFirst = std::chrono::days(2);
  // Authors under hashtags, which are written with each post: one author may use any number of hashtags.
  static constexpr std::size_t kNotedMax = 10'000;

  ReplayPlaces(budget::DayAuthors& authors, ReplaySender& sender, const Clock& clock)
      : authors_(authors), sender_(sender), clock_(clock) {}

  // A post on its way, with all its hashtags, that of the replay first; of a replay without a limit only
  // that.
  struct Outgoing {
    storage::HistoryEntry entry;
    std::vector<std::string> tags;
    budget::DayAuthors::Got got = {};  // of what came live, by the instance
  };

  // From when on posts of it go, which may be past. One that may trend goes at any time; but none with a
  // limit before it is known again, after a start, what came of late.
  [[nodiscard]] WallTime opens(const Replay& replay) const;
  // On the first day on which they do: before that the instance is sent nothing.
  [[nodiscard]] WallTime opens_first(const Replay& replay) const;
  // kInvalid if all its posts are too old by then.
  [[nodiscard]] Result<void> check(const Replay& replay) const;
  // When its next day begins.
  [[nodiscard]] WallTime opens_again(const Replay& replay) const;
  // As people are told, why nothing of it goes however long it waits, as far as that is known; empty: it
  // does.
  [[nodiscard]] Task<Result<std::string>> holds_up(Replay replay);
  // The same before it opens: that, or why it opens no earlier.
  [[nodiscard]] Task<Result<std::string>> waits_for(Replay replay);

  // Finds out what the instance got. False if a live post has come meanwhile by a hashtag that was not asked
  // about.
  [[nodiscard]] Task<Result<bool>> look_up(Replay replay, std::vector<std::string> tags,
                                           budget::DayAuthors::Got* got);
  // That one under which the post's author has no place today; and why not tomorrow either: empty if perhaps.
  struct Lack {
    std::string tag;
    std::string why;
  };
  [[nodiscard]] std::optional<Lack> lack(const Replay& replay, const Outgoing& post) const;
  // If not, the lack is of what this node can remember, under any hashtag, and ends within days.
  [[nodiscard]] bool knows_all() const { return authors_.knows_all(); }
  // It is sent.
  void note(Replay& replay, const Outgoing& post);
  // After a restart.
  void recall(const Replay& replay);

 private:
  // The hashtag has that many authors by itself.
  [[nodiscard]] std::string too_many(const Replay& replay, const std::string& tag,
                                     const budget::DayAuthors::Got& got) const;

  budget::DayAuthors& authors_;
  ReplaySender& sender_;
  const Clock& clock_;
};

}  // namespace tagring::replay
