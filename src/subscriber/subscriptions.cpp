// Comparing with owners is in subscriptions_compared.cpp.
#include "subscriber/subscriptions.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <memory>

#include "crypto/hash.hpp"
#include "delivery/results.hpp"
#include "delivery/wire.hpp"
#include "http/http_error.hpp"
#include "subscriber/catch_up.hpp"

namespace tagring::subscriber {
namespace {
constexpr Duration kPause = std::chrono::milliseconds(20);  // wishes that come together are served together
constexpr Duration kRetry = std::chrono::seconds(2);
constexpr std::size_t kOwnersAtOnce = 16;  // one that does not answer must not hold up the others
// Clocks differ, by as much as what is signed may come from the future (signatures/claim.hpp), and routes are
// remembered.
constexpr Duration kSinceMargin = std::chrono::minutes(6);
constexpr Duration kSeenFor = std::chrono::hours(24);  // an owner's vserver, while some cannot be found

std::vector<std::vector<Tag>> chunks_of(std::vector<Tag> tags, std::size_t size) {
  std::vector<std::vector<Tag>> chunks;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (i % size == 0) chunks.emplace_back();
    chunks.back().push_back(std::move(tags[i]));
  }
  return chunks;
}

Task<bool> do_in_turn(std::shared_ptr<std::deque<Task<bool>>> left) {
  bool all = true;
  while (!left->empty()) {
    Task<bool> next = std::move(left->front());
    left->pop_front();
    const bool done = co_await std::move(next);
    all = all && done;
  }
  co_return all;
}

// So many at a time. True if all of them are.
Task<bool> do_at_once(std::deque<Task<bool>> tasks) {
  const std::size_t count = std::min(tasks.size(), kOwnersAtOnce);
  const auto left = std::make_shared<std::deque<Task<bool>>>(std::move(tasks));
  std::vector<Task<bool>> lanes;
  for (std::size_t i = 0; i < count; ++i) lanes.push_back(do_in_turn(left));
  const std::vector<bool> done = co_await all_of(std::move(lanes));
  co_return std::ranges::all_of(done, std::identity());
}
}  // namespace

Subscriptions::Subscriptions(Options options, delivery::Store& store, relay::RelayPlaces& relays,
                             federation::SignedClient& client, CatchUp& catch_up, const Runtime& runtime)
    : options_(options),
      store_(store),
      relays_(relays),
      client_(client),
      catch_up_(catch_up),
      identity_(client.identity()),
      clock_(runtime.clock),
      rng_(runtime.rng.fork("subscriber")),
      wants_(store, runtime),
      pauses_(runtime.clock),
      wake_(runtime.clock, runtime.executor),
      tasks_(runtime.executor) {}

Task<Result<void>> Subscriptions::load() {
  CO_TRY_VOID(co_await wants_.load());
  CO_TRY(const std::vector<delivery::Subscription> known, co_await store_.subscriptions());
  for (const delivery::Subscription& subscription : known) {
    note_followed(subscription.tag, subscription.owner, subscription.follow_id);
    if (subscription.accepted) find(subscription.tag, subscription.owner)->missed = Missed::kHere;
  }
  co_return Result<void>();
}

void Subscriptions::start() { tasks_.spawn("subscriber", renew_for_ever()); }

Task<void> Subscriptions::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Result<void>> Subscriptions::want(std::vector<Tag> tags, std::string reason) {
  CO_TRY(const bool news, co_await wants_.add(std::move(tags), std::move(reason)));
  if (news) renew_soon();
  co_return Result<void>();
}

Task<Result<void>> Subscriptions::unwant(std::vector<Tag> tags, std::string reason) {
  CO_TRY_VOID(co_await wants_.remove(std::move(tags), std::move(reason)));
  renew_soon();
  co_return Result<void>();
}

bool Subscriptions::follows(const Tag& tag, const std::string& origin) const {
  const auto it = owners_.find(tag);
  return it != owners_.end() && it->second.contains(origin);
}

std::size_t Subscriptions::subscriptions() const {
  std::size_t count = 0;
  for (const auto& [tag, owners] : owners_) count += owners.size();
  return count;
}

// `follow_id` empty: it has just been asked for.
void Subscriptions::note_followed(const Tag& tag, const std::string& owner, std::string follow_id) {
  Followed& followed = owners_[tag][owner];
  if (follow_id.empty()) return;
  if (followed.follow_id.empty()) digests_[owner].add(identity_.tag_actor(tag));
  followed = {std::move(follow_id), clock_.wall_now(), followed.missed};
}

