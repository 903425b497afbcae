#include "runs/swarm_checks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>
#include <utility>

#include "audit/signed_tree_heads.hpp"
#include "base/bytes.hpp"
#include "base/json.hpp"
#include "crypto/key.hpp"
#include "hashtag/tag.hpp"
#include "http/url.hpp"
#include "node/node.hpp"
#include "redundancy/relay_place.hpp"
#include "redundancy/storage_place.hpp"
#include "ring/vserver.hpp"
#include "storage/statements.hpp"

namespace tagring::runs {
namespace {

constexpr Duration kRead = std::chrono::seconds(30);
constexpr std::size_t kHeadIds = audit::SignedTreeHeads::kIdsMax;

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
  for (auto& [who, since] : wanted_) {
    if (who.first == node) since = world_.loop.now();
  }
}

SwarmChecks::Posts SwarmChecks::posts_under(const std::string& tag) const {
  Posts posts;
  for (const sim::World::Post& post : world_.posts()) {
    if (post.was_under(tag)) posts.emplace(post.uri, &post);
  }
  return posts;
}

std::set<std::size_t> SwarmChecks::owners(Ring ring, const std::string& tag) const {
  const unsigned replicas = ring == Ring::kRelay ? options_.relay_replicas : options_.storage_replicas;
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
// subscribers follow they look at every half minute.
std::string SwarmChecks::at_rest(Duration patience, bool lists) {
  std::string wrong = wrong_feeds();
  if (!wrong.empty()) return wrong;
  for (auto check : {&SwarmChecks::wrong_history, &SwarmChecks::wrong_disks, &SwarmChecks::wrong_relays,
                     &SwarmChecks::wrong_heads, &SwarmChecks::wrong_subscriptions}) {
    if (!lists && check != &SwarmChecks::wrong_history && check != &SwarmChecks::wrong_disks) break;
    world_.run_until(patience, [&] { return (wrong = (this->*check)()).empty(); });
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
  for (const auto& [who, since] : wanted_) {
    if (unknown_.contains(who)) continue;
    const std::string wrong = wrong_feed(who.first, who.second, since);
    if (!wrong.empty())
      return fmt::format("the feed of node {} under #{} {}; {}", who.first, who.second, wrong,
                         whereabouts(who.first, who.second));
  }
  for (const std::size_t node : world_.up()) {
    for (const std::string& tag : tags_) {
      const std::string wrong = wrong_told(node, tag);
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

redundancy::StorageSet SwarmChecks::set_of(const std::string& tag) {
  const unsigned at_rest = options_.storage_replicas;
  redundancy::StorageSet last{Tag::from_canonical(tag), 0, at_rest, at_rest, {}};
  for (const std::size_t node : world_.up()) {
    const json::object status = world_.node(node).status();
    json::for_each(json::find(status, "storage_sets"), [&](const json::value& element) {
      const json::object& set = element.as_object();
      const auto version = set.at("version").to_number<std::uint64_t>();
      if (json::text_of(set, "tag") != tag || version <= last.version) return;
      last.version = version;
      last.replicas = set.at("replicas").to_number<unsigned>();
      last.read_factor = set.at("reach").to_number<unsigned>();
    });
  }
  return last;
}

std::set<std::size_t> SwarmChecks::owners_of_partition(const redundancy::Partition& partition) const {
  const unsigned copies = redundancy::copies_in_storage(options_.storage_replicas);
  std::set<std::size_t> found;
  for (unsigned copy = 0; copy < copies; ++copy) {
    const RingId position = replica_key(partition.key(), copy, copies);
    for (const std::size_t node : world_.up()) {
      if (world_.node(node).rings().of(Ring::kStorage).serving(position) != nullptr) found.insert(node);
    }
  }
  return found;
}

// Every owner holds all, tombstones included, so that no replica hides the fault of another. Others keep what
// they had of it, since a history stays until there is no room (ARCHITECTURE.md): it may be behind, but not
// wrong.
std::string SwarmChecks::wrong_disks() {
  const unsigned copies = redundancy::copies_in_storage(options_.storage_replicas);
  for (const std::string& tag : tags_) {
    const redundancy::StorageSet set = set_of(tag);
    std::map<unsigned, std::map<std::size_t, Held>> owned;
    for (const unsigned number : redundancy::partitions_of_set(copies, set.read_factor)) {
      const redundancy::Partition partition{set.tag, number};
      const std::set<std::size_t> owning = owners_of_partition(partition);
      if (owning.empty()) return fmt::format("nobody owns the history of #{}", partition.name());
      for (const std::size_t node : world_.up()) {
        Held held;
        const std::string wrong = wrong_disk(node, partition, &held);
        if (!wrong.empty()) return wrong;
        if (owning.contains(node)) owned[number].emplace(node, std::move(held));
      }
    }
    if (std::string wrong = wrong_owners(set, owned); !wrong.empty()) return wrong;
  }
  return {};
}

std::string SwarmChecks::wrong_disk(std::size_t node, const redundancy::Partition& partition, Held* held) {
  std::optional<storage::HistoryCursor> cursor;
  for (bool more = true; more;) {
    const auto page = world_.await_on(node, world_.history_store(node).page(partition, cursor, 500), kRead);
    if (!page || !*page) return fmt::format("node {} cannot read its disk", node);
    if (const std::string wrong = wrong_entries((*page)->entries, partition.tag.canonical()); !wrong.empty())
      return fmt::format("the disk of node {} {} under #{}", node, wrong, partition.name());
    for (const storage::HistoryEntry& entry : (*page)->entries) held->emplace(entry.uri, entry.removed);
    more = (*page)->more;
    cursor = (*page)->next;
  }
  return {};
}

// A post is, as it is, in one partition of those in which it may be, at all owners. Where there are several,
// what is older may stand in another one, and readers go by what is later: an Add goes to the partition of
// its day, and a removal to those of its day, so an Add that is brought again after a doubling does not meet
// it.
std::string SwarmChecks::wrong_owners(const redundancy::StorageSet& set,
                                      const std::map<unsigned, std::map<std::size_t, Held>>& owned) {
  const unsigned copies = redundancy::copies_in_storage(options_.storage_replicas);
  const std::string& tag = set.tag.canonical();
  const bool is_divided = set.read_factor > options_.storage_replicas;
  for (const auto& [uri, post] : posts_under(tag)) {
    bool is_whole = false;
    std::string lacking;
    for (const unsigned number :
         redundancy::partitions_of_post(uri, copies, options_.storage_replicas, set.read_factor)) {
      std::size_t lack = 0;
      for (const auto& [node, held] : owned.at(number)) {
        const auto entry = held.find(uri);
        const bool is_right = entry != held.end() && entry->second != post->is_under(tag);
        if (!is_right && !is_divided && entry != held.end())
          return fmt::format("node {}, which owns #{}, has {} as {}", node, tag, uri,
                             entry->second ? "removed" : "living");
        if (is_right) continue;
        ++lack;
        lacking += fmt::format("{}node {}", lacking.empty() ? "" : ", ", node);
      }
      is_whole = is_whole || lack == 0;
    }
    if (!is_whole) return fmt::format("{}, which owns #{}, lacks {}", lacking, tag, uri);
  }
  return {};
}

// What each owner signs of each post is what its disk says, whatever it remembers of the hour from before.
// Where there are partitions, a post may be in one of several, and what is signed of the others is true.
std::string SwarmChecks::wrong_heads() {
  for (const std::string& tag : tags_) {
    if (set_of(tag).read_factor > options_.storage_replicas) continue;
    std::map<std::int64_t, std::vector<const sim::World::Post*>> hours;
    for (const auto& [uri, post] : posts_under(tag)) hours[storage::hour_of(post->dated)].push_back(post);
    for (const std::size_t node : owners(Ring::kStorage, tag)) {
      for (const auto& [hour, posts] : hours) {
        for (std::size_t from = 0; from < posts.size(); from += kHeadIds) {
          const auto some = std::span(posts).subspan(from, std::min(kHeadIds, posts.size() - from));
          const std::string wrong = wrong_head(node, tag, hour, some);
          if (!wrong.empty()) return fmt::format("node {}, which owns #{}, signs {}", node, tag, wrong);
        }
      }
    }
  }
  return {};
}

std::string SwarmChecks::wrong_head(std::size_t node, const std::string& tag, std::int64_t hour,
                                    std::span<const sim::World::Post* const> posts) {
  std::vector<std::string> ids;
  for (const sim::World::Post* post : posts) ids.push_back(to_hex(storage::post_id(post->uri)));
  HttpRequest request;
  request.method = "GET";
  request.target = fmt::format("{}?tag={}&hour={}&id={}", audit::SignedTreeHeads::kPath, percent_encode(tag),
                               hour, fmt::join(ids, ","));
  const auto response = world_.await_on(node, world_.node(node).answer(std::move(request)), kRead);
  if (!response || response->status != 200) return "no head: " + (response ? response->body : "");
  const json::object body = json::parse_object(response->body).value();
  const storage::Head head = storage::head_from_json(body.at("head").as_object()).value();
  if (!world_.key(node).public_key().verify(head.signed_text(), head.signature))
    return "a head with another key";
  for (std::size_t i = 0; i < posts.size(); ++i) {
    const auto proof = storage::proof_from_json(body.at("proofs").as_array().at(i).as_object());
    const auto state = proof->state(head, storage::post_id(posts[i]->uri));
    const auto truth = posts[i]->is_under(tag) ? storage::PostState::kLive : storage::PostState::kRemoved;
    const bool says_nothing = state && *state == storage::PostState::kAbsent;
    if (says_nothing && has_only_heard(node, tag, posts[i]->uri)) continue;
    if (state != truth)
      return fmt::format("{} as {}", posts[i]->uri,
                         state ? storage::to_string(*state) : state.error().message);
  }
  return {};
}

// That it was removed: nobody signs that of what others said.
bool SwarmChecks::has_only_heard(std::size_t node, const std::string& tag, const std::string& uri) {
  const auto found =
      world_.await_on(node, world_.history_store(node).find({{Tag::from_canonical(tag), uri}}), kRead);
  return found && *found && (*found)->front() && (*found)->front()->changed == storage::kBeforeAll;
}

// Each relay knows who follows, and has what was published at rest and falls to it.
std::string SwarmChecks::wrong_relays() {
  const unsigned relays = options_.relay_replicas;
  const unsigned copies = redundancy::copies_of_post(relays);
  for (const std::string& tag : tags_) {
    for (const std::size_t relay : owners(Ring::kRelay, tag)) {
      const std::string wrong = wrong_followers(relay, tag);
      if (!wrong.empty()) return wrong;
    }
    for (std::size_t n = first_at_rest_; n < world_.posts().size(); ++n) {
      const sim::World::Post& post = world_.posts()[n];
      for (unsigned copy = 0; post.is_under(tag) && copy < copies; ++copy) {
        const unsigned index = redundancy::relay_of_post(post.uri, copy, copies, relays);
        const RingId position = replica_key(Tag::from_canonical(tag).key(), index, relays);
        for (const std::size_t node : world_.up()) {
          if (world_.node(node).rings().of(Ring::kRelay).serving(position) != nullptr &&
              !world_.feed(node, tag).contains(post.uri))
            return fmt::format("node {}, relay {} of #{}, lacks {}", node, index, tag, post.uri);
        }
      }
    }
  }
  return {};
}

// Who has unfollowed is told to a relay once; one that goes on announcing is told again
// (docs/protocol.md, 7.4). So where it has nothing to announce, it may still count who once wanted the
// hashtag.
std::string SwarmChecks::wrong_followers(std::size_t relay, const std::string& tag) {
  std::set<std::string> followers;
  std::pair<std::optional<Tag>, std::string> last;
  for (;;) {
    const auto page =
        world_.await_on(relay, world_.relay_store(relay).followers(last.first, last.second, 1'000), kRead);
    if (!page || !*page) return fmt::format("node {} cannot read its followers", relay);
    if ((*page)->empty()) break;
    last = {(*page)->back().tag, (*page)->back().actor};
    for (const delivery::Follower& follower : **page) {
      if (follower.tag.canonical() == tag) followers.insert(follower.actor);
    }
  }
  for (const std::size_t node : world_.up()) {
    if (node == relay || unknown_.contains({node, tag})) continue;  // nobody follows itself
    const bool counts = followers.contains(sim::World::node_origin(node) + "/actor");
    const bool wants = is_wanted(node, tag);
    if (wants && !counts)
      return fmt::format("node {}, which relays #{}, does not know that node {} follows", relay, tag, node);
    if (counts && !wants && !former_.contains({node, tag}))
      return fmt::format("node {}, which relays #{}, believes that node {} follows", relay, tag, node);
  }
  return {};
}

// Who wants a hashtag follows its relays of today, and nobody follows anything else.
std::string SwarmChecks::wrong_subscriptions() {
  std::map<std::string, std::set<std::string>> relays;
  for (const std::string& tag : tags_) {
    for (const std::size_t relay : owners(Ring::kRelay, tag))
      relays[tag].insert(sim::World::node_origin(relay));
  }
  for (const std::size_t node : world_.up()) {
    const auto kept = world_.await_on(node, world_.relay_store(node).subscriptions(), kRead);
    if (!kept || !*kept) return fmt::format("node {} cannot read its subscriptions", node);
    std::map<std::string, std::set<std::string>> followed;
    for (const delivery::Subscription& one : **kept) followed[one.tag.canonical()].insert(one.owner);
    for (const std::string& tag : tags_) {
      if (unknown_.contains({node, tag})) continue;
      std::set<std::string> expected = is_wanted(node, tag) ? relays[tag] : std::set<std::string>();
      expected.erase(sim::World::node_origin(node));
      if (followed[tag] != expected)
        return fmt::format("node {} follows #{} at {} on its disk, at {} as it knows, instead of {}", node,
                           tag, fmt::join(followed[tag], " "),
                           fmt::join(world_.node(node).subscriber().owners_of(Tag::from_canonical(tag)), " "),
                           fmt::join(expected, " "));
    }
  }
  return {};
}

}  // namespace tagring::runs
