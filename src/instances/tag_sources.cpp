#include "instances/tag_sources.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "crypto/hash.hpp"
#include "fediverse/links.hpp"
#include "fediverse/tag_wishes.hpp"
#include "queues/host_pauses.hpp"

namespace tagring::instances {
namespace {

constexpr std::string_view kAdmin = kChosenTags;
constexpr std::string_view kExcluded = kExcludedTags;
constexpr std::string_view kFollowedTags = "followed_tags";
constexpr std::string_view kDatabase = "mastodon_database";
constexpr std::string_view kSocialRelay = "social_relay";
constexpr std::string_view kTagRelay = "tag_relay";  // the hashtag's actor was added as a relay there

constexpr Duration kTimeout = std::chrono::seconds(20);
constexpr Duration kFirstWithin = std::chrono::seconds(30);
// Most servers have no x-social-relay, and never will.
constexpr Duration kAbsentFor = std::chrono::hours(24);
constexpr std::size_t kHostsAtOnce = 16;
constexpr std::size_t kHostsMax = 10'000;
constexpr std::size_t kPagesMax = 25;  // of 200 hashtags

bool is_automatic(const std::string& source) { return source != kAdmin && source != kExcluded; }

// Tokens are told apart without being shown.
std::string source_of(const TagToken& token) {
  return fmt::format("{}/{}", kFollowedTags, to_hex(crypto::sha256(token.token)).substr(0, 8));
}
std::string label_of(const std::string& source) { return source.substr(0, source.find('/')); }

bool contains(const std::vector<std::string>& tags, const std::string& tag) {
  return std::ranges::find(tags, tag) != tags.end();
}

}  // namespace

Task<Result<void>> TagSources::load() {
  CO_TRY(const std::vector<TagReason> reasons, co_await store_.tag_reasons());
  for (const TagReason& reason : reasons) wishes_[reason.host][reason.source].push_back(reason.tag);
  read_tokens();
  co_return Result<void>();
}

void TagSources::start() { tasks_.spawn("tag_sources", poll()); }

Task<void> TagSources::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- by hand -----------------------------------------------------------------------------------------------

Task<Result<void>> TagSources::subscribe(std::string host, Tags tags) {
  for (const std::string& tag : tags) {
    CO_TRY_VOID(blocks_.check_tag(tag));
  }
  CO_TRY_VOID(co_await instances_.subscribe(host, tags));
  const BySource before = wishes_[host];
  BySource& wishes = wishes_[host];
  for (const std::string& tag : tags) {
    if (!contains(wishes[std::string(kAdmin)], tag)) wishes[std::string(kAdmin)].push_back(tag);
    std::erase(wishes[std::string(kExcluded)], tag);
  }
  co_return co_await save_changes(host, before);
}

Task<Result<void>> TagSources::unsubscribe(std::string host, Tags tags) {
  CO_TRY_VOID(co_await instances_.unsubscribe(host, tags));
  const BySource before = wishes_[host];
  BySource& wishes = wishes_[host];
  for (const std::string& tag : tags) {
    std::erase(wishes[std::string(kAdmin)], tag);
    const bool wanted = std::ranges::any_of(
        wishes, [&](const auto& item) { return is_automatic(item.first) && contains(item.second, tag); });
    if (wanted && !contains(wishes[std::string(kExcluded)], tag))
      wishes[std::string(kExcluded)].push_back(tag);
  }
  co_return co_await save_changes(host, before);
}

std::set<std::string> TagSources::subscribed(const std::string& host) const {
  std::set<std::string> all;
  if (const auto found = wishes_.find(host); found != wishes_.end()) {
    for (const auto& [source, tags] : found->second)
      if (source != kExcluded) all.insert(tags.begin(), tags.end());
    if (const auto excluded = found->second.find(std::string(kExcluded)); excluded != found->second.end())
      for (const std::string& tag : excluded->second) all.erase(tag);
  }
  for (std::string& tag : instances_.hashtags(host)) all.insert(std::move(tag));
  return all;
}

// Of several tokens of a host, which one.
std::string TagSources::shown(const std::string& host, const std::string& source) const {
  const auto token = std::ranges::find_if(tokens_, [&](const TagToken& candidate) {
    return candidate.host == host && source_of(candidate) == source && candidate.line > 0;
  });
  return label_of(source) + (token == tokens_.end() ? "" : fmt::format(", line {}", token->line));
}

json::object TagSources::describe(const std::string& host) const {
  static const BySource kNone;
  const auto found = wishes_.find(host);
  const BySource& wishes = found == wishes_.end() ? kNone : found->second;
  const Tags subscribed = instances_.hashtags(host);
  const Tags relayed = instances_.relayed_hashtags(host);
  std::set<std::string> tags(subscribed.begin(), subscribed.end());
  tags.insert(relayed.begin(), relayed.end());
  json::object reasons;
  for (const std::string& tag : tags) {
    std::set<std::string> labels;
    if (contains(relayed, tag)) labels.emplace(kTagRelay);
    for (const auto& [source, wanted] : wishes) {
      if (source != kExcluded && contains(wanted, tag)) labels.insert(label_of(source));
    }
    if (labels.empty()) labels.emplace(kAdmin);
    reasons[tag] = json::array(labels.begin(), labels.end());
  }
  const bool is_asked = contains(instances_.receivers(), host);
  json::array sources;
  for (const std::string& source : sources_of(host)) {
    const auto wanted = wishes.find(source);
    json::object item = {{"source", shown(host, source)},
                         {"hashtags", wanted == wishes.end() ? 0 : wanted->second.size()}};
    const auto state = states_.find({host, source});
    if (state != states_.end() && state->second.read != WallTime())
      item["read"] = to_rfc3339(state->second.read);
    if (state != states_.end() && !state->second.note.empty()) item["note"] = state->second.note;
    if (!is_asked)
      item["note"] = "not read: " + host + " does not use this node as a relay, or may not receive";
    sources.push_back(std::move(item));
  }
  return {{"host", host},
          {"hashtags", json::array(tags.begin(), tags.end())},
          {"reasons", std::move(reasons)},
          {"sources", std::move(sources)}};
}

// --- reading -----------------------------------------------------------------------------------------------

std::vector<std::string> TagSources::sources_of(const std::string& host) const {
  std::vector<std::string> sources;
  if (host == options_.database_host) sources.emplace_back(kDatabase);
  for (const TagToken& token : tokens_) {
    if (token.host == host && !contains(sources, source_of(token))) sources.push_back(source_of(token));
  }
  sources.emplace_back(kSocialRelay);
  return sources;
}

// Of the file as it is now. While it cannot be read, those that were read before count.
void TagSources::read_tokens() {
  if (!options_.read_tokens) return;
  Result<std::vector<TagToken>> tokens = options_.read_tokens();
  if (!tokens && tokens.error().message != tokens_error_)
    log_.warn("tag_tokens_fail",
              {{"why", tokens.error().message}, {"until_then", "the tokens that were read before count"}});
  tokens_error_ = tokens ? std::string() : tokens.error().message;
  if (tokens) tokens_ = *std::move(tokens);
}

Task<void> TagSources::poll() {
  Duration wait = std::min(kFirstWithin, options_.every);
  for (;;) {
    const auto jitter = rng_.below(static_cast<std::uint64_t>(wait.count() / 5) + 1);
    const Instant next = clock_.now() + wait * 9 / 10 + Duration(static_cast<Duration::rep>(jitter));
    co_await clock_.sleep_until(next);
    wait = options_.every;
    read_tokens();
    std::vector<std::string> hosts = instances_.receivers();
    while (!hosts.empty()) {
      std::vector<Task<bool>> some;
      for (; !hosts.empty() && some.size() < kHostsAtOnce; hosts.pop_back())
        some.push_back(poll_host(hosts.back()));
      co_await all_of(std::move(some));
    }
  }
}

// True if something has changed.
Task<bool> TagSources::poll_host(std::string host) {
  const std::vector<std::string> sources = sources_of(host);
  std::map<std::string, Tags> news;
  bool is_heard = false;
  for (const auto& [source, tags] : wishes_[host]) {
    // Such as that of a token that was taken out of the file.
    if (is_automatic(source) && !contains(sources, source)) news[source] = {};
  }
  for (const std::string& source : sources) {
    const auto patience = patience_.find(host);
    const bool waits = source != kDatabase && patience != patience_.end() && patience->second > clock_.now();
    if (waits || states_[{host, source}].again > clock_.now()) continue;
    Result<Tags> tags = co_await read(host, source);
    State& state = states_[{host, source}];
    is_heard = is_heard || tags || tags.error().code == ErrorCode::kNotFound;
    if (!tags) {
      note_failure(host, source, tags.error());
      continue;
    }
    state.failing = false;
    state.read = clock_.wall_now();
    news[source] = std::move(*tags);
  }
  // Where another token may have taken its place, what it wanted goes when that has been read.
  const bool is_unread = std::ranges::any_of(sources, [&](const std::string& source) {
    return label_of(source) == kFollowedTags && !news.contains(source) && !wishes_[host].contains(source);
  });
  if (is_unread) std::erase_if(news, [&](const auto& item) { return !contains(sources, item.first); });
  const BySource before = wishes_[host];
  Tags withdrawn;
  for (auto& [source, tags] : news) {
    Tags& known = wishes_[host][source];
    std::ranges::copy_if(known, std::back_inserter(withdrawn),
                         [&, now = &tags](const std::string& tag) { return !contains(*now, tag); });
    known = std::move(tags);
  }
  Result<void> done = co_await apply(host, std::move(withdrawn), is_heard);
  if (done) done = co_await save_changes(host, before);
  if (!done) {
    // What was withdrawn is found again the next time.
    for (auto& [source, tags] : news) {
      const auto known = before.find(source);
      wishes_[host][source] = known == before.end() ? Tags() : known->second;
    }
    log_.warn("tag_sources_fail", {{"host", host}, {"why", done.error().message}});
  }
  co_return done.has_value() && wishes_[host] != before;
}

void TagSources::note_failure(const std::string& host, const std::string& source, const Error& error) {
  State& state = states_[{host, source}];
  const auto known = wishes_[host].find(source);
  const bool has_tags = known != wishes_[host].end() && !known->second.empty();
  state.note = error.message;
  if (source == kSocialRelay && error.code == ErrorCode::kNotFound && !has_tags) {
    state.again = clock_.now() + kAbsentFor;
    return;
  }
  if (!std::exchange(state.failing, true))
    log_.warn("tag_source_fails", {{"host", host}, {"source", shown(host, source)}, {"why", error.message}});
}

Task<Result<TagSources::Tags>> TagSources::read(std::string host, std::string source) {
  states_[{host, source}].note.clear();
  if (source == kDatabase) co_return co_await read_database();
  if (source == kSocialRelay) co_return co_await read_social_relay(std::move(host));
  co_return co_await read_tokens_tags(std::move(host), std::move(source));
}

// Without following redirects: a token is for one server.
Task<Result<HttpResponse>> TagSources::get(std::string url, std::string token) {
  CO_TRY(Url parsed, Url::parse(url));
  HttpCall call("GET", std::move(parsed), clock_.now() + kTimeout);
  call.headers.add("Accept", "application/json");
  if (!token.empty()) call.headers.add("Authorization", "Bearer " + token);
  CO_TRY(HttpResponse response, co_await http_.send(std::move(call)));
  if (response.status == 200) co_return response;
  if (const Duration pause = queues::asked_pause(response, clock_.wall_now()); pause > Duration::zero()) {
    if (!patience_.contains(host_of(url))) make_room(patience_, kHostsMax);
    patience_[host_of(url)] = clock_.now() + pause;
  }
  const bool absent = response.status == 404 || response.status == 410;
  std::string_view why;
  if (!token.empty() && response.status == 401) why = ": the token has expired, or was revoked";
  if (!token.empty() && response.status == 403) why = ": the token has not the scope read:follows";
  co_return fail(absent ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                 fmt::format("{} answers {}{}", url.substr(0, url.find('?')), response.status, why));
}

Task<Result<TagSources::Tags>> TagSources::read_tokens_tags(std::string host, std::string source) {
  const auto token = std::ranges::find_if(tokens_, [&](const TagToken& candidate) {
    return candidate.host == host && source_of(candidate) == source;
  });
  // The file was read again meanwhile.
  if (token == tokens_.end()) co_return fail(ErrorCode::kUnavailable, "the token was taken away");
  const std::string secret = token->token;
  const std::string origin = "https://" + host;
  std::string url = origin + "/api/v1/followed_tags?limit=200";
  Tags tags;
  for (std::size_t page = 0; page < kPagesMax; ++page) {
    CO_TRY(const HttpResponse response, co_await get(url, secret));
    CO_TRY(const Tags some, fediverse::parse_followed_tags(response.body));
    tags.insert(tags.end(), some.begin(), some.end());
    const auto next = fediverse::next_link(response.headers.joined("Link").value_or(""));
    if (!next || some.empty()) break;
    if (origin_of(*next) != origin)
      co_return fail(ErrorCode::kInvalid, host + " sends the token to another server for the next page");
    url = *next;
  }
  co_return tags;
}

Task<Result<TagSources::Tags>> TagSources::read_database() {
  auto job = [read = options_.read_database, dsn = options_.database_dsn, limit = tags_max_] {
    return read(dsn, limit);
  };
  const Result<std::vector<std::string>> names = co_await workers_.run(std::move(job));
  if (!names) co_return std::unexpected(names.error());
  Tags tags;
  for (const std::string& name : *names) {
    const Result<Tag> tag = Tag::parse(name);
    if (tag) tags.push_back(tag->canonical());
  }
  co_return tags;
}

Task<Result<TagSources::Tags>> TagSources::read_social_relay(std::string host) {
  CO_TRY(const HttpResponse response, co_await get("https://" + host + "/.well-known/x-social-relay", ""));
  // Misskey answers with a page whatever is asked for.
  if (!json::parse_object(response.body)) co_return fail(ErrorCode::kNotFound, "there is no such document");
  CO_TRY(fediverse::SocialRelay wish, fediverse::parse_social_relay(response.body));
  states_[{host, std::string(kSocialRelay)}].note = wish.ignored;
  co_return std::move(wish.tags);
}

// --- subscribing -------------------------------------------------------------------------------------------

// Brings the instance's subscriptions in line with what is wanted now. What nobody wants is given up only if
// a source had wanted it. What is wanted and not there, since its inbox was given up, say, comes when the
// server is heard (`is_heard`): first what was chosen by hand.
Task<Result<void>> TagSources::apply(std::string host, Tags withdrawn, bool is_heard) {
  const BySource& wishes = wishes_[host];
  const Tags subscribed = instances_.hashtags(host);
  std::set<std::string> had(subscribed.begin(), subscribed.end());
  std::set<std::string> wanted;
  const auto excluded = wishes.find(std::string(kExcluded));
  Tags add;
  std::size_t room = tags_max_;
  for (const auto& [source, tags] : wishes) {
    if (source != kExcluded) wanted.insert(tags.begin(), tags.end());
  }
  if (excluded != wishes.end()) {
    for (const std::string& tag : excluded->second) wanted.erase(tag);
  }
  std::erase_if(wanted, [&](const std::string& tag) { return blocks_.of_tag(tag) != nullptr; });
  std::set<std::string> remove;
  for (const std::string& tag : withdrawn) {
    if (had.contains(tag) && !wanted.contains(tag)) remove.insert(tag);
  }
  room -= std::min(room, had.size() - remove.size());
  for (std::string& tag : instances_.relayed_hashtags(host)) had.insert(std::move(tag));  // these come anyway
  std::size_t left_out = 0;
  // Of a map: "admin" is the first.
  for (const auto& [source, tags] : wishes) {
    if (source == kExcluded || !is_heard) continue;
    for (const std::string& tag : tags) {
      if (!wanted.contains(tag) || !had.insert(tag).second) continue;
      if (add.size() < room) {
        add.push_back(tag);
      } else {
        ++left_out;
      }
    }
  }
  if (!remove.empty()) {
    CO_TRY_VOID(co_await instances_.unsubscribe(host, Tags(remove.begin(), remove.end())));
  }
  if (!add.empty()) {
    CO_TRY_VOID(co_await instances_.subscribe(host, add));
  }
  if (!add.empty() || !remove.empty()) {
    log_.info("instance_tags", {{"host", host},
                                {"subscribed", add.size()},
                                {"unsubscribed", remove.size()},
                                {"over_limit", left_out}});
  }
  co_return Result<void>();
}

Task<Result<void>> TagSources::save_changes(std::string host, BySource before) {
  const BySource now = wishes_[host];
  for (const auto& [source, tags] : now) {
    if (before[source] == tags) continue;
    const Result<void> saved = co_await store_.save_tag_source(host, source, tags);
    if (saved) continue;
    wishes_[host][source] = before[source];  // or who says it again would be told that it is so
    co_return saved;
  }
  co_return Result<void>();
}

}  // namespace tagring::instances
