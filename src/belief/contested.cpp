#include "belief/contested.hpp"

namespace tagring::belief {

Instant Contested::heard(const Key& key) const {
  const auto claim = claims_.find(key);
  return claim == claims_.end() ? clock_.now() : claim->second.heard;
}

bool Contested::is_looked_at(const Key& key) const {
  const auto claim = claims_.find(key);
  return claim != claims_.end() && clock_.now() - claim->second.looked < kLookEvery;
}

void Contested::put_off(const Key& key, Instant heard) {
  const auto [claim, fresh] = claims_.try_emplace(key, Claimed{heard, heard, {}});
  claim->second.looked = clock_.now();
  if (!fresh) return;
  order_.emplace_back(heard, key);
  if (order_.size() > kMax) drop_oldest();
}

void Contested::note_sender(const Key& key, const std::string& sender) {
  const auto claim = claims_.find(key);
  if (claim != claims_.end() && claim->second.senders.size() < kSendersMax)
    claim->second.senders.insert(sender);
}

void Contested::give_up(Standing& standing) {
  while (!order_.empty() && clock_.now() - order_.front().first >= kGivenUp) {
    const auto claim = claims_.find(order_.front().second);
    if (claim != claims_.end() && claim->second.heard == order_.front().first) {
      const std::string& uri = std::get<1>(claim->first);
      for (const std::string& sender : claim->second.senders) standing.note(sender, uri, /*right=*/false);
    }
    drop_oldest();
  }
}

void Contested::drop_oldest() {
  const auto claim = claims_.find(order_.front().second);
  if (claim != claims_.end() && claim->second.heard == order_.front().first) claims_.erase(claim);
  order_.pop_front();
}

}  // namespace tagring::belief
