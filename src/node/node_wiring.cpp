#include "node/node_wiring.hpp"

#include <set>

#include "belief/trace.hpp"
#include "budget/manager.hpp"
#include "federation/blocks.hpp"
#include "http/url.hpp"

namespace tagring::node {
namespace {
constexpr Duration kNeighboursEvery = std::chrono::seconds(10);
}

// --- overlay::Observer -------------------------------------------------------------------------------------

void NodeWiring::segment_changed(Ring ring, ring::Vserver& vserver) {
  note_neighbours();
  parts_.handover.reassign.segment_changed(ring, vserver);
  parts_.handover.transfer.segment_changed(ring, vserver);
  if (ring == Ring::kRelay) parts_.relay.subscriptions.renew_soon();
}

void NodeWiring::note_neighbours() {
  neighbours_noted_ = parts_.environment.clock.now();
  std::vector<budget::Manager::Neighbour> neighbours;
  const auto note = [&](const ring::Contact& contact) {
    neighbours.push_back({contact.host, contact.address});
  };
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    for (const auto& vserver : parts_.rings.service.of(ring).vservers()) {
      if (vserver->predecessor()) note(*vserver->predecessor());
      for (const ring::Contact& contact : vserver->successors().contacts()) note(contact);
    }
  }
  parts_.speech.budget.set_neighbours(neighbours);
}

void NodeWiring::handed_over(Ring ring, const RingId& vserver) {
  parts_.handover.reassign.handed_over(ring, vserver);
}

void NodeWiring::gave_up(Ring ring, const RingId& vserver, const Segment& positions, Instant since) {
  parts_.handover.reassign.gave_up(ring, vserver, positions, since);
}

Task<Result<void>> NodeWiring::take_over(Ring ring, ring::Contact asked, ring::TakeOver request) {
  return parts_.handover.transfer.take_over(ring, std::move(asked), std::move(request));
}

Task<Result<ring::Load>> NodeWiring::load_of(Ring ring, Segment segment) {
  return parts_.rings.balancer.load_of(ring, segment);
}

bool NodeWiring::is_blocked(std::string_view host) const {
  return parts_.speech.blocks.of_host(host) != nullptr;
}

// --- delivery::Observer
// ---------------------------------------------------------------------------------------

Task<Result<std::vector<delivery::Refusal>>> NodeWiring::take_as_owner(
    Ring ring, std::vector<delivery::TagEvent> events) {
  return ring == Ring::kRelay
             ? relay_own(std::move(events))
             : parts_.storage.owner.take(std::move(events), parts_.speech.identity.origin(), {});
}

// What Inbox does for other publishers, and OwnerQueue with the answer.
Task<Result<std::vector<delivery::Refusal>>> NodeWiring::relay_own(std::vector<delivery::TagEvent> events) {
  std::set<Tag> tags;
  for (const delivery::TagEvent& event : events) tags.insert(event.tag);
  redundancy::RelayHints& relays = parts_.rings.relays;
  auto refusals =
      co_await parts_.relay.owner.take(events, parts_.speech.identity.origin(), relays.tokens(tags));
  if (refusals) parts_.health.seen.note_answer(events, *refusals);
  if (refusals) relays.read_answer(parts_.relay.redundancy.news(tags, *refusals), tags);
  co_return refusals;
}

void NodeWiring::published(const delivery::PublishedPost& post) {
  std::vector<std::string> tags;
  for (const Tag& tag : post.tags) tags.push_back(tag.canonical());
  parts_.instances.day_authors.note_tags(post.uri, post.author, tags);
}

void NodeWiring::answered(const std::string& origin, Ring ring, const std::vector<delivery::TagEvent>& events,
                          const std::vector<delivery::Refusal>& refusals, const std::string& answer) {
  parts_.audit.receipts.note(origin, ring, events, refusals, answer);
  if (ring == Ring::kRelay) parts_.health.seen.note_answer(events, refusals);
}

std::optional<redundancy::RelayClaim> NodeWiring::claim(const Tag& tag) const {
  return parts_.relay.redundancy.claim(tag);
}

void NodeWiring::entered(const delivery::FeedEntry& entry) {
  const delivery::TagEvent& event = entry.event;
  // Lists of successors change without the segment; before who brings many posts has used up a stranger's
  // share.
  if (parts_.environment.clock.now() >= neighbours_noted_ + kNeighboursEvery) note_neighbours();
  const bool is_edit = event.is_edit();
  const bool was_edited = is_edit || event.changed != WallTime();
  if (event.op == delivery::Op::kRemove || was_edited) parts_.reading.posts.forget(event.uri);
  // It may be the author who withdraws, or is gone.
  if (event.op == delivery::Op::kRemove) parts_.reading.posts.forget(event.author);
  parts_.recollection.entered(entry);
  belief::trace(parts_.environment.log, belief::Step::kEntered, event);
  parts_.reading.streams.note(event);
  parts_.instances.copies.hand_on(entry);
}

