#include "cluster/front.hpp"

#include "cluster/channel.hpp"
#include "federation/checked_signature.hpp"
#include "federation/version.hpp"
#include "health/metrics.hpp"
#include "http/http_error.hpp"
#include "signatures/claim.hpp"

namespace tagring::cluster {
namespace {

signatures::SignaturePolicy policy_of(const federation::Identity& identity) {
  signatures::SignaturePolicy policy;
  policy.authorities = {identity.authority()};
  return policy;
}

HttpResponse no_core() {
  HttpResponse response = error_response({ErrorCode::kUnavailable, "this node changes its machine"});
  response.headers.set("Retry-After", "5");
  return response;
}

HttpResponse in_json(const json::object& body) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(body);
  return response;
}

// The core may answer with a stream (mastodon_api/streams.hpp).
bool may_be_streamed(const HttpRequest& request) {
  return path_of(request.target).starts_with("/api/v1/streaming");
}

}  // namespace

Front::Front(Options options, const federation::Identity& identity, budget::Manager& budget, Clients clients,
             const Runtime& runtime)
    : options_(std::move(options)),
      clients_(clients),
      budget_(budget),
      clock_(runtime.clock),
      log_(runtime.log),
      client_(identity, clients.outside, runtime),
      keys_(budget, client_, runtime),
      authenticator_(policy_of(identity), {}, keys_, runtime) {}

// What is gone may have something to say of that: the core knows who was there before.
Task<Result<void>> Front::check(HttpRequest* request) {
  if (!request->headers.find("Signature") || request->method == "GET") co_return Result<void>();
  const Result<std::string> checked = co_await authenticator_.check(*request);
  if (!checked && checked.error().code != ErrorCode::kNotFound) co_return std::unexpected(checked.error());
  if (checked) request->headers.add(std::string(federation::kCheckedField), *checked);
  co_return Result<void>();
}

Task<HttpResponse> Front::answer(HttpRequest request) {
  if (path_of(request.target) == "/livez") co_return co_await probe(std::move(request));
  if (request.headers.find(federation::kCheckedField))
    co_return error_response({ErrorCode::kInvalid, "a field that is for this node's own processes"});
  const Result<void> checked = co_await check(&request);
  if (!checked) {
    ++refused_;
    co_return federation::not_authentic(checked.error());
  }
  const bool may_repeat = request.method == "GET" || request.method == "HEAD";
  const std::optional<std::string> field = request.headers.find(federation::kCheckedField);
  const bool may_stream = may_be_streamed(request);
  const std::optional<std::string> upgrade = request.headers.find("Upgrade");
  for (int tries = 0; tries < (may_repeat ? 2 : 1); ++tries) {
    co_await look_for_core();
    if (core_.empty()) break;
    Result<HttpCall> call = to_core(request, core_, clock_.now() + kCoreTimeout);
    if (!call) co_return error_response(call.error());
    if (field) call->headers.add(std::string(federation::kCheckedField), *field);
    if (may_stream && upgrade) call->headers.add("Upgrade", *upgrade);
    HttpClient& client = may_stream ? clients_.streams : clients_.inside;
    const Result<HttpResponse> answer = co_await ask_core(client, *std::move(call));
    note_core(answer ? std::nullopt : std::optional(answer.error().message));
    if (!answer) continue;
    ++brought_;
    HttpResponse response = *answer;
    response.headers = end_to_end(response.headers);
    co_return response;
  }
  ++unanswered_;
  co_return no_core();
}

Task<Result<HttpResponse>> Front::ask_core(HttpClient& client, HttpCall call) {
  call.headers.add(std::string(kSecretField), options_.secret);
  call.headers.add(std::string(kFrontField), options_.place);
  co_return co_await client.send(std::move(call));
}

void Front::note_core(const std::optional<std::string>& trouble) {
  if (core_answers_ == !trouble) return;
  core_answers_ = !trouble;
  if (trouble)
    log_.warn("core_lost", {{"at", core_}, {"because", *trouble}});
  else
    log_.info("core_found", {{"at", core_}});
}

// A core that has died does not say so: who takes over has written down where it is.
Task<void> Front::look_for_core() {
  const bool is_due = !looked_ || clock_.now() - *looked_ >= kLookEvery;
  if (core_answers_ || !is_due) co_return;
  looked_ = clock_.now();
  Result<std::string> found = co_await options_.find_core();
  if (found) core_ = *std::move(found);
}

Task<HttpResponse> Front::answer_core(HttpRequest request) {
  if (!shows(request.headers, options_.secret))
    co_return error_response({ErrorCode::kDenied, "only this node's core may ask here"});
  if (path_of(request.target) == kFrontPath) co_return in_json(report());
  if (path_of(request.target) != kSendPath) co_return error_response({ErrorCode::kNotFound, "no such page"});
  Result<HttpCall> call = from_core(std::move(request), clock_.now());
  if (!call) co_return error_response(call.error());
  ++sent_;
  co_return to_answer(co_await clients_.outside.send(*std::move(call)));
}

Task<void> Front::tell_core() {
  HttpRequest news;
  news.method = "POST";
  news.target = kFrontPath;
  news.body = json::serialize(report());
  Result<HttpCall> call = to_core(std::move(news), core_, clock_.now() + kAnnounceEvery);
  if (!call) co_return;
  const Result<HttpResponse> answer = co_await ask_core(clients_.inside, *std::move(call));
  // Nodes refuse this and that; but not that their fronts are there.
  note_core(answer && answer->status == 204 ? std::nullopt
            : answer                        ? std::optional<std::string>("it is no core of this node")
                                            : std::optional(answer.error().message));
}

Task<void> Front::leave() {
  leaves_ = true;
  return tell_core();
}

Task<void> Front::announce() {
  for (;;) {
    co_await look_for_core();
    co_await tell_core();
    const Instant next = clock_.now() + (core_answers_ ? kAnnounceEvery : kLookEvery);
    co_await clock_.sleep_until(next);
  }
}

json::object Front::report() const {
  return {{"role", "front"},     {"at", options_.place},          {"version", federation::kVersion},
          {"core", core_},       {"core_answers", core_answers_}, {"brought", brought_},
          {"refused", refused_}, {"unanswered", unanswered_},     {"sent", sent_},
          {"leaves", leaves_}};
}

Task<HttpResponse> Front::probe(HttpRequest request) {
  const std::string_view path = path_of(request.target);
  if (path == "/livez") co_return in_json({{"alive", true}, {"role", "front"}});
  if (path == "/readyz") {
    json::object ready = report();
    ready["ready"] = core_answers_;
    HttpResponse response = in_json(ready);
    if (!core_answers_) response.status = 503;
    co_return response;
  }
  if (path != "/metrics") co_return error_response({ErrorCode::kNotFound, "no such page"});
  HttpResponse response;
  response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = health::to_metrics(figures());
  co_return response;
}

// As those of a node are in its status.
json::object Front::figures() const {
  json::object figures = {{"role", "front"},
                          {"version", federation::kVersion},
                          {"front", report()},
                          {"budget", budget_.status()}};
  if (const std::optional<WallTime> until = options_.certificate_until())
    figures["certificate_until"] =
        std::chrono::floor<std::chrono::seconds>(*until).time_since_epoch().count();
  return figures;
}

}  // namespace tagring::cluster
