#include "publisher/signed_copies.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "crypto/hash.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"
#include "ring/contact.hpp"

namespace tagring::publisher {
namespace {

constexpr std::size_t kHostsMax = 10'000;
constexpr Duration kGoOnAfter = std::chrono::minutes(1);
constexpr Duration kSettleAfter = std::chrono::seconds(1);
constexpr std::size_t kOwedAtOnce = 500;
constexpr std::size_t kOwedOfDomainMax = 2'000;
constexpr Duration kErrsFor = std::chrono::hours(6);
constexpr Duration kWarnEvery = std::chrono::minutes(1);
constexpr std::array<Duration, 4> kWaits = {std::chrono::seconds(10), std::chrono::minutes(1),
                                            std::chrono::minutes(5), std::chrono::minutes(30)};

// What a copy says of which post, or account; no URI unless its server signed it so that others believe it,
// and it is of a public post. Who is suspended has nothing there any more.
struct Said {
  std::string uri;
  bool deletes = false;
};
Said read(const std::string& body, WallTime now) {
  const Result<fediverse::Activity> activity = fediverse::parse_activity(body, now);
  if (!activity) return {};
  if (const auto* deletion = std::get_if<fediverse::Delete>(&activity->content))
    return deletion->is_signed ? Said{deletion->uri, true} : Said();
  if (const auto* account = std::get_if<fediverse::UpdateActor>(&activity->content))
    return account->is_signed && account->suspends() ? Said{activity->actor, true} : Said();
  const auto* update = std::get_if<fediverse::Update>(&activity->content);
  const bool passes = update != nullptr && update->is_signed &&
                      update->note.visibility == fediverse::Visibility::kPublic &&
                      update->note.may_be_announced;
  return passes ? Said{update->note.id, false} : Said();
}

// By what costs something to have.
std::string hash_of(const std::string& signed_copy) { return signed_copy.substr(0, signed_copy.find(' ')); }
std::string origin_of_copy(const std::string& signed_copy) {
  return signed_copy.substr(signed_copy.find(' ') + 1);
}
std::string domain_of_copy(const std::string& signed_copy) {
  return ring::domain_of(host_of(origin_of_copy(signed_copy)));
}

}  // namespace

Task<void> SignedCopies::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Result<std::string>> SignedCopies::keep(const std::string& body, const std::string& author) {
  if (body.size() > kSizeMax) co_return "";
  std::string name = to_hex(crypto::sha256(body));
  remember(name, body, ring::domain_of(host_of(author)));
  Copy& copy = copies_.at(name);
  const Said said = read(body, clock_.wall_now());
  if (!std::exchange(copy.own, true) && !said.deletes && !said.uri.empty()) {
    copy.edited_post = said.uri;
    edits_[said.uri].insert(name);
  }
  if (said.deletes && body.size() <= kOnDiskMax) {
    CO_TRY_VOID(co_await store_.keep_deletion(name, body));
  }
  name += " " + client_.identity().origin();
  co_return name;
}

void SignedCopies::remember(const std::string& hash, std::string body, std::string whose) {
  const Instant now = clock_.now();
  const auto drop_oldest = [this](Held& its) { drop(its, std::string(its.by_age.begin()->second)); };
  held_.change_all([&](Held& its) {
    while (!its.by_age.empty() && now - its.by_age.begin()->first >= kKept) drop_oldest(its);
  });
  if (copies_.contains(hash)) return;
  const auto is_older = [](const Held& one, const Held& other) {
    return *one.by_age.begin() < *other.by_age.begin();
  };
  while (!held_.empty() && held_.size() + body.size() > kBytesMax)
    held_.change(held_.gives_way_to(whose, is_older), drop_oldest);
  held_.change(whose, [&](Held& its) {
    its.by_age.emplace(now, hash);
    its.bytes += body.size();
  });
  copies_.emplace(hash, Copy{std::move(body), std::move(whose), now});
}

// `its` are those of the domain that has it.
void SignedCopies::drop(Held& its, const std::string& hash) {
  const auto copy = copies_.find(hash);
  its.bytes -= copy->second.body.size();
  const auto edits = edits_.find(copy->second.edited_post);
  if (edits != edits_.end() && edits->second.erase(hash) > 0 && edits->second.empty()) edits_.erase(edits);
  its.by_age.erase({copy->second.since, copy->first});
  copies_.erase(copy);
}

void SignedCopies::erase(const std::string& hash) {
  const auto copy = copies_.find(hash);
  if (copy == copies_.end()) return;
  const std::string whose = copy->second.whose;
  held_.change(whose, [&](Held& its) { drop(its, hash); });
}

void SignedCopies::forget_edits(const std::string& uri, const std::string& but_hash) {
  const auto edits = edits_.find(uri);
  if (edits == edits_.end()) return;
  const std::set<std::string> hashes = edits->second;
  for (const std::string& hash : hashes) {
    if (hash != but_hash) erase(hash);
  }
}

Task<HttpResponse> SignedCopies::answer(HttpRequest request) {
  const std::string query(query_of(request.target));
  const std::string hash = query_value(query, "sha256");
  const auto copy = copies_.find(hash);
  Result<std::string> body =
      copy != copies_.end() && copy->second.own ? copy->second.body : co_await store_.find_deletion(hash);
  if (!body && body.error().code == ErrorCode::kNotFound)
    co_return error_response({ErrorCode::kNotFound, "this node has no such copy"});
  if (!body) co_return error_response(body.error());
  HttpResponse response;
  response.headers.add("Content-Type", std::string(fediverse::kActivityJson));
  response.body = std::move(*body);
  co_return response;
}

// Each copy counts once, however many get it, and when.
bool SignedCopies::admits(const std::string& domain, const std::string& hash) {
  const auto sent = sent_.lower_bound({hash, std::string()});
  if (sent != sent_.end() && sent->first == hash) return true;
  if (!hours_.contains(domain)) make_room(hours_, kHostsMax);
  Hour& hour = hours_[domain];
  if (clock_.now() >= hour.end) hour = {clock_.now() + std::chrono::hours(1), 0};
  return ++hour.count <= kAnHour;
}

// Who speaks for the author's server, as for new posts; or this node, which saw that server's signature.
bool SignedCopies::is_from_who_speaks(const std::string& signed_copy, const std::string& uri) const {
  const std::string origin = origin_of_copy(signed_copy);
  return origin == client_.identity().origin() || is_same_or_below(host_of(origin), host_of(uri));
}

std::optional<SignedCopies::Work> SignedCopies::work_of(const delivery::TagEvent& event,
                                                        bool was_here) const {
  if (event.signed_copy.empty()) return std::nullopt;
  const bool is_removal = event.op == delivery::Op::kRemove;
  const bool is_from_anybody = event.is_deletion() && was_here;
  if (!is_from_anybody && !is_from_who_speaks(event.signed_copy, event.uri)) return std::nullopt;
  // Who got the post before it was blocked has it still: a deletion goes on, once it is known to be one.
  if (!is_removal && blocks_.of_actor(event.uri) != nullptr) return std::nullopt;
  Work work{event.signed_copy, event.author, {{event.uri, {event.tag}}}, {}};
  work.version = event.version();
  if (ways_of(work, hash_of(event.signed_copy), is_removal).empty()) return std::nullopt;
  return work;
}

// One event a hashtag names it: it is fetched once for all.
void SignedCopies::hand_on(const delivery::FeedEntry& entry) {
  const delivery::TagEvent& event = entry.event;
  const bool is_owed = event.op == delivery::Op::kRemove && !event.signed_copy.empty();
  if (event.op == delivery::Op::kRemove) forget_edits(event.uri, hash_of(event.signed_copy));
  std::optional<Work> work = work_of(event, /*was_here=*/entry.added != 0);
  if (is_owed && !work) return settle({entry.seq});
  if (!work) return;
  if (is_owed) work->owed.push_back(entry.seq);
  begin(std::move(*work));
}

void SignedCopies::hand_on(const delivery::PublishedPost& post, delivery::Op op) {
  if (op == delivery::Op::kRemove) forget_edits(post.uri, hash_of(post.signed_copy));
  for (const std::vector<Tag>* tags : {&post.tags, &post.former}) {
    for (const Tag& tag : *tags) {
      delivery::TagEvent event{tag, op, post.uri, post.author, post.published, false, post.signed_copy};
      if (op == delivery::Op::kAdd) event.changed = post.changed;
      std::optional<Work> work = work_of(event, /*was_here=*/true);
      if (work) begin(std::move(*work));
    }
  }
}

void SignedCopies::begin(Work work) {
  const std::string domain = domain_of_copy(work.signed_copy);
  const auto of_domain = pending_of_.find(domain);
  const bool is_full = pending_.size() >= kPendingMax ||
                       (of_domain != pending_of_.end() && of_domain->second >= kPendingOfDomainMax);
  const auto pending = pending_.find(work.signed_copy);
  const bool has_room = pending != pending_.end() && pending->second.author == work.author &&
                        pending->second.posts.size() < kPostsMax &&
                        pending->second.posts[work.first()].size() < kTagsMax;
  if (has_room) {
    for (auto& [uri, tags] : work.posts) pending->second.posts[uri].merge(tags);
    pending->second.owed.insert(pending->second.owed.end(), work.owed.begin(), work.owed.end());
    pending->second.version = std::max(pending->second.version, work.version);
  } else if (pending == pending_.end() && !is_full) {
    std::string signed_copy = work.signed_copy;
    ++pending_of_[domain];
    pending_.emplace(signed_copy, std::move(work));
    tasks_.spawn("hand_on", hand_on_all(std::move(signed_copy)));
  } else {
    put_off(std::move(work));
  }
}

// Of a post the latest, whichever came first: it says all that those before it said.
void SignedCopies::put_off(Work work) {
  const std::string post = work.first();
  const std::string host = host_of(post);
  const auto [of_host, fresh] = put_off_.try_emplace(host);
  if (fresh) tasks_.spawn("put_off", go_on(host));
  const auto known = of_host->second.find(post);
  if (known != of_host->second.end()) {
    Work& waiting = known->second;
    if (work.version >= waiting.version) std::swap(work, waiting);
    waiting.posts[post].merge(work.posts[post]);
    waiting.owed.insert(waiting.owed.end(), work.owed.begin(), work.owed.end());
  } else if (const std::string domain = ring::domain_of(host); put_off_count_.has_room(domain)) {
    of_host->second.emplace(post, std::move(work));
    put_off_count_.add(domain);
  } else {
    drop(host, "too many wait");
  }
}

Task<void> SignedCopies::go_on(std::string host) {
  for (;;) {
    const Instant later = clock_.now() + kGoOnAfter;
    co_await clock_.sleep_until(later);
    std::map<std::string, Work>& waiting = put_off_[host];
    std::vector<Work> due;
    std::erase_if(waiting, [&](auto& entry) {
      if (entry.second.not_before > clock_.now()) return false;
      due.push_back(std::move(entry.second));
      put_off_count_.remove(ring::domain_of(host));
      return true;
    });
    if (due.empty() && waiting.empty()) break;
    std::ranges::sort(due, std::greater(), &Work::version);  // deletions first
    for (Work& work : due) begin(std::move(work));
  }
  put_off_.erase(host);
}

void SignedCopies::drop(const std::string& host, std::string_view why) {
  ++dropped_;
  if (clock_.now() < next_warning_) return;
  next_warning_ = clock_.now() + kWarnEvery;
  log_.warn("signed_copies_dropped", {{"host", host}, {"why", why}, {"dropped", dropped_}});
}

Task<void> SignedCopies::hand_on_all(std::string signed_copy) {
  const bool is_strange = is_from_stranger(pending_.at(signed_copy));
  Result<std::string> body = co_await fetch_again_and_again(signed_copy, is_strange);
  co_await wait_for_announcer();
  Work work = std::move(pending_.extract(signed_copy).mapped());
  const auto of_domain = pending_of_.find(domain_of_copy(signed_copy));
  if (--of_domain->second == 0) pending_of_.erase(of_domain);
  std::vector<std::uint64_t> owed = work.owed;
  // What did not come stays owed, but for what a stranger does not have.
  const bool is_nowhere = !body && is_strange && !is_unanswered(body.error());
  if (is_nowhere || (body && co_await hand_over(std::move(work), std::move(*body)))) settle(std::move(owed));
}

Task<bool> SignedCopies::hand_over(Work work, std::string body) {
  const std::string hash = hash_of(work.signed_copy);
  const Said said = read(body, clock_.wall_now());
  const bool is_account = said.deletes && said.uri == work.author;
  const bool is_blocked = !said.deletes && blocks_.of_actor(said.uri) != nullptr;
  if ((!is_account && !work.posts.contains(said.uri)) || is_blocked) co_return true;
  const bool deletes_post = said.deletes && !is_account;
  if (!deletes_post && !is_from_who_speaks(work.signed_copy, said.uri)) co_return true;
  if (!is_account) std::erase_if(work.posts, [&](const auto& post) { return post.first != said.uri; });
  const std::string host = host_of(said.uri);
  const Ways ways = ways_of(work, hash, said.deletes);
  if (ways.empty()) co_return true;
  // A deletion has no content, and there are no more of them than of posts.
  if (const std::string domain = ring::domain_of(host); !said.deletes && !admits(domain, hash)) {
    work.not_before = hours_[domain].end;
    put_off(std::move(work));
    co_return false;
  }
  const auto waiting = put_off_.find(host);
  if (waiting != put_off_.end()) {
    const auto other = waiting->second.find(work.first());
    const bool is_outdone = other != waiting->second.end() && other->second.version <= work.version;
    if (is_outdone) {
      waiting->second.erase(other);
      put_off_count_.remove(ring::domain_of(host));
    }
  }
  bool is_done = true;
  for (const auto& [inbox, actor] : ways) {
    make_room(sent_, kSentMax);
    if (!sent_.emplace(hash, inbox).second) continue;
    const Result<void> sent = co_await activities_.send(actor, inbox, body);
    if (sent) continue;
    // To that server it is as if the edit had been made before it got the post.
    drop(host, sent.error().message);
    sent_.erase({hash, inbox});
    is_done = false;
  }
  co_return is_done;
}

// After a start it is not known at once who was told of a post.
Task<void> SignedCopies::wait_for_announcer() {
  while (announcer_.is_reading()) {
    const Instant later = clock_.now() + std::chrono::seconds(1);
    co_await clock_.sleep_until(later);
  }
}

// Of those who have been away for longer than a copy is asked for at once, and what was owed at a restart.
Task<void> SignedCopies::look_again_and_again() {
  Duration wait = std::chrono::minutes(1);
  co_await wait_for_announcer();
  for (;;) {
    co_await look_again();
    const Instant later = clock_.now() + wait;
    co_await clock_.sleep_until(later);
    wait = std::min(wait * 4, kLookAgain);
  }
}

// One after the other, and of a domain that does not answer none but the first: others wait no longer for
// whoever names many such.
Task<void> SignedCopies::look_again() {
  static_cast<void>(co_await store_.prune_copies());
  std::set<std::string> away;                  // registered domains of origins
  std::map<std::string, std::size_t> owed_of;  // and of posts
  std::uint64_t after = 0;
  for (;;) {
    const Result<std::vector<delivery::Store::OwedCopy>> page =
        co_await store_.copies_owed(after, kOwedAtOnce);
    if (!page || page->empty()) co_return;
    after = page->back().entry.seq;
    std::vector<std::uint64_t> done;
    for (const auto& [entry, since] : *page) {
      if (++owed_of[ring::domain_of(host_of(entry.event.uri))] > kOwedOfDomainMax ||
          co_await is_done_with(entry, since, away))
        done.push_back(entry.seq);
    }
    settle(std::move(done));
  }
}

Task<bool> SignedCopies::is_done_with(const delivery::FeedEntry& entry, WallTime since,
                                      std::set<std::string>& away) {
  const std::string& signed_copy = entry.event.signed_copy;
  const std::string origin = origin_of_copy(signed_copy);
  const std::string domain = domain_of_copy(signed_copy);
  if (pending_.contains(signed_copy) || away.contains(domain)) co_return false;
  std::optional<Work> work = work_of(entry.event, /*was_here=*/entry.added != 0);
  if (!work) co_return true;
  const bool is_strange = is_from_stranger(*work);
  Result<std::string> body = co_await fetch(signed_copy, is_strange);
  if (body) co_return co_await hand_over(std::move(*work), std::move(*body));
  if (is_unanswered(body.error())) away.insert(domain);
  // Proxies, too, answer that there is nothing.
  if (is_unanswered(body.error())) co_return false;
  co_return is_strange || (date_.is_believed() && clock_.wall_now() - since > kErrsFor);
}

void SignedCopies::settle(std::vector<std::uint64_t> owed) {
  if (owed.empty()) return;
  if (settled_.empty()) tasks_.spawn("settle_copies", write_settled());
  settled_.insert(settled_.end(), owed.begin(), owed.end());
}

// What is not written is done again after a restart.
Task<void> SignedCopies::write_settled() {
  const Instant later = clock_.now() + kSettleAfter;
  co_await clock_.sleep_until(later);
  const Result<void> written = co_await store_.settle_copies(std::exchange(settled_, {}));
  if (!written) log_.warn("copies_owed", {{"because", written.error().message}});
}

// The publisher's node may be away just then.
Task<Result<std::string>> SignedCopies::fetch_again_and_again(std::string signed_copy, bool is_strange) {
  Result<std::string> body = co_await fetch(signed_copy, is_strange);
  for (const Duration wait : kWaits) {
    if (body || !is_unanswered(body.error())) break;
    const Instant later = clock_.now() + wait;
    co_await clock_.sleep_until(later);
    body = co_await fetch(signed_copy, is_strange);
  }
  co_return body;
}

Task<Result<std::string>> SignedCopies::fetch(std::string signed_copy, bool is_strange) {
  std::string hash = hash_of(signed_copy);
  const std::string origin = origin_of_copy(signed_copy);
  const auto known = copies_.find(hash);
  if (known != copies_.end()) co_return known->second.body;
  if (origin == client_.identity().origin()) co_return co_await store_.find_deletion(std::move(hash));
  std::string url = origin + std::string(kPath) + "?sha256=" + hash;
  co_return co_await (is_strange ? fetch_from_stranger(std::move(url), hash)
                                 : fetch_from(std::move(url), hash));
}

// What is found there does not count.
Task<Result<std::string>> SignedCopies::fetch_from_stranger(std::string url, const std::string& hash) {
  const std::string host = host_of(url);
  if (!minutes_.contains(host)) make_room(minutes_, kHostsMax);
  Hour& minute = minutes_[host];
  if (clock_.now() >= minute.end) minute = {clock_.now() + std::chrono::minutes(1), 0};
  if (minute.count >= kOfStrangerAMinute)
    co_return fail(ErrorCode::kUnavailable, host + " was asked for too many copies in this minute");
  ++minute.count;
  Result<std::string> body = co_await fetch_from(std::move(url), hash);
  const auto asked = minutes_.find(host);
  if (body && asked != minutes_.end() && asked->second.count > 0) --asked->second.count;
  co_return body;
}

Task<Result<std::string>> SignedCopies::fetch_from(std::string url, const std::string& hash) {
  std::string whose = ring::domain_of(host_of(url));
  CO_TRY(std::string body, co_await client_.fetch_body(std::move(url)));
  if (body.empty() || body.size() > kSizeMax || to_hex(crypto::sha256(body)) != hash)
    co_return fail(ErrorCode::kInvalid, "another copy than was named");
  remember(hash, body, std::move(whose));
  co_return body;
}

// Who was told of the post before two instances were kept apart hears that it is deleted.
SignedCopies::Ways SignedCopies::ways_of(const Work& work, const std::string& hash, bool deletes) const {
  Ways ways;
  const std::string host = host_of(work.first());
  const federation::Identity& identity = client_.identity();
  const auto add = [&](const std::string& uri, const Tag& tag) {
    // Of an edit servers make the post, where they have it not.
    if (!deletes && blocks_.is_refused_by(work.author, tag.canonical())) return;
    for (const auto* way : announcer_.ways(tag, uri)) {
      const auto& [inbox, target] = *way;
      const delivery::Via via = target.via();
      if (via == delivery::Via::kNode || via == delivery::Via::kFasp || target.host == host) continue;
      const bool may_go = blocks_.may_go(host, target.host) || (deletes && announcer_.has_told(inbox, uri));
      if (!may_go || !instances_.believes_copies(target.host)) continue;
      // Never by the second address: what a relay brings of a post that it has Friendica drops, even an edit.
      const bool of_node = via == delivery::Via::kRelay || via == delivery::Via::kBareRelay;
      if (!sent_.contains({hash, inbox}))
        ways.try_emplace(inbox, of_node ? identity.actor() : identity.tag_actor(tag));
    }
  };
  for (const auto& [uri, tags] : work.posts) {
    for (const Tag& tag : tags) add(uri, tag);
  }
  return ways;
}

}  // namespace tagring::publisher
