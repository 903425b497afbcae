#include "posts/post_cache.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::posts {
namespace {

constexpr Duration kNowhere = std::chrono::minutes(1);

// What a worker makes of a document.
struct Read {
  Result<Post> post = fail(ErrorCode::kInvalid, "");
  Result<json::object> account = fail(ErrorCode::kInvalid, "");
  std::string other;  // the id of another post
};

// What a document at `url` has for its id, if that is on the same server.
std::string other_id(std::string_view body, const std::string& url) {
  const Result<json::object> document = fediverse::parse_document(body);
  const std::string id = document ? json::text_of(*document, "id") : "";
  return id != url && fediverse::is_same_origin(id, url) ? id : std::string();
}

using Counts = std::map<std::string, std::size_t>;

std::size_t count_in(const Counts& counts, const std::string& name) {
  const auto known = counts.find(name);
  return known == counts.end() ? 0 : known->second;
}

// Room for one more of a domain that has `own` of its `share`, where `taken` of `most` are taken. Two at the
// least: of one alone a large domain's posts would come one after the other, each with its author.
bool is_room(std::size_t taken, std::size_t most, std::size_t own, std::size_t share) {
  constexpr std::size_t kLastPart = 4;
  constexpr std::size_t kOfLastPart = 8;
  const bool is_scarce = taken >= most - most / kLastPart;
  return taken < most && own < (is_scarce ? std::max<std::size_t>(2, share / kOfLastPart) : share);
}

void count_down(Counts& counts, const std::string& name) {
  if (const auto known = counts.find(name); --known->second == 0) counts.erase(known);
}

}  // namespace

PostCache::PostCache(Options options, federation::SignedClient& client, const Site& site,
                     const Runtime& runtime)
    : options_(std::move(options)),
      client_(client),
      site_(site),
      clock_(runtime.clock),
      workers_(runtime.workers),
      alarm_(runtime.clock, runtime.executor),
      tasks_(runtime.executor) {}

Task<void> PostCache::stop() {
  tasks_.cancel();
  alarm_.ring();
  co_await tasks_.join();
}

const PostCache::Entry* PostCache::find(Kind kind, const std::string& uri) const {
  const auto found = entries_.find({kind, uri});
  return found == entries_.end() ? nullptr : &found->second;
}

bool PostCache::is_fresh(const Entry& entry, Kind kind, Instant at) const {
  if (entry.outdated_until && at >= *entry.outdated_until) return false;
  const Duration age = at - entry.since;
  if (entry.state == State::kThere)
    return age < (kind == Kind::kAuthor ? options_.author_fresh : options_.fresh);
  if (entry.state == State::kGone) return age < options_.gone;
  return entry.state != State::kFailed || age < options_.failed;
}

bool PostCache::has(const std::string& uri) const {
  const Entry* known = find(Kind::kPost, uri);
  return known != nullptr && is_fresh(*known, Kind::kPost, clock_.now());
}

bool PostCache::may_come(const std::string& uri) const {
  const auto is_open = [](const Entry* known) {
    return known == nullptr || known->state < State::kThere || known->state == State::kFailed;
  };
  const Entry* post = find(Kind::kPost, uri);
  return is_open(post) || (post->post && is_open(find(Kind::kAuthor, post->post->author)));
}

void PostCache::note_nowhere(const std::string& uri) {
  const auto known = entries_.find({Kind::kPost, uri});
  if (known != entries_.end()) known->second.nowhere_until = clock_.now() + kNowhere;
}

bool PostCache::is_nowhere(const std::string& uri) const {
  const Entry* known = find(Kind::kPost, uri);
  return known != nullptr && clock_.now() < known->nowhere_until;
}

PostCache::Job PostCache::job_for(const Key& key) {
  return {key, origin_of(key.uri), ring::domain_of(host_of(key.uri))};
}

