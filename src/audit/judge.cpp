#include "audit/judge.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>
#include <vector>

#include "audit/evidence.hpp"
#include "audit/signed_tree_heads.hpp"
#include "base/bytes.hpp"
#include "crypto/key.hpp"
#include "http/url.hpp"

namespace tagring::audit {
namespace {

constexpr Duration kYear = std::chrono::days(365);

}  // namespace

// This node's own word on whether a post of its instances stands, and its date. Not of one under a hashtag
// that came, or came back, a moment ago: that may be on its way still.
Task<std::optional<WallTime>> Judge::stands(std::string uri, Tag tag) {
  const auto post = co_await store_.find_post(std::move(uri));
  if (!post || !*post || std::ranges::find((*post)->tags, tag) == (*post)->tags.end()) co_return std::nullopt;
  if (clock_.wall_now() - (*post)->changed < kGrace) co_return std::nullopt;
  co_return (*post)->published;
}

Task<bool> Judge::publishes_any(std::vector<std::string> uris, Tag tag) {
  std::set<std::string> standing;
  for (const std::string& uri : uris) {
    const std::optional<WallTime> date = co_await stands(uri, tag);
    if (date) standing.insert(uri);
  }
  if (standing.empty()) co_return false;
  const std::size_t count = standing.size();
  const auto taken_out = co_await receipts_.taken_out(std::move(tag), std::move(standing));
  co_return taken_out && taken_out->size() < count;
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
    if (post->is_taken_out) co_return;
    const std::optional<WallTime> date = co_await stands(uri, statement.tag);
    const bool is_of_hour = date && storage::hour_of(*date) == statement.answer->head.hour;
    if (date && (state == storage::PostState::kRemoved || is_of_hour))
      report->find("not_removed", origin, uri,
                   fmt::format("{} says that {} was {}; this node publishes it still", origin, uri,
                               state == storage::PostState::kRemoved ? "removed by its author"
                                                                     : "never there, or at another date"));
    co_return;
  }
  if (state == storage::PostState::kAbsent) judge_absence(statement, post, report);
}

void Judge::judge_absence(const Statement& statement, AuditedPost* post, Report* report) const {
  const storage::Head& head = statement.answer->head;
  const Part part(statement.owner->contact.origin(), statement.partition);
  const std::vector<const Held*> promises = post->promises(part, head.hour);
  Seen& seen = post->seen[part];
  if (statement.date < head.kept_from) {
    // Before the year is over only who has no room may do so (paper §5.7). If the post may be of another
    // part, or never was, that says nothing about it.
    const bool is_of_part =
        !promises.empty() ||
        (post->published_here && partitions_of(hints_, head.partition.tag, statement.uri).size() == 1);
    if (head.at - statement.date < kYear && is_of_part)
      report->find("let_go_early", part.first, statement.uri,
                   fmt::format("{} let {} go to make room, as all of #{} before {}", part.first,
                               statement.uri, head.partition.tag.canonical(), to_rfc3339(head.kept_from)));
    return;
  }
  seen.is_let_go = false;
  const Held* broken = nullptr;
  std::optional<Evidence> evidence;
  for (const Held* promise : promises) {
    // See judge_missing.
    if (part.second != 0 && promise->receipt.batch.at <= head.begun) continue;
    Evidence of{promise->receipt,     head,       statement.answer->proofs[statement.index],
                statement.owner->key, head.actor, statement.owner->key_at};
    if (broken != nullptr && !check(of)) continue;
    broken = promise;
    evidence = std::move(of);
  }
  if (broken == nullptr) return;
  seen.is_promised = true;
  find_omitted(*evidence, report);
}

void Judge::find_omitted(const Evidence& evidence, Report* report) {
  const storage::Head& head = evidence.head;
  const WallTime accepted_at = evidence.receipt.batch.at;
  const std::string& uri = evidence.receipt.item.uri;
  const Result<void> proved = check(evidence);
  json::object* finding = report->find(
      proved ? "omitted" : "omitted_unproved", origin_of(head.actor), uri,
      fmt::format("{} signed at {} that it took {} under #{}, and at {} that it does not have it{}",
                  origin_of(head.actor), to_rfc3339(accepted_at), uri, head.partition.tag.canonical(),
                  to_rfc3339(head.at), proved ? "" : " (no evidence: " + proved.error().message + ")"));
  if (finding == nullptr) return;
  (*finding)["accepted_at"] = to_ms(accepted_at);
  if (proved) (*finding)["evidence"] = to_json(evidence);
}

