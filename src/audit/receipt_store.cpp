#include "audit/receipt_store.hpp"

namespace tagring::audit {

std::vector<crypto::Hash256> leaves_of(const std::vector<storage::TakenItem>& items) {
  std::vector<crypto::Hash256> hashes;
  hashes.reserve(items.size());
  for (const storage::TakenItem& item : items) hashes.push_back(item.leaf());
  return hashes;
}

}  // namespace tagring::audit
