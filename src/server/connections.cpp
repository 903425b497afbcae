#include "server/connections.hpp"

#include <boost/asio/post.hpp>
#include <set>
#include <string_view>
#include <tuple>

#include "base/counted.hpp"
#include "net/exchange.hpp"

namespace tagring::server {
namespace {

// Those that are slow go one by one, or all of the next ones would be as old as each other.
constexpr std::chrono::milliseconds kBetweenSlow{5};

}  // namespace

bool Connections::is_limited(const Kind& kind) const {
  return budget_ != nullptr && (counts_connections_ || kind.resource == kBody.resource);
}

bool Connections::take(const Kind& kind, Place& place, std::uint64_t amount) {
  budget::Share& share = place.*kind.share;
  const budget::Spender& who = place.*kind.who;
  if (share.is_granted()) return share.grow(amount);
  share = budget::Share(is_limited(kind) ? budget_ : nullptr, kind.resource, who, amount);
  if (!share.is_granted()) return false;
  const bool begins = kind.resource == kTurn.resource && is_limited(kind);
  if (begins && budget_->take(budget::Resource::kBegun, who) > Duration::zero()) {
    share.release();
    return false;
  }
  place.*kind.since = std::chrono::steady_clock::now();
  return true;
}

// Takes one from the strangers who have most, if the newcomer has less: one that waits for a request, if
// they have such, and the oldest of these. Who is known makes room only for others who are, and a proxy,
// through which everybody comes, for nobody. Where one address has all the turns that one may have, the
// oldest of its own goes. Of bodies, what the newcomer has sent whole counts too, or it would take from who
// sends the first.
bool Connections::make_room(const Kind& kind, const Place& newcomer, std::uint64_t amount) {
  const budget::Spender& who = newcomer.*kind.who;
  if (!is_limited(kind) || budget_->has_room(kind.resource, who, amount)) return false;
  const bool is_total = budget_->is_total(kind.resource, who, amount);
  if (!is_total && kind.resource != kTurn.resource) return false;
  const auto may_go = [&](const Place& place) {
    const budget::Spender& other = place.*kind.who;
    return (place.*kind.share).is_granted() && (is_total || other.each == who.each) &&
           (!other.known || (who.known && !other.is_many));
  };
  std::map<std::string, std::uint64_t> groups;
  for (const auto& [session, place] : places_)
    if (may_go(place)) groups[(place.*kind.who).whole()] += (place.*kind.share).amount();
  const Time now = std::chrono::steady_clock::now();
  auto victim = places_.end();
  std::tuple<std::uint64_t, bool, Time::duration> most;
  for (auto it = places_.begin(); it != places_.end(); ++it) {
    if (!may_go(it->second)) continue;
    const std::tuple rank(groups[(it->second.*kind.who).whole()], it->first->is_idle(),
                          now - it->second.*kind.since);
    if (victim != places_.end() && rank <= most) continue;
    victim = it;
    most = rank;
  }
  if (victim == places_.end()) return false;
  const std::uint64_t own =
      kind.resource == kBody.resource ? budget_->used_by_whole(kind.resource, who) : groups[who.whole()];
  const bool has_more = std::get<0>(most) > own + amount;
  if (kind.resource == kTurn.resource) {
    if (now - victim->second.since < (has_more ? kQuickHandshake : kSlowHandshake)) return false;
  } else if (!has_more) {
    return false;
  }
  (victim->second.*kind.share).release();
  boost::asio::post(victim->first->strand(), [session = victim->first] { session->abort(); });
  return true;
}

bool Connections::take_or_make_room(const Kind& kind, Place& place, std::uint64_t amount) {
  while (!take(kind, place, amount)) {
    if (make_room(kind, place, amount)) continue;
    // What requests and answers have comes back on other strands, so maybe just now.
    if (kind.resource != kBody.resource || !budget_->has_room(kind.resource, place.*kind.who, amount))
      return false;
  }
  return true;
}

std::optional<Place> Connections::place_for(budget::Spender peer) {
  Place place;
  place.peer = std::move(peer);
  if (!take_or_make_room(kOpen, place)) return std::nullopt;
  return place;
}

void Connections::add(SharedSession session, Place place) {
  places_.emplace(std::move(session), std::move(place));
}

bool Connections::remove(const SharedSession& session) {
  if (places_.erase(session) == 0) return false;
  give_turns(false);
  return true;
}

Task<bool> Connections::wait_for_turn(std::shared_ptr<Connections> self, SharedSession session, Time until) {
  const auto found = self->places_.find(session);
  if (found == self->places_.end()) co_return false;
  Place& place = found->second;  // until the session has ended, which waits for this
  if (self->take_or_make_room(kTurn, place)) co_return true;
  boost::asio::steady_timer granted(self->strand_, until);
  Waiting waiting{place, granted};
  const Held standing(self->line_, {++self->last_, &waiting});
  self->watch_line();
  while (!place.turn.is_granted() && std::chrono::steady_clock::now() < until)
    co_await granted.async_wait(net::kTuple);
  co_return place.turn.is_granted();
}

void Connections::end_turn(const SharedSession& session) {
  const auto found = places_.find(session);
  if (found == places_.end()) return;
  found->second.turn.release();
  give_turns(false);
}

Task<bool> Connections::let_body_grow(std::shared_ptr<Connections> self, SharedSession session,
                                      budget::Spender sender, std::uint64_t held, std::uint64_t size) {
  const auto found = self->places_.find(session);
  if (found == self->places_.end() || found->second.body.amount() != held) co_return false;
  Place& place = found->second;
  if (held == 0) place.sender = std::move(sender);
  co_return self->take_or_make_room(kBody, place, size - held);
}

Task<budget::Share> Connections::end_body(std::shared_ptr<Connections> self, SharedSession session) {
  const auto found = self->places_.find(session);
  if (found == self->places_.end()) co_return budget::Share();
  co_return std::move(found->second.body);
}

bool Connections::may_begin(const Place& place) const {
  return budget_->has_room(budget::Resource::kBegun, place.peer);
}

std::vector<Connections::Waiting*> Connections::by_turn() const {
  std::vector<std::tuple<std::uint64_t, std::uint64_t, Waiting*>> turns;
  for (const auto& [number, waiting] : line_)
    turns.emplace_back(budget_->used_by_whole(kOpen.resource, waiting->place.peer), last_ - number, waiting);
  std::ranges::sort(turns);
  std::vector<Waiting*> waiting;
  for (const auto& [open, after, who] : turns) waiting.push_back(who);
  return waiting;
}

void Connections::give_turns(bool may_make_room) {
  if (line_.empty() || !may_begin(line_.rbegin()->second->place)) return;
  bool is_full = false;             // for strangers
  std::set<std::string_view> full;  // those who wait for one of their own
  for (Waiting* waiting : by_turn()) {
    Place& place = waiting->place;
    if (place.turn.is_granted() || (is_full && !place.peer.known) || full.contains(place.peer.each)) continue;
    bool has_turn = take(kTurn, place);
    if (!has_turn && may_make_room && make_room(kTurn, place)) {
      may_make_room = false;
      has_turn = take(kTurn, place);
    }
    if (has_turn) waiting->granted.cancel();
    if (has_turn) continue;
    full.insert(place.peer.each);
    is_full = is_full || budget_->is_total(kTurn.resource, place.peer) || !may_begin(place);
  }
}

void Connections::watch_line() {
  if (is_watching_ || line_.empty()) return;
  is_watching_ = true;
  ticker_.expires_after(kBetweenSlow);
  ticker_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    self->is_watching_ = false;
    if (error) return;
    self->give_turns(true);
    self->watch_line();
  });
}

}  // namespace tagring::server
