// What storage owners of one hashtag say to each other of their set (paper §7.2; docs/protocol.md, "Storage
// sets"): reports, to anybody who asks, and signed wishes and numbers between owners.
#pragma once

#include <string>

#include "base/json.hpp"
#include "budget/manager.hpp"
#include "federation/signed_client.hpp"
#include "hashtag/tag.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/storage_policy.hpp"
#include "ring/contact.hpp"

namespace tagring::storage {

class StorageCalls {
 public:
  static constexpr std::string_view kPath = "/tagring/v1/stores";

  StorageCalls(const redundancy::StorageHints& hints, overlay::RingService& rings,
               federation::SignedClient& client, budget::Manager& budget, Clock& clock)
      : hints_(hints), rings_(rings), client_(client), budget_(budget), clock_(clock) {}

  [[nodiscard]] const std::string& own_origin() const { return client_.identity().origin(); }
  // What an owner says of itself. kInvalid if it is malformed, or of another hashtag.
  [[nodiscard]] Task<Result<redundancy::StorageReport>> ask_report(ring::Contact owner, Tag tag);
  // Signed. What the other keeps of the tag afterwards; kInvalid as above.
  [[nodiscard]] Task<Result<redundancy::StorageSet>> tell(std::string origin, Tag tag, json::object body);
  // Of one that says so: kNotOwner unless that node owns the position; kBusy if it cannot be looked up now.
  [[nodiscard]] Task<Result<void>> check_owner(RingId position, std::string origin);

 private:
  [[nodiscard]] Result<redundancy::StorageSet> set_of(const Tag& tag, const json::object& answer) const;

  const redundancy::StorageHints& hints_;
  overlay::RingService& rings_;
  federation::SignedClient& client_;
  budget::Manager& budget_;
  Clock& clock_;
};

// {"tag","version","replicas","reach","at","shelves":[{"slot","octets"}],"bearable","merged"}
json::object to_json(const redundancy::StorageReport& report);

}  // namespace tagring::storage