Subscriptions::Followed* Subscriptions::find(const Tag& tag, const std::string& owner) {
  const auto of_tag = owners_.find(tag);
  if (of_tag == owners_.end()) return nullptr;
  const auto followed = of_tag->second.find(owner);
  return followed == of_tag->second.end() ? nullptr : &followed->second;
}

// What the owner has answered counts no more, nor what it still says of what was missed.
void Subscriptions::withdraw(const Tag& tag, const std::string& owner) {
  Followed* const followed = find(tag, owner);
  if (followed == nullptr) return;
  followed->missed = Missed::kUnknown;
  if (std::exchange(followed->follow_id, "").empty()) return;
  followers::Digest& digest = digests_[owner];
  digest.remove(identity_.tag_actor(tag));
  if (digest == followers::Digest()) digests_.erase(owner);
}

void Subscriptions::drop_followed(const Tag& tag, const std::string& owner) {
  withdraw(tag, owner);
  const auto of_tag = owners_.find(tag);
  if (of_tag == owners_.end()) return;
  of_tag->second.erase(owner);
  if (of_tag->second.empty()) owners_.erase(of_tag);
}

// --- renewing ----------------------------------------------------------------------------------------------

Task<void> Subscriptions::renew_for_ever() {
  for (;;) {
    next_ = Instant::max();
    const bool complete = co_await renew();
    const Duration base = complete ? options_.renew_every : std::chrono::seconds(1);
    const auto count = static_cast<std::uint64_t>(base.count());
    const Instant later =
        clock_.now() + Duration(static_cast<Duration::rep>(count / 2 + rng_.below(count + 1)));
    next_ = std::max(std::min({next_, later, pauses_.first_end()}), rest_until_);
    while (clock_.now() < next_) co_await wake_.wait_until(next_);
  }
}

void Subscriptions::renew_soon() { renew_in(kPause); }

void Subscriptions::follow_soon(const Tag& tag, const std::string& origin) {
  pauses_.note_up(origin);
  if (!pauses_.has(tag, origin)) renew_soon();
}

void Subscriptions::renew_in(Duration wait) {
  settled_ = false;
  next_ = std::min(next_, std::max(clock_.now() + wait, rest_until_));
  wake_.ring();
}

void Subscriptions::note_sighting(const ring::Contact& relay) {
  Sighting& last = seen_[relay.id];
  if (relay.incarnation != last.incarnation && relay.incarnation != last.former) {
    // One that has lost its disk, and whose clock was ahead, comes back with a smaller one.
    if (last.incarnation != 0) {
      restarted_.emplace(relay.origin(), last.at - kSinceMargin);
      pauses_.forget(relay.origin());
    }
    last.former = std::exchange(last.incarnation, relay.incarnation);
  }
  last.at = clock_.wall_now();
}

// Wanted tags are to be followed where they are owned now, and nothing else. An owner that has started anew
// is asked again, since it may have lost its disk. False if somebody could not be found.
Task<bool> Subscriptions::make_plan(std::set<Tag> wanted, Plan* plan) {
  bool complete = true;
  const WallTime begin = clock_.wall_now();
  pauses_.tidy();
  waits_ = false;
  for (const Tag& tag : wanted) {
    const relay::RelayPlaces::Found found = co_await relays_.find(tag);
    complete = complete && found.complete;
    std::set<std::string> now;
    for (const ring::Contact& relay : found.relays) {
      now.insert(relay.origin());
      note_sighting(relay);
    }
    for (const std::string& owner : now) {
      const Followed* const known = find(tag, owner);
      if (known != nullptr && known->missed != Missed::kUnknown) continue;
      if (pauses_.has(tag, owner)) {
        waits_ = waits_ || !pauses_.is_denied(tag, owner);
        continue;
      }
      if (disowning_.contains({tag, owner})) {
        complete = false;
      } else {
        plan->to_follow[owner].push_back(tag);
      }
    }
    if (!found.complete) continue;  // who cannot be found now may still be an owner
    for (const auto& [owner, id] : owners_[tag]) {
      if (now.contains(owner) || disowning_.contains({tag, owner})) continue;
      const bool delivers = relays_.hints().was_raised(tag) && !relays_.rings().is_blocked_at(owner);
      if (delivers && pauses_.is_down(owner)) continue;
      (delivers ? plan->to_leave : plan->to_unfollow)[owner].push_back(tag);
    }
  }
  std::set<std::string> left;  // owners that started anew, and are to be asked again
  for (const auto& [tag, owners] : owners_) {
    for (const auto& [owner, followed] : owners) {
      if (!wants_.has(tag) && !disowning_.contains({tag, owner})) plan->to_unfollow[owner].push_back(tag);
      if (!wanted.contains(tag) || !restarted_.contains(owner) || followed.missed == Missed::kUnknown)
        continue;
      // What was being fetched does not come to its end.
      const bool is_fetched = followed.missed >= Missed::kHeard;
      const bool waits = pauses_.has(tag, owner);
      waits_ = waits_ || waits;
      if (is_fetched || waits) left.insert(owner);
      if (!waits) (is_fetched ? plan->to_follow_again : plan->to_follow)[owner].push_back(tag);
    }
  }
  const WallTime oldest = complete ? begin : begin - kSeenFor;
  std::erase_if(seen_, [&](const auto& entry) { return entry.second.at < oldest; });
  std::erase_if(restarted_, [&](const auto& entry) { return !left.contains(entry.first); });
  co_return complete;
}

