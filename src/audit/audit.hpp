// The audit of a hashtag (docs/audit.md, paper §3.4): holds what owners have signed that they took against
// what the storage owners of today sign that they have.
#pragma once

#include <deque>

#include "audit/judge.hpp"
#include "audit/offences.hpp"
#include "audit/questioning.hpp"
#include "audit/receipt_gatherer.hpp"
#include "audit/receipt_store.hpp"
#include "base/json.hpp"
#include "base/time.hpp"
#include "hashtag/tag.hpp"

namespace tagring::audit {

class Audit {
 public:
  Audit(ReceiptGatherer& gatherer, Questioning& questioning, Judge& judge, Offences& offences,
        ReceiptStore& reports, const Clock& clock)
      : gatherer_(gatherer),
        questioning_(questioning),
        judge_(judge),
        offences_(offences),
        reports_(reports),
        clock_(clock) {}

  // What is proved goes to Offences. {"tag", "at", "posts", "receipts", "unchecked", "owners": […],
  // "findings": […]}; docs/audit.md has the members.
  [[nodiscard]] Task<Result<json::object>> of(Tag tag);
  // Reads the last reports, once at the start.
  [[nodiscard]] Task<Result<void>> load();
  // These, the latest first.
  static constexpr std::size_t kRememberedMax = 10;
  [[nodiscard]] const std::deque<json::object>& last() const { return last_; }

 private:
  ReceiptGatherer& gatherer_;
  Questioning& questioning_;
  Judge& judge_;
  Offences& offences_;
  ReceiptStore& reports_;
  const Clock& clock_;
  std::deque<json::object> last_;
};

}  // namespace tagring::audit
