// Part of the search that k-choices (paper §6.2) is measured against:
// what every vserver is likely to bear if sets of active sites are as likely as their penalty allows
// (Boltzmann's distribution). Belief propagation (sum-product): the ring tells every node which arcs may end
// in its places and how likely they are, and every node tells the ring how much it can bear in each of its
// places, given what it is likely to bear in the others. Both parts are exact; that they are told as if they
// were independent is not, but with many nodes it is close.
//
// From beliefs a placement is made by deciding: all arcs of one node are drawn, and the others hear of it.
// That finds for the largest nodes, which can stand in a few places only, what annealing does not: which
// sites of the ring only they can serve.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "evaluation/bearing.hpp"
#include "evaluation/placement.hpp"

namespace tagring::evaluation {

class Beliefs {
 public:
  // Nothing is known. The network outlives it.
  explicit Beliefs(const Network& network);

  // One round of messages. `temperature` in GiB; lower it by little from one round to the next.
  void update(double temperature);
  // Draws the arcs of a node; from now on they are certain. At most once for each node, after an update.
  void decide(std::uint32_t node, Rng* rng);
  // Sites that tile the ring, with what is decided, and the others by what is believed.
  [[nodiscard]] std::vector<std::uint32_t> draw(Rng* rng) const;

 private:
  // What is decided of a site.
  enum class State : std::uint8_t {
    kOpen,
    kBegin,  // active, since a decided arc begins here; how long its own is, is open
    kEnd,    // a decided arc ends here
    kInactive,
  };
  // Three turns of the ring are laid one after the other, so that what is said of the second knows both its
  // neighbours: `at` is a place there, and at % sites a site.
  struct Arc {
    std::size_t begin = 0;
    std::size_t end = 0;
    double gib = 0;
    double weight = 0;  // logarithm
  };
  [[nodiscard]] std::uint32_t site_at(std::size_t at) const {
    return static_cast<std::uint32_t>(at % count_);
  }
  [[nodiscard]] double gib_at(std::size_t at) const;
  template <typename Visit>
  void for_arcs_to(std::size_t end, const Visit& visit) const;
  [[nodiscard]] double tolerance(std::uint32_t site, double gib) const;
  [[nodiscard]] std::vector<double> ways_from(std::size_t first, std::size_t last) const;
  void weigh_ways();
  // From the second turn into the third, by all ways around the ring that use it.
  [[nodiscard]] std::vector<Arc> arcs_across() const;
  // What the ring says of a site: by all ways that use the arc, relative to those without the site, whatever
  // the node can bear.
  [[nodiscard]] std::vector<Arc> arcs_to(std::uint32_t site) const;
  [[nodiscard]] Histogram histogram(std::uint32_t site) const;
  [[nodiscard]] std::vector<Bearing::Tolerance> tolerances(std::uint32_t node) const;
  void settle(std::uint32_t site, const Arc& arc);

  const Network* network_;
  std::size_t count_;
  double longest_over_ = 0;  // GiB above capacity that an arc may be, if there are shorter ones
  double temperature_ = 1;
  std::vector<Bearing> bearing_;               // by node
  std::vector<Bearing::Tolerance> tolerance_;  // by site
  std::vector<Histogram> histogram_;           // by site
  std::vector<State> state_;
  std::vector<std::uint32_t> begin_;  // of the decided arc, by the site that it ends at
  std::vector<char> decided_;         // by node
  std::vector<double> to_, from_;     // by place: logarithm of the weight of all ways to it, and from it on
  double all_ = 0;                    // of all ways around the ring
};

}  // namespace tagring::evaluation
