// Who relays a hashtag: the owners of the equidistant places of its key on the relay ring, of as many as are
// asked about (paper §7.1). Blocked nodes are none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "budget/manager.hpp"
#include "hashtag/tag.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/relay_hints.hpp"
#include "ring/contact.hpp"

namespace tagring::relay {

class RelayPlaces {
 public:
  // `own`: origin of this node.
  RelayPlaces(overlay::RingService& rings, redundancy::RelayHints& hints, std::string own,
              budget::Manager& budget)
      : rings_(rings), hints_(hints), own_(std::move(own)), budget_(budget) {}

  [[nodiscard]] redundancy::RelayHints& hints() const { return hints_; }
  [[nodiscard]] overlay::RingService& rings() const { return rings_; }
  [[nodiscard]] const std::string& own_origin() const { return own_; }
  [[nodiscard]] unsigned at_rest() const { return hints_.at_rest(); }

  // --- this node's own ------------------------------------------------------------------------------------
  // Its places in a set of so many, ascending.
  [[nodiscard]] std::vector<unsigned> own_places(const Tag& tag, unsigned relays) const;
  // It has one of those at rest.
  [[nodiscard]] bool is_relay_at_rest(const Tag& tag) const { return !own_places(tag, at_rest()).empty(); }
  // That place of a set of so many is also one of those at rest.
  [[nodiscard]] bool is_place_at_rest(unsigned place, unsigned of) const;
  // There are no more vservers than that, about: more relays are of no use.
  [[nodiscard]] double vservers() const;

  // --- others ---------------------------------------------------------------------------------------------
  // The nodes of relays first, first + step, … of so many, each once, without this one. Whoever is not found
  // is left out.
  [[nodiscard]] Task<std::vector<std::string>> origins(Tag tag, unsigned relays, unsigned first,
                                                       unsigned step);
  // The same of all of them: nothing if one is not found.
  [[nodiscard]] Task<std::optional<std::vector<std::string>>> all_origins(Tag tag, unsigned relays);
  // kNotOwner unless the node there has that place; kBusy if it cannot be looked up now.
  [[nodiscard]] Task<Result<void>> check_place(Tag tag, std::string origin, unsigned index, unsigned of);
  // The same of one that asks, at the expense of that one.
  [[nodiscard]] Task<Result<void>> check_asker(Tag tag, std::string origin, unsigned index, unsigned of);
  // kNotOwner unless the node there, which asks, has one of the places at rest; kBusy if one of these cannot
  // be looked up now.
  [[nodiscard]] Task<Result<void>> check_asker_at_rest(Tag tag, std::string origin);
  // kNotOwner unless that node is one of so many relays, at its expense.
  [[nodiscard]] Task<Result<void>> check_signer(Tag tag, std::string origin, unsigned relays);

  struct Found {
    std::vector<ring::Contact> relays;
    bool complete = true;  // all could be looked up
  };
  // The vservers that relay the tag now, as far as is known how many, without those of this node.
  [[nodiscard]] Task<Found> find(Tag tag);
  // One of them stands at that node, or cannot be looked up.
  [[nodiscard]] Task<bool> may_be_at(Tag tag, std::string origin);
  // They are looked up anew the next time.
  void forget(const Tag& tag);

 private:
  struct Origins {
    std::vector<std::string> origins;
    bool are_all = true;
  };
  Task<Origins> find_origins(Tag tag, unsigned relays, unsigned first, unsigned step);

  overlay::RingService& rings_;
  redundancy::RelayHints& hints_;
  std::string own_;
  budget::Manager& budget_;
};

}  // namespace tagring::relay
