// Asks a storage owner what it has of a hashtag, and makes sure that its answer is signed and about that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/case.hpp"
#include "audit/notary.hpp"
#include "base/time.hpp"
#include "federation/remote_keys.hpp"
#include "hashtag/tag.hpp"
#include "http/ip.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/storage_hints.hpp"
#include "ring/contact.hpp"

namespace tagring::audit {

class OwnerQuestions {
 public:
  OwnerQuestions(redundancy::StorageHints& hints, federation::RemoteKeys& keys, overlay::RingService& rings,
                 const Notary& notary, const Clock& clock)
      : hints_(hints), keys_(keys), rings_(rings), notary_(notary), clock_(clock) {}

  // Nobody audits themselves.
  [[nodiscard]] bool is_self(const ring::Contact& owner) const;
  // With the key that it has now; or, if that is not fresh, the one that it was known by lately. Who makes
  // this node ask pays for it.
  [[nodiscard]] Task<Result<AuditedOwner>> meet(ring::Contact contact, bool fresh = true,
                                                std::optional<IpAddress> asker = {});
  // About posts of one hour, at most SignedTreeHeads::kIdsMax. kInvalid if what it says is not about them,
  // not signed by it, or proves nothing.
  [[nodiscard]] Task<Result<OwnerAnswer>> ask(AuditedOwner owner, Tag tag, unsigned partition,
                                              std::int64_t hour, std::vector<std::string> uris);

 private:
  redundancy::StorageHints& hints_;
  federation::RemoteKeys& keys_;
  overlay::RingService& rings_;
  const Notary& notary_;
  const Clock& clock_;
};

}  // namespace tagring::audit
