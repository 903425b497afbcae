// Both rings of a node, on HTTP: our calls to other nodes' vservers, and their calls to ours
// (docs/protocol.md, "Ring calls").
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "http/message.hpp"
#include "http/services.hpp"
#include "overlay/address_book.hpp"
#include "overlay/observer.hpp"
#include "ring/codec.hpp"
#include "ring/membership.hpp"

namespace tagring::overlay {

inline constexpr Duration kOwnerTimeout = std::chrono::seconds(5);  // for an owner's answer

class RingService {
 public:
  struct Options {
    std::string network;
    ring::Tuning tuning;
    ring::Membership::Options membership;
    // Contacts of this node's possible vservers, the same on both rings, and which of them stand there at the
    // start; nothing: all.
    std::vector<ring::Contact> contacts;
    std::optional<std::vector<std::uint8_t>> relay_places;
    std::optional<std::vector<std::uint8_t>> storage_places;
    // Origins of nodes, or of instances whose NodeInfo names one (paper §5.3).
    std::vector<std::string> bootstrap;
    // Domains that say in the DNS where their nodes are.
    std::vector<std::string> bootstrap_srv;
    ServiceFinder* services = nullptr;  // null: they are not asked
    bool may_create = false;            // told to create a network where there is none
    // The address book as last saved (AddressBook::text), and how it is saved. A node that has met others was
    // a member.
    std::string address_book;
    std::function<Task<Result<void>>(std::string)> save_address_book;
  };
  static constexpr std::string_view kService = "_tagring._tcp.";
  static constexpr std::string_view kPath = "/tagring/v1/ring";

  RingService(Options options, HttpClient& http, Observer& observer, const Runtime& runtime);
  ~RingService();

  void start();
  [[nodiscard]] Task<void> stop();

  // Answers POST kPath.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  [[nodiscard]] const std::string& network() const { return options_.network; }
  [[nodiscard]] ring::Membership& of(Ring ring) { return *(ring == Ring::kRelay ? relay_ : storage_); }
  [[nodiscard]] const ring::Membership& of(Ring ring) const {
    return *(ring == Ring::kRelay ? relay_ : storage_);
  }
  // {"network", "ids", "address", "relay": [contacts], "storage": [contacts], "seeks", "newcomer"}: the
  // metadata in NodeInfo by which others find us (docs/protocol.md, 4.3).
  [[nodiscard]] json::object announcement();
  // The node at that origin stands at the very places of this one, or would, since it has the same network
  // and registrable domain: only one of them can be on the rings. An error if its NodeInfo names no node of
  // this network.
  [[nodiscard]] Task<Result<bool>> is_rival(std::string origin);
  // The origins of Options that did not lead into the ring when they were asked last: {origin: why}.
  [[nodiscard]] const json::object& dead_ends() const { return dead_ends_; }
  // Which member was called last, where, and why it did not answer; empty if it did.
  [[nodiscard]] const std::string& unanswered() const { return unanswered_; }
  // Another node has called one of this node's vservers in the last minutes, or there is none that could.
  [[nodiscard]] bool is_reached() const;
  // The node at that origin has answered this one on a ring, now or at a former start, as far as is kept.
  [[nodiscard]] bool has_met(const std::string& origin) const { return address_book_.has(origin); }
  // Another node stands on a ring with this one; no more once none has answered for a while.
  [[nodiscard]] bool is_among_others() const;
  [[nodiscard]] Observer& observer() { return observer_; }
  // The administrator has blocked that host, or a domain above it (Observer::is_blocked).
  [[nodiscard]] bool is_blocked(std::string_view host) const { return observer_.is_blocked(host); }
  // The same of the node that has that origin, or any URL below it.
  [[nodiscard]] bool is_blocked_at(std::string_view url) const { return is_blocked(host_of(url)); }
  // Hands a ring's data over and leaves it: asks each vserver's successor to take over, then stops answering.
  // What nobody takes over goes to its owners post by post (Observer::gave_up). The node looks up owners as
  // before, through those it knows. Who asks while it leaves waits until it has.
  [[nodiscard]] Task<void> leave(Ring ring);
  // In place of start(): the node has left the rings before.
  void stay_away();
  // It does so, or has: until a restart the node does not come back.
  [[nodiscard]] bool has_left(Ring ring) const { return left_.contains(ring); }
  // It has begun, on either ring, and has places on one of them still, whose turn is to come or has come.
  [[nodiscard]] bool is_leaving() const { return !left_.empty() && places() > 0; }
  // Where the node stands, on both rings together.
  [[nodiscard]] std::size_t places() const { return relay_->vservers().size() + storage_->vservers().size(); }
  // What became of the places that it had: {"handed_over", "not_handed_over": [{"vserver", "because"}]}.
  [[nodiscard]] json::object left(Ring ring) const;
  // Gives up one vserver as in leave(), but only once somebody has taken its keys over. What it owned.
  [[nodiscard]] Task<Result<Segment>> give_up_place(Ring ring, std::uint8_t number);
  // What a vserver of this node hands over now, because it leaves.
  [[nodiscard]] std::optional<Segment> leaving(Ring ring, const RingId& vserver) const;
  // What another node's vserver says of keys that it owns.
  [[nodiscard]] Task<Result<ring::Load>> ask_load(Ring ring, ring::Contact owner, Segment segment);

