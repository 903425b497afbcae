#include "audit/audit.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tagring::audit {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr std::size_t kPostsMax = 5'000;
constexpr std::size_t kPagesMax = 200;  // of receipts of one relay
constexpr std::size_t kFindingsMax = 200;
constexpr Duration kYear = std::chrono::days(365);

std::string quoted(const std::string& text) { return percent_encode(text); }

}  // namespace

struct Audit::Report {
  json::array findings;
  std::set<std::string> answered;  // relays that showed their receipts
  std::size_t receipts = 0;
  // Of what an owner keeps of the hashtag.
  struct Line {
    std::map<std::string, std::uint64_t> counts;  // by state, and by finding
    std::uint64_t asked = 0;
    std::string error;
  };
  std::map<std::string, Line> lines;  // by the owner's origin

  json::object* find(const char* kind, const std::string& owner, const std::string& uri, std::string words) {
    const auto line = lines.find(owner);
    // A post that was taken down is counted as a state.
    if (line != lines.end() && kind != storage::to_string(storage::PostState::kTakenDown))
      ++line->second.counts[kind];
    if (findings.size() >= kFindingsMax) return nullptr;
    findings.push_back(
        json::object{{"kind", kind}, {"owner", owner}, {"uri", uri}, {"words", std::move(words)}});
    return &findings.back().get_object();
  }
  void find_taken_down(const std::string& owner, const storage::TakeDown& notice) {
    json::object* finding = find("taken_down", owner, notice.uri,
                                 fmt::format("{} took {} down from #{} at {}: {}", owner, notice.uri,
                                             notice.tag, to_rfc3339(notice.at), notice.reason));
    if (finding != nullptr) (*finding)["notice"] = storage::to_json(notice);
  }
};

Task<Result<json::object>> Audit::fetch(ring::Contact contact, std::string target) {
  return rings_.ask_owner(std::move(contact), std::move(target), clock_.now() + kTimeout);
}

// --- what was promised ---------------------------------------------------------------------------------

namespace {

template <class Posts>
void add(Posts* posts, Receipts::Held held) {
  const storage::TakenItem& item = held.receipt.item;
  if (!posts->contains(item.uri) && posts->size() >= kPostsMax) return;
  auto& post = (*posts)[item.uri];
  post.published = item.published;
  if (item.removal) {
    post.removal = true;
  } else if (held.receipt.batch.ring == Ring::kRelay) {
    post.of_relays.push_back(std::move(held));
  } else {
    post.holders.insert(held.holder);
    // The latest: an owner may have taken it again.
    const std::pair part(origin_of(held.receipt.batch.actor), item.slot);
    const auto known = post.of_storage.find(part);
    if (known == post.of_storage.end() || known->second.receipt.batch.at < held.receipt.batch.at)
      post.of_storage.insert_or_assign(part, std::move(held));
  }
}

}  // namespace

Task<Result<void>> Audit::gather_from(ring::Contact relay, Tag tag, Posts* posts) {
  std::uint64_t after = 0;
  for (std::size_t page = 0; page < kPagesMax; ++page) {
    const std::string target =
        fmt::format("{}?tag={}&after={}", Receipts::kPath, quoted(tag.canonical()), after);
    CO_TRY(const json::object body, co_await fetch(relay, target));
    for (Held& held : Receipts::read(body, tag.canonical(), relay.origin(), &after)) {
      const bool ours = held.receipt.batch.network == notary_.network();
      if (ours && held.receipt.batch.ring == Ring::kStorage) add(posts, std::move(held));
    }
    if (after == 0) break;
  }
  co_return Result<void>();
}

Task<void> Audit::gather(Tag tag, Posts* posts, Report* report) {
  history_.forget_owners(tag);
  Result<std::vector<Held>> own = co_await receipts_.held(tag.canonical());
  if (own) {
    for (Held& held : *own) add(posts, std::move(held));
  }
  const std::vector<ring::Contact> relays = co_await history_.owners(Ring::kRelay, tag);
  for (const ring::Contact& relay : relays) {
    if (relay.origin() == origin_of(notary_.actor())) continue;
    const Result<void> shown = co_await gather_from(relay, tag, posts);
    if (shown) report->answered.insert(relay.origin());
  }
  for (const auto& [uri, post] : *posts) report->receipts += post.of_relays.size() + post.of_storage.size();
}

// --- what there is -------------------------------------------------------------------------------------

