#include "audit/receipt_store.hpp"

namespace tagring::audit {

std::vector<crypto::Hash256> KeptReceipt::leaves() const {
  std::vector<crypto::Hash256> hashes;
  hashes.reserve(items.size());
  for (const storage::TakenItem& item : items) hashes.push_back(item.leaf());
  return hashes;
}

}  // namespace tagring::audit
