// Who is connected to a server, what of the budget each has, and who makes room for whom. Internal to
// server/.
#pragma once

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/task.hpp"
#include "budget/manager.hpp"
#include "http/ip.hpp"

namespace tagring::server {

// A connection. Belongs to its own strand; the server only posts to it.
class Session {
 public:
  Session(Executor strand, IpAddress peer) : strand_(std::move(strand)), peer_(peer) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const Executor& strand() const { return strand_; }
  [[nodiscard]] const IpAddress& peer() const { return peer_; }
  [[nodiscard]] boost::asio::cancellation_slot slot() { return signal_.slot(); }

  // Serves requests until either side ends the connection.
  virtual Task<void> run(std::shared_ptr<Session> self) = 0;
  // On the strand, as the next two: closes if it waits for a further request. One that has made none yet may
  // be about to, and counts on the answer. A stream is told to end.
  virtual void close_if_idle() = 0;
  // Ends run() wherever it is.
  void abort() {
    if (!has_ended_) signal_.emit(boost::asio::cancellation_type::terminal);
  }
  void set_ended() { has_ended_ = true; }
  // Waits for a request or has made none yet, as far as anybody can say from another strand.
  [[nodiscard]] bool is_idle() const { return is_idle_; }

 protected:
  const Executor strand_;
  const IpAddress peer_;
  std::atomic<bool> is_idle_ = true;

 private:
  boost::asio::cancellation_signal signal_;
  bool has_ended_ = false;
};

using SharedSession = std::shared_ptr<Session>;

// What an open connection has of the budget.
struct Place {
  budget::Spender peer;
  budget::Share share;                          // for as long as it is open
  budget::Share turn;                           // for as long as its TLS handshake lasts
  std::chrono::steady_clock::time_point since;  // it is open, or its turn has come
  budget::Spender sender;  // of the body that comes on it, or who is answered; maybe through a proxy
  budget::Share body;      // bytes of that, for as long as not all of it has come, or is taken
  std::chrono::steady_clock::time_point begun;  // that body, or answer
};

// Used on its strand only.
//
// A handshake takes a multiple of what a connection takes before and after it, so there are few at a time,
// and few begin in a moment; the others wait. A turn is given at once if there is one, or if one of those
// that have most makes room, whose handshake is not quick, or the oldest does, whose is slow; of one address
// that has all that one may have, its own. Who has to wait all the same gets one when somebody is done, or
// when the next has lasted so long: those first whose group has fewest connections, and of these who came
// last, so that not everybody waits where it is many who are slow.
//
// The body of a request counts as it comes, or saying that it will come would be enough to leave nothing to
// others. Where strangers have all that they may have, bodies of which not all has come make room, and so do
// answers of which not all has been taken.
class Connections : public std::enable_shared_from_this<Connections> {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kQuickHandshake{100};  // it is let be for as long
  static constexpr std::chrono::milliseconds kSlowHandshake{500};

  // `budget` outlives it; null: no limits. Unless `counts_connections`, it is one of bodies only.
  Connections(Executor strand, budget::Manager* budget, bool counts_connections)
      : strand_(std::move(strand)),
        budget_(budget),
        counts_connections_(counts_connections),
        ticker_(strand_) {}

  [[nodiscard]] const Executor& strand() const { return strand_; }
  // Of those for who is connected, if there is one: a connection that makes room is ended.
  [[nodiscard]] std::optional<Place> place_for(budget::Spender peer);
  void add(SharedSession session, Place place);
  // When it has ended. False if it was not there.
  bool remove(const SharedSession& session);
  [[nodiscard]] const std::map<SharedSession, Place>& all() const { return places_; }

  // Whether it may begin its handshake, when that is known: false if there is no turn until `until`.
  static Task<bool> wait_for_turn(std::shared_ptr<Connections> self, SharedSession session, Time until);
  void end_turn(const SharedSession& session);

  // Whether the body that `sender` sends may have `size` bytes from now on, where it has `held`; 0: it
  // begins. Not if there is no room, or it has made room for another meanwhile.
  static Task<bool> let_body_grow(std::shared_ptr<Connections> self, SharedSession session,
                                  budget::Spender sender, std::uint64_t held, std::uint64_t size);
  // What the body holds: nobody takes it any more. Not granted if it has made room for another. An answer
  // begins, and ends, in the same way, once it is taken.
  static Task<budget::Share> end_body(std::shared_ptr<Connections> self, SharedSession session);

 private:
  // What a place has one of, whose that is, and since when.
  struct Kind {
    budget::Resource resource;
    budget::Share Place::* share;
    budget::Spender Place::* who;
    Time Place::* since;
  };
  static constexpr Kind kOpen{budget::Resource::kConnections, &Place::share, &Place::peer, &Place::since};
  static constexpr Kind kTurn{budget::Resource::kHandshakes, &Place::turn, &Place::peer, &Place::since};
  static constexpr Kind kBody{budget::Resource::kBodies, &Place::body, &Place::sender, &Place::begun};
  struct Waiting {
    Place& place;
    boost::asio::steady_timer& granted;
  };

  [[nodiscard]] bool is_limited(const Kind& kind) const;
  // So much, beside what it has.
  bool take(const Kind& kind, Place& place, std::uint64_t amount = 1);
  [[nodiscard]] bool may_begin(const Place& place) const;
  // For so much more. Whether somebody did, which may not be enough.
  bool make_room(const Kind& kind, const Place& newcomer, std::uint64_t amount = 1);
  bool take_or_make_room(const Kind& kind, Place& place, std::uint64_t amount = 1);
  [[nodiscard]] std::vector<Waiting*> by_turn() const;
  // Of those who wait, as many as there are turns for, and one more if `may_make_room` and somebody does.
  void give_turns(bool may_make_room);
  void watch_line();

  const Executor strand_;
  budget::Manager* const budget_;
  const bool counts_connections_;
  std::map<SharedSession, Place> places_;
  std::set<std::pair<std::uint64_t, Waiting*>> line_;  // for a turn, by when they came
  std::uint64_t last_ = 0;
  boost::asio::steady_timer ticker_;
  bool is_watching_ = false;
};

}  // namespace tagring::server
