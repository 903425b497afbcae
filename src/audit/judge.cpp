#include "audit/judge.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "audit/evidence.hpp"
#include "audit/signed_tree_heads.hpp"
#include "base/bytes.hpp"
#include "crypto/key.hpp"
#include "http/url.hpp"

namespace tagring::audit {
namespace {

constexpr Duration kYear = std::chrono::days(365);

}  // namespace

// This node's own word on whether a post of its instances stands.
Task<bool> Judge::publishes(std::string uri, Tag tag) {
  const Result<delivery::PublishedPost> post = co_await store_.find_post(std::move(uri));
  co_return post&& std::ranges::find(post->tags, tag) != post->tags.end();
}

// Says that a post which this node publishes still was removed, or was not there as it is.
Task<bool> Judge::contradicts(std::string uri, Tag tag, storage::PostState state, std::int64_t hour) {
  const Result<delivery::PublishedPost> post = co_await store_.find_post(std::move(uri));
  if (!post || std::ranges::find(post->tags, tag) == post->tags.end()) co_return false;
  co_return state == storage::PostState::kRemoved || storage::hour_of(post->published) == hour;
}

Task<void> Judge::judge(Statement statement, AuditedPost* post, Report* report) {
  const std::string origin = statement.owner->contact.origin();
  const std::string& uri = statement.uri;
  const storage::PostState state = statement.answer->states[statement.index];
  const std::string name = "#" + statement.tag.canonical();
  if (state == storage::PostState::kTakenDown) {
    const auto notice = statement.answer->notices.find(uri);
    if (notice != statement.answer->notices.end()) {
      report->find_taken_down(origin, notice->second);
    } else {
      report->find("taken_down_unexplained", origin, uri,
                   fmt::format("{} took {} down from {} and shows no reason", origin, uri, name));
    }
    co_return;
  }
  if (state == storage::PostState::kRemoved || state == storage::PostState::kCorrected) {
    const bool contradicts =
        co_await this->contradicts(uri, statement.tag, state, statement.answer->head.hour);
    if (contradicts)
      report->find("not_removed", origin, uri,
                   fmt::format("{} says that {} was {}; this node publishes it still", origin, uri,
                               state == storage::PostState::kRemoved ? "removed by its author"
                                                                     : "never there, or at another date"));
    co_return;
  }
  if (state == storage::PostState::kAbsent) judge_absence(statement, post, report);
}

void Judge::judge_absence(const Statement& statement, AuditedPost* post, Report* report) const {
  const AuditedOwner& owner = *statement.owner;
  const OwnerAnswer& answer = *statement.answer;
  const storage::Head& head = answer.head;
  const Part part(owner.contact.origin(), statement.partition);
  const std::string& origin = part.first;
  const std::string& uri = statement.uri;
  const std::string name = "#" + head.partition.tag.canonical();
  const auto promised = post->of_storage.find(part);
  const bool has_promised = promised != post->of_storage.end();
  const WallTime date = has_promised ? promised->second.receipt.item.published : post->published;
  if (date < head.kept_from) {
    post->seen[part].is_let_go = true;
    // Before the year is over only who has no room may do so (paper §5.7). If the post may be of another
    // part, that says nothing about it.
    const bool is_of_part =
        std::ranges::any_of(post->of_storage,
                            [&](const auto& entry) { return entry.first.second == part.second; }) ||
        partitions_of(hints_, head.partition.tag, uri).size() == 1;
    if (head.at - date < kYear && is_of_part)
      report->find("let_go_early", origin, uri,
                   fmt::format("{} let {} go to make room, as all of {} before {}", origin, uri, name,
                               to_rfc3339(head.kept_from)));
    return;
  }
  const bool is_handed = has_promised && part.second != 0 && promised->second.receipt.batch.at <= head.begun;
  if (!has_promised || is_handed) return;  // see judge_missing
  post->seen[part].is_promised = true;
  Evidence evidence{
      promised->second.receipt, head, answer.proofs[statement.index], owner.key, head.actor, owner.key_at};
  const Result<void> proved = check(evidence);
  json::object* finding = report->find(
      proved ? "omitted" : "omitted_unproved", origin, uri,
      fmt::format("{} signed at {} that it took {} under {}, and at {} that it does not have it{}", origin,
                  to_rfc3339(promised->second.receipt.batch.at), uri, name, to_rfc3339(head.at),
                  proved ? "" : " (no evidence: " + proved.error().message + ")"));
  if (finding == nullptr) return;
  (*finding)["accepted_at"] = to_ms(promised->second.receipt.batch.at);
  if (proved) (*finding)["evidence"] = to_json(evidence);
}

// Owners of a part to which the post belongs, by what others sign of it, or since there is no other.
void Judge::judge_missing(const Tag& tag, const std::string& uri, const AuditedPost& post,
                          Report* report) const {
  if (post.removal) return;
  const bool is_only_part = partitions_of(hints_, tag, uri).size() == 1;
  for (const auto& [part, seen] : post.seen) {
    if (seen.state != storage::PostState::kAbsent || seen.is_let_go || seen.is_promised) continue;
    const auto is_of_part = [&](const auto& entry) {
      return entry.first.second == part.second && entry.first.first != part.first;
    };
    const auto is_old = [&](const Held& held) { return seen.at - held.receipt.batch.at > kGrace; };
    const bool is_taken = std::ranges::any_of(
        post.of_storage, [&](const auto& entry) { return is_of_part(entry) && is_old(entry.second); });
    const bool is_there = std::ranges::any_of(post.seen, [&](const auto& other) {
      return is_of_part(other) && other.second.state != storage::PostState::kAbsent;
    });
    const bool is_settled = std::ranges::any_of(
        post.of_relays, [&](const Held& held) { return held.receipt.item.indexable && is_old(held); });
    if (is_taken || (is_settled && (is_only_part || is_there)))
      report->find("missing", part.first, uri,
                   fmt::format("{} does not have {} under #{}; nothing shows that it ever took it",
                               part.first, uri, tag.canonical()));
  }
}

// Who took it for a part that is with others by now has given it to them, or taken it down; or it would be
// nowhere.
Task<void> Judge::judge_handed(Tag tag, std::string uri, const AuditedPost* post, Report* report) {
  const bool is_nowhere = !post->removal && post->asked > 0 && post->seen.size() == post->asked &&
                          std::ranges::all_of(post->seen, [](const auto& entry) {
                            return entry.second.state == storage::PostState::kAbsent &&
                                   !entry.second.is_let_go && !entry.second.is_promised;
                          });
  if (!is_nowhere) co_return;
  for (const auto& [part, held] : post->of_storage) {
    if (report->is_full()) co_return;
    const std::optional<storage::TakeDown> notice = co_await explained(&held);
    if (notice) {
      report->find_taken_down(part.first, *notice);
      continue;
    }
    json::object* finding = report->find(
        "not_handed_over", part.first, uri,
        fmt::format("{} signed at {} that it took {} under #{}, for a part that is with other owners by now; "
                    "nobody has it",
                    part.first, to_rfc3339(held.receipt.batch.at), uri, tag.canonical()));
    if (finding != nullptr) (*finding)["receipt"] = storage::to_json(held.receipt);
  }
}

// Its notice, if the owner that signed it has taken the post down.
Task<std::optional<storage::TakeDown>> Judge::explained(const Held* held) {
  const storage::TakenItem& item = held->receipt.item;
  const std::string& actor = held->receipt.batch.actor;
  const auto url =
      Url::parse(fmt::format("{}{}?tag={}&slot={}&hour={}&id={}", origin_of(actor), SignedTreeHeads::kPath,
                             percent_encode(item.partition.tag.canonical()), item.partition.number,
                             storage::hour_of(item.published), to_hex(storage::post_id(item.uri))));
  const auto key = crypto::PublicKey::from_pem(held->key);
  if (!url || !key) co_return std::nullopt;
  const Result<HttpResponse> response =
      co_await http_.send(HttpCall("GET", *url, clock_.now() + kAuditTimeout));
  const auto body = response ? json::parse_object(response->body) : Result<json::object>();
  std::optional<storage::TakeDown> found;
  if (!body) co_return found;
  json::for_each(json::find(*body, "taken_down"), [&](const json::value& element) {
    const auto notice =
        storage::take_down_from_json(element.is_object() ? element.get_object() : json::object());
    const bool is_genuine = notice && notice->actor == actor && notice->tag == item.partition.tag &&
                            notice->uri == item.uri && key->verify(notice->signed_text(), notice->signature);
    if (is_genuine) found = *notice;
  });
  co_return found;
}

// A relay that took a post for the archive can show what a storage owner signed for it, or the post is there.
void Judge::judge_relays(const std::string& uri, const AuditedPost& post, Report* report) const {
  if (post.removal) return;
  const bool nowhere = post.asked > 0 && post.seen.size() == post.asked &&
                       std::ranges::all_of(post.seen, [](const auto& entry) {
                         return entry.second.state == storage::PostState::kAbsent;
                       });
  for (const Held& held : post.of_relays) {
    const std::string relay = origin_of(held.receipt.batch.actor);
    const bool late = clock_.wall_now() - held.receipt.batch.at > kGrace;
    if (!held.receipt.item.indexable || !late) continue;
    const std::string taken =
        fmt::format("{} signed at {} that it took {}", relay, to_rfc3339(held.receipt.batch.at), uri);
    // One that stores the hashtag alone had nobody to ask for a receipt.
    const bool had_others =
        std::ranges::any_of(post.seen, [&](const auto& entry) { return entry.first.first != relay; });
    const bool shows_nothing =
        had_others && report->answered.contains(relay) && !post.holders.contains(relay);
    json::object* finding = nullptr;
    if (nowhere && post.of_storage.empty()) {
      finding = report->find("not_passed_on", relay, uri,
                             taken + "; no storage owner has it, and nobody shows that one ever took it");
    } else if (shows_nothing) {
      finding = report->find(
          "no_trace", relay, uri,
          taken + "; it shows no receipt of a storage owner for it, although others passed it on");
    }
    if (finding != nullptr) {
      (*finding)["accepted_at"] = to_ms(held.receipt.batch.at);
      (*finding)["receipt"] = storage::to_json(held.receipt);
    }
  }
}

Task<void> Judge::judge_all(Tag tag, const AuditedPosts* posts, Report* report) {
  for (const auto& [uri, post] : *posts) {
    judge_missing(tag, uri, post, report);
    co_await judge_handed(tag, uri, &post, report);
    judge_relays(uri, post, report);
  }
}

}  // namespace tagring::audit