// True if everything is as it should be.
Task<bool> Subscriptions::renew() {
  const std::set<Tag> wanted = wants_.all();
  Plan plan;
  const Instant begin = clock_.now();
  bool complete = co_await make_plan(wanted, &plan);
  rest_until_ = clock_.now() + std::clamp<Duration>(4 * (clock_.now() - begin), kPause, kRetry);
  std::deque<Task<bool>> tasks;
  for (auto& [owner, tags] : plan.to_follow) tasks.push_back(follow_at(owner, std::move(tags)));
  for (auto& [owner, tags] : plan.to_follow_again) tasks.push_back(follow_again_at(owner, std::move(tags)));
  for (auto& [owner, tags] : plan.to_leave) tasks.push_back(leave_if_done(owner, std::move(tags)));
  const bool done = co_await do_at_once(std::move(tasks));
  complete = complete && done;
  unfollow_soon(std::move(plan.to_unfollow));
  co_await settle();
  settled_ = complete && !waits_ && wanted == wants_.all() && next_ == Instant::max();
  co_return complete;
}

// The tags that the owner did not take.
Task<std::set<Tag>> Subscriptions::follow_chunk(std::string owner, std::vector<Tag> tags, WallTime since) {
  const std::string id = fmt::format("{}/follows/{}", identity_.origin(), crypto::public_draw(rng_));
  const auto refusals = co_await ask_to_follow(owner, tags, id);
  std::set<Tag> missing;
  if (refusals) {
    for (const delivery::Refusal& refusal : *refusals) {
      const ErrorCode code = refusal.error.code;
      missing.insert(refusal.tag);
      // Who blocks the hashtag, or this node, is an owner all the same.
      if (code == ErrorCode::kDenied) {
        pauses_.note_denied(refusal.tag, owner);
      } else {
        const bool is_soon = code == ErrorCode::kBusy || code == ErrorCode::kNotOwner;
        pauses_.note_silent(refusal.tag, owner, is_soon ? options_.renew_every : Pauses::kMost);
      }
      if (code == ErrorCode::kNotOwner) relays_.forget(refusal.tag);
    }
  } else {
    missing.insert(tags.begin(), tags.end());
    for (const Tag& tag : tags) relays_.forget(tag);  // it may be gone
  }
  std::vector<Tag> taken;
  std::vector<delivery::Subscription> subscriptions;
  for (const Tag& tag : tags) {
    if (missing.contains(tag)) continue;
    note_followed(tag, owner, id);
    find(tag, owner)->missed = Missed::kAsked;
    taken.push_back(tag);
    subscriptions.push_back({tag, owner, id, false});
  }
  if (taken.empty()) co_return missing;
  ++catching_up_;
  co_await store_.save_subscriptions(std::move(subscriptions));
  tasks_.spawn("catch_up", catch_up_at(std::move(owner), std::move(taken), id, since));
  co_return missing;
}