  // A question to the owner of a place on a ring that is not signed: whoever looked the owner up makes sure
  // by its address that it is that owner who answers (docs/protocol.md, section 3). GETs `target`, path and
  // query, until then. The JSON object that it answers, or the error.
  [[nodiscard]] Task<Result<json::object>> ask_owner(ring::Contact owner, std::string target,
                                                     Instant deadline);

 private:
  class HttpPeers;
  // What a node, or an instance, says of a ring.
  struct Announced {
    std::optional<IpAddress> address;  // its own, as it says
    std::vector<ring::Contact> members;
    std::optional<std::string> first;  // it looks for the ring: the least origin of all that do, as it knows
    bool is_newcomer = false;          // and founds none
  };
  // One search for a ring, and what came of it.
  struct Search {
    Ring ring;
    std::set<std::string> configured;
    std::set<std::string> asked;
    std::set<std::string> named;  // as the first of those that look for the ring
    ring::Membership::Found found;
  };
  Task<ring::Membership::Found> find_bootstrap(Ring ring);
  Task<void> ask_all(Search* search, std::vector<std::string> origins);
  [[nodiscard]] json::array announced_contacts(Ring ring);
  Task<void> keep_address_book();
  Task<Result<json::object>> get_json(std::string url);
  Task<std::vector<std::string>> ask_domain(std::string domain);
  Task<Result<Announced>> ask_origin(std::string origin, Ring ring);
  void note_outcome(const std::string& origin, const Result<Announced>& found);
  struct Left {
    unsigned handed_over = 0;
    json::array not_handed_over;
  };
  [[nodiscard]] bool is_here(Ring ring, const ring::Contact& contact) const;
  Task<Result<void>> leave_place(Ring ring, ring::Vserver* vserver);
  Task<Result<void>> move_away(Ring ring, ring::Vserver* vserver);
  class HandingOver;
  Task<Result<void>> hand_over(Ring ring, ring::Vserver* vserver);
  Task<Result<void>> ask_to_take_over(Ring ring, ring::Vserver* vserver);
  Task<void> step_down(Ring ring, ring::Vserver* vserver);
  Task<Result<ring::Reply>> dispatch(ring::Envelope envelope);

  const Options options_;
  HttpClient& http_;
  Observer& observer_;
  Clock& clock_;
  Log& log_;
  json::object dead_ends_;
  std::string unanswered_;
  std::optional<Instant> reached_;  // when another node called last
  std::map<std::pair<Ring, RingId>, Segment> leaving_;
  bool has_stopped_ = false;
  bool is_newcomer_ = false;  // founds no ring
  std::map<Ring, Left> left_;
  std::map<Ring, std::string> first_;  // of those that look for a ring as this node does, the least origin
  std::unique_ptr<ring::Peers> peers_;
  std::unique_ptr<ring::Membership> relay_;
  std::unique_ptr<ring::Membership> storage_;
  Rng rng_;
  AddressBook address_book_;
  TaskGroup tasks_;
};

}  // namespace tagring::overlay
