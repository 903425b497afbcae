#include "fasp/fasp_sharing.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/counted.hpp"
#include "delivery/results.hpp"
#include "federation/blocks.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"
#include "instances/instances.hpp"

namespace tagring::fasp {
namespace {

using fediverse::FaspCategory;
using Shared = publisher::FetchedPosts::Shared;

constexpr std::size_t kLoadPage = 1'000;
constexpr Duration kUpkeepEvery = std::chrono::minutes(1);
constexpr Duration kAskAgain = std::chrono::hours(1);
constexpr Duration kSubscribeAgain = std::chrono::seconds(30);  // and then ever later, up to kAskAgain
constexpr unsigned kFailuresMax = 3;  // in a row; then the host of the objects is given a rest
constexpr Duration kRetryAfter = std::chrono::minutes(1);
constexpr std::string_view kSubscriptions = "/data_sharing/v0/event_subscriptions";
constexpr std::size_t kEndingMax = 100;  // subscriptions that are being deleted
constexpr std::string_view kBackfills = "/data_sharing/v0/backfill_requests";

// Few requests at a time: nobody waits for these posts.
queues::QueueOptions sharing_queue_options() {
  queues::QueueOptions options;
  options.batch_max = 20;
  options.concurrent_max = 8;
  options.backoff = {std::chrono::seconds(30), std::chrono::hours(1)};
  return options;
}

bool may_pass(const Error& error) { return is_unanswered(error) || error.code == ErrorCode::kBusy; }

Error refused(std::string_view what, const Result<HttpResponse>& response) {
  if (!response) return response.error();
  return {ErrorCode::kUnavailable, fmt::format("{} answered with {}", what, response->status)};
}

}  // namespace

FaspSharing::FaspSharing(FaspServers& servers, FaspStore& store, publisher::FetchedPosts& posts,
                         const instances::Instances& instances, const federation::Blocks& blocks,
                         const Runtime& runtime)
    : servers_(servers),
      store_(store),
      posts_(posts),
      instances_(instances),
      blocks_(blocks),
      clock_(runtime.clock),
      date_(runtime.clock),
      log_(runtime.log),
      lanes_(
          runtime.clock, runtime.executor, runtime.rng.fork("fasp sharing"), sharing_queue_options(),
          {[this](std::string host, Items items) { return look_at_all(std::move(host), std::move(items)); }}),
      tasks_(runtime.executor) {}

Task<Result<void>> FaspSharing::load() {
  CO_TRY(std::vector<FaspBackfill> backfills, co_await store_.backfills());
  for (FaspBackfill& backfill : backfills) {
    std::string server = backfill.server;
    backfills_[std::move(server)] = std::move(backfill);
  }
  std::uint64_t after = 0;
  for (;;) {
    CO_TRY(std::vector<FaspNews> page, co_await store_.news(after, kLoadPage));
    if (page.empty()) co_return Result<void>();
    after = page.back().seq;
    // Of which kind they were is not kept.
    for (FaspNews& news : page) push(std::move(news), /*is_edit=*/true);
  }
}

void FaspSharing::start() { tasks_.spawn("fasp_sharing", upkeep()); }

Task<void> FaspSharing::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  co_await lanes_.stop();
}

// --- announcements -----------------------------------------------------------------------------------------

// All posts that a server sees may be announced, those of others as well. The ring believes this node about
// instances that have chosen it; so only those are looked at.
bool FaspSharing::takes_part(const std::string& uri, const FaspServer& teller) const {
  const std::string host = host_of(uri);
  if (instances_.is_denied(host) || !blocks_.check_actor(uri)) return false;
  return fediverse::is_same_origin(uri, teller.base_url) || instances_.may_publish(uri);
}

bool FaspSharing::is_shared(const std::string& uri) const {
  return std::ranges::any_of(servers_.all(), [&](const auto& known) {
    return known.second.shares && takes_part(uri, known.second);
  });
}

void FaspSharing::push(FaspNews news, bool is_edit) {
  ++waiting_[news.server];
  const std::string host = host_of(news.uri);
  lanes_.push(host, Item{std::move(news), /*is_check=*/false, is_edit});
}