Task<Result<Audit::Owner>> Audit::meet(ring::Contact contact) {
  const std::string actor = contact.origin() + "/actor";
  const WallTime now = clock_.wall_now();
  CO_TRY(const federation::KeyOwner owner,
         co_await actors_.owner_of_key(fediverse::key_id_of(actor), /*refresh=*/true));
  if (owner.actor.id != actor) co_return fail(ErrorCode::kInvalid, "its actor is another's");
  co_return Owner{std::move(contact), owner.key.pem(), now, owner.key};
}

Task<Result<Audit::Answer>> Audit::ask(Owner owner, Tag tag, unsigned slot, std::int64_t hour,
                                       std::vector<std::string> uris) {
  std::string ids;
  for (const std::string& uri : uris) {
    if (!ids.empty()) ids += ',';
    ids += to_hex(storage::post_id(uri));
  }
  CO_TRY(const json::object body,
         co_await fetch(owner.contact, fmt::format("{}?tag={}&slot={}&hour={}&id={}", SignedTreeHeads::kPath,
                                                   quoted(tag.canonical()), slot, hour, ids)));
  sets_.read_answer(body, {tag.canonical()});
  Answer answer;
  const json::object* head = json::get_object(body, "head");
  CO_TRY(answer.head, storage::head_from_json(head == nullptr ? json::object() : *head));
  const bool fits = answer.head.network == notary_.network() && answer.head.tag == tag.canonical() &&
                    answer.head.slot == slot && answer.head.hour == hour &&
                    answer.head.actor == owner.contact.origin() + "/actor" &&
                    owner.public_key.verify(answer.head.signed_text(), answer.head.signature);
  if (!fits) co_return fail(ErrorCode::kInvalid, "its head is not about what was asked, or not signed by it");
  const json::value* proofs = json::find(body, "proofs");
  if (proofs == nullptr || !proofs->is_array() || proofs->get_array().size() != uris.size())
    co_return fail(ErrorCode::kInvalid, "it does not storage::prove what it was asked to");
  for (std::size_t i = 0; i < uris.size(); ++i) {
    const json::value& element = proofs->get_array()[i];
    CO_TRY(answer.proofs.emplace_back(),
           storage::proof_from_json(element.is_object() ? element.get_object() : json::object()));
    CO_TRY(answer.states.emplace_back(), answer.proofs.back().state(answer.head, storage::post_id(uris[i])));
  }
  json::for_each(json::find(body, "taken_down"), [&](const json::value& element) {
    if (!element.is_object()) return;
    Result<storage::TakeDown> notice = storage::take_down_from_json(element.get_object());
    const bool genuine = notice && notice->actor == answer.head.actor && notice->tag == tag.canonical() &&
                         owner.public_key.verify(notice->signed_text(), notice->signature);
    if (genuine) answer.notices.emplace(notice->uri, std::move(*notice));
  });
  co_return answer;
}

// The shelves on which the post may be, as far as is known.
std::vector<unsigned> Audit::slots_of(const std::string& tag, const std::string& uri) const {
  return redundancy::partitions_of_post(uri, sets_.copies(), sets_.at_rest(), sets_.known(tag).read_factor);
}

// The owners of all parts. How many parts there are, those at rest say, who are asked first.
Task<void> Audit::question_all(Tag tag, Posts* posts, Report* report) {
  std::map<std::string, Result<Owner>> met;
  std::set<unsigned> done;
  for (;;) {
    const std::vector<unsigned> slots =
        redundancy::partitions_of_set(sets_.copies(), sets_.known(tag.canonical()).read_factor);
    const auto next = std::ranges::find_if(slots, [&](unsigned slot) { return !done.contains(slot); });
    if (next == slots.end()) co_return;
    const unsigned slot = *next;
    done.insert(slot);
    std::vector<std::string> uris;
    for (const auto& [uri, post] : *posts) {
      if (std::ranges::binary_search(slots_of(tag.canonical(), uri), slot)) uris.push_back(uri);
    }
    const std::vector<ring::Contact> contacts = co_await history_.owners_of_shelf(tag, slot);
    for (const ring::Contact& contact : contacts) {
      const std::string origin = contact.origin();
      if (origin == origin_of(notary_.actor())) continue;  // nobody is his own auditor
      Report::Line& line = report->lines[origin];
      for (const std::string& uri : uris) ++posts->at(uri).asked;
      if (!met.contains(origin)) {
        Result<Owner> owner = co_await meet(contact);
        met.emplace(origin, std::move(owner));
      }
      const Result<Owner>& owner = met.at(origin);
      Result<void> answered = owner ? Result<void>() : std::unexpected(owner.error());
      if (owner) answered = co_await question(*owner, tag, slot, uris, posts, report);
      if (!answered) line.error = answered.error().message;
    }
  }
}

