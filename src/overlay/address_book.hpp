// The nodes of this network that have answered this one, and when: the way back when every configured node is
// gone, and into another part of the network after it has split (paper §5.3). Kept on disk by its owner, as
// text.
//
// It takes only whom this node called on the ring itself, so nobody can write into it; and of one
// neighbourhood, a /48 or a registrable domain, only a few, so that nobody can fill it. Newcomers, however
// many, displace each other: the half that is known longest stays as long as it answers, and is asked first.
// Pure state, bounded: kNodesMax.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ring_id.hpp"
#include "base/rng.hpp"
#include "base/time.hpp"
#include "http/ip.hpp"
#include "ring/contact.hpp"

namespace tagring::overlay {

class AddressBook {
 public:
  static constexpr std::size_t kNodesMax = 512;
  static constexpr std::size_t kNeighboursMax = 8;
  static constexpr std::chrono::days kRemembered{365};  // without an answer, while a quarter of all gave one
  static constexpr std::chrono::days kSilent{7};        // then it makes room first, however long it is known

  // `saved`: what text() gave at a former start; what cannot be read of it is left out.
  AddressBook(std::string_view saved, WallTime now);

  // A vserver of another node has answered a call.
  void note(Ring ring, const ring::Contact& contact, WallTime now);
  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  [[nodiscard]] bool has(std::string_view origin) const { return nodes_.contains(origin); }
  // Up to `count` vservers that have answered since the start, by chance.
  [[nodiscard]] std::vector<ring::Contact> contacts(Ring ring, std::size_t count, Rng& rng) const;
  // Origins of up to `count` nodes, by chance; half of them of those that are known longest.
  [[nodiscard]] std::vector<std::string> origins(std::size_t count, Rng& rng) const;
  // [{"origin", "address", "met", "answered"}] as JSON; times in seconds since 1970.
  [[nodiscard]] std::string text() const;
  // Text() differs in more than an hour's age from what it was when this was last called.
  [[nodiscard]] bool take_changed();
  // What it was then could not be kept.
  void note_unsaved() { changed_ = true; }

 private:
  struct Node {
    std::string host;
    IpAddress address;
    WallTime met{};
    WallTime answered{};
    std::map<Ring, ring::Contact> contacts;
  };
  using Nodes = std::map<std::string, Node, std::less<>>;  // by origin
  void make_room(const Node& for_whom);
  void leave_one_out(WallTime now);

  Nodes nodes_;
  bool changed_ = false;
};

}  // namespace tagring::overlay
