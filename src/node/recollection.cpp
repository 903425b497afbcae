#include "node/recollection.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

namespace tagring::node {
namespace {

using std::chrono::days;

// No edits, removals or repetitions.
bool is_post(const delivery::TagEvent& event) {
  return event.op == delivery::Op::kAdd && !event.is_edit() && !event.is_repeat();
}

}  // namespace

Recollection::Recollection(delivery::Store& store, const instances::Instances& instances,
                           budget::DayAuthors& authors, mastodon_api::Trends& trends,
                           activitypub::Announced& announced)
    : store_(store), instances_(instances), authors_(authors), trends_(trends), announced_(announced) {
  authors_.begin_reading();
  announced_.begin_reading();
}

Task<Result<void>> Recollection::read(delivery::Announcements page) {
  if (days_.empty()) {
    CO_TRY_VOID(co_await find_days());
  }
  CO_TRY(const std::vector<Own> own, co_await own_posts(page));
  for (const auto& item : page) {
    announced_.note(item->entry.event);
    const WallTime* day = day_of(item->entry);
    if (day != nullptr) note(item->entry, *day);
  }
  for (const auto& [post, day] : own) {
    if (!counts(day)) continue;
    std::vector<std::string> tags;
    for (const Tag& tag : post.tags) tags.push_back(tag.canonical());
    authors_.note_tags(post.uri, post.author, tags, days_ago(day));
  }
  if (page.empty()) finish();
  co_return Result<void>();
}

Task<Result<void>> Recollection::find_days() {
  Days found;
  const WallTime today = authors_.today();
  for (int ago = 0; ago <= budget::DayAuthors::kDaysBefore; ++ago) {
    const WallTime day = today - days(ago);
    CO_TRY(const std::uint64_t start, co_await store_.feed_start(day));
    found.emplace_back(day, start);
  }
  days_ = std::move(found);
  co_return Result<void>();
}

const WallTime* Recollection::day_of(const delivery::FeedEntry& entry) const {
  if (!is_post(entry.event)) return nullptr;
  const auto day = std::ranges::find_if(days_, [&](const auto& one) { return one.second < entry.seq; });
  return day == days_.end() ? nullptr : &day->first;
}

Task<Result<std::vector<Recollection::Own>>> Recollection::own_posts(delivery::Announcements page) {
  std::vector<Own> own;
  std::set<std::string> seen;  // under another hashtag
  for (const auto& item : page) {
    const delivery::TagEvent& event = item->entry.event;
    const WallTime* day = day_of(item->entry);
    if (day == nullptr || !instances_.may_publish(event.author) || !seen.insert(event.uri).second) continue;
    CO_TRY(std::optional<delivery::PublishedPost> post, co_await store_.find_post(event.uri));
    if (post) own.push_back({*std::move(post), *day});
  }
  co_return own;
}

int Recollection::days_ago(WallTime day) const {
  return static_cast<int>(std::max<std::int64_t>(0, (authors_.today() - day) / days(1)));
}

void Recollection::note(const delivery::FeedEntry& entry, WallTime day) {
  const delivery::TagEvent& event = entry.event;
  trends_.note(event.tag.canonical(), event.author, event.published);
  if (counts(day)) authors_.came({event.uri, event.tag.canonical(), event.author, entry.seq}, days_ago(day));
}

void Recollection::entered(const delivery::FeedEntry& entry) {
  announced_.note(entry.event);
  if (!is_done_) {
    held_.emplace_back(authors_.today(), entry);
  } else if (is_post(entry.event)) {
    note(entry, authors_.today());
  }
}

// What is announced was noted when it came, but a removal maybe before what it removes was read.
void Recollection::finish() {
  is_done_ = true;
  for (const auto& [day, entry] : std::exchange(held_, {})) {
    announced_.note(entry.event);
    if (is_post(entry.event)) note(entry, day);
  }
  authors_.end_reading();
  announced_.end_reading();
}

}  // namespace tagring::node