// Sees to it that it is there, or on its way, if there is room.
void PostCache::want(Kind kind, const std::string& uri, bool named) {
  const Key key{kind, uri};
  const auto known = entries_.find(key);
  if (known != entries_.end() && is_fresh(known->second, kind, clock_.now())) {
    if (known->second.state >= State::kThere) ++counters_.remembered;
    // What a timeline shows does not wait behind what readers name.
    if (!named && known->second.named && known->second.state == State::kWaiting) {
      known->second.named = false;
      --named_waiting_;
    }
    return;
  }
  if (named && named_waiting_ >= options_.named_waiting_max) return;
  Job job = job_for(key);
  if (!is_room(queue_.size(), options_.waiting_max, count_in(domain_waiting_, job.domain),
               options_.domain_waiting_max))
    return;
  if (known != entries_.end()) leave_out(key, known->second);
  entries_[key] =
      Entry{.state = State::kWaiting, .since = clock_.now(), .post = {}, .account = {}, .named = named};
  if (named) ++named_waiting_;
  ++domain_waiting_[job.domain];
  queue_.push_back(std::move(job));
}

std::optional<Instant> PostCache::outdated_until(const std::string& uri) const {
  const Entry* known = find(Kind::kPost, uri);
  return known == nullptr ? std::nullopt : known->outdated_until;
}

void PostCache::forget(const std::string& uri) {
  tagring::make_room(changed_, options_.remembered_max);
  changed_[uri] = clock_.now();
  for (const Kind kind : {Kind::kPost, Kind::kAuthor}) {
    const auto known = entries_.find({kind, uri});
    if (known == entries_.end()) continue;
    known->second.stale = known->second.state == State::kFetching;
    if (known->second.state < State::kThere) continue;
    drop(Key(known->first));
  }
}

bool PostCache::is_pending(Kind kind, const std::string& uri) const {
  const Entry* known = find(kind, uri);
  return known != nullptr && known->state < State::kThere;
}

std::optional<PostCache::Content> PostCache::content(const Wanted& wanted, Instant asked) const {
  const Entry* post = find(Kind::kPost, wanted.uri);
  if (post == nullptr || !post->post || !is_fresh(*post, Kind::kPost, asked)) return std::nullopt;
  // Whose it is says the post's server, not who told of it.
  const Entry* author = find(Kind::kAuthor, post->post->author);
  // What an author wishes stands in the profile: without it nothing is shown.
  if (author == nullptr || !author->account || !is_fresh(*author, Kind::kAuthor, asked)) return std::nullopt;
  return Content{post->post, author->account};
}

Task<std::vector<std::optional<PostCache::Content>>> PostCache::read(std::vector<Wanted> wanted,
                                                                     Instant deadline) {
  const Instant asked = clock_.now();
  for (const Wanted& each : wanted) {
    want(Kind::kPost, each.uri, each.named);
    if (!each.author.empty()) want(Kind::kAuthor, each.author, each.named);
  }
  for (;;) {
    // Authors that were not named are known when their posts are there.
    for (const Wanted& each : wanted) {
      const Entry* post = find(Kind::kPost, each.uri);
      if (post != nullptr && post->post && post->post->author != each.author)
        want(Kind::kAuthor, post->post->author, each.named);
    }
    begin_fetches();
    bool pending = false;
    for (const Wanted& each : wanted) {
      const Entry* post = find(Kind::kPost, each.uri);
      const bool there = post != nullptr && post->post;
      pending = pending || is_pending(Kind::kPost, each.uri) ||
                (there && is_pending(Kind::kAuthor, post->post->author));
    }
    if (!pending || clock_.now() >= deadline) break;
    co_await alarm_.wait_until(deadline);
  }
  std::vector<std::optional<Content>> contents;
  contents.reserve(wanted.size());
  for (const Wanted& each : wanted) contents.push_back(content(each, asked));
  co_return contents;
}

bool PostCache::is_failing(const std::string& origin) const {
  const auto known = failing_.find(origin);
  return known != failing_.end() && clock_.now() - known->second < options_.failed;
}