Task<HttpResponse> FaspSharing::announced(std::string host, std::string body) {
  Result<fediverse::FaspAnnouncement> said = fediverse::parse_fasp_announcement(body, kBatchMax);
  if (!said) {
    HttpResponse response = error_response(said.error());
    if (said.error().code == ErrorCode::kInvalid) response.status = 422;
    co_return response;
  }
  const FaspServer* server = servers_.find(host);
  if (server == nullptr || (!server->shares && said->subscription.empty()))
    co_return error_response({ErrorCode::kDenied, "data_sharing is not activated"});
  const bool account = said->category == FaspCategory::kAccount;
  const std::string& expected = account ? server->account_subscription : server->content_subscription;
  std::optional<FaspBackfill> backfill;
  if (!said->backfill_request.empty()) {
    const FaspBackfill* open = backfill_of(host);
    if (open == nullptr || open->id != said->backfill_request || account || open->received >= open->wanted)
      co_return error_response({ErrorCode::kNotFound, "no such backfill request, or it has ended"});
    backfill = *open;
    if (said->uris.size() > backfill->wanted - backfill->received)
      said->uris.resize(backfill->wanted - backfill->received);
    backfill->received += said->uris.size();
    backfill->more = said->more;
  } else if (!server->shares || expected.empty() || said->subscription != expected) {
    const bool is_own =
        server->shares && (said->subscription == server->content_subscription ||
                           said->subscription == server->account_subscription || subscribing_.contains(host));
    if (is_own || said->subscription.empty())
      co_return error_response({ErrorCode::kNotFound, "no such subscription of that category"});
    // Of a time before, or the answer to it was lost, or to its end. An error would keep Mastodon from
    // telling those subscribers that come after this one.
    if (ending_.size() < kEndingMax && ending_.emplace(host, said->subscription).second)
      tasks_.spawn("end_subscription", end_subscription(host, said->subscription));
    co_return HttpResponse{.status = 204, .headers = {}, .body = {}};
  }
  const auto waiting = waiting_.find(host);
  if (waiting != waiting_.end() && waiting->second + said->uris.size() > kWaitingMax)
    co_return busy_response(kRetryAfter, "too much waits already");
  std::vector<FaspNews> news;
  for (std::string& uri : said->uris) {
    // New accounts are not our concern: there are no searches for people here.
    if (account && said->event == fediverse::FaspEvent::kNew) continue;
    if (!takes_part(uri, *server)) continue;
    news.push_back(
        {0, host, std::move(uri), account, said->event == fediverse::FaspEvent::kDelete, clock_.wall_now()});
  }
  if (backfill) backfills_[host] = *backfill;
  if (!news.empty() || backfill) {
    Result<std::vector<FaspNews>> written = co_await store_.add_news(std::move(news), backfill);
    if (!written) {
      // It comes again, and counts then.
      const auto open = backfills_.find(host);
      if (backfill && open != backfills_.end() && open->second.id == backfill->id)
        open->second.received -= said->uris.size();
      co_return error_response(written.error());
    }
    const bool is_edit = said->event == fediverse::FaspEvent::kUpdate;
    for (FaspNews& one : *written) push(std::move(one), is_edit);
  }
  HttpResponse response;
  response.status = 204;
  co_return response;
}

// --- looking at what was announced -------------------------------------------------------------------------

Task<FaspSharing::Items> FaspSharing::look_at_all(std::string host, Items items) {
  Items again;
  unsigned failures = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (failures == kFailuresMax) {
      again.insert(again.end(), items.begin() + static_cast<std::ptrdiff_t>(i), items.end());
      break;
    }
    const Result<bool> seen = co_await look_at(items[i]);
    const bool is_old = date_.is_believed() && clock_.wall_now() - items[i].news.since >= kNewsLifetime;
    const bool later = !seen && may_pass(seen.error()) && !items[i].is_check && !is_old;
    failures = !seen && may_pass(seen.error()) ? failures + 1 : 0;
    if (later) {
      lanes_.blame(host, federation::why_not(seen.error()));
      again.push_back(items[i]);
    } else if (seen && !*seen && postponed_.size() < kWaitingMax) {
      postpone(items[i]);
    } else {
      co_await finish(items[i]);
    }
  }
  co_return again;
}

// It stays on disk, but nothing waits for it.
void FaspSharing::postpone(Item item) {
  const auto waiting = waiting_.find(item.news.server);
  if (waiting != waiting_.end() && --waiting->second == 0) waiting_.erase(waiting);
  const WallTime due = item.news.since + kLookAgain;
  postponed_.emplace(due, std::move(item));
}

void FaspSharing::push_postponed() {
  while (!postponed_.empty() && postponed_.begin()->first <= clock_.wall_now()) {
    Item item = std::move(postponed_.extract(postponed_.begin()).mapped());
    push(std::move(item.news), item.is_edit);
  }
}

