#include "node/audit.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tagring::node {
namespace {

using storage::PostState;

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
  std::map<std::string, std::uint64_t> counts;  // of the owner at hand, by state

  json::object* find(const char* kind, const std::string& owner, const std::string& uri, std::string words) {
    if (kind != to_string(PostState::kTakenDown)) ++counts[kind];  // that is counted as a state
    if (findings.size() >= kFindingsMax) return nullptr;
    findings.push_back(
        json::object{{"kind", kind}, {"owner", owner}, {"uri", uri}, {"words", std::move(words)}});
    return &findings.back().get_object();
  }
};

Task<Result<json::object>> Audit::fetch(ring::Contact contact, std::string target) {
  CO_TRY(Url url, Url::parse(contact.origin() + target));
  HttpCall call("GET", std::move(url), clock_.now() + kTimeout);
  call.required_prefix = contact.address.prefix64();
  CO_TRY(const HttpResponse response, co_await http_.send(std::move(call)));
  if (response.status != 200) co_return std::unexpected(ring::decode_error(response.status, response.body));
  co_return json::parse_object(response.body);
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
    const std::string owner = origin_of(held.receipt.batch.actor);
    const auto known = post.of_storage.find(owner);
    if (known == post.of_storage.end() || known->second.receipt.batch.at < held.receipt.batch.at)
      post.of_storage.insert_or_assign(owner, std::move(held));
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
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) history_.forget_owners(ring, tag);
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
  CO_TRY(const KeyOwner owner, co_await actors_.owner_of_key(fediverse::key_id_of(actor), /*refresh=*/true));
  if (owner.actor.id != actor) co_return fail(ErrorCode::kInvalid, "its actor is another's");
  co_return Owner{std::move(contact), owner.key.pem(), now, owner.key};
}