void PostCache::note_failing(const std::string& origin, bool failed) {
  if (!failed) {
    failing_.erase(origin);
    return;
  }
  tagring::make_room(failing_, options_.remembered_max);
  failing_[origin] = clock_.now();
}

void PostCache::begin_fetches() {
  for (auto next = queue_.begin(); next != queue_.end() && fetching_ < options_.concurrent_max;) {
    Entry& entry = entries_[next->key];
    // Or a dead server with many posts would hold all places until each has timed out.
    if (is_failing(next->origin)) {
      entry.state = State::kFailed;
      if (std::exchange(entry.named, false)) --named_waiting_;
      take_in(next->key, entry);
      count_down(domain_waiting_, next->domain);
      next = queue_.erase(next);
      continue;
    }
    const bool is_busy = !is_room(fetching_, options_.concurrent_max,
                                  count_in(domain_under_way_, next->domain), options_.per_domain_max);
    if (is_busy || (entry.named && named_fetching_ >= options_.named_concurrent_max)) {
      ++next;
      continue;
    }
    ++domain_under_way_[next->domain];
    count_down(domain_waiting_, next->domain);
    ++fetching_;
    if (entry.named) {
      --named_waiting_;
      ++named_fetching_;
    }
    entry.state = State::kFetching;
    tasks_.spawn("fetch", fetch(next->key));
    next = queue_.erase(next);
  }
}

Task<void> PostCache::fetch(Key key) {
  const std::string uri = key.uri;
  const Instant asked = clock_.now();
  const bool named = entries_[key].named;
  federation::SignedClient::MayAskMore may_ask_more;
  if (options_.may_ask_more && named) may_ask_more = [&] { return options_.may_ask_more(host_of(uri)); };
  Result<federation::SignedClient::Document> document = co_await client_.fetch(uri, std::move(may_ask_more));
  Entry entry;
  if (document) {
    note_failing(origin_of(uri), false);
    entry.bytes = document->body.size();
    const auto changed = changed_.find(uri);
    if (changed != changed_.end() && document->as_of < changed->second)
      entry.outdated_until = changed->second + (asked - document->as_of);
    auto job = [body = std::move(document->body), uri, kind = key.kind, now = clock_.wall_now(),
                site = site_] {
      Read read;
      if (kind == Kind::kAuthor) {
        read.account = read_account(body, uri, site);
      } else {
        read.post = read_post(body, uri, now, site);
        if (!read.post) read.other = other_id(body, uri);
      }
      return read;
    };
    Read read = co_await workers_.run(std::move(job));
    if (read.post) entry.post = std::make_shared<const Post>(*std::move(read.post));
    if (read.account) entry.account = std::make_shared<const json::object>(*std::move(read.account));
    entry.other = std::move(read.other);
    // What its own server does not vouch for is as good as gone.
    entry.state = entry.post || entry.account ? State::kThere : State::kGone;
  } else {
    const bool gone = document.error().code == ErrorCode::kNotFound;
    entry.state = gone ? State::kGone : State::kFailed;
    // Any answer comes soon, and is about one post.
    if (!named && document.error().code == ErrorCode::kTimedOut) note_failing(origin_of(uri), true);
  }
  ++(entry.state == State::kFailed ? counters_.failed : counters_.fetched);
  finish(key, std::move(entry));
}

void PostCache::finish(const Key& key, Entry result) {
  Job job = job_for(key);
  count_down(domain_under_way_, job.domain);
  --fetching_;
  result.since = clock_.now();
  Entry& entry = entries_[key];
  if (entry.named) --named_fetching_;
  if (entry.stale) {
    // Who waits for it gets what it says now.
    entry = Entry{.state = State::kWaiting, .since = clock_.now(), .post = {}, .account = {}};
    ++domain_waiting_[job.domain];
    queue_.push_front(std::move(job));
  } else {
    entry = std::move(result);
    take_in(key, entry);
    make_room();
  }
  begin_fetches();
  alarm_.ring();
}