Task<void> FaspSharing::finish(Item item) {
  if (item.is_check) {
    checking_.erase(item.news.uri);
    co_return;
  }
  const auto waiting = waiting_.find(item.news.server);
  if (waiting != waiting_.end() && --waiting->second == 0) waiting_.erase(waiting);
  // If it fails, the object is looked at once more after a restart.
  co_await store_.drop_news(item.news.seq);
}

Task<Result<bool>> FaspSharing::look_at(Item item) {
  if (!item.is_check) co_return co_await look_at_news(std::move(item));
  CO_TRY_VOID(co_await check(std::move(item.news.uri)));
  co_return true;
}

Task<Result<bool>> FaspSharing::look_at_news(Item item) {
  FaspNews& news = item.news;
  const FaspServer* server = servers_.find(news.server);
  // Both may have changed since it was announced.
  if (server == nullptr || !server->shares || !takes_part(news.uri, *server)) co_return true;
  const bool is_own = fediverse::is_same_origin(news.uri, server->base_url);
  if (news.account) {
    if (news.gone) {
      CO_TRY(const std::string still_there, co_await posts_.gone(news.uri));
      if (still_there.empty()) co_return true;
    }
    CO_TRY(const std::string unknown, co_await posts_.look_again(news.uri));
    co_return true;
  }
  // Of its own posts a server knows best; what it says of others' is seen there.
  if (news.gone && is_own) {
    CO_TRY_VOID(co_await posts_.take_out(news.uri));
    CO_TRY_VOID(co_await store_.drop_post(news.uri));
    co_return true;
  }
  const bool may_be_stale = clock_.wall_now() < news.since + kLookAgain;
  CO_TRY(const std::optional<FaspPost> known, co_await store_.find_post(news.uri));
  // Several servers told of it. But a change may not have been seen, if what was seen was of a cache.
  if (known && known->checked > news.since && may_be_stale) co_return !item.is_edit && !news.gone;
  CO_TRY(const Shared found, co_await look_at_post(news.uri, known.has_value(), item.is_edit || news.gone));
  co_return !may_be_stale || (found != Shared::kUnwanted && !item.is_edit && !known);
}

// `is_told`: that it has changed, or is gone. Else a server that does not show it once may err.
Task<Result<Shared>> FaspSharing::look_at_post(std::string uri, bool by_sharing, bool is_told) {
  const WallTime begun = clock_.wall_now();
  CO_TRY(const Shared found, co_await posts_.shared(uri, by_sharing));
  if (found == Shared::kBlocked) co_return fail(ErrorCode::kDenied, "its author is blocked here");
  if (found == Shared::kGone && !is_told) co_return found;
  if (found == Shared::kGone) {
    CO_TRY_VOID(co_await posts_.take_out(uri));
  }
  CO_TRY_VOID(co_await keep(std::move(uri), found == Shared::kPublished, begun));
  co_return found;
}

Task<Result<bool>> FaspSharing::look(std::string uri) {
  CO_TRY(const Shared found, co_await look_at_post(std::move(uri), /*by_sharing=*/true, /*is_told=*/false));
  co_return found == Shared::kPublished;
}

Task<Result<void>> FaspSharing::keep(std::string uri, bool published, WallTime looked_at) {
  if (!published) co_return co_await store_.drop_post(std::move(uri));
  co_return co_await store_.save_post({std::move(uri), looked_at, looked_at + kCheckEvery});
}

// --- looking again -----------------------------------------------------------------------------------------

Task<Result<void>> FaspSharing::check(std::string uri) {
  CO_TRY(std::optional<FaspPost> post, co_await store_.find_post(uri));
  if (!post) co_return Result<void>();
  if (instances_.is_denied(host_of(uri))) {  // it was taken out then, and would come back
    CO_TRY_VOID(co_await posts_.withdraw(uri));
    co_return co_await store_.drop_post(std::move(uri));
  }
  const WallTime begun = clock_.wall_now();
  // Until then nobody asked.
  post->checked = std::min(begun, post->checked + std::max(looks_since_ - post->due, Duration::zero()));
  const Result<Shared> found = co_await posts_.shared(uri, /*by_sharing=*/true);
  const WallTime now = clock_.wall_now();
  if (found && *found == Shared::kGone) {
    make_room(missing_, kWaitingMax);
    if (missing_.insert(uri).second) {  // proxies err
      post->due = now + publisher::Consents::kMissingFor;
      co_return co_await store_.save_post(*post);
    }
    CO_TRY_VOID(co_await posts_.take_out(uri));
  }
  if (found) {
    missing_.erase(uri);
    // What is blocked here may be shown again.
    const bool is_there = *found == Shared::kPublished || *found == Shared::kBlocked;
    co_return co_await keep(std::move(uri), is_there, begun);
  }
  if (now - post->checked > kPatience) {
    CO_TRY_VOID(co_await posts_.withdraw(uri));
    co_return co_await store_.drop_post(std::move(uri));
  }
  post->due = now + kCheckAgain;
  CO_TRY_VOID(co_await store_.save_post(*post));
  co_return std::unexpected(found.error());
}