Task<Result<void>> Audit::question(Owner owner, Tag tag, unsigned slot, std::vector<std::string> uris,
                                   Posts* posts, Report* report) {
  const Part part(owner.contact.origin(), slot);
  Report::Line& line = report->lines.at(part.first);
  std::map<std::int64_t, std::vector<std::string>> hours;
  for (const std::string& uri : uris) {
    // Each owner has it under the date that it has signed.
    const Post& post = posts->at(uri);
    const auto receipt = post.of_storage.find(part);
    const WallTime date =
        receipt == post.of_storage.end() ? post.published : receipt->second.receipt.item.published;
    hours[storage::hour_of(date)].push_back(uri);
  }
  for (const auto& [hour, of_hour] : hours) {
    for (std::size_t begin = 0; begin < of_hour.size(); begin += SignedTreeHeads::kIdsMax) {
      const std::size_t end = std::min(begin + SignedTreeHeads::kIdsMax, of_hour.size());
      const std::vector<std::string> some(of_hour.begin() + static_cast<std::ptrdiff_t>(begin),
                                          of_hour.begin() + static_cast<std::ptrdiff_t>(end));
      CO_TRY(const Answer answer, co_await ask(owner, tag, slot, hour, some));
      for (std::size_t i = 0; i < some.size(); ++i) {
        Post& post = posts->at(some[i]);
        post.seen[part] = {answer.states[i], answer.head.at};
        ++line.asked;
        ++line.counts[std::string(storage::to_string(answer.states[i]))];
        co_await judge(&owner, slot, tag, some[i], &post, &answer, i, report);
      }
    }
  }
  co_return Result<void>();
}

// --- what follows from it ------------------------------------------------------------------------------

// This node's own word on whether a post of its instances stands.
Task<bool> Audit::publishes(std::string uri, std::string tag) {
  const Result<relay::PublishedPost> post = co_await store_.find_post(std::move(uri));
  co_return post&& std::ranges::find(post->tags, tag) != post->tags.end();
}

Task<void> Audit::judge(const Owner* owner, unsigned slot, Tag tag, std::string uri, Post* post,
                        const Answer* answer, std::size_t index, Report* report) {
  const std::string origin = owner->contact.origin();
  const storage::PostState state = answer->states[index];
  const std::string name = "#" + tag.canonical();
  if (state == storage::PostState::kTakenDown) {
    const auto notice = answer->notices.find(uri);
    if (notice != answer->notices.end()) {
      report->find_taken_down(origin, notice->second);
    } else {
      report->find("taken_down_unexplained", origin, uri,
                   fmt::format("{} took {} down from {} and shows no reason", origin, uri, name));
    }
    co_return;
  }
  if (state == storage::PostState::kRemoved) {
    const bool stands = co_await publishes(uri, tag.canonical());
    if (stands)
      report->find("not_removed", origin, uri,
                   fmt::format("{} says that {} was removed by its author; this node publishes it still",
                               origin, uri));
    co_return;
  }
  if (state == storage::PostState::kAbsent)
    judge_absence(*owner, {origin, slot}, uri, post, *answer, index, report);
}

void Audit::judge_absence(const Owner& owner, const Part& part, const std::string& uri, Post* post,
                          const Answer& answer, std::size_t index, Report* report) const {
  const storage::Head& head = answer.head;
  const std::string& origin = part.first;
  const std::string name = "#" + head.tag;
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
        slots_of(head.tag, uri).size() == 1;
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
      promised->second.receipt, head, answer.proofs[index], owner.key, head.actor, owner.key_at};
  const Result<void> proved = check(evidence);
  json::object* finding = report->find(
      proved ? "omitted" : "omitted_unproved", origin, uri,
      fmt::format("{} signed at {} that it took {} under {}, and at {} that it does not have it{}", origin,
                  to_rfc3339(promised->second.receipt.batch.at), uri, name, to_rfc3339(head.at),
                  proved ? "" : " (no evidence: " + proved.error().message + ")"));
  if (finding == nullptr) return;
  (*finding)["accepted_at"] = promised->second.receipt.batch.at.time_since_epoch().count();
  if (proved) (*finding)["evidence"] = to_json(evidence);
}