// Owners of a part to which the post belongs. That it is, and where, this node knows of what it publishes
// itself, in an undivided hashtag; else most owners of that part say it: a few could have made it up. And
// somebody has it from whom the others would have it by now, or the relays are at fault.
void Judge::judge_missing(const Tag& tag, const std::string& uri, const AuditedPost& post,
                          Report* report) const {
  const bool is_only_part = partitions_of(hints_, tag, uri).size() == 1;
  bool is_disputed = false;
  for (const auto& [part, seen] : post.seen) {
    if (seen.state != storage::PostState::kAbsent || seen.is_let_go || seen.is_promised) continue;
    const auto is_old = [&](const Held& held) { return seen.at - held.receipt.batch.at > kGrace; };
    const bool is_settled = post.published_here && std::ranges::any_of(post.of_relays, [&](const Held& held) {
                              return held.receipt.item.indexable && is_old(held);
                            });
    std::vector<std::string> have;
    std::size_t agreed = 0;  // that had it ten minutes ago
    for (const auto& [other, said] : post.seen) {
      if (other.second != part.second || said.state != storage::PostState::kLive) continue;
      have.push_back(other.first);
      const auto taken = post.of_storage.find(other);
      if (is_settled ||
          (taken != post.of_storage.end() &&
           std::ranges::any_of(taken->second, [&](const auto& entry) { return is_old(entry.second); })))
        ++agreed;
    }
    const bool is_kept = agreed > 0 || post.of_storage.contains({report->self, part.second});
    if ((is_settled && is_only_part && is_kept) || 2 * agreed > post.asked.at(part.second)) {
      report->find("missing", part.first, uri,
                   fmt::format("{} does not have {} under #{}; nothing shows that it ever took it",
                               part.first, uri, tag.canonical()));
    } else if (agreed > 0 && !std::exchange(is_disputed, true)) {
      report->find("disputed", "", uri,
                   fmt::format("{} has {} under #{}, {} does not have it; nothing shows who is right",
                               fmt::join(have, ", "), uri, tag.canonical(), part.first));
    }
  }
}

// Who took it for a part that is with others by now has given it to them, or taken it down; or it would be
// nowhere. Of a post of others it is believed that its author removed it since: of its own, this node knows.
Task<void> Judge::judge_handed(Tag tag, std::string uri, const AuditedPost* post, Report* report) {
  const bool is_owed = std::ranges::any_of(
      post->seen, [](const auto& entry) { return entry.second.is_let_go || entry.second.is_promised; });
  if (!post->is_nowhere() || is_owed) co_return;
  for (const auto& [part, shown] : post->of_storage) {
    if (report->is_full(part.first)) continue;
    const bool is_removed = !post->published_here && post->removed_by.contains(part.first);
    if (is_removed || part.first == report->self) continue;
    const Held& held = shown.begin()->second;
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
// What it shows of somebody of whom nobody else knows that it was one, or who cannot be asked, neither clears
// it nor shows that it is at fault; nor does it if itself cannot be asked.
void Judge::judge_relays(const std::string& uri, const AuditedPost& post, Report* report) const {
  if (!post.published_here) return;
  for (const Held& held : post.of_relays) {
    const std::string relay = origin_of(held.receipt.batch.actor);
    const bool late = clock_.wall_now() - held.receipt.batch.at > kGrace;
    if (!held.receipt.item.indexable || !late) continue;
    const Passed passed = passed_on(relay, post, *report);
    if (passed.by_it) continue;
    const std::string taken =
        fmt::format("{} signed at {} that it took {}", relay, to_rfc3339(held.receipt.batch.at), uri);
    const std::string shown =
        passed.unclear.empty()
            ? "; it does not show its receipts"
            : fmt::format("; what it shows is said to be of {}, of which this node knows nothing otherwise",
                          fmt::join(passed.unclear, ", "));
    const bool is_clear = report->answered.contains(relay) && passed.unclear.empty();
    // One that stores the hashtag alone had nobody to ask for a receipt.
    const bool had_others =
        std::ranges::any_of(post.seen, [&](const auto& entry) { return entry.first.first != relay; });
    json::object* finding = nullptr;
    if (post.is_nowhere() && !passed.by_any) {
      finding = is_clear ? report->find("not_passed_on", relay, uri,
                                        taken +
                                            "; no storage owner has it, and nobody shows that one ever "
                                            "took it")
                         : report->find("unproved", "", uri, taken + "; no storage owner has it" + shown);
    } else if (had_others && is_clear) {
      finding = report->find(
          "no_trace", relay, uri,
          taken + "; it shows no receipt of a storage owner for it, although others passed it on");
    } else if (had_others && !passed.unclear.empty()) {
      finding = report->find("disputed", "", uri, taken + ", and others passed it on" + shown);
    }
    if (finding == nullptr) continue;
    (*finding)["accepted_at"] = to_ms(held.receipt.batch.at);
    (*finding)["receipt"] = storage::to_json(held.receipt);
  }
}

// What is shown of a post's way to its storage owners, by that relay and by anybody.
Judge::Passed Judge::passed_on(const std::string& relay, const AuditedPost& post, const Report& report) {
  Passed passed;
  for (const auto& [part, shown] : post.of_storage) {
    const bool is_owner = report.owners.contains(part.first);
    passed.by_any = passed.by_any || is_owner;
    if (!shown.contains(relay)) continue;
    passed.by_it = passed.by_it || is_owner;
    if (!is_owner) passed.unclear.insert(part.first);
  }
  if (const auto unchecked = post.unchecked.find(relay); unchecked != post.unchecked.end())
    passed.unclear.insert(unchecked->second.begin(), unchecked->second.end());
  return passed;
}

Task<void> Judge::judge_all(Tag tag, const AuditedPosts* posts, Report* report) {
  for (const auto& [uri, post] : *posts) {
    judge_missing(tag, uri, post, report);
    co_await judge_handed(tag, uri, &post, report);
    judge_relays(uri, post, report);
  }
}

}  // namespace tagring::audit