json::object PostCache::show(const Content& content, StatusId id) {
  // Not the oldest posts go, or whoever reads back to them could open none.
  // Whoever chooses a URI can have the id of another post: that was shown first, and keeps it.
  if (shown_.try_emplace(id, content.post->uri).second) shown_first_.push_back(id);
  if (shown_.size() > options_.remembered_max) {
    shown_.erase(shown_first_.front());
    shown_first_.pop_front();
  }
  // Names of accounts are the same in any case.
  const std::array<std::string, 4> names = {ascii_lower(json::text_of(*content.account, "id")),
                                            ascii_lower(json::text_of(*content.account, "acct")),
                                            json::text_of(*content.account, "url"), content.post->author};
  tagring::make_room(accounts_, names.size() * options_.remembered_max);
  for (const std::string& name : names) accounts_[name] = content.post->author;
  const Entry* parent = find(Kind::kPost, content.post->in_reply_to);
  return make_status(*content.post, *content.account, id, parent == nullptr ? nullptr : parent->post.get());
}

std::string PostCache::shown_as(StatusId id) const {
  const auto found = shown_.find(id);
  return found == shown_.end() ? std::string() : found->second;
}

std::vector<std::string> PostCache::replies_to(const std::string& uri) const {
  std::vector<std::string> replies;
  for (auto at = replies_.lower_bound({uri, ""}); at != replies_.end() && at->first == uri; ++at)
    replies.push_back(at->second);
  return replies;
}

std::string PostCache::author_named(const std::string& name) const {
  auto named = accounts_.find(name);
  if (named == accounts_.end()) named = accounts_.find(ascii_lower(name));
  return named == accounts_.end() ? std::string() : named->second;
}

Task<std::shared_ptr<const json::object>> PostCache::account(std::string author, Instant deadline) {
  const Instant asked = clock_.now();
  want(Kind::kAuthor, author, /*named=*/true);
  begin_fetches();
  while (is_pending(Kind::kAuthor, author) && clock_.now() < deadline) co_await alarm_.wait_until(deadline);
  const Entry* found = find(Kind::kAuthor, author);
  const bool counts = found != nullptr && is_fresh(*found, Kind::kAuthor, asked);
  co_return counts ? found->account : nullptr;
}

std::string PostCache::found_at(const std::string& url) const {
  const Entry* found = find(Kind::kPost, url);
  return found == nullptr ? std::string() : found->other;
}

// A tenth at a time.
void PostCache::make_room() {
  if (entries_.size() <= options_.remembered_max && bytes_ <= options_.bytes_max) return;
  const auto is_over = [this] {
    return entries_.size() > options_.remembered_max / 10 * 9 || bytes_ > options_.bytes_max / 10 * 9;
  };
  std::multimap<Instant, Key> stale;
  for (const auto& [key, entry] : entries_) {
    if (entry.state >= State::kThere && !is_fresh(entry, key.kind, clock_.now()))
      stale.emplace(entry.since, key);
  }
  for (auto next = stale.begin(); next != stale.end() && is_over(); ++next) drop(next->second);
  while (is_over() && !held_.empty()) drop(Key(held_.find(held_.heaviest())->by_age.begin()->second));
}

void PostCache::drop(const Key& key) {
  const auto known = entries_.find(key);
  leave_out(known->first, known->second);
  entries_.erase(known);
}

void PostCache::take_in(const Key& key, const Entry& entry) {
  bytes_ += entry.bytes;
  if (entry.post && !entry.post->in_reply_to.empty()) replies_.emplace(entry.post->in_reply_to, key.uri);
  held_.change(job_for(key).domain, [&](Held& its) {
    its.by_age.emplace(entry.since, key);
    its.cost += cost_of(entry);
  });
}

void PostCache::leave_out(const Key& key, const Entry& entry) {
  bytes_ -= entry.bytes;
  if (entry.post) replies_.erase({entry.post->in_reply_to, key.uri});
  held_.change(job_for(key).domain, [&](Held& its) {
    its.by_age.erase({entry.since, key});
    its.cost -= cost_of(entry);
  });
}

}  // namespace tagring::posts