// Fetches what the owner took since then, before it knew us. Nothing else waits for it: the owner announces
// what is new meanwhile, and may be slow, or have no end of what it says was missed.
Task<void> Subscriptions::catch_up_at(std::string owner, std::vector<Tag> tags, std::string id,
                                      WallTime since) {
  const Result<void> fetched = co_await catch_up_.fetch(owner, tags, since);
  --catching_up_;
  bool again = false;
  for (const Tag& tag : tags) {
    Followed* const followed = find(tag, owner);
    if (followed == nullptr || followed->follow_id != id) continue;
    followed->missed = fetched ? Missed::kHeard : Missed::kUnknown;
    if (!fetched) pauses_.note_silent(tag, owner);
    again = again || !fetched;
  }
  if (again) renew_in(kRetry);
  co_await settle();
}

// Writes down where nothing is in doubt any more. Until then a restart forgets the doubts, and asks again.
// Where that fails, the next turn tries again.
Task<void> Subscriptions::settle() {
  std::vector<delivery::Subscription> settled;
  bool again = false;
  for (auto& [tag, owners] : owners_) {
    for (auto& [owner, followed] : owners) {
      if (followed.missed != Missed::kHeard || catch_up_.is_in_doubt(owner, tag)) continue;
      if (catch_up_.has_forgotten(owner, tag)) {
        followed.missed = Missed::kUnknown;
        pauses_.note_silent(tag, owner);
        again = true;
      } else {
        settled.push_back({tag, owner, followed.follow_id, true});
      }
    }
  }
  if (again) renew_in(kRetry);
  if (settled.empty()) co_return;
  const Result<void> saved = co_await store_.save_subscriptions(settled);
  if (!saved) co_return;
  for (const delivery::Subscription& one : settled) {
    Followed* const followed = find(one.tag, one.owner);
    if (followed == nullptr || followed->follow_id != one.follow_id) continue;
    followed->missed = Missed::kHere;
    pauses_.forget(one.tag, one.owner);
  }
}

Task<bool> Subscriptions::follow_at(std::string owner, std::vector<Tag> tags) {
  bool complete = true;
  for (std::vector<Tag>& chunk : chunks_of(std::move(tags), options_.tags_per_follow)) {
    if (pauses_.is_down(owner)) co_return false;
    // From now on the owner may announce, even before we have read that it accepts.
    for (const Tag& tag : chunk) note_followed(tag, owner, "");
    const WallTime since = wanted_since(chunk);
    const std::set<Tag> missing = co_await follow_chunk(owner, std::move(chunk), since);
    for (const Tag& tag : missing) complete = complete && pauses_.is_denied(tag, owner);
    // It may have known us before, and taken us then.
    if (!missing.empty()) co_await give_up_at(owner, {missing.begin(), missing.end()});
  }
  co_return complete;
}

// Where it cannot be written, the next turn tries again.
Task<void> Subscriptions::give_up_at(std::string owner, std::vector<Tag> tags) {
  for (const Tag& tag : tags) withdraw(tag, owner);
  const Result<void> saved = co_await drop_on_disk(owner, tags);
  if (!saved) co_return;
  for (const Tag& tag : tags) drop_followed(tag, owner);
}

// Until it has taken them all, it is followed as before: it may still know of us.
Task<bool> Subscriptions::follow_again_at(std::string owner, std::vector<Tag> tags) {
  const WallTime since = restarted_.at(owner);
  bool complete = true;
  for (std::vector<Tag>& chunk : chunks_of(std::move(tags), options_.tags_per_follow)) {
    if (pauses_.is_down(owner)) co_return false;
    std::vector<Tag> denied;
    for (const Tag& tag : co_await follow_chunk(owner, std::move(chunk), since)) {
      const bool is_denied = pauses_.is_denied(tag, owner);
      if (is_denied) denied.push_back(tag);
      complete = complete && is_denied;
    }
    if (!denied.empty()) co_await give_up_at(owner, std::move(denied));
  }
  if (complete) restarted_.erase(owner);
  co_return complete;
}

Task<Result<std::vector<delivery::Refusal>>> Subscriptions::ask_to_follow(std::string owner,
                                                                          std::vector<Tag> tags,
                                                                          std::string id) {
  ++messages_;
  const Result<HttpResponse> response = co_await client_.deliver(
      owner + "/inbox", delivery::follow_activity(id, identity_.actor(), owner, tags));
  if (response && response->status == 403) {  // this node is blocked there
    pauses_.note_up(owner);
    std::vector<delivery::Refusal> all;
    for (const Tag& tag : tags)
      all.push_back({"", tag, {ErrorCode::kDenied, decode_error(403, response->body).message}});
    co_return all;
  }
  Result<std::vector<delivery::Refusal>> refusals = delivery::read_results(response);
  if (!refusals) {
    pauses_.note_down(owner);
    co_return refusals;
  }
  pauses_.note_up(owner);
  // Whatever it says of others, it was asked about these.
  const std::set<Tag> asked(tags.begin(), tags.end());
  std::erase_if(*refusals, [&](const delivery::Refusal& refusal) { return !asked.contains(refusal.tag); });
  if (const auto answer = json::parse_object(response->body)) relays_.hints().read_answer(*answer, asked);
  co_return refusals;
}

