#include "publisher/signed_copies.hpp"

#include <array>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "crypto/hash.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"

namespace tagring::publisher {
namespace {

constexpr std::size_t kHostsMax = 10'000;
constexpr std::array<Duration, 4> kWaits = {std::chrono::seconds(10), std::chrono::minutes(1),
                                            std::chrono::minutes(5), std::chrono::minutes(30)};

// The post that a copy deletes or edits; empty unless its server signed it so that others believe it, and it
// is of a public post.
std::string post_of(const std::string& body, WallTime now) {
  const Result<fediverse::Activity> activity = fediverse::parse_activity(body, now);
  if (!activity) return {};
  if (const auto* deletion = std::get_if<fediverse::Delete>(&activity->content))
    return deletion->is_signed ? deletion->uri : std::string();
  const auto* update = std::get_if<fediverse::Update>(&activity->content);
  const bool passes = update != nullptr && update->is_signed &&
                      update->note.visibility == fediverse::Visibility::kPublic &&
                      update->note.may_be_announced;
  return passes ? update->note.id : std::string();
}

}  // namespace

Task<void> SignedCopies::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

std::string SignedCopies::keep(const std::string& body) {
  if (body.size() > kSizeMax) return {};
  const std::string hash = to_hex(crypto::sha256(body));
  remember(hash, body);
  return hash + " " + client_.identity().origin();
}

void SignedCopies::remember(const std::string& hash, std::string body) {
  while (!order_.empty()) {
    const auto oldest = copies_.find(order_.front());
    if (bytes_ + body.size() <= kBytesMax && clock_.now() - oldest->second.since < kKept) break;
    bytes_ -= oldest->second.body.size();
    copies_.erase(oldest);
    order_.pop_front();
  }
  const std::size_t size = body.size();
  if (!copies_.try_emplace(hash, Copy{std::move(body), clock_.now()}).second) return;
  order_.push_back(hash);
  bytes_ += size;
}

Task<HttpResponse> SignedCopies::answer(HttpRequest request) {
  const std::string query(query_of(request.target));
  const auto copy = copies_.find(query_value(query, "sha256"));
  if (copy == copies_.end()) co_return error_response({ErrorCode::kNotFound, "this node has no such copy"});
  HttpResponse response;
  response.headers.add("Content-Type", std::string(fediverse::kActivityJson));
  response.body = copy->second.body;
  co_return response;
}

bool SignedCopies::admits(const std::string& host) {
  if (!hours_.contains(host)) make_room(hours_, kHostsMax);
  Hour& hour = hours_[host];
  if (clock_.now() >= hour.end) hour = {clock_.now() + std::chrono::hours(1), 0};
  return ++hour.count <= kAnHour;
}

bool SignedCopies::may_hand_on(const delivery::TagEvent& event) const {
  const std::string origin = event.signed_copy.substr(event.signed_copy.find(' ') + 1);
  // Who speaks for the author's server, as for new posts; or this node, which saw that server's signature.
  const bool speaks =
      origin == client_.identity().origin() || is_same_or_below(host_of(origin), host_of(event.uri));
  return speaks && blocks_.of_actor(event.uri) == nullptr;
}

// One event a hashtag names it: it is fetched once for all.
void SignedCopies::hand_on(const delivery::TagEvent& event) {
  if (event.signed_copy.empty() || followers_.targets(event.tag) == nullptr || !may_hand_on(event)) return;
  const auto pending = pending_.find(event.signed_copy);
  if (pending != pending_.end()) {
    if (pending->second.size() < kEventsMax) pending->second.push_back(event);
    return;
  }
  if (pending_.size() >= kPendingMax) return;
  pending_[event.signed_copy].push_back(event);
  tasks_.spawn("hand_on", hand_on_all(event.signed_copy));
}

Task<void> SignedCopies::hand_on_all(std::string signed_copy) {
  const std::size_t space = signed_copy.find(' ');
  const std::string hash = signed_copy.substr(0, space);
  const Result<std::string> body = co_await fetch_again_and_again(hash, signed_copy.substr(space + 1));
  for (std::size_t i = 0; body && i < pending_[signed_copy].size(); ++i) {
    delivery::TagEvent event = pending_[signed_copy][i];
    co_await hand_on(std::move(event), hash, *body);
  }
  pending_.erase(signed_copy);
}

// The publisher's node may be away just then.
Task<Result<std::string>> SignedCopies::fetch_again_and_again(std::string hash, std::string origin) {
  Result<std::string> body = co_await fetch(hash, origin);
  for (const Duration wait : kWaits) {
    const bool may_come =
        !body && (body.error().code == ErrorCode::kUnavailable || body.error().code == ErrorCode::kTimedOut);
    if (!may_come) break;
    const Instant later = clock_.now() + wait;
    co_await clock_.sleep_until(later);
    body = co_await fetch(hash, origin);
  }
  co_return body;
}

Task<Result<std::string>> SignedCopies::fetch(std::string hash, std::string origin) {
  const auto known = copies_.find(hash);
  if (known != copies_.end()) co_return known->second.body;
  CO_TRY(std::string body, co_await client_.fetch_body(origin + std::string(kPath) + "?sha256=" + hash));
  if (body.size() > kSizeMax || to_hex(crypto::sha256(body)) != hash)
    co_return fail(ErrorCode::kInvalid, "another copy than was named");
  remember(hash, body);
  co_return body;
}

Task<void> SignedCopies::hand_on(delivery::TagEvent event, std::string hash, std::string body) {
  if (!may_hand_on(event) || post_of(body, clock_.wall_now()) != event.uri) co_return;
  const std::string host = host_of(event.uri);
  const auto* targets = followers_.targets(event.tag);
  if (targets == nullptr) co_return;
  std::map<std::string, std::string> actors;  // by inbox: who brings it
  const federation::Identity& identity = client_.identity();
  for (const auto& [inbox, target] : *targets) {
    const delivery::Via via = target.via();
    if (via == delivery::Via::kNode || via == delivery::Via::kFasp || target.host == host) continue;
    if (!blocks_.may_go(host, target.host) || !instances_.believes_copies(target.host)) continue;
    actors[inbox] = via == delivery::Via::kRelay ? identity.actor() : identity.tag_actor(event.tag);
  }
  for (const auto& [inbox, actor] : actors) {
    if (sent_.contains({hash, inbox}) || !admits(host)) continue;
    make_room(sent_, kSentMax);
    sent_.emplace(hash, inbox);
    // What cannot be written now is lost to that server: as if the edit had been made before it got the post.
    co_await activities_.send(actor, inbox, body);
  }
}

}  // namespace tagring::publisher
