// One owner of a hashtag acknowledges the posts of one instance and drops them; that instance's node audits
// the hashtag again and again. Measures how long it takes until the dropper is named, and whether
// anybody else is.
#pragma once

#include <cstdint>

#include "base/ring_id.hpp"
#include "base/time.hpp"

namespace tagring::runs {

struct AuditRunOptions {
  std::uint64_t seed = 1;
  std::size_t nodes = 8;  // at least 4
  std::size_t posts = 40;
  Duration between = std::chrono::seconds(15);  // two posts
  Duration audit_every = std::chrono::minutes(5);
  Ring ring = Ring::kStorage;  // as what the dropper drops
};

struct AuditRunResult {
  std::size_t dropped = 0;      // posts that the dropper acknowledged
  std::size_t named = 0;        // of these, for how many the last audit names it
  std::size_t proved = 0;       // with evidence that holds
  std::size_t false_named = 0;  // findings of omission about others, in all audits
  std::size_t audits = 0;
  double seconds = -1;  // from the first dropped post to the audit that names the dropper; -1: none did
  double messages_per_audit = 0;
};

AuditRunResult run_audit(const AuditRunOptions& options);

}  // namespace tagring::runs
