// Liars among whole nodes: what they write into their stores, answer and send. They know of each other, of
// all that is published and of who owns it, and stand on the rings as anybody does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "delivery/store.hpp"
#include "http/message.hpp"
#include "ring/messages.hpp"
#include "sim/world.hpp"
#include "storage/history.hpp"

namespace tagring::sim {

// As what they lie.
struct LiarRoles {
  bool relay = false;
  bool storage = false;
  bool keeper = false;     // of the numbers of owners and of lists of followers
  bool neighbour = false;  // on the rings
  bool publisher = false;
};
// Of all roles but a neighbour's: who lies on the rings owns what it likes, so that nothing else that is
// counted says anything (docs/attacks.md).
inline constexpr LiarRoles kAllRoles{
    .relay = true, .storage = true, .keeper = true, .neighbour = false, .publisher = true};

// Who owns a hashtag at rest, by the rings.
struct Owners {
  std::set<std::size_t> relays;
  std::set<std::size_t> stores;
  std::set<std::size_t> coordinators;  // on the storage ring, of the key itself
};
std::map<std::string, Owners> owners_of(World& world, const std::vector<std::string>& tags);

// So many of them, or all, in the order in which they are drawn.
template <class T>
std::vector<T> draw(Rng& rng, std::vector<T> from, std::size_t count) {
  std::vector<T> drawn;
  while (drawn.size() < count && !from.empty()) {
    const auto one = from.begin() + static_cast<std::ptrdiff_t>(rng.below(from.size()));
    drawn.push_back(*one);
    from.erase(one);
  }
  return drawn;
}

class Lies {
 public:
  Lies(std::uint64_t seed, std::set<std::size_t> liars, LiarRoles roles, std::vector<std::string> tags);

  // Their stores lie from the start, their answers from begin() on.
  void shape(WorldOptions* options);
  // `bystander`: a host at which they aim.
  void begin(World& world, std::map<std::string, std::set<std::size_t>> subscribers, std::string bystander);
  // Each that is up sends some.
  void tell(std::map<std::string, Owners> owners);
  // Of a post that nobody has been told of yet.
  void outrun(const World::Post& post);

  [[nodiscard]] bool is_liar(std::size_t node) const { return liars_.contains(node); }
  [[nodiscard]] std::size_t count() const { return liars_.size(); }
  // How many were told, by role.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& told() const { return told_; }

 private:
  enum class Kind : std::uint8_t { kRemoved, kDate, kAuthor };
  using Entries = std::vector<storage::HistoryEntry>;
  using Events = std::vector<delivery::TagEvent>;

  Entries forge_entries(Entries entries);
  std::optional<HttpResponse> answer(std::size_t node, const HttpRequest& request);
  std::optional<HttpResponse> answer_as_keeper(const HttpRequest& request);
  std::optional<HttpResponse> answer_transfer(const HttpRequest& request);
  json::array false_set(const std::string& tag) const;
  json::array false_followers(const std::string& tag, bool of_transfer) const;
  json::array false_feed(const std::vector<std::string>& tags);
  std::vector<std::string> tags_of(const HttpRequest& transfer) const;

  // false_ring.cpp
  std::optional<HttpResponse> answer_as_neighbour(std::size_t node, const HttpRequest& request);
  std::optional<HttpResponse> answer_on_ring(std::size_t node, const HttpRequest& request);
  std::optional<HttpResponse> answer_as_new_owner(std::size_t node, const HttpRequest& request) const;
  std::optional<HttpResponse> withhold(const HttpRequest& transfer);
  [[nodiscard]] std::optional<std::size_t> honest_asker(const HttpRequest& request) const;
  // The places of all liars who are up, clockwise from there.
  [[nodiscard]] std::vector<ring::Contact> accomplices(Ring ring, const RingId& from) const;
  [[nodiscard]] ring::FindReply false_way(Ring ring, const ring::Contact& asked, const RingId& key) const;
  [[nodiscard]] ring::Neighbours false_neighbours(Ring ring, const ring::Contact& asked, std::size_t asker,
                                                  bool denies) const;
  void tell_as_neighbour(std::size_t liar);

  void tell_as_relay(std::size_t liar, const std::string& tag);
  void tell_as_storage(std::size_t liar, const std::string& tag);
  void tell_as_keeper(std::size_t liar, const std::string& tag);
  void tell_as_publisher(std::size_t liar, const std::string& tag);
  void send(std::size_t liar, std::size_t to, const char* role, const std::string& target,
            const Events& events);

  delivery::TagEvent invent(const std::string& tag, const std::string& host);
  std::string honest_host();
  // Some that live, as they are.
  Events some(const std::string& tag, std::size_t count);
  Events false_adds(const std::string& tag);
  Events revived(const std::string& tag);
  static Events removals(Events events);
  static delivery::TagEvent altered(delivery::TagEvent event, Kind kind);
  [[nodiscard]] std::set<std::size_t> honest(const std::set<std::size_t>& nodes) const;
  std::vector<std::string> pick(std::size_t liar, std::set<std::size_t> Owners::* owners);
  std::string new_id(std::size_t liar);

  std::set<std::size_t> liars_;
  LiarRoles roles_;
  std::vector<std::string> tags_;
  Rng rng_;
  World* world_ = nullptr;
  std::map<std::string, std::set<std::size_t>> subscribers_;
  std::string bystander_;
  std::map<std::string, Owners> owners_;
  std::map<std::string, std::uint64_t> told_;
  std::uint64_t made_ = 0;      // ids and posts
  std::uint64_t answered_ = 0;  // requests that keepers could have lied about
};

}  // namespace tagring::sim
