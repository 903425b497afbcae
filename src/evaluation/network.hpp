// A network to evaluate load balancing on: nodes with capacities and addresses, hashtags with loads, and
// where both lie on the ring. Everything that never changes while vservers come and go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "ring/contact.hpp"

namespace tagring::evaluation {

inline constexpr unsigned kReplicasMax = 256;  // paper §7

struct NodeRow {
  std::string domain;  // registrable
  Prefix64 prefix{};
  double weight = 0;  // capacities are in proportion to it
};

// How many hashtags have that many posts.
struct SpectrumRow {
  std::uint64_t posts = 0;
  std::uint64_t tags = 0;
};

// Tab-separated, with a header line. Of the columns named "domain" or "registrable_domain" (preferred),
// "address" or "synthetic_ipv6", and "weight", "capacity" or "statuses". kInvalid with the line's number.
Result<std::vector<NodeRow>> parse_nodes(std::string_view text);
// Columns "posts" and "tags"; or "tag" and "posts", one hashtag a line.
Result<std::vector<SpectrumRow>> parse_spectrum(std::string_view text);
// What the binary carries: 1,020 nodes and a spectrum of 1.43 million hashtags; data/evaluation/README.md
// says where they come from.
std::string_view built_in_nodes();
std::string_view built_in_spectrum();

inline constexpr double kNothing = 1e-6;  // GiB: less is a matter of rounding

struct Tag {
  std::uint64_t key = 0;
  std::uint64_t posts = 0;
};
// Every hashtag of a spectrum, in its order.
std::vector<Tag> make_tags(const std::vector<SpectrumRow>& spectrum, std::uint64_t seed);

// As many nodes: drawn from the table without repetition, or repeated under other domains and in other
// networks.
std::vector<NodeRow> resize_nodes(std::vector<NodeRow> nodes, std::size_t count, std::uint64_t seed);

struct Placing {
  ring::IdScheme scheme = ring::IdScheme::kPaper;
  unsigned kappa = 8;     // possible vservers of a node, 1 to 64
  unsigned replicas = 4;  // a power of two
  // A hashtag with more than this, in GiB without replicas, is spread over partitions, a power of two of
  // them, at most 256 / replicas (paper §7.2). Infinite: keys stay whole.
  double split_gib = 0;          // 0: whole
  double total_gib = 34332.27;   // of all posts with their replicas (paper §8.2)
  double capacity_factor = 4.5;  // capacity of all nodes, of the posts without replicas
  std::uint64_t seed = 1;        // where hashtags lie
};

// On how many positions a hashtag of that size lies, replicas and partitions, and where.
unsigned copies_of(const Placing& placing, double gib);
std::uint64_t position_of(std::uint64_t key, unsigned copy, unsigned copies);

// A possible place of a vserver.
struct Site {
  std::uint32_t node = 0;
  std::uint32_t index = 0;  // of the vserver
  std::uint64_t position = 0;
  double before = 0;  // GiB from the ring's origin up to and including this place
};

struct Network {
  std::vector<double> capacity;                     // GiB, by node
  std::vector<Site> sites;                          // in ring order
  std::vector<std::vector<std::uint32_t>> of_node;  // its sites, by vserver
  double total = 0;                                 // GiB
  double heaviest_key = 0;                          // GiB on one position
};

// The place whose keys include that position: the first at or after it.
std::uint32_t gap_of(const Network& network, std::uint64_t position);

Network make_network(const std::vector<NodeRow>& nodes, const std::vector<SpectrumRow>& spectrum,
                     const Placing& placing);

}  // namespace tagring::evaluation
