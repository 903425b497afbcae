#include "audit/watch.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/counted.hpp"
#include "ring/contact.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {

using storage::PostState;

Task<void> Watch::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Watch::look_for_ever() {
  for (;;) {
    // Not all nodes of a network that starts at once.
    const auto spread = static_cast<std::uint64_t>(kEvery.count());
    const Instant next = clock_.now() + kEvery / 2 + Duration(static_cast<Duration::rep>(rng_.below(spread)));
    co_await clock_.sleep_until(next);
    co_await look();
  }
}

Task<void> Watch::look() {
  std::optional<Sample> sample = co_await samples_.draw();
  if (!sample) co_return;
  ++counters_.looks;
  const Tag tag = sample->tag;
  const bool amiss = co_await is_amiss(std::move(*sample));
  if (!amiss) co_return;
  ++counters_.amiss;
  const Instant now = clock_.now();
  const auto audited = audited_.find(tag);
  if (audited != audited_.end() && now - audited->second < kAuditedFor) co_return;
  if (audited == audited_.end()) make_room(audited_, kAuditedMax);
  audited_.insert_or_assign(tag, now);
  ++counters_.audits;
  co_await audit_.of(tag);  // what it finds it keeps
}

bool Watch::is_contradiction(std::set<PostState> said) {
  if (said.size() > 1 && !said.contains(PostState::kLive)) said.erase(PostState::kAbsent);
  return said.size() > 1;
}

// The owners of a part do not say the same of a post, or nobody has it, or says that one was removed which is
// published here. Who took it down shows why, and who let it go says so.
Task<bool> Watch::is_amiss(Sample sample) {
  std::vector<std::set<PostState>> said_of_all(sample.uris.size());
  bool amiss = false;
  for (const unsigned partition : sample.partitions) {
    std::vector<std::set<PostState>> said(sample.uris.size());
    const std::vector<ring::Contact> owners = co_await history_.owners_of_partition({sample.tag, partition});
    for (const ring::Contact& contact : owners) {
      if (questions_.is_self(contact)) continue;
      const Result<AuditedOwner> owner = co_await questions_.meet(contact, /*fresh=*/false);
      if (!owner) continue;
      const Result<OwnerAnswer> answer =
          co_await questions_.ask(*owner, sample.tag, partition, sample.hour, sample.uris);
      if (!answer || storage::hour_of(answer->head.kept_from) >= sample.hour) continue;
      for (std::size_t i = 0; i < said.size(); ++i) {
        if (answer->states[i] == PostState::kTakenDown)
          amiss = amiss || !answer->notices.contains(sample.uris[i]);
        else
          said[i].insert(answer->states[i]);
      }
    }
    for (std::size_t i = 0; i < said.size(); ++i) {
      amiss = amiss || is_contradiction(said[i]);
      said_of_all[i].merge(said[i]);
    }
  }
  if (amiss) co_return true;
  std::vector<std::string> removed;
  for (std::size_t i = 0; i < said_of_all.size(); ++i) {
    const std::set<PostState>& said = said_of_all[i];
    if (said == std::set{PostState::kAbsent}) co_return true;
    if (said.contains(PostState::kRemoved) || said.contains(PostState::kCorrected))
      removed.push_back(sample.uris[i]);
  }
  if (!sample.own || removed.empty()) co_return false;
  co_return co_await judge_.publishes_any(std::move(removed), sample.tag);
}

}  // namespace tagring::audit
