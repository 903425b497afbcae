// A file that shows anybody, without the network, that an owner left out of its history a post that it had
// acknowledged: its receipt, and a later head of its own that proves that the post is not there
// (docs/audit.md).
#pragma once

#include "storage/statements.hpp"

namespace tagring::audit {

struct Evidence {
  storage::ItemReceipt receipt;
  storage::Head head;
  storage::HeadProof proof;
  std::string key;       // the owner's, PEM
  std::string key_from;  // where it was fetched; that it is the owner's is for the reader to check
  WallTime key_at;       // and when
};

// kInvalid, with the reason, unless it proves the omission: both statements are signed with the key and by
// one owner of storage, about one partition of a hashtag; the head is later than the receipt, of the hour of
// the post and of a time from which on the owner keeps the hashtag, and that part of it; and the post is not
// in it.
Result<void> check(const Evidence& evidence);

json::object to_json(const Evidence& evidence);
Result<Evidence> evidence_from_json(const json::object& object);

}  // namespace tagring::audit