void NodeWiring::relayed(const Tag& tag, std::size_t bytes) { parts_.rings.loads.relayed(tag, bytes); }

void NodeWiring::lost_follower(const Tag& tag, const std::string& inbox) {
  parts_.relay.followers.lose(tag, inbox);
}

Task<Result<void>> NodeWiring::hand_to_relays(std::vector<delivery::TagEvent> events) {
  std::erase_if(events,
                [this](const auto& event) { return parts_.relay.places.is_relay_at_rest(event.tag); });
  if (events.empty()) co_return Result<void>();
  // It would get them back. Who sees another node in its place will see otherwise, or take it over.
  if (std::ranges::any_of(events, [this](const auto& event) {
        return parts_.relay.redundancy.is_relay_beyond_rest(event.tag);
      }))
    co_return fail(ErrorCode::kBusy, "this node still relays them");
  co_return co_await parts_.relay.owners.reassign(Ring::kRelay, std::move(events));
}

bool NodeWiring::awaits_accept(const std::string& actor, const std::string& host) const {
  return parts_.instances.activities.awaits_accept(actor, host);
}

bool NodeWiring::was_replayed(const Tag& tag, const std::string& host) const {
  return parts_.instances.replayer.has(host, tag.canonical());
}

Task<Result<HttpResponse>> NodeWiring::deliver_to_fasp_server(std::string inbox, std::string body) {
  return parts_.fasp.hashtags.deliver(std::move(inbox), std::move(body));
}

Task<Result<void>> NodeWiring::receive_missed(std::vector<delivery::TagEvent> events, std::string owner) {
  return parts_.relay.subscriber.receive_missed(std::move(events), std::move(owner));
}

bool NodeWiring::is_in_doubt(const std::string& owner, const Tag& tag) const {
  return parts_.relay.doubts.has(owner, tag);
}

bool NodeWiring::has_forgotten(const std::string& owner, const Tag& tag) {
  return parts_.relay.doubts.has_forgotten(owner, tag);
}

bool NodeWiring::is_denied(const std::string& actor) const {
  return parts_.instances.instances.is_denied(host_of(actor)) ||
         parts_.speech.blocks.of_actor(actor) != nullptr;
}

bool NodeWiring::is_offered(const std::string& collection) const {
  return parts_.speech.blocks.of_tag(collection) == nullptr;
}

// --- storage::Observer -------------------------------------------------------------------------------------

Task<Result<void>> NodeWiring::fetch_partition(std::string origin, ring::Contact requester,
                                               redundancy::Partition from, redundancy::Partition to,
                                               std::uint64_t version, std::size_t sources) {
  return parts_.handover.transfer.fetch_partition(std::move(origin), std::move(requester), std::move(from),
                                                  std::move(to), version, sources);
}

Task<bool> NodeWiring::owe_partition(redundancy::Partition partition) {
  return parts_.handover.reassign.owe_partition(std::move(partition));
}

bool NodeWiring::is_shown(const storage::HistoryEntry& entry) const {
  const federation::Blocks& blocks = parts_.speech.blocks;
  const std::string& tag = entry.partition.tag.canonical();
  return blocks.of_actor(entry.author) == nullptr && blocks.of_actor(entry.uri) == nullptr &&
         blocks.of_tag(tag) == nullptr && !blocks.is_refused_by(entry.author, tag) &&
         !parts_.audit.heads.is_taken_down(entry.partition.tag, entry.uri);
}

// --- the others --------------------------------------------------------------------------------------------

bool NodeWiring::is_shared(const std::string& uri) const { return parts_.fasp.sharing.is_shared(uri); }

Task<Result<bool>> NodeWiring::look_at_shared(std::string uri) {
  return parts_.fasp.sharing.look(std::move(uri));
}

void NodeWiring::announces(std::string id, std::string actor, const storage::HistoryEntry& post) {
  parts_.actors.announced.note_replayed(std::move(id), std::move(actor), post);
}

void NodeWiring::more_relays(const Tag& tag) {
  if (parts_.relay.subscriptions.wants(tag)) parts_.relay.subscriptions.renew_soon();
}

void NodeWiring::taken_down(const storage::HistoryEntry& entry) {
  parts_.reading.streams.note(
      {entry.partition.tag, delivery::Op::kRemove, entry.uri, entry.author, entry.published, false});
}

Task<void> NodeWiring::leave() {
  co_await parts_.rings.balancer.stop();
  co_await parts_.rings.service.leave(Ring::kRelay);
  co_await parts_.rings.service.leave(Ring::kStorage);
}

}  // namespace tagring::node