Task<Result<Audit::Answer>> Audit::ask(Owner owner, Tag tag, std::int64_t hour,
                                       std::vector<std::string> uris) {
  std::string ids;
  for (const std::string& uri : uris) {
    if (!ids.empty()) ids += ',';
    ids += to_hex(storage::post_id(uri));
  }
  CO_TRY(const json::object body,
         co_await fetch(owner.contact, fmt::format("{}?tag={}&hour={}&id={}", Heads::kPath,
                                                   quoted(tag.canonical()), hour, ids)));
  Answer answer;
  const json::object* head = json::get_object(body, "head");
  CO_TRY(answer.head, storage::head_from_json(head == nullptr ? json::object() : *head));
  const bool fits = answer.head.network == notary_.network() && answer.head.tag == tag.canonical() &&
                    answer.head.hour == hour && answer.head.actor == owner.contact.origin() + "/actor" &&
                    owner.public_key.verify(answer.head.signed_text(), answer.head.signature);
  if (!fits) co_return fail(ErrorCode::kInvalid, "its head is not about what was asked, or not signed by it");
  const json::value* proofs = json::find(body, "proofs");
  if (proofs == nullptr || !proofs->is_array() || proofs->get_array().size() != uris.size())
    co_return fail(ErrorCode::kInvalid, "it does not prove what it was asked to");
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

Task<Result<void>> Audit::question(Owner owner, Tag tag, Posts* posts, Report* report, json::object* line) {
  report->counts.clear();
  const std::string origin = owner.contact.origin();
  std::map<std::int64_t, std::vector<std::string>> hours;
  for (const auto& [uri, post] : *posts) {
    // Each owner has it under the date that it has signed.
    const auto receipt = post.of_storage.find(origin);
    const WallTime date =
        receipt == post.of_storage.end() ? post.published : receipt->second.receipt.item.published;
    hours[storage::hour_of(date)].push_back(uri);
  }
  std::uint64_t asked = 0;
  for (const auto& [hour, uris] : hours) {
    for (std::size_t begin = 0; begin < uris.size(); begin += Heads::kIdsMax) {
      const std::size_t end = std::min(begin + Heads::kIdsMax, uris.size());
      const std::vector<std::string> some(uris.begin() + static_cast<std::ptrdiff_t>(begin),
                                          uris.begin() + static_cast<std::ptrdiff_t>(end));
      CO_TRY(const Answer answer, co_await ask(owner, tag, hour, some));
      for (std::size_t i = 0; i < some.size(); ++i) {
        Post& post = posts->at(some[i]);
        post.states[origin] = answer.states[i];
        ++asked;
        ++report->counts[std::string(to_string(answer.states[i]))];
        co_await judge(&owner, tag, some[i], &post, &answer, i, report);
      }
    }
  }
  (*line)["posts"] = asked;
  for (const auto& [what, count] : report->counts) (*line)[what] = count;
  co_return Result<void>();
}

// --- what follows from it ------------------------------------------------------------------------------

// This node's own word on whether a post of its instances stands.
Task<bool> Audit::publishes(std::string uri, std::string tag) {
  const Result<relay::PublishedPost> post = co_await store_.find_post(std::move(uri));
  co_return post&& std::ranges::find(post->tags, tag) != post->tags.end();
}

Task<void> Audit::judge(const Owner* owner, Tag tag, std::string uri, const Post* post, const Answer* answer,
                        std::size_t index, Report* report) {
  const std::string origin = owner->contact.origin();
  const PostState state = answer->states[index];
  const std::string name = "#" + tag.canonical();
  const storage::Head& head = answer->head;
  if (state == PostState::kTakenDown) {
    const auto notice = answer->notices.find(uri);
    const bool has = notice != answer->notices.end();
    json::object* finding =
        report->find(has ? "taken_down" : "taken_down_unexplained", origin, uri,
                     has ? fmt::format("{} took {} down from {} at {}: {}", origin, uri, name,
                                       to_rfc3339(notice->second.at), notice->second.reason)
                         : fmt::format("{} took {} down from {} and shows no reason", origin, uri, name));
    if (has && finding != nullptr) (*finding)["notice"] = storage::to_json(notice->second);
    co_return;
  }
  if (state == PostState::kRemoved) {
    const bool stands = co_await publishes(uri, tag.canonical());
    if (stands)
      report->find("not_removed", origin, uri,
                   fmt::format("{} says that {} was removed by its author; this node publishes it still",
                               origin, uri));
    co_return;
  }
  if (state == PostState::kLive) co_return;
  const auto promised = post->of_storage.find(origin);
  const WallTime date =
      promised == post->of_storage.end() ? post->published : promised->second.receipt.item.published;
  if (date < head.kept_from) {
    // Before the year is over only who has no room may do so (paper §5.7).
    if (head.at - date < kYear)
      report->find("let_go_early", origin, uri,
                   fmt::format("{} let {} go to make room, as all of {} before {}", origin, uri, name,
                               to_rfc3339(head.kept_from)));
    co_return;
  }
  if (promised == post->of_storage.end()) {
    const bool settled = std::ranges::any_of(post->of_relays, [&](const Held& held) {
      return held.receipt.item.indexable && head.at - held.receipt.batch.at > kGrace;
    });
    if (!post->removal && (settled || !post->of_storage.empty()))
      report->find(
          "missing", origin, uri,
          fmt::format("{} does not have {} under {}; nothing shows that it ever took it", origin, uri, name));
    co_return;
  }
  storage::Evidence evidence{
      promised->second.receipt, head, answer->proofs[index], owner->key, head.actor, owner->key_at};
  const Result<void> proved = storage::check(evidence);
  json::object* finding = report->find(
      proved ? "omitted" : "omitted_unproved", origin, uri,
      fmt::format("{} signed at {} that it took {} under {}, and at {} that it does not have it{}", origin,
                  to_rfc3339(promised->second.receipt.batch.at), uri, name, to_rfc3339(head.at),
                  proved ? "" : " (no evidence: " + proved.error().message + ")"));
  if (finding == nullptr) co_return;
  (*finding)["accepted_at"] = promised->second.receipt.batch.at.time_since_epoch().count();
  if (proved) (*finding)["evidence"] = storage::to_json(evidence);
}

// A relay that took a post for the archive can show what a storage owner signed for it, or the post is there.
void Audit::judge_relays(const std::string& uri, const Post& post, std::size_t asked, Report* report) const {
  if (post.removal) return;
  const bool nowhere =
      asked > 0 && post.states.size() == asked &&
      std::ranges::all_of(post.states, [](const auto& at) { return at.second == PostState::kAbsent; });
  for (const Held& held : post.of_relays) {
    const std::string relay = origin_of(held.receipt.batch.actor);
    const bool late = clock_.wall_now() - held.receipt.batch.at > kGrace;
    if (!held.receipt.item.indexable || !late) continue;
    const std::string taken =
        fmt::format("{} signed at {} that it took {}", relay, to_rfc3339(held.receipt.batch.at), uri);
    // One that stores the hashtag alone had nobody to ask for a receipt.
    const bool had_others =
        std::ranges::any_of(post.states, [&](const auto& at) { return at.first != relay; });
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
  const std::vector<ring::Contact> contacts = co_await history_.owners(Ring::kStorage, tag);
  if (contacts.empty()) co_return fail(ErrorCode::kUnavailable, "no storage owner of the hashtag was found");
  json::array owners;
  std::size_t asked = 0;
  for (const ring::Contact& contact : contacts) {
    if (contact.origin() == origin_of(notary_.actor())) continue;  // nobody is his own auditor
    ++asked;
    json::object line = {{"owner", contact.origin()}};
    Result<Owner> owner = co_await meet(contact);
    Result<void> done = owner ? Result<void>() : std::unexpected(owner.error());
    if (owner) done = co_await question(std::move(*owner), tag, &posts, &report, &line);
    if (!done) line["error"] = done.error().message;
    owners.push_back(std::move(line));
  }
  for (const auto& [uri, post] : posts) judge_relays(uri, post, asked, &report);
  last_.push_front({{"tag", tag.canonical()},
                    {"at", to_rfc3339(clock_.wall_now())},
                    {"posts", posts.size()},
                    {"receipts", report.receipts},
                    {"owners", std::move(owners)},
                    {"findings", std::move(report.findings)}});
  if (last_.size() > kRememberedMax) last_.pop_back();
  co_return last_.front();
}

}  // namespace tagring::node