// Owners of a part to which the post belongs, by what others sign of it, or since there is no other.
void Audit::judge_missing(const Tag& tag, const std::string& uri, const Post& post, Report* report) const {
  if (post.removal) return;
  const bool is_only_part = slots_of(tag.canonical(), uri).size() == 1;
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
Task<void> Audit::judge_handed(Tag tag, std::string uri, const Post* post, Report* report) {
  const bool is_nowhere = !post->removal && post->asked > 0 && post->seen.size() == post->asked &&
                          std::ranges::all_of(post->seen, [](const auto& entry) {
                            return entry.second.state == storage::PostState::kAbsent &&
                                   !entry.second.is_let_go && !entry.second.is_promised;
                          });
  if (!is_nowhere) co_return;
  for (const auto& [part, held] : post->of_storage) {
    if (report->findings.size() >= kFindingsMax) co_return;
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
Task<std::optional<storage::TakeDown>> Audit::explained(const Held* held) {
  const storage::TakenItem& item = held->receipt.item;
  const std::string& actor = held->receipt.batch.actor;
  const auto url = Url::parse(fmt::format(
      "{}{}?tag={}&slot={}&hour={}&id={}", origin_of(actor), SignedTreeHeads::kPath, quoted(item.tag),
      item.slot, storage::hour_of(item.published), to_hex(storage::post_id(item.uri))));
  const auto key = crypto::PublicKey::from_pem(held->key);
  if (!url || !key) co_return std::nullopt;
  const Result<HttpResponse> response = co_await http_.send(HttpCall("GET", *url, clock_.now() + kTimeout));
  const auto body = response ? json::parse_object(response->body) : Result<json::object>();
  std::optional<storage::TakeDown> found;
  if (!body) co_return found;
  json::for_each(json::find(*body, "taken_down"), [&](const json::value& element) {
    const auto notice =
        storage::take_down_from_json(element.is_object() ? element.get_object() : json::object());
    const bool is_genuine = notice && notice->actor == actor && notice->tag == item.tag &&
                            notice->uri == item.uri && key->verify(notice->signed_text(), notice->signature);
    if (is_genuine) found = *notice;
  });
  co_return found;
}

// A relay that took a post for the archive can show what a storage owner signed for it, or the post is there.
void Audit::judge_relays(const std::string& uri, const Post& post, Report* report) const {
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
      (*finding)["accepted_at"] = held.receipt.batch.at.time_since_epoch().count();
      (*finding)["receipt"] = storage::to_json(held.receipt);
    }
  }
}

Task<Result<json::object>> Audit::of(Tag tag) {
  Posts posts;
  Report report;
  co_await gather(tag, &posts, &report);
  co_await question_all(tag, &posts, &report);
  if (report.lines.empty()) {
    const std::vector<ring::Contact> owners = co_await history_.owners(Ring::kStorage, tag);
    if (owners.empty()) co_return fail(ErrorCode::kUnavailable, "no storage owner of the hashtag was found");
  }
  for (const auto& [uri, post] : posts) {
    judge_missing(tag, uri, post, &report);
    co_await judge_handed(tag, uri, &post, &report);
    judge_relays(uri, post, &report);
  }
  json::array owners;
  for (const auto& [origin, of] : report.lines) {
    json::object line = {{"owner", origin}, {"posts", of.asked}};
    for (const auto& [what, count] : of.counts) line[what] = count;
    if (!of.error.empty()) line["error"] = of.error;
    owners.push_back(std::move(line));
  }
  json::object told = {{"tag", tag.canonical()},      {"at", to_rfc3339(clock_.wall_now())},
                       {"posts", posts.size()},       {"receipts", report.receipts},
                       {"owners", std::move(owners)}, {"findings", std::move(report.findings)}};
  last_.push_front(told);
  if (last_.size() > kRememberedMax) last_.pop_back();
  // If it fails, the report is lost at a restart.
  co_await reports_.keep_audit(json::serialize(told), kRememberedMax);
  co_return told;
}

Task<Result<void>> Audit::load() {
  CO_TRY(const std::vector<std::string> reports, co_await reports_.audits());
  for (const std::string& text : reports) {
    // One that cannot be read is no reason not to start.
    if (Result<json::object> report = json::parse_object(text)) last_.push_back(std::move(*report));
  }
  co_return Result<void>();
}

}  // namespace tagring::audit
