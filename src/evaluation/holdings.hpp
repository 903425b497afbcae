// Where bytes lie while who owns them changes: copies on their way, copies of before that are kept until the
// new owner has them, and what each node's line can carry. Between two neighbouring places of the ring lies a
// gap; all keys in it move together.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "evaluation/network.hpp"

namespace tagring::evaluation {

enum class Cause : std::uint8_t { kChurn, kBalancing };
inline constexpr std::size_t kCauses = 2;

class Holdings {
 public:
  // Nobody owns anything.
  Holdings(const Network& network, unsigned replicas);

  // The node owns the gap and has what it had at the start, without a transfer.
  void start_with(std::uint32_t gap, std::uint32_t node);
  // From now on it is that node's; it fetches what it has not got.
  void own(std::uint32_t gap, std::uint32_t node, Cause cause);
  // Posts come to the owner.
  void add(std::uint32_t gap, double gib);

  // It keeps what it has on its disk. Its gaps are then given to others by own().
  void leave(std::uint32_t node);
  // After own() has given it its gaps again, settle() drops what it had of others.
  void come(std::uint32_t node) { online_[node] = true; }
  void settle(std::uint32_t node) { kept_[node].clear(); }

  // Carries on with all transfers. Each node sends and receives at most that much.
  void carry(double gib);

  [[nodiscard]] bool is_online(std::uint32_t node) const { return online_[node]; }
  // Has it moves of its own under way?
  [[nodiscard]] bool is_moving(std::uint32_t node) const { return moving_[node] > 0; }
  [[nodiscard]] double moved(Cause cause) const { return moved_[static_cast<std::size_t>(cause)]; }
  // GiB on the disk of each node that is there, copies that wait to be dropped included.
  [[nodiscard]] std::vector<double> stored() const;
  [[nodiscard]] std::size_t waiting() const { return pending_.size(); }

 private:
  struct Gap {
    double size = 0;
    double fetched = 0;  // at the owner
    double held = 0;     // at the holder, if that is another
    std::uint32_t owner = 0;
    std::uint32_t holder = 0;  // who has had all of it last
    Cause cause = Cause::kChurn;
    bool pending = false;
  };
  [[nodiscard]] bool is_complete(const Gap& gap) const;
  [[nodiscard]] std::uint32_t source_of(std::uint32_t gap) const;
  void wait_for(std::uint32_t gap);
  void finish(Gap* gap);

  std::vector<Gap> gaps_;
  std::vector<std::vector<std::uint32_t>> replicas_;  // of a gap: where its other copies begin
  std::vector<bool> online_;
  std::vector<std::size_t> moving_;
  std::vector<std::map<std::uint32_t, double>> kept_;  // by node: what lies on its disk, though it left
  std::vector<std::uint32_t> pending_;
  std::vector<double> moved_ = std::vector<double>(kCauses);
  std::size_t turn_ = 0;
};

}  // namespace tagring::evaluation