// Of relays that are none any more, since the set has shrunk: they may still have to deliver what they took.
// Asked to be followed, they say no when they have done so.
Task<bool> Subscriptions::leave_if_done(std::string owner, std::vector<Tag> tags) {
  std::vector<Tag> done;
  for (std::vector<Tag>& chunk : chunks_of(std::move(tags), options_.tags_per_follow)) {
    const std::string id = fmt::format("{}/follows/{}", identity_.origin(), crypto::public_draw(rng_));
    const auto refusals = co_await ask_to_follow(owner, std::move(chunk), id);
    if (!refusals) break;
    for (const delivery::Refusal& refusal : *refusals) {
      if (refusal.error.code == ErrorCode::kNotOwner) done.push_back(refusal.tag);
    }
  }
  if (!done.empty()) co_await unfollow_at(owner, std::move(done));
  co_return true;
}

WallTime Subscriptions::wanted_since(const std::vector<Tag>& tags) const {
  WallTime earliest = clock_.wall_now();
  for (const Tag& tag : tags) {
    const std::optional<WallTime> since = wants_.since(tag);
    if (!since) return clock_.wall_now() - CatchUp::kWindow;
    earliest = std::min(earliest, *since - kSinceMargin);
  }
  return earliest;
}

Task<Result<void>> Subscriptions::drop_on_disk(std::string owner, std::vector<Tag> tags) {
  std::vector<std::pair<Tag, std::string>> dropped;
  dropped.reserve(tags.size());
  for (Tag& tag : tags) dropped.emplace_back(std::move(tag), owner);
  co_return co_await store_.drop_subscriptions(std::move(dropped));
}

// On disk before the owner hears of it: a node that took up after a restart what it had ended would not ask
// again. Where that fails, the next turn tries again.
Task<void> Subscriptions::unfollow_at(std::string owner, std::vector<Tag> tags) {
  for (const Tag& tag : tags) withdraw(tag, owner);  // or it would be written down once more
  const Result<void> saved = co_await drop_on_disk(owner, tags);
  if (!saved) co_return;
  // What is wanted is followed at others: they must not take it for the end of that
  // (relay/relay_redundancy.hpp).
  for (const bool moves : {false, true}) {
    std::vector<Tag> these;
    std::ranges::copy_if(tags, std::back_inserter(these),
                         [&](const Tag& tag) { return wants(tag) == moves; });
    for (const std::vector<Tag>& chunk : chunks_of(std::move(these), options_.tags_per_follow)) {
      const std::string id = fmt::format("{}/follows/{}", identity_.origin(), crypto::public_draw(rng_));
      ++messages_;
      // One try is enough: an owner that goes on announcing is told that we do not follow, and stops.
      co_await client_.deliver(owner + "/inbox",
                               delivery::undo_follow_activity(id, identity_.actor(), owner, chunk, moves));
    }
  }
  for (const Tag& tag : tags) drop_followed(tag, owner);
}

// Nothing waits for it: most of those that are no owners any more are gone.
void Subscriptions::unfollow_soon(TagsByOwner plan) {
  if (plan.empty()) return;
  for (const auto& [owner, tags] : plan)
    for (const Tag& tag : tags) disowning_.emplace(tag, owner);
  tasks_.spawn("unfollow", unfollow(std::move(plan)));
}

Task<void> Subscriptions::unfollow(TagsByOwner plan) {
  std::deque<Task<bool>> tasks;
  for (auto& [owner, tags] : plan) tasks.push_back(end_at(owner, std::move(tags)));
  co_await do_at_once(std::move(tasks));
}

Task<bool> Subscriptions::end_at(std::string owner, std::vector<Tag> tags) {
  co_await unfollow_at(owner, tags);
  bool again = false;
  for (const Tag& tag : tags) {
    disowning_.erase({tag, owner});
    again = again || (wants(tag) && !follows(tag, owner));  // else the disk has failed
  }
  if (again) renew_soon();
  co_return true;
}

}  // namespace tagring::subscriber
