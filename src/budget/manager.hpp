// Who uses what of this node: the one place where limits on others are kept, counted and shown.
//
// Everybody is counted as what they can hardly have many of: an IPv4 address, the /64 and the /48 of an IPv6
// address, a host or its registered domain. A part of every budget is for those who are known: neighbours on
// the ring, own instances, the administrator. Strangers can use up the rest and no more, so they shut out
// each other at worst. Nor can one who is known take all of that part, of what is held. Of what comes back
// with time, the last third is for strangers who have not had more of it than others have on the average:
// some who take all that each may have leave something for who comes after them. After libp2p's resource
// manager.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/time.hpp"
#include "http/ip.hpp"

namespace tagring::budget {

enum class Resource : std::uint8_t {
  kConnections,   // open, that came in
  kArrivals,      // connections begun
  kHandshakes,    // of TLS, under way
  kBegun,         // the same, begun: what they take of the processors, spread in time
  kBodies,        // bytes of requests that are being read or dealt with, and of large answers not taken yet
  kLoop,          // microseconds of the thread that deals with all requests, by who makes them
  kDatabase,      // the same of the database's
  kReads,         // requests of the client API, by the reader's address
  kStreams,       // streams of readers, open
  kStreamTags,    // hashtags that the node is subscribed to for readers of streams only, by the first of them
  kLookUps,       // hashtags being looked up on the rings because somebody asks where they are
  kClaims,        // nodes that have signed to be one of a hashtag's owners, being looked up, by their host
  kProofs,        // proofs being made of what this node has, by who asks for one
  kWays,          // ways to follow that servers are being asked for, by the reader who names the server
  kGuesses,       // tokens of administrators that are none
  kCalls,         // calls that others ask this node to make to them, to see whether they can be reached
  kKeyFetches,    // keys fetched because somebody says to be the owner, by who sends the request
  kKeyHosts,      // documents fetched for that, by the host that is asked
  kChecks,        // posts and authors fetched because a node names them, by the host that is asked
  kVainChecks,    // of these, those in vain, or of which it said what is not so, by the domain of the node
  kEvents,        // posts under hashtags that a node brings, by its domain
  kNames,         // names being looked up in the DNS, by their registered domain
  kRingNames,     // the same, of nodes on the rings
  kWaiting,       // servers of a domain that wait for the administrator to let them use this node as a relay
  kLetters,       // answers that wait to be delivered to a domain
  kWanted,        // hashtags followed here by people and servers of a domain
  kNodeFollows,   // hashtags followed here by nodes of a domain
  kReports,       // reports of a domain that the administrator has not closed yet
  kLinks,         // actors of a domain that use this node as a relay, or wait to
  kAuthorBlocks,  // authors of a domain who block hashtag actors here, each as often as they do
  kFollowNotes,   // bytes noted of Follows from a domain, to know Undos that come late
  kReaderAsks,    // servers that readers make this node ask, by the reader's address
  kReaderHosts,   // the same, by the host that is asked
};
inline constexpr std::size_t kResources = 33;
[[nodiscard]] std::string_view to_string(Resource resource);

struct Limit {
  std::uint64_t total = 0;
  std::uint64_t each = 0;   // of an IPv4 address, a /64 or a host
  std::uint64_t group = 0;  // of a /48 or a registered domain
  Duration window{0};       // what is spent comes back after that; 0: it is held, and given back
  bool asked = false;       // of hosts that are asked, and not of those who make this node ask
};
using Budgets = std::array<Limit, kResources>;
[[nodiscard]] Budgets default_budgets();

// Whose budget it is. Made by Manager.
struct Spender {
  std::string each;
  std::string group;  // empty: none
  bool known = false;
  bool own = false;        // the host of an instance of this node
  bool for_known = false;  // a host that is asked: on behalf of somebody who is known, too
  bool is_many = false;    // a proxy, known, through which everybody comes
  std::string asker = {};  // a host that is asked: on behalf of whom; empty: it does not matter

  // The group, or who belongs to none.
  [[nodiscard]] const std::string& whole() const { return group.empty() ? each : group; }
  // The same host, asked because of what that one says: one of them alone has not all that it is asked.
  [[nodiscard]] Spender on_behalf_of(const Spender& who) const;
};

// Thread-safe.
class Manager {
 public:
  static constexpr unsigned kReservedPercent = 25;  // of each total, for those who are known
  static constexpr unsigned kKnownFactor = 8;       // so many times what strangers have, each
  static constexpr unsigned kLeftForOthers = 3;  // a third: one asker leaves it of what a host may be asked
  static constexpr Duration kKnownFor = std::chrono::hours(24);

  Manager(const Budgets& budgets, Clock& clock) : budgets_(budgets), clock_(clock) {}
  // These count from now on. Who has more than they leave keeps it, and gets no more before it is less.
  void use(const Budgets& budgets);

  [[nodiscard]] Spender who(const IpAddress& address) const;
  [[nodiscard]] Spender who(std::string_view host) const;

