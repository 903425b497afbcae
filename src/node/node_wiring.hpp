// Wiring between the parts of a whole node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delivery/results.hpp"
#include "delivery/store.hpp"
#include "node/parts.hpp"
#include "node/wiring.hpp"
#include "redundancy/partition.hpp"
#include "redundancy/relay_hints.hpp"
#include "ring/messages.hpp"
#include "storage/history.hpp"

namespace tagring::node {

class NodeWiring final : public Wiring {
 public:
  // `parts` are being made: nothing is called before they are.
  explicit NodeWiring(Parts& parts) : parts_(parts) {}

  // --- overlay::Observer ---
  void segment_changed(Ring ring, ring::Vserver& vserver) override;
  void gave_up(Ring ring, const RingId& vserver, const Segment& positions, Instant since) override;
  void handed_over(Ring ring, const RingId& vserver) override;
  Task<Result<void>> take_over(Ring ring, ring::Contact asked, ring::TakeOver request) override;
  Task<Result<ring::Load>> load_of(Ring ring, Segment segment) override;
  [[nodiscard]] bool is_blocked(std::string_view host) const override;

  // --- delivery::Observer ---
  Task<Result<std::vector<delivery::Refusal>>> take_as_owner(Ring ring,
                                                             std::vector<delivery::TagEvent> events) override;
  void published(const delivery::PublishedPost& post) override;
  void answered(const std::string& origin, Ring ring, const std::vector<delivery::TagEvent>& events,
                const std::vector<delivery::Refusal>& refusals, const std::string& answer) override;
  [[nodiscard]] std::optional<redundancy::RelayClaim> claim(const Tag& tag) const override;
  void entered(const delivery::FeedEntry& entry) override;
  void relayed(const Tag& tag, std::size_t bytes) override;
  void lost_follower(const Tag& tag, const std::string& inbox) override;
  Task<Result<void>> hand_to_relays(std::vector<delivery::TagEvent> events) override;
  [[nodiscard]] bool was_replayed(const Tag& tag, const std::string& host) const override;
  [[nodiscard]] bool awaits_accept(const std::string& actor, const std::string& host) const override;
  Task<Result<HttpResponse>> deliver_to_fasp_server(std::string inbox, std::string body) override;
  Task<Result<void>> receive_missed(std::vector<delivery::TagEvent> events, std::string owner) override;
  [[nodiscard]] bool is_in_doubt(const std::string& owner, const Tag& tag) const override;
  [[nodiscard]] bool has_forgotten(const std::string& owner, const Tag& tag) override;
  [[nodiscard]] bool is_denied(const std::string& actor) const override;
  [[nodiscard]] bool is_offered(const std::string& collection) const override;

  // --- storage::Observer ---
  Task<Result<void>> fetch_partition(std::string origin, ring::Contact requester, redundancy::Partition from,
                                     redundancy::Partition to, std::uint64_t version,
                                     std::size_t sources) override;
  Task<bool> owe_partition(redundancy::Partition partition) override;
  [[nodiscard]] bool is_shown(const storage::HistoryEntry& entry) const override;

  // --- publisher::Observer ---
  [[nodiscard]] bool is_shared(const std::string& uri) const override;
  Task<Result<bool>> look_at_shared(std::string uri) override;

  // --- replay::Observer ---
  void announces(std::string id, std::string actor, const storage::HistoryEntry& post) override;

  // --- Wiring ---
  void more_relays(const Tag& tag) override;
  void taken_down(const storage::HistoryEntry& entry) override;
  Task<void> leave() override;

 private:
  void note_neighbours();
  Task<Result<std::vector<delivery::Refusal>>> relay_own(std::vector<delivery::TagEvent> events);

  Parts& parts_;
  Instant neighbours_noted_;
};

}  // namespace tagring::node
