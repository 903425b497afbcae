// What storage owners hold at rest: sets, histories, their digests, and what is signed of them.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "audit/signed_tree_heads.hpp"
#include "base/bytes.hpp"
#include "base/json.hpp"
#include "crypto/key.hpp"
#include "crypto/merkle.hpp"
#include "hashtag/tag.hpp"
#include "http/url.hpp"
#include "node/node.hpp"
#include "redundancy/storage_place.hpp"
#include "ring/vserver.hpp"
#include "runs/swarm_checks.hpp"
#include "sim/world.hpp"
#include "storage/statements.hpp"

namespace tagring::runs {
namespace {

constexpr std::size_t kHeadIds = audit::SignedTreeHeads::kIdsMax;
constexpr std::size_t kBucketPage = 500;

std::string text_of_set(const redundancy::StorageSet& set) {
  return fmt::format("version {} of {} owners, reach {}", set.version, set.replicas, set.read_factor);
}

redundancy::StorageSet set_from(const json::object& object) {
  return {Tag::from_canonical(json::text_of(object, "tag")), object.at("version").to_number<std::uint64_t>(),
          object.at("replicas").to_number<unsigned>(), object.at("reach").to_number<unsigned>(),
          WallTime(Duration(object.at("at").to_number<Duration::rep>()))};
}

}  // namespace

// --- sets --------------------------------------------------------------------------------------------------

redundancy::StorageSet SwarmChecks::set_at_rest(const std::string& tag) const {
  return {Tag::from_canonical(tag), 0, options_.storage_replicas, options_.storage_replicas, {}};
}

SwarmChecks::Sets SwarmChecks::sets_in_memory(std::size_t node) {
  Sets sets;
  const json::object status = world_.node(node).status();
  json::for_each(json::find(status, "storage_sets"), [&](const json::value& element) {
    redundancy::StorageSet set = set_from(element.as_object());
    std::string tag = set.tag.canonical();
    sets.insert_or_assign(std::move(tag), std::move(set));
  });
  return sets;
}

redundancy::StorageSet SwarmChecks::set_of(const std::string& tag) {
  redundancy::StorageSet last = set_at_rest(tag);
  for (const std::size_t node : world_.up()) {
    const Sets sets = sets_in_memory(node);
    const auto kept = sets.find(tag);
    if (kept != sets.end() && redundancy::supersedes(kept->second, last)) last = kept->second;
  }
  return last;
}

// What is kept in memory is on the disk, and nothing else.
std::string SwarmChecks::wrong_sets_on_disk(std::size_t node, const Sets& in_memory) {
  const auto kept = world_.await_on(node, world_.history_store(node).sets(), kRead);
  if (!kept || !*kept) return fmt::format("node {} cannot read its storage sets", node);
  Sets on_disk;
  for (const redundancy::StorageSet& set : **kept) on_disk.emplace(set.tag.canonical(), set);
  for (const std::string& tag : tags_) {
    const auto disk = on_disk.find(tag);
    const auto memory = in_memory.find(tag);
    const bool has_disk = disk != on_disk.end();
    const bool has_memory = memory != in_memory.end();
    if (has_disk != has_memory || (has_disk && disk->second != memory->second))
      return fmt::format("node {} keeps of #{} {} on its disk, and {} in memory", node, tag,
                         has_disk ? text_of_set(disk->second) : "no set",
                         has_memory ? text_of_set(memory->second) : "no set");
  }
  return {};
}

// All owners of a hashtag keep the same, but for the time where clocks differ (docs/protocol.md, 6.2). Who is
// none may keep an earlier one: it asks the owners at rest now and then whether they keep a later one.
std::string SwarmChecks::wrong_sets() {
  std::map<std::size_t, Sets> kept;
  for (const std::size_t node : world_.up()) {
    const Sets& sets = kept[node] = sets_in_memory(node);
    if (std::string wrong = wrong_sets_on_disk(node, sets); !wrong.empty()) return wrong;
  }
  for (const std::string& tag : tags_) {
    const auto kept_by = [&](std::size_t node) {
      const auto set = kept[node].find(tag);
      return set == kept[node].end() ? set_at_rest(tag) : set->second;
    };
    const std::set<std::size_t> owning = owners(Ring::kStorage, tag, set_of(tag).read_factor);
    if (owning.empty()) return fmt::format("nobody owns the history of #{}", tag);
    const redundancy::StorageSet set = kept_by(*owning.begin());
    for (const std::size_t node : world_.up()) {
      const redundancy::StorageSet own = kept_by(node);
      const bool is_earlier = redundancy::supersedes(set, own);
      if (redundancy::supersedes(own, set) || (is_earlier && owning.contains(node)))
        return fmt::format("node {}, which {} #{}, keeps {}; node {}, which owns it, {}", node,
                           owning.contains(node) ? "owns" : "does not own", tag, text_of_set(own),
                           *owning.begin(), text_of_set(set));
    }
  }
  return {};
}

// --- histories ---------------------------------------------------------------------------------------------

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
        if (std::string wrong = wrong_disk(node, partition, &held); !wrong.empty()) return wrong;
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

// What owners compare: it says how many there are, and the same of the same, or they would never meet, or
// never come to an end. A post may be written between the two that are read, so it is not looked at without
// patience.
std::string SwarmChecks::wrong_digests() {
  const unsigned copies = redundancy::copies_in_storage(options_.storage_replicas);
  for (const std::string& tag : tags_) {
    const redundancy::StorageSet set = set_of(tag);
    for (const unsigned number : redundancy::partitions_of_set(copies, set.read_factor)) {
      const redundancy::Partition partition{set.tag, number};
      Digests digests;
      for (const std::size_t node : world_.up()) {
        Held held;
        std::string wrong = wrong_disk(node, partition, &held);
        if (wrong.empty()) wrong = wrong_digest(node, partition, held, &digests);
        if (!wrong.empty()) return wrong;
      }
    }
  }
  return {};
}

std::string SwarmChecks::wrong_digest(std::size_t node, const redundancy::Partition& partition,
                                      const Held& held, Digests* digests) {
  const storage::HourRange range{{partition.key(), 0}, {partition.key(), storage::kHourMax}};
  const auto found = world_.await_on(node, world_.history_store(node).digests({range}, 0), kRead);
  if (!found || !*found) return fmt::format("node {} cannot read its digests", node);
  const storage::HourDigest& digest = (*found)->front();
  if (digest.posts != held.size())
    return fmt::format("node {} counts {} posts under #{}, and has {}", node, digest.posts, partition.name(),
                       held.size());
  const auto [same, is_first] = digests->emplace(held, std::pair(node, digest.digest));
  if (is_first || same->second.second == digest.digest) return {};
  return fmt::format("nodes {} and {} have the same under #{}, with digests {} and {}", same->second.first,
                     node, partition.name(), same->second.second, digest.digest);
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

// --- heads -------------------------------------------------------------------------------------------------

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

// The answer with the head, which this node has signed.
Result<json::object> SwarmChecks::ask_head(std::size_t node, const redundancy::Partition& partition,
                                           std::int64_t hour, const std::vector<std::string>& ids) {
  HttpRequest request;
  request.method = "GET";
  request.target =
      fmt::format("{}?tag={}&slot={}&hour={}&id={}", audit::SignedTreeHeads::kPath,
                  percent_encode(partition.tag.canonical()), partition.number, hour, fmt::join(ids, ","));
  const auto response = world_.await_on(node, world_.node(node).answer(std::move(request)), kRead);
  if (!response || response->status != 200)
    return fail(ErrorCode::kUnavailable, "no head: " + (response ? response->body : ""));
  TRY(json::object body, json::parse_object(response->body));
  TRY(const storage::Head head, storage::head_from_json(body.at("head").as_object()));
  if (!world_.key(node).public_key().verify(head.signed_text(), head.signature))
    return fail(ErrorCode::kInvalid, "a head with another key");
  return body;
}

std::string SwarmChecks::wrong_head(std::size_t node, const std::string& tag, std::int64_t hour,
                                    std::span<const sim::World::Post* const> posts) {
  std::vector<std::string> ids;
  for (const sim::World::Post* post : posts) ids.push_back(to_hex(storage::post_id(post->uri)));
  const Result<json::object> body = ask_head(node, Tag::from_canonical(tag), hour, ids);
  if (!body) return body.error().message;
  const storage::Head head = storage::head_from_json(body->at("head").as_object()).value();
  for (std::size_t i = 0; i < posts.size(); ++i) {
    const auto proof = storage::proof_from_json(body->at("proofs").as_array().at(i).as_object());
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

// What a head of that hour has to be made of: what is on the disk, but what was only heard, and what was
// there until it was corrected.
std::optional<std::vector<storage::HeadLeaf>> SwarmChecks::leaves_on_disk(
    std::size_t node, const redundancy::Partition& partition, std::int64_t hour) {
  std::map<crypto::Hash256, storage::PostState> states;
  std::optional<storage::HistoryCursor> after;
  do {
    const auto page =
        world_.await_on(node, world_.history_store(node).bucket(partition, hour, after, kBucketPage), kRead);
    if (!page || !*page) return std::nullopt;
    for (const storage::HistoryEntry& entry : (*page)->entries) {
      if (entry.removed && entry.is_hearsay()) continue;
      states[storage::post_id(entry.uri)] =
          entry.removed ? storage::PostState::kRemoved : storage::PostState::kLive;
    }
    for (const crypto::Hash256& id : (*page)->corrected) states.emplace(id, storage::PostState::kCorrected);
    after.reset();
    if ((*page)->entries.size() == kBucketPage) after = storage::HistoryCursor::of((*page)->entries.back());
  } while (after);
  std::vector<storage::HeadLeaf> leaves;
  for (const auto& [id, state] : states) leaves.push_back({id, state});
  return leaves;
}

// Of every hour of each partition.
std::string SwarmChecks::wrong_roots() {
  const unsigned copies = redundancy::copies_in_storage(options_.storage_replicas);
  for (const std::string& tag : tags_) {
    std::set<std::int64_t> hours;
    for (const auto& [uri, post] : posts_under(tag)) hours.insert(storage::hour_of(post->dated));
    const redundancy::StorageSet set = set_of(tag);
    for (const unsigned number : redundancy::partitions_of_set(copies, set.read_factor)) {
      const redundancy::Partition partition{set.tag, number};
      for (const std::size_t node : owners_of_partition(partition)) {
        for (const std::int64_t hour : hours) {
          const std::string wrong = wrong_root(node, partition, hour);
          if (!wrong.empty())
            return fmt::format("node {}, which owns #{}, signs of hour {} {}", node, partition.name(), hour,
                               wrong);
        }
      }
    }
  }
  return {};
}

std::string SwarmChecks::wrong_root(std::size_t node, const redundancy::Partition& partition,
                                    std::int64_t hour) {
  const auto leaves = leaves_on_disk(node, partition, hour);
  if (!leaves) return "what it cannot read";
  const Result<json::object> body = ask_head(node, partition, hour, {});
  if (!body) return body.error().message;
  const storage::Head head = storage::head_from_json(body->at("head").as_object()).value();
  if (head.partition != partition || head.hour != hour) return "another partition or hour";
  if (head.size != leaves->size())
    return fmt::format("{} posts, and has {} on its disk", head.size, leaves->size());
  return head.root == crypto::HashTree(storage::leaf_hashes(*leaves)).root()
             ? ""
             : "another root than that of what is on its disk";
}

// That it was removed: nobody signs that of what others said.
bool SwarmChecks::has_only_heard(std::size_t node, const std::string& tag, const std::string& uri) {
  const auto found =
      world_.await_on(node, world_.history_store(node).find({{Tag::from_canonical(tag), uri}}), kRead);
  if (!found || !*found || !(*found)->front()) return false;
  return (*found)->front()->removed && (*found)->front()->is_hearsay();
}

}  // namespace tagring::runs