  // Takes so much. Zero if it was there; else how long to wait before there may be some, and nothing is
  // taken.
  [[nodiscard]] Duration take(Resource resource, const Spender& spender, std::uint64_t amount = 1);
  [[nodiscard]] bool has_room(Resource resource, const Spender& spender, std::uint64_t amount = 1) const;
  // Counts what is there already, or must be, whether there is room or not.
  void count(Resource resource, const Spender& spender, std::uint64_t amount = 1);
  // It is the total that leaves nothing for that spender, not what that spender has already.
  [[nodiscard]] bool is_total(Resource resource, const Spender& spender, std::uint64_t amount = 1) const;
  // Of what is held, back. What an asker has used of a host comes back with the window, and never before.
  void give_back(Resource resource, const Spender& spender, std::uint64_t amount = 1);
  [[nodiscard]] std::uint64_t used(Resource resource) const;
  [[nodiscard]] std::uint64_t used(Resource resource, const Spender& spender) const;
  [[nodiscard]] std::uint64_t used_by_whole(Resource resource, const Spender& spender) const;
  // Of an address or host, for those who are told.
  struct Standing {
    std::uint64_t each = 0;  // that it may use
    std::uint64_t used = 0;
    Duration ends{0};  // when what is used comes back
  };
  [[nodiscard]] Standing standing(Resource resource, const Spender& spender) const;

  // Who has proved to be somebody that this node works for is known for a day: with a registered domain, all
  // below it. An address of this machine is nobody's own, and stays unknown.
  void note_known(const IpAddress& address);
  void note_known(std::string_view host);
  // The node's own instances, with all below them, from now on and for as long as it runs.
  void set_own(std::vector<std::string> hosts);
  // Those next to this node on the rings, and of no other from now on.
  struct Neighbour {
    std::string host;
    IpAddress address;
  };
  void set_neighbours(const std::vector<Neighbour>& neighbours);

  // {"connections": {"used", "total", "each", "group", "milliseconds", "refused", "remembered"}, …}: after
  // how long what is spent comes back, if it is not held; and how many addresses or hosts are in memory.
  [[nodiscard]] json::object status() const;

 private:
  struct Use {
    std::uint64_t amount = 0;
    Instant ends;
    std::uint64_t as_stranger = 0;  // of `amount`, in `Account::strangers` too
    [[nodiscard]] std::uint64_t as_known() const { return amount - std::min(as_stranger, amount); }
  };
  struct Account {
    std::map<std::string, Use> each;
    std::map<std::string, Use> groups;  // and who belongs to none
    std::map<std::string, Use> askers;  // of each host and domain
    Use strangers;
    Use all;
    std::uint64_t refused = 0;
  };
  // What is in the way of so much more: an entry, or `all` where one alone would be too much; null: nothing.
  [[nodiscard]] const Use* obstacle(Resource resource, const Spender& spender, std::uint64_t amount) const;
  // Whether so much comes out of what strangers cannot take. One who is known has half of that, so that
  // another finds room, and beside it what a stranger has.
  [[nodiscard]] bool is_reserved(Resource resource, const Spender& spender, std::uint64_t amount) const;
  // Of what comes back, and strangers have had most of in this window, this one has had more than they have
  // on the average.
  [[nodiscard]] bool has_had_more(Resource resource, const Spender& spender, std::uint64_t amount) const;
  void charge(Resource resource, const Spender& spender, std::uint64_t amount, bool reserved);
  [[nodiscard]] bool is_known(const std::string& each) const;
  [[nodiscard]] bool is_own(std::string_view host) const;
  void note(std::string each);
  // When all of that resource has come back; and once a minute of all resources what has ended, so that
  // nothing is remembered of who has gone because nobody else takes the same.
  void drop_old(Resource resource);
  static void drop_ended(Account& account, Instant now);

  Budgets budgets_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::array<Account, kResources> accounts_;
  std::map<std::string, Instant> known_;  // until
  Instant forgets_at_{};                  // next
  std::set<std::string> neighbours_;
  std::vector<std::string> own_;
  mutable std::map<std::string, std::string, std::less<>> domains_;  // of hosts: looking them up takes time
};

// Holds so much of a resource until its end.
class Share {
 public:
  Share() = default;
  // Empty if there is none. `manager` null: there is no limit.
  Share(Manager* manager, Resource resource, const Spender& spender, std::uint64_t amount = 1);
  ~Share() { release(); }
  Share(Share&& other) noexcept;
  Share& operator=(Share&& other) noexcept;

  [[nodiscard]] bool is_granted() const { return granted_; }
  [[nodiscard]] std::uint64_t amount() const { return granted_ ? amount_ : 0; }
  // Holds so much more of it, if there is as much. Must be granted.
  bool grow(std::uint64_t more);
  void release();

 private:
  Manager* manager_ = nullptr;
  Resource resource_{};
  Spender spender_;
  std::uint64_t amount_ = 0;
  bool granted_ = false;
};

}  // namespace tagring::budget
