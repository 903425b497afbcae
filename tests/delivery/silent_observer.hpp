// For tests of parts of the relay role alone: a node that wants to know nothing and denies nothing.
#pragma once

#include "delivery/observer.hpp"

namespace tagring::delivery {

class SilentObserver : public Observer {
 public:
  Task<Result<std::vector<Refusal>>> take_as_owner(Ring /*ring*/, std::vector<TagEvent> /*events*/) override {
    co_return std::vector<Refusal>();
  }
  void answered(const std::string& /*origin*/, Ring /*ring*/, const std::vector<TagEvent>& /*events*/,
                const std::vector<Refusal>& /*refusals*/, const std::string& /*answer*/) override {}
  [[nodiscard]] std::optional<redundancy::RelayClaim> claim(const Tag& /*tag*/) const override {
    return std::nullopt;
  }
  void published(const PublishedPost& /*post*/) override {}
  void entered(const FeedEntry& /*entry*/) override {}
  void relayed(const Tag& /*tag*/, std::size_t /*bytes*/) override {}
  void lost_follower(const Tag& /*tag*/, const std::string& /*inbox*/) override {}
  Task<Result<void>> hand_to_relays(std::vector<TagEvent> /*events*/) override { co_return Result<void>(); }
  [[nodiscard]] bool was_replayed(const Tag& /*tag*/, const std::string& /*host*/) const override {
    return false;
  }
  [[nodiscard]] bool awaits_accept(const std::string& /*actor*/, const std::string& /*host*/) const override {
    return false;
  }
  Task<Result<HttpResponse>> deliver_to_fasp_server(std::string /*inbox*/, std::string /*body*/) override {
    co_return HttpResponse();
  }
  Task<Result<void>> receive_missed(std::vector<TagEvent> /*events*/, std::string /*owner*/) override {
    co_return Result<void>();
  }
  [[nodiscard]] bool is_in_doubt(const std::string& /*owner*/, const Tag& /*tag*/) const override {
    return false;
  }
  [[nodiscard]] bool has_forgotten(const std::string& /*owner*/, const Tag& /*tag*/) override {
    return false;
  }
  [[nodiscard]] bool is_denied(const std::string& /*actor*/) const override { return false; }
  [[nodiscard]] bool is_offered(const std::string& /*collection*/) const override { return true; }
};

}  // namespace tagring::delivery
