#include "belief/standing.hpp"

#include <algorithm>

#include "base/counted.hpp"

namespace tagring::belief {

void Standing::note(const std::string& origin, bool right) {
  if (!records_.contains(origin)) make_room(records_, kMax);
  const Instant now = clock_.now();
  Record& record = records_.try_emplace(origin, Record{0, 0, now, now}).first->second;
  if (now - record.since >= kForgotten) record = {0, 0, now, now};
  ++(right ? record.right : record.wrong);
  if (!right) record.last_wrong = now;
}

bool Standing::is_doubtful(const Record& record) const {
  if (record.wrong < kWrong || record.right >= record.wrong * kRightForEachWrong) return false;
  const Duration pause = kPause * (1U << std::min(record.wrong - kWrong, kDoublingsMax));
  return clock_.now() - record.last_wrong < pause;
}

bool Standing::is_doubtful(const std::string& origin) const {
  const auto record = records_.find(origin);
  return record != records_.end() && is_doubtful(record->second);
}

std::size_t Standing::doubtful() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(records_, [this](const auto& entry) { return is_doubtful(entry.second); }));
}

}  // namespace tagring::belief
