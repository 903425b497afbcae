#include "fasp/fasp_hashtags.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "http/http_error.hpp"

namespace tagring::fasp {
namespace {

constexpr std::string_view kTagAnnouncements = "/hashtag_subscription/v0/announcements";
constexpr std::string_view kHashtags = "hashtags";
constexpr std::string_view kHistory = "/history";

// Ends a subscription, or gives a post up; proxies say the same of a server that is away.
bool is_final(int status) {
  return status == 400 || status == 404 || status == 410 || status == 413 || status == 422;
}

HttpResponse denied(std::string why) { return error_response({ErrorCode::kDenied, std::move(why)}); }

}  // namespace

void FaspHashtags::note(const delivery::Follower& follower) {
  if (follower.via == delivery::Via::kFasp) tags_[follower.actor].insert(follower.tag.canonical());
}

std::string FaspHashtags::inbox_of(const FaspServer& server) {
  return server.base_url + std::string(kTagAnnouncements);
}

std::vector<std::string> FaspHashtags::hashtags(const std::string& host) const {
  std::vector<std::string> found;
  const FaspServer* server = servers_.find(host);
  if (server == nullptr) return found;
  const auto tags = tags_.find(server->base_url);
  if (tags == tags_.end()) return found;
  // Whoever does not take announcements is unsubscribed by the announcer.
  std::ranges::copy_if(tags->second, std::back_inserter(found), [&](const std::string& tag) {
    return followers_.all().follows(Tag::from_canonical(tag), server->base_url);
  });
  return found;
}

Task<HttpResponse> FaspHashtags::answer(std::string host, std::string method, std::string path) {
  const FaspServer* server = servers_.find(host);
  if (server == nullptr || !server->hashtags) co_return denied("hashtag_subscription is not activated");
  if (instances_.is_denied(host)) co_return denied("this node's administrator has decided against " + host);
  const std::string query(query_of(path));
  path.resize(path_of(path).size());
  if (path == kHashtags && method == "GET") {
    const std::vector<std::string> tags = hashtags(host);
    co_return json_response({{"hashtags", json::array(tags.begin(), tags.end())}});
  }
  if (!path.starts_with(std::string(kHashtags) + "/"))
    co_return error_response({ErrorCode::kNotFound, "nothing is there"});
  path.erase(0, kHashtags.size() + 1);
  const bool reads = method == "GET" && path.ends_with(kHistory);
  if (reads) path.resize(path.size() - kHistory.size());
  const std::optional<std::string> name = percent_decode(path);
  Result<Tag> tag = Tag::parse(name.value_or(""));
  if (!tag) {
    HttpResponse response = error_response(tag.error());
    response.status = 422;
    co_return response;
  }
  if (reads) {
    const std::vector<std::string> subscribed = hashtags(host);
    if (std::ranges::find(subscribed, tag->canonical()) == subscribed.end())
      co_return error_response({ErrorCode::kNotFound, "this server is not subscribed to the hashtag"});
    co_return co_await history_.answer(std::move(host), std::move(*tag), query);
  }
  if (method == "PUT") co_return co_await subscribe(std::move(host), std::move(*tag));
  if (method == "DELETE") co_return co_await unsubscribe(std::move(host), std::move(*tag));
  co_return error_response({ErrorCode::kNotFound, "nothing is there"});
}

Task<HttpResponse> FaspHashtags::subscribe(std::string host, Tag tag) {
  const Result<void> offered = blocks_.check_tag(tag.canonical());
  if (!offered) co_return error_response(offered.error());
  const FaspServer server = *servers_.find(host);
  const std::string& base = server.base_url;
  const auto is_gone = [&](const std::string& name) {
    return !followers_.all().follows(Tag::from_canonical(name), base);
  };
  std::set<std::string>& tags = tags_[base];
  if (writing_ == 0) std::erase_if(tags, is_gone);  // else it may be about to follow
  if (!tags.contains(tag.canonical())) {
    if (tags.size() >= tags_max_) co_return denied("no more hashtags are served to one server");
    tags.insert(tag.canonical());
  }
  // Also if it is subscribed: its answer of before, that it is not, may be on its way.
  const Counted writing(writing_);
  std::vector<delivery::Follower> followers = {{tag, base, inbox_of(server), "", delivery::Via::kFasp, 0}};
  const Result<void> done = co_await followers_.follow(std::move(followers));
  co_return done ? no_content() : error_response(done.error());
}

Task<HttpResponse> FaspHashtags::unsubscribe(std::string host, Tag tag) {
  const std::string base = servers_.find(host)->base_url;
  tags_[base].erase(tag.canonical());
  std::vector<std::pair<Tag, std::string>> pairs = {{tag, base}};
  const Result<void> done = co_await followers_.unfollow(std::move(pairs));
  co_return done ? no_content() : error_response(done.error());
}

Task<Result<void>> FaspHashtags::forget(std::string host) {
  const FaspServer* server = servers_.find(host);
  if (server == nullptr) co_return Result<void>();
  std::vector<std::pair<Tag, std::string>> pairs;
  // With those that are about to follow.
  for (const std::string& tag : tags_[server->base_url])
    pairs.emplace_back(Tag::from_canonical(tag), server->base_url);
  tags_.erase(server->base_url);
  history_.forget(host);
  if (pairs.empty()) co_return Result<void>();
  co_return co_await followers_.unfollow(std::move(pairs));
}

// --- announcements -----------------------------------------------------------------------------------------

Task<Result<HttpResponse>> FaspHashtags::deliver(std::string inbox, std::string body) {
  const std::string host = host_of(inbox);
  const FaspServer* server = servers_.find(host);
  if (server == nullptr || !server->hashtags || inbox_of(*server) != inbox) {
    HttpResponse gone;
    gone.status = 410;
    co_return gone;
  }
  Result<HttpResponse> response =
      co_await servers_.call(host, "POST", std::string(kTagAnnouncements), std::move(body));
  if (!response || !is_final(response->status)) co_return response;
  const Result<void> is_signed = servers_.check(host, *response);
  if (is_signed) co_return response;
  co_return fail(
      response->status == 413 ? ErrorCode::kTooLarge : ErrorCode::kDenied,
      fmt::format("unsigned answer with status {}: {}", response->status, is_signed.error().message));
}

}  // namespace tagring::fasp
