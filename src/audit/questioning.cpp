#include "audit/questioning.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "audit/signed_tree_heads.hpp"
#include "http/url.hpp"
#include "redundancy/partition.hpp"
#include "ring/contact.hpp"

namespace tagring::audit {
namespace {

// A post that is there in one of its hours is there.
void note_state(const OwnerAnswer& answer, std::size_t index, const Part& part, AuditedPost* post) {
  Seen& seen = post->seen[part];
  if (seen.state == storage::PostState::kAbsent) seen.state = answer.states[index];
  seen.at = std::max(seen.at, answer.head.at);
}

}  // namespace

Task<Result<void>> Questioning::question_all(Tag tag, AuditedPosts* posts, Report* report) {
  co_await question_parts(tag, posts, report);
  if (!report->lines.empty()) co_return Result<void>();
  // This node may be the only one.
  const std::vector<ring::Contact> owners = co_await history_.owners(Ring::kStorage, tag);
  if (owners.empty()) co_return fail(ErrorCode::kUnavailable, "no storage owner of the hashtag was found");
  co_return Result<void>();
}

// The owners of all parts. How many parts there are, those at rest say, who are asked first.
Task<void> Questioning::question_parts(Tag tag, AuditedPosts* posts, Report* report) {
  Met met;
  std::set<unsigned> done;
  for (;;) {
    const std::vector<unsigned> partitions =
        redundancy::partitions_of_set(hints_.copies(), hints_.known(tag).read_factor);
    const auto next =
        std::ranges::find_if(partitions, [&](unsigned partition) { return !done.contains(partition); });
    if (next == partitions.end()) co_return;
    done.insert(*next);
    co_await question_part(tag, *next, &met, posts, report);
  }
}

bool Questioning::is_at_rest(unsigned partition) const {
  const std::vector<unsigned> parts = redundancy::partitions_of_set(hints_.copies(), hints_.at_rest());
  return std::ranges::find(parts, partition) != parts.end();
}

// Where nobody answers nothing is known to be missing, nor to be there. (That there are so many parts may be
// what a single owner says: of one that not every hashtag has, it is an answer that somebody has no such.)
Task<void> Questioning::question_part(Tag tag, unsigned partition, Met* met, AuditedPosts* posts,
                                      Report* report) {
  std::vector<std::string> uris;
  for (const auto& [uri, post] : *posts) {
    if (std::ranges::binary_search(partitions_of(hints_, tag, uri), partition)) uris.push_back(uri);
  }
  const std::vector<ring::Contact> contacts = co_await history_.owners_of_partition({tag, partition});
  bool is_answered = uris.empty();
  std::string failure = "none was found";
  for (const ring::Contact& contact : contacts) {
    const std::string origin = contact.origin();
    if (questions_.is_self(contact)) {
      is_answered = is_answered || contacts.size() == 1;  // there is nobody else
      continue;
    }
    Report::Line& line = report->lines[origin];
    report->owners.insert(origin);
    for (const std::string& uri : uris) {
      AuditedPost& post = posts->at(uri);
      if (!post.dates({origin, partition}).empty()) ++post.asked[partition];
    }
    if (!met->contains(origin)) {
      Result<AuditedOwner> owner = co_await questions_.meet(contact);
      met->emplace(origin, std::move(owner));
    }
    const Result<AuditedOwner>& owner = met->at(origin);
    Result<void> answered = owner ? Result<void>() : std::unexpected(owner.error());
    if (owner) answered = co_await question(*owner, tag, partition, uris, posts, report);
    const bool has_none = !answered && answered.error().code == ErrorCode::kNotOwner;
    is_answered = is_answered || answered || (has_none && !is_at_rest(partition));
    if (!answered) line.error = failure = answered.error().message;
  }
  if (is_answered) co_return;
  report->find("unanswered", "", "",
               fmt::format("no owner of {} said what it has of {} posts, so it is not known whether they "
                           "are there: {}",
                           redundancy::Partition{tag, partition}.name(), uris.size(), failure));
}

Task<Result<void>> Questioning::question(AuditedOwner owner, Tag tag, unsigned partition,
                                         std::vector<std::string> uris, AuditedPosts* posts, Report* report) {
  const Part part(owner.contact.origin(), partition);
  Report::Line& line = report->lines.at(part.first);
  std::map<std::int64_t, std::vector<std::string>> hours;
  for (const std::string& uri : uris) {
    for (const auto& [hour, date] : posts->at(uri).dates(part)) hours[hour].push_back(uri);
  }
  for (const auto& [hour, of_hour] : hours) {
    for (std::size_t begin = 0; begin < of_hour.size(); begin += SignedTreeHeads::kIdsMax) {
      const std::size_t end = std::min(begin + SignedTreeHeads::kIdsMax, of_hour.size());
      const std::vector<std::string> some(of_hour.begin() + static_cast<std::ptrdiff_t>(begin),
                                          of_hour.begin() + static_cast<std::ptrdiff_t>(end));
      CO_TRY(const OwnerAnswer answer, co_await questions_.ask(owner, tag, partition, hour, some));
      for (std::size_t i = 0; i < some.size(); ++i) {
        AuditedPost& post = posts->at(some[i]);
        note_state(answer, i, part, &post);
        ++line.asked;
        ++line.counts[std::string(storage::to_string(answer.states[i]))];
        const WallTime date = post.dates(part).at(hour);
        co_await judge_.judge({&owner, partition, tag, some[i], date, &answer, i}, &post, report);
      }
    }
  }
  co_return Result<void>();
}

}  // namespace tagring::audit