Task<void> FaspSharing::check_due() {
  const WallTime now = clock_.wall_now();
  // The node was off, the machine slept, or its clock was set.
  if (now < looked_at_ || now - looked_at_ > kCheckAgain) looks_since_ = now;
  looked_at_ = now;
  // With those that are being checked already, which are still due.
  const auto due = co_await store_.due_posts(now, kChecksAMinute + checking_.size());
  if (!due) co_return;
  for (const FaspPost& post : *due) {
    if (post.due > now && !date_.is_believed()) continue;  // rather the clock is behind
    if (checking_.size() >= kWaitingMax || !checking_.insert(post.uri).second) continue;
    lanes_.push(host_of(post.uri), Item{{.uri = post.uri}, /*is_check=*/true});
  }
}

Task<void> FaspSharing::upkeep() {
  for (;;) {
    std::vector<std::string> hosts;
    for (const auto& [host, server] : servers_.all()) {
      if (server.shares) hosts.push_back(host);
    }
    for (const std::string& host : hosts) {
      subscribe_to_missing(host);
      co_await go_on(host);
    }
    push_postponed();
    co_await check_due();
    const Instant next = clock_.now() + kUpkeepEvery;
    co_await clock_.sleep_until(next);
  }
}

// --- what this node asks of servers ------------------------------------------------------------------------

void FaspSharing::activated(const std::string& host) {
  unsubscribed_.erase(host);
  subscribe_to_missing(host);
}

void FaspSharing::subscribe_to_missing(const std::string& host) {
  const FaspServer* server = servers_.find(host);
  if (server == nullptr || !server->shares) return;
  if (!server->content_subscription.empty() && !server->account_subscription.empty()) return;
  const auto failed = unsubscribed_.find(host);
  if (failed != unsubscribed_.end() && clock_.now() < failed->second.until) return;
  if (subscribing_.insert(host).second) tasks_.spawn("fasp_subscribe", subscribe(host));
}

Task<void> FaspSharing::subscribe(std::string host) {
  bool has_both = true;
  for (const FaspCategory category : {FaspCategory::kContent, FaspCategory::kAccount}) {
    const Result<void> done = co_await subscribe_to(host, category);
    if (!done) log_.warn("fasp_subscription", {{"server", host}, {"error", done.error().message}});
    has_both = has_both && done;
  }
  subscribing_.erase(host);
  if (has_both) {
    unsubscribed_.erase(host);
    co_return;
  }
  Failed& failed = unsubscribed_[host];
  failed.until = clock_.now() + std::min(kAskAgain, kSubscribeAgain * (1U << std::min(failed.times, 10U)));
  ++failed.times;
}

Task<Result<void>> FaspSharing::subscribe_to(std::string host, FaspCategory category) {
  const auto id_in = [category](FaspServer& server) -> std::string& {
    return category == FaspCategory::kAccount ? server.account_subscription : server.content_subscription;
  };
  const FaspServer* server = servers_.find(host);
  if (server == nullptr || !server->shares) co_return Result<void>();
  FaspServer before = *server;
  if (!id_in(before).empty()) co_return Result<void>();
  const json::object wish = {{"category", fediverse::to_string(category)},
                             {"subscriptionType", "lifecycle"},
                             {"maxBatchSize", kBatchMax}};
  const Result<HttpResponse> response =
      co_await servers_.call(host, "POST", std::string(kSubscriptions), json::serialize(wish));
  if (!federation::was_accepted(response)) co_return std::unexpected(refused(kSubscriptions, response));
  CO_TRY(const std::string id, fediverse::parse_fasp_created(response->body, "subscription"));
  std::function<void(FaspServer&)> note = [id_in, id](FaspServer& changed) {
    if (changed.shares) id_in(changed) = id;
  };
  co_return co_await servers_.change(host, std::move(note));
}

const FaspBackfill* FaspSharing::backfill_of(const std::string& host) const {
  const auto found = backfills_.find(host);
  return found == backfills_.end() ? nullptr : &found->second;
}

