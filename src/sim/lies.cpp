#include "sim/lies.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "delivery/wire.hpp"
#include "fediverse/documents.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/overload_token.hpp"
#include "relay/relay_redundancy.hpp"
#include "storage/storage_redundancy.hpp"

namespace tagring::sim {
namespace {

constexpr const char* kRelay = "relay";
constexpr const char* kStorage = "storage";
constexpr const char* kKeeper = "keeper";
constexpr const char* kPublisher = "publisher";
constexpr unsigned kRelays = 2;                      // at rest
constexpr unsigned kStores = 4;                      // at rest
constexpr unsigned kPossibleOwners = 16;             // of a set that honest nodes may keep
constexpr std::size_t kTagsEach = 2;                 // hashtags about which a liar lies at a time
constexpr Duration kShift = std::chrono::hours(30);  // of false dates

std::string origin_of_node(std::size_t i) { return fmt::format("https://tags.n{}.example", i); }
std::string actor_of_node(std::size_t i) { return origin_of_node(i) + "/actor"; }

// The same for each liar, so that they say the same.
unsigned share_of(const std::string& uri, unsigned shares) {
  unsigned sum = 0;
  for (const char letter : uri) sum = sum * 31 + static_cast<unsigned char>(letter);
  return (sum >> 8U) % shares;
}

std::set<std::size_t> owners_at(World& world, Ring ring, const RingId& key, unsigned replicas) {
  std::set<std::size_t> owners;
  for (unsigned replica = 0; replica < replicas; ++replica) {
    const RingId position = replica_key(key, replica, replicas);
    for (const std::size_t i : world.up())
      if (world.node(i).rings().of(ring).owning(position) != nullptr) owners.insert(i);
  }
  return owners;
}

}  // namespace

std::map<std::string, Owners> owners_of(World& world, const std::vector<std::string>& tags) {
  std::map<std::string, Owners> owners;
  for (const std::string& tag : tags) {
    const RingId key = Tag::from_canonical(tag).key();
    owners[tag] = {owners_at(world, Ring::kRelay, key, kRelays),
                   owners_at(world, Ring::kStorage, key, kStores), owners_at(world, Ring::kStorage, key, 1)};
  }
  return owners;
}

Lies::Lies(std::uint64_t seed, std::set<std::size_t> liars, LiarRoles roles, std::vector<std::string> tags)
    : liars_(std::move(liars)), roles_(roles), tags_(std::move(tags)), rng_(Rng(seed).fork("lies")) {}

void Lies::shape(WorldOptions* options) {
  options->relay_replicas = kRelays;
  options->storage_replicas = kStores;
  if (roles_.relay) {
    options->drops_relayed = [this](std::size_t node, const std::string& uri) {
      const bool drops = liars_.contains(node) && share_of(uri, 3) == 0;
      if (drops) ++told_[kRelay];
      return drops;
    };
  }
  if (roles_.storage) {
    options->forges_stored = [this](std::size_t node, Entries entries) {
      return liars_.contains(node) ? forge_entries(std::move(entries)) : entries;
    };
  }
  options->lie = [this](std::size_t node, const HttpRequest& request) { return answer(node, request); };
}

void Lies::begin(World& world, std::map<std::string, std::set<std::size_t>> subscribers,
                 std::string bystander) {
  world_ = &world;
  subscribers_ = std::move(subscribers);
  bystander_ = std::move(bystander);
}

// --- stores ------------------------------------------------------------------------------------------------

// A part is as it is, so that the owner looks like one that is trusted.
Lies::Entries Lies::forge_entries(Entries entries) {
  Entries forged;
  for (storage::HistoryEntry& entry : entries) {
    const unsigned share = share_of(entry.uri, 5);
    if (entry.removed || share != 0) ++told_[kStorage];
    if (entry.removed) {
      // As if the hashtag had been put back since.
      entry.changed = std::max(entry.published, entry.changed) + kShift;
      entry.removed = false;
    } else if (share == 1) {
      entry.removed = true;
    } else if (share == 2) {
      entry.published -= kShift;
    } else if (share == 3) {
      entry.author += "0";
    } else if (share == 4) {
      continue;
    }
    forged.push_back(std::move(entry));
  }
  return forged;
}

void Lies::tell_as_storage(std::size_t liar, const std::string& tag) {
  Entries entries;
  for (const delivery::TagEvent& event : some(tag, 2)) {
    entries.push_back({event.tag, event.uri, event.author, event.published, true});
  }
  for (const std::string& host : {honest_host(), bystander_}) {
    const delivery::TagEvent event = invent(tag, host);
    entries.push_back({event.tag, event.uri, event.author, event.published});
  }
  told_[kStorage] += entries.size();
  world_->await(world_->history_store(liar).put(std::move(entries)), std::chrono::seconds(10));
}

// --- what they send ----------------------------------------------------------------------------------------

void Lies::tell(std::map<std::string, Owners> owners) {
  owners_ = std::move(owners);
  for (const std::size_t liar : liars_) {
    if (!world_->is_up(liar)) continue;
    if (roles_.relay)
      for (const std::string& tag : pick(liar, &Owners::relays)) tell_as_relay(liar, tag);
    if (roles_.storage)
      for (const std::string& tag : pick(liar, &Owners::stores)) tell_as_storage(liar, tag);
    if (roles_.keeper) {
      for (const std::string& tag : pick(liar, &Owners::coordinators)) tell_as_keeper(liar, tag);
      for (const std::string& tag : pick(liar, &Owners::relays)) tell_as_keeper(liar, tag);
    }
    if (roles_.neighbour) tell_as_neighbour(liar);
    if (roles_.publisher)
      for (const std::string& tag : pick(liar, nullptr)) tell_as_publisher(liar, tag);
  }
}

void Lies::outrun(const World::Post& post) {
  for (const std::string& tag : post.tags) {
    delivery::TagEvent event{Tag::from_canonical(tag),
                             delivery::Op::kAdd,
                             post.uri,
                             post.uri.substr(0, post.uri.rfind('/')),
                             post.dated,
                             true};
    const Events forged{altered(std::move(event), static_cast<Kind>(rng_.below(3)))};
    const Owners& owners = owners_[tag];
    for (const std::size_t liar : owners.relays) {
      if (!roles_.relay || !is_liar(liar) || !world_->is_up(liar)) continue;
      for (const std::size_t to : honest(owners.stores)) send(liar, to, kRelay, "/storage", forged);
      for (const std::size_t to : honest(subscribers_[tag])) send(liar, to, kRelay, "", forged);
    }
    const auto liar = liars_.empty()
                          ? liars_.end()
                          : std::next(liars_.begin(), static_cast<std::ptrdiff_t>(rng_.below(liars_.size())));
    if (!roles_.publisher || liar == liars_.end() || !world_->is_up(*liar)) continue;
    for (const std::size_t to : honest(owners.relays)) send(*liar, to, kPublisher, "/relay", forged);
  }
}

void Lies::tell_as_relay(std::size_t liar, const std::string& tag) {
  const Events adds = false_adds(tag);
  const Events removes = removals(some(tag, 2));
  for (const Events& events : {adds, removes}) {
    for (const std::size_t to : honest(owners_[tag].stores)) send(liar, to, kRelay, "/storage", events);
    for (const std::size_t to : honest(subscribers_[tag])) send(liar, to, kRelay, "", events);
  }
}

void Lies::tell_as_publisher(std::size_t liar, const std::string& tag) {
  const Events adds = false_adds(tag);
  const Events removes = removals(some(tag, 2));
  for (const std::size_t to : honest(owners_[tag].relays)) {
    send(liar, to, kPublisher, "/relay", adds);
    send(liar, to, kPublisher, "/relay", removes);
  }
}

// A set of owners that no set can supersede, and one that may be; and a set of relays that is too small, so
// that those who would be the next come for the list of followers.
void Lies::tell_as_keeper(std::size_t liar, const std::string& tag) {
  for (const std::size_t to : honest(owners_[tag].stores)) {
    const redundancy::StorageSet possible{Tag::from_canonical(tag), 1, kPossibleOwners, kPossibleOwners,
                                          world_->loop.wall_now()};
    for (json::object set : {false_set(tag).front().as_object(), redundancy::to_json(possible)}) {
      set["action"] = "set";
      set["nonce"] = ++made_;
      world_->forge_later(liar, to, std::string(storage::StorageRedundancy::kPath), json::serialize(set));
      ++told_[kKeeper];
    }
  }
  redundancy::OverloadToken token{
      Tag::from_canonical(tag), kRelays, actor_of_node(liar), world_->loop.wall_now(), {}};
  token.signature = world_->key(liar).sign(token.signed_text("tagring"));
  const RingId key = Tag::from_canonical(tag).key();
  for (unsigned place = 0; place < kRelays; ++place) {
    const std::set<std::size_t> of_place =
        owners_at(*world_, Ring::kRelay, replica_key(key, place, kRelays), 1);
    if (!of_place.contains(liar)) continue;
    for (const std::size_t to :
         honest(owners_at(*world_, Ring::kRelay, replica_key(key, 2 * place + 1, 2 * kRelays), 1))) {
      const json::object spare = {{"action", "spare"}, {"tag", tag},   {"index", place},
                                  {"of", kRelays},     {"relays", 4U}, {"nonce", ++made_}};
      world_->forge_later(liar, to, std::string(relay::RelayRedundancy::kPath), json::serialize(spare));
      world_->forge_later(liar, to, "/inbox",
                          delivery::add_activity(new_id(liar), actor_of_node(liar),
                                                 origin_of_node(to) + "/relay", some(tag, 1), {{}, {token}}));
      told_[kKeeper] += 2;
    }
  }
}

// To a subscriber if there is no target. All events are of one kind.
void Lies::send(std::size_t liar, std::size_t to, const char* role, const std::string& target,
                const Events& events) {
  if (events.empty()) return;
  const std::string actor = actor_of_node(liar);
  const bool adds = events.front().op == delivery::Op::kAdd;
  const std::string whole = origin_of_node(to) + target;
  std::string body;
  if (target.empty()) {
    body = adds ? delivery::announce_activity(new_id(liar), actor, events, world_->loop.wall_now(), {})
                : delivery::undo_announce_activity(new_id(liar), actor, events, {});
  } else {
    body = adds ? delivery::add_activity(new_id(liar), actor, whole, events)
                : delivery::remove_activity(new_id(liar), actor, whole, events);
  }
  told_[role] += events.size();
  world_->forge_later(liar, to, "/inbox", std::move(body));
}

// --- made up -----------------------------------------------------------------------------------------------

delivery::TagEvent Lies::invent(const std::string& tag, const std::string& host) {
  const std::string author = fmt::format("https://{}/users/alice", host);
  return {Tag::from_canonical(tag),
          delivery::Op::kAdd,
          fmt::format("{}/never{}", author, ++made_),
          author,
          world_->loop.wall_now(),
          true};
}

std::string Lies::honest_host() {
  std::vector<std::size_t> nodes = world_->up();
  std::erase_if(nodes, [this](std::size_t i) { return is_liar(i); });
  return fmt::format("n{}.example", nodes.at(rng_.below(nodes.size())));
}

Lies::Events Lies::some(const std::string& tag, std::size_t count) {
  Events living;
  for (const World::Post& post : world_->posts()) {
    if (!post.acknowledged || post.deletion_sent || std::ranges::find(post.tags, tag) == post.tags.end())
      continue;
    living.push_back({Tag::from_canonical(tag), delivery::Op::kAdd, post.uri,
                      post.uri.substr(0, post.uri.rfind('/')), post.dated, true});
  }
  Events chosen;
  for (std::size_t n = 0; n < count && !living.empty(); ++n)
    chosen.push_back(living[rng_.below(living.size())]);
  return chosen;
}

Lies::Events Lies::false_adds(const std::string& tag) {
  Events events = {invent(tag, honest_host()), invent(tag, bystander_)};
  for (delivery::TagEvent& event : revived(tag)) events.push_back(std::move(event));
  for (const Kind kind : {Kind::kDate, Kind::kAuthor}) {
    for (delivery::TagEvent& event : some(tag, 1)) events.push_back(altered(std::move(event), kind));
  }
  return events;
}

// What has left the hashtag, as if it had been put back just now.
Lies::Events Lies::revived(const std::string& tag) {
  Events gone;
  for (const World::Post& post : world_->posts()) {
    if (!post.left.contains(tag)) continue;
    gone.push_back({Tag::from_canonical(tag), delivery::Op::kAdd, post.uri,
                    post.uri.substr(0, post.uri.rfind('/')), post.dated, true, "", world_->loop.wall_now()});
  }
  if (gone.empty()) return gone;
  return {gone[rng_.below(gone.size())]};
}

Lies::Events Lies::removals(Events events) {
  for (delivery::TagEvent& event : events) event = altered(std::move(event), Kind::kRemoved);
  return events;
}

delivery::TagEvent Lies::altered(delivery::TagEvent event, Kind kind) {
  if (kind == Kind::kRemoved) event.op = delivery::Op::kRemove;
  // For ever, or as of a time that may be still to come.
  if (kind == Kind::kRemoved && to_ms(event.published) % 2 == 0)
    event.changed = event.published + std::chrono::minutes(10);
  if (kind == Kind::kDate) event.published -= kShift;
  if (kind == Kind::kAuthor) event.author += "0";
  return event;
}

std::set<std::size_t> Lies::honest(const std::set<std::size_t>& nodes) const {
  std::set<std::size_t> result;
  for (const std::size_t node : nodes)
    if (!is_liar(node) && world_->is_up(node)) result.insert(node);
  return result;
}

// Some hashtags that it owns so; some of all without `owners`.
std::vector<std::string> Lies::pick(std::size_t liar, std::set<std::size_t> Owners::* owners) {
  std::vector<std::string> own;
  for (const auto& [tag, all] : owners_)
    if (owners == nullptr || (all.*owners).contains(liar)) own.push_back(tag);
  return draw(rng_, std::move(own), kTagsEach);
}

std::string Lies::new_id(std::size_t liar) {
  return fmt::format("{}/lies/{}", origin_of_node(liar), ++made_);
}

}  // namespace tagring::sim
