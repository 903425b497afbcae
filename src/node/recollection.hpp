// After a start, what is kept in memory of the posts that came of late is begun anew from the feed, beside
// everything else: trends, whose posts came on which day, and what was announced. The Announcer reads the
// feed, and shows it here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "activitypub/announced.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "budget/day_authors.hpp"
#include "delivery/announcement_sender.hpp"
#include "delivery/store.hpp"
#include "instances/instances.hpp"
#include "mastodon_api/trends.hpp"

namespace tagring::node {

class Recollection {
 public:
  Recollection(delivery::Store& store, const instances::Instances& instances, budget::DayAuthors& authors,
               mastodon_api::Trends& trends, activitypub::Announced& announced);

  // The next page of what came before the start; an empty one says that this was all. If it fails, nothing of
  // the page is noted.
  [[nodiscard]] Task<Result<void>> read(delivery::Announcements page);
  // Now. While the rest is read it is noted behind that.
  void entered(const delivery::FeedEntry& entry);

 private:
  using Days = std::vector<std::pair<WallTime, std::uint64_t>>;  // after which place each began, latest first
  struct Own {
    delivery::PublishedPost post;
    WallTime day;
  };
  Task<Result<void>> find_days();
  // On which of the days that count it came.
  [[nodiscard]] const WallTime* day_of(const delivery::FeedEntry& entry) const;
  // Of this node's instances, with all of their hashtags.
  Task<Result<std::vector<Own>>> own_posts(delivery::Announcements page);
  void note(const delivery::FeedEntry& entry, WallTime day);
  // Nothing if that day does not count any more.
  [[nodiscard]] bool counts(WallTime day) const { return days_ago(day) <= budget::DayAuthors::kDaysBefore; }
  [[nodiscard]] int days_ago(WallTime day) const;
  void finish();

  delivery::Store& store_;
  const instances::Instances& instances_;
  budget::DayAuthors& authors_;
  mastodon_api::Trends& trends_;
  activitypub::Announced& announced_;
  bool is_done_ = false;
  Days days_;
  std::vector<std::pair<WallTime, delivery::FeedEntry>> held_;  // with the days on which they came
};

}  // namespace tagring::node