Task<Result<FaspBackfill>> FaspSharing::backfill(std::string host, std::uint64_t count) {
  const FaspServer* server = servers_.find(host);
  if (server == nullptr)
    co_return fail(ErrorCode::kNotFound, "this node is not registered with '" + host + "'");
  if (!server->shares) co_return fail(ErrorCode::kDenied, host + " has not activated data_sharing");
  if (count == 0 || count > kBackfillMax)
    co_return fail(ErrorCode::kTooLarge, fmt::format("a backfill has 1 to {} posts", kBackfillMax));
  const FaspBackfill* before = backfill_of(host);
  const bool goes_on = before != nullptr && before->more && before->received < before->wanted &&
                       clock_.wall_now() - before->since < kNewsLifetime;
  const Held asking(asking_, host);
  if (goes_on || !asking.is_first())
    co_return fail(ErrorCode::kConflict, "a backfill from " + host + " is under way");
  const json::object wish = {{"category", "content"},
                             {"maxCount", std::min<std::uint64_t>(count, kBatchMax)}};
  const Result<HttpResponse> response =
      co_await servers_.call(host, "POST", std::string(kBackfills), json::serialize(wish));
  if (!federation::was_accepted(response)) co_return std::unexpected(refused(kBackfills, response));
  CO_TRY(std::string id, fediverse::parse_fasp_created(response->body, "backfillRequest"));
  FaspBackfill begun{host, std::move(id), count, 0, true, clock_.wall_now(), 0};
  backfills_[host] = begun;
  asked_at_.erase(host);
  CO_TRY_VOID(co_await store_.save_backfill(begun));
  co_return begun;
}

// Asks for more when what came was looked at, so that neither side is flooded.
Task<void> FaspSharing::go_on(std::string host) {
  const FaspBackfill* open = backfill_of(host);
  if (open == nullptr || !open->more || open->received >= open->wanted) co_return;
  if (waiting_.contains(host)) co_return;
  const Instant now = clock_.now();
  const auto [at, is_new] = asked_at_.try_emplace(host, Asked{now, now, open->received});
  Asked& before = at->second;
  // Mastodon gives up what it could not tell for some minutes.
  if (open->received == open->asked && (is_new || now - before.last < kAskAgain)) co_return;
  if (before.received != open->received) before = {now, now, open->received};
  before.last = now;
  FaspBackfill next = *open;
  if (now - before.first >= kNewsLifetime) {
    log_.warn("fasp_backfill", {{"server", host}, {"error", "nothing more comes"}, {"posts", next.received}});
    next.more = false;
    backfills_[host] = next;
    co_await store_.save_backfill(std::move(next));
    co_return;
  }
  const std::string path = fmt::format("{}/{}/continuation", kBackfills, next.id);
  const Result<HttpResponse> response = co_await servers_.call(host, "POST", path, "");
  open = backfill_of(host);
  if (open == nullptr || open->id != next.id) co_return;
  // What came meanwhile counts. Whatever was answered, it was asked.
  const std::uint64_t asked = next.received;
  next = *open;
  next.asked = asked;
  if (federation::is_gone(response)) next.more = false;
  backfills_[host] = next;
  co_await store_.save_backfill(std::move(next));
}

void FaspSharing::deactivated(const std::string& host) {
  const FaspServer* server = servers_.find(host);
  if (server == nullptr || !server->shares) return;
  for (const std::string& id : {server->content_subscription, server->account_subscription}) {
    if (!id.empty() && ending_.emplace(host, id).second)
      tasks_.spawn("end_subscription", end_subscription(host, id));
  }
}

// Asked for once; if that fails, the next announcement of it is a reason to ask again.
Task<void> FaspSharing::end_subscription(std::string host, std::string id) {
  const std::string path = fmt::format("{}/{}", kSubscriptions, id);
  const Result<HttpResponse> response = co_await servers_.call(host, "DELETE", path, "");
  if (response) log_.info("fasp_subscription_ended", {{"server", host}, {"status", response->status}});
  ending_.erase({host, id});
}

Task<bool> FaspSharing::take_leave(std::string host) {
  backfills_.erase(host);
  const FaspServer* server = servers_.find(host);
  if (server == nullptr || !server->shares) co_return true;
  bool has_ended = true;
  for (const std::string& id : {server->content_subscription, server->account_subscription}) {
    if (id.empty()) continue;
    const std::string path = fmt::format("{}/{}", kSubscriptions, id);
    const Result<HttpResponse> answer = co_await servers_.call(host, "DELETE", path, "");
    has_ended = has_ended && answer && (answer->status / 100 == 2 || answer->status == 404);
  }
  co_return has_ended;
}

}  // namespace tagring::fasp
