// What there is of what was promised: questions the storage owners of all parts of a hashtag about its posts,
// and has each answer judged.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "audit/case.hpp"
#include "audit/judge.hpp"
#include "audit/owner_questions.hpp"
#include "hashtag/tag.hpp"
#include "redundancy/storage_hints.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

class Questioning {
 public:
  Questioning(OwnerQuestions& questions, Judge& judge, storage::HistoryService& history,
              const redundancy::StorageHints& hints)
      : questions_(questions), judge_(judge), history_(history), hints_(hints) {}

  // Both outlive the task. Why an owner did not answer stands in its line of the report; that none of a part
  // did is a finding about nobody. kUnavailable if there is none.
  [[nodiscard]] Task<Result<void>> question_all(Tag tag, AuditedPosts* posts, Report* report);

 private:
  using Met = std::map<std::string, Result<AuditedOwner>>;  // by origin
  Task<void> question_parts(Tag tag, AuditedPosts* posts, Report* report);
  Task<void> question_part(Tag tag, unsigned partition, Met* met, AuditedPosts* posts, Report* report);
  [[nodiscard]] bool is_at_rest(unsigned partition) const;  // every hashtag has it
  Task<Result<void>> question(AuditedOwner owner, Tag tag, unsigned partition, std::vector<std::string> uris,
                              AuditedPosts* posts, Report* report);

  OwnerQuestions& questions_;
  Judge& judge_;
  storage::HistoryService& history_;
  const redundancy::StorageHints& hints_;
};

}  // namespace tagring::audit
