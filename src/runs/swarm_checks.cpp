#include "runs/swarm_checks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "hashtag/tag.hpp"
#include "node/node.hpp"
#include "ring/vserver.hpp"

namespace tagring::runs {
namespace {

std::string what_is_told_twice(const std::vector<std::string>& uris) {
  return uris.empty() ? "" : fmt::format("tells twice: {}", fmt::join(uris, " "));
}

auto seconds_between(Instant a, Instant b) {
  return std::chrono::duration_cast<std::chrono::seconds>(b - a).count();
}

}  // namespace

std::string wrong_order(const std::vector<delivery::TagEvent>& told) {
  std::map<std::string, const delivery::TagEvent*> last;
  for (const delivery::TagEvent& event : told) {
    const auto [known, fresh] = last.emplace(event.uri, &event);
    if (fresh) continue;
    const delivery::TagEvent& before = *std::exchange(known->second, &event);
    const bool is_later = event.version() > before.version();
    const bool is_news = is_later && (event.op == delivery::Op::kAdd || event.is_repeat());
    if (before.op == delivery::Op::kRemove && !is_news)
      return fmt::format("tells of {} after its removal", event.uri);
    if (before.op == delivery::Op::kAdd && event.op == delivery::Op::kAdd && !(is_later && event.is_repeat()))
      return fmt::format("tells of {} twice", event.uri);
  }
  return {};
}

void SwarmChecks::went_back(std::size_t node) {
  went_back_.insert_or_assign(node, world_.loop.now());
  for (auto& [who, since] : wanted_) {
    if (who.first == node) since = world_.loop.now();
  }
}

SwarmChecks::Wanted SwarmChecks::wanted(std::size_t node, const std::string& tag) const {
  Wanted want;
  const auto note = [&](Instant since) {
    want.since = want.is_certain ? std::min(want.since, since) : since;
    want.is_certain = true;
  };
  const std::pair who(node, tag);
  if (const auto by_admin = wanted_.find(who); by_admin != wanted_.end()) note(by_admin->second);
  want.may_be = unknown_.contains(who);
  want.ever = former_.contains(who);
  for (const auto& [number, server] : world_.people()) {
    for (const auto& [subject, wish] : server.wishes()) {
      if (subject.node != node || subject.tag != tag) continue;
      want.ever = true;
      want.may_be |= !wish.is_taken();
      if (wish.follows && wish.is_taken()) note(follows_since(subject, wish));
    }
  }
  want.ever |= want.is_certain || want.may_be;
  want.may_be &= !want.is_certain;
  return want;
}

SwarmChecks::Posts SwarmChecks::posts_under(const std::string& tag) const {
  Posts posts;
  for (const sim::World::Post& post : world_.posts()) {
    if (post.was_under(tag)) posts.emplace(post.uri, &post);
  }
  return posts;
}

std::set<std::size_t> SwarmChecks::owners(Ring ring, const std::string& tag) const {
  return owners(ring, tag, ring == Ring::kRelay ? options_.relay_replicas : options_.storage_replicas);
}

std::set<std::size_t> SwarmChecks::owners(Ring ring, const std::string& tag, unsigned replicas) const {
  std::set<std::size_t> found;
  for (unsigned i = 0; i < replicas; ++i) {
    const RingId position = replica_key(Tag::from_canonical(tag).key(), i, replicas);
    for (const std::size_t node : world_.up()) {
      if (world_.node(node).rings().of(ring).serving(position) != nullptr) found.insert(node);
    }
  }
  return found;
}

// --- at any time -------------------------------------------------------------------------------------------

std::string SwarmChecks::glance() {
  const std::vector<std::size_t> up = world_.up();
  if (up.empty()) return {};
  const std::size_t node = up[rng_.below(up.size())];
  const std::string& tag = tags_[rng_.below(tags_.size())];
  if (!world_.is_running(node)) return {};
  if (std::string wrong = wrong_told(node, tag); !wrong.empty()) return wrong;
  const auto history = world_.history(node, tag, 1 + rng_.below(30));
  if (!history) return {};
  const std::string wrong = wrong_entries(*history, tag);
  return wrong.empty() ? "" : fmt::format("the history of #{} that node {} reads {}", tag, node, wrong);
}

// Of entries as they come: what was never so, or is out of order.
std::string SwarmChecks::wrong_entries(const std::vector<storage::HistoryEntry>& entries,
                                       const std::string& tag) const {
  const Posts posts = posts_under(tag);
  const storage::HistoryEntry* before = nullptr;
  for (const storage::HistoryEntry& entry : entries) {
    const auto post = posts.find(entry.uri);
    if (entry.partition.tag.canonical() != tag || post == posts.end())
      return fmt::format("has {}, which never was", entry.uri);
    if (entry.author != sim::World::author_of(post->second->origin) || entry.published != post->second->dated)
      return fmt::format("has {} with another author or date", entry.uri);
    if (entry.removed && !post->second->was_without(tag))
      return fmt::format("has {} as removed, and it is not", entry.uri);
    if (before != nullptr && !storage::newer(*before, entry))
      return fmt::format("has {} twice or out of order", entry.uri);
    before = &entry;
  }
  return {};
}

std::string SwarmChecks::wrong_told(std::size_t node, const std::string& tag) {
  const auto told = world_.told(node, tag);
  if (!told) return {};
  std::string wrong = wrong_order(*told);
  const Posts posts = posts_under(tag);
  for (const delivery::TagEvent& event : *told) {
    const auto post = posts.find(event.uri);
    if (post == posts.end()) {
      wrong = fmt::format("tells of {}, which never was", event.uri);
    } else if (event.author != sim::World::author_of(post->second->origin) ||
               event.published != post->second->dated) {
      wrong = fmt::format("tells of {} with another author or date", event.uri);
    } else if (event.op == delivery::Op::kRemove && !post->second->was_without(tag)) {
      wrong = fmt::format("tells that {} is removed, and it is not", event.uri);
    }
  }
  return wrong.empty() ? "" : fmt::format("the feed of node {} under #{} {}", node, tag, wrong);
}

// --- at rest -----------------------------------------------------------------------------------------------

// What owners differ about they ask the post's server, some minutes apart; and compare, now and then. What
// subscribers follow they look at every half minute. Whether others keep a later set a node asks of a few
// hashtags at a time, each every ten minutes.
std::string SwarmChecks::at_rest(Duration patience, bool lists) {
  std::string wrong = wrong_feeds();
  if (!wrong.empty()) return wrong;
  for (auto check : {&SwarmChecks::wrong_history, &SwarmChecks::wrong_disks, &SwarmChecks::wrong_relays,
                     &SwarmChecks::wrong_heads, &SwarmChecks::wrong_subscriptions,
                     // Reading takes time, so what was thought of later comes last.
                     &SwarmChecks::wrong_sets, &SwarmChecks::wrong_digests, &SwarmChecks::wrong_roots,
                     &SwarmChecks::wrong_relay_sets, &SwarmChecks::wrong_wants, &SwarmChecks::wrong_published,
                     &SwarmChecks::wrong_outboxes, &SwarmChecks::wrong_inboxes, &SwarmChecks::wrong_people}) {
    if (!lists && check != &SwarmChecks::wrong_history && check != &SwarmChecks::wrong_disks) break;
    bool holds = false;  // once is enough: the next look has no time left
    world_.run_until(check == &SwarmChecks::wrong_sets ? 2 * patience : patience,
                     [&] { return holds = holds || (wrong = (this->*check)()).empty(); });
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string SwarmChecks::still() {
  for (auto check : {&SwarmChecks::wrong_feeds, &SwarmChecks::wrong_history, &SwarmChecks::wrong_disks}) {
    if (std::string wrong = (this->*check)(); !wrong.empty()) return wrong;
  }
  return {};
}

std::string SwarmChecks::wrong_feeds() {
  for (const std::size_t node : world_.up()) {
    for (const std::string& tag : tags_) {
      const Wanted want = wanted(node, tag);
      std::string wrong = want.is_certain ? wrong_feed(node, tag, want.since) : std::string();
      if (!wrong.empty())
        return fmt::format("the feed of node {} under #{} {}; {}", node, tag, wrong, whereabouts(node, tag));
      wrong = wrong_told(node, tag);
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

// It must have what was published, or put back, since it wants the hashtag, and nothing that was removed
// since then. What is older it may have, and what was removed before as it knew it.
std::string SwarmChecks::wrong_feed(std::size_t node, const std::string& tag, Instant since) {
  const std::multiset<std::string> feed = world_.feed(node, tag);
  std::vector<std::string> missing;
  std::vector<std::string> gone;
  std::vector<std::string> twice;
  for (const auto& [uri, post] : posts_under(tag)) {
    const auto left = post->left.find(tag);
    const bool lives = left == post->left.end();
    const auto back = post->back.find(tag);
    const Instant came = back == post->back.end() ? post->published : back->second;
    if (lives && came >= since && !feed.contains(uri))
      missing.push_back(fmt::format("{} ({} s after it was wanted)", uri, seconds_between(since, came)));
    if (!lives && left->second >= since && feed.contains(uri)) gone.push_back(uri);
    if (feed.count(uri) > 1) twice.push_back(uri);
  }
  if (!missing.empty()) return fmt::format("lacks {}: {}", missing.size(), fmt::join(missing, " "));
  if (!gone.empty()) return fmt::format("has what is gone: {}", fmt::join(gone, " "));
  return what_is_told_twice(twice);
}

// Who relays a hashtag, and who has posts of it that are missing in the feed of a node.
std::string SwarmChecks::whereabouts(std::size_t node, const std::string& tag) {
  const std::multiset<std::string> feed = world_.feed(node, tag);
  std::string text = fmt::format("relayed by {}", fmt::join(owners(Ring::kRelay, tag), ", "));
  for (const std::size_t other : world_.up()) {
    const std::multiset<std::string> theirs = world_.feed(other, tag);
    if (!std::ranges::includes(feed, theirs)) text += fmt::format(", node {} has more", other);
  }
  return text;
}

// Through some node, in pages of some length: what lives, and nothing else.
std::string SwarmChecks::wrong_history() {
  const std::vector<std::size_t> up = world_.up();
  for (const std::string& tag : tags_) {
    const std::size_t reader = up[rng_.below(up.size())];
    const auto history = world_.history(reader, tag, 1 + rng_.below(30));
    if (!history) return fmt::format("the history of #{} cannot be read through node {}", tag, reader);
    std::string wrong = wrong_entries(*history, tag);
    std::set<std::string> shown;
    for (const storage::HistoryEntry& entry : *history) shown.insert(entry.uri);
    for (const auto& [uri, post] : posts_under(tag)) {
      if (post->is_under(tag) != shown.contains(uri))
        wrong = fmt::format("{} {}; {}", post->is_under(tag) ? "lacks" : "shows", uri, traces(uri, tag));
    }
    if (!wrong.empty()) return fmt::format("the history of #{} through node {} {}", tag, reader, wrong);
  }
  return {};
}

// Who has it, and as what.
std::string SwarmChecks::traces(const std::string& uri, const std::string& tag) {
  std::string text = fmt::format("kept by {}, relayed by {}", fmt::join(owners(Ring::kStorage, tag), ", "),
                                 fmt::join(owners(Ring::kRelay, tag), ", "));
  for (const std::size_t node : world_.up()) {
    const auto found =
        world_.await_on(node, world_.history_store(node).find({{Tag::from_canonical(tag), uri}}), kRead);
    if (found && *found && (*found)->front())
      text +=
          fmt::format(", node {} has it on disk as {} since {}", node,
                      (*found)->front()->removed ? "removed" : "living", to_ms((*found)->front()->changed));
    for (const delivery::TagEvent& event :
         world_.told(node, tag).value_or(std::vector<delivery::TagEvent>())) {
      if (event.uri == uri)
        text += fmt::format(", node {} was told of its {} of {}", node,
                            event.op == delivery::Op::kAdd ? "Add" : "removal", to_ms(event.changed));
    }
  }
  return text;
}

}  // namespace tagring::runs
