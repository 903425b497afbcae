#include "cluster/front.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "cluster/channel.hpp"
#include "federation/checked_signature.hpp"
#include "federation/version.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/json_ld.hpp"
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

HttpResponse is_slow() {
  HttpResponse response = error_response({ErrorCode::kTimedOut, "this node has much to do"});
  response.headers.set("Retry-After", "10");
  return response;
}

// Browsers write other bytes of a target as %XX; those who do not are understood as if they had.
std::string printable(std::string_view target) {
  std::string text;
  for (const char c : target) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F)
      text += c;
    else
      text += fmt::format("%{:02X}", byte);
  }
  return text;
}

// Who says that they sent it, of what is worth a check: the actor of an activity, nobody ("") of what nodes
// say to each other. Garbage must not make us fetch keys; the core has the words for it. So it has for what
// is signed with keys that two servers have agreed on.
std::optional<std::string> claimed_sender(const HttpRequest& request, WallTime now) {
  if (request.method != "POST" || !request.headers.find("Signature")) return std::nullopt;
  const std::string_view path = path_of(request.target);
  const Result<json::object> body = fediverse::parse_document(request.body);
  if (!body) return std::nullopt;
  if (path.starts_with("/tagring/")) return "";
  if (!fediverse::NodeUrls::is_inbox(path)) return std::nullopt;
  Result<fediverse::Activity> activity = fediverse::parse_activity(*body, now, {.with_tags = false});
  return activity ? std::optional(std::move(activity->actor)) : std::nullopt;
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
      began_(runtime.clock.wall_now()),
      core_(options_.core, clients.news, runtime.clock, runtime.executor, runtime.log),
      kept_(runtime.clock, runtime.executor),
      client_(identity, clients.outside, runtime),
      keys_(budget, client_, runtime),
      authenticator_(policy_of(identity), {}, keys_, runtime),
      tally_(runtime.clock, runtime.log) {}

// What is gone may have something to say of that: the core knows who was there before.
Task<Result<std::optional<Front::Checked>>> Front::check(const HttpRequest& request) {
  Result<Checked> checked = co_await authenticator_.check(request);
  if (checked) co_return *std::move(checked);
  if (checked.error().code == ErrorCode::kNotFound) co_return std::nullopt;
  co_return std::unexpected(checked.error());
}

Task<HttpResponse> Front::answer(HttpRequest request) {
  if (request.headers.find(federation::kCheckedField))
    co_return error_response({ErrorCode::kInvalid, "a field that is for this node's own processes"});
  request.target = printable(request.target);
  co_return co_await bring(std::move(request));
}

Task<HttpResponse> Front::bring(HttpRequest request) {
  const std::optional<std::string> sender = claimed_sender(request, clock_.wall_now());
  Result<std::optional<Checked>> checked = std::nullopt;
  if (sender) checked = co_await check(request);
  if (!checked) co_return refuse(*sender, checked.error());
  auto ask = [this, &request, &checked]() -> Task<Result<HttpResponse>> {
    return ask_core(request, *checked);
  };
  const std::string core = core_.place();
  const auto is_lost = [this, core] { return !core_.answers() || core_.place() != core; };
  const bool may_wait = !is_lost() && !may_be_streamed(request);
  Result<HttpResponse> answer =
      may_wait ? co_await kept_.answer(core, request, ask, is_lost) : co_await ask();
  if (!answer && answer.error().code == ErrorCode::kInvalid) co_return error_response(answer.error());
  if (!answer) {
    ++unanswered_;
    co_return answer.error().code == ErrorCode::kTimedOut ? is_slow() : no_core();
  }
  ++brought_;
  note_known(*answer, request.peer, *checked);
  answer->headers = end_to_end(answer->headers);
  co_return *std::move(answer);
}

// As the core would: its own tally has only what it was brought.
HttpResponse Front::refuse(const std::string& sender, const Error& because) {
  ++refused_;
  HttpResponse response = federation::not_authentic(because);
  if (!sender.empty()) tally_.count(response, sender);
  return response;
}

Task<Result<HttpResponse>> Front::ask_core(const HttpRequest& request, std::optional<Checked> checked) {
  // Nor does it say where it is, then: that must not look like a fault of the request.
  if (!core_.answers()) co_return fail(ErrorCode::kUnavailable, "no core answers");
  const bool may_stream = may_be_streamed(request);
  CO_TRY(HttpCall call, to_core(request, core_.place(), clock_.now() + kCoreTimeout));
  if (checked) {
    call.headers.add(std::string(federation::kCheckedField), checked->text);
    call.headers.add(std::string(kSignerField), host_of(checked->actor));
  }
  const std::optional<std::string> upgrade = request.headers.find("Upgrade");
  if (may_stream && upgrade) call.headers.add("Upgrade", *upgrade);
  co_return co_await core_.ask(may_stream ? clients_.streams : clients_.inside, std::move(call));
}

// Whom the core knows this front knows from then on: their share of its budgets is as large as there.
void Front::note_known(const HttpResponse& answer, const IpAddress& peer,
                       const std::optional<Checked>& checked) {
  const std::string known = answer.headers.find(kKnownField).value_or("");
  if (known.contains(kKnownPeer)) budget_.note_known(peer);
  if (checked && known.contains(kKnownSigner)) budget_.note_known(host_of(checked->actor));
}

Task<HttpResponse> Front::answer_core(HttpRequest request) {
  if (!options_.core.secret.is_proven(request.headers, options_.core.place, clock_.wall_now()))
    co_return error_response({ErrorCode::kDenied, "only this node's core may ask here"});
  if (path_of(request.target) == kFrontPath) co_return json_response(report());
  if (path_of(request.target) != kSendPath) co_return error_response({ErrorCode::kNotFound, "no such page"});
  Result<Errand> errand = from_core(std::move(request), clock_.now());
  if (!errand) co_return error_response(errand.error());
  ++sent_;
  co_return to_answer(co_await client_.send(std::move(errand->call), std::move(errand->as)));
}

Task<void> Front::keep_in_touch() {
  return core_.keep([this] { return json::serialize(report()); });
}

Task<void> Front::get_in_touch() { return core_.tell(json::serialize(report())); }

Task<void> Front::leave() {
  leaves_ = true;
  return core_.tell(json::serialize(report()));
}

json::object Front::report() const {
  json::object report = {{"role", "front"},
                         {"at", options_.core.place},
                         {"version", federation::kVersion},
                         {"began", to_ms(began_)},
                         {"core", core_.place()},
                         {"core_answers", core_.answers()},
                         {"brought", brought_},
                         {"refused", refused_},
                         {"inbox_refused", tally_.to_json().at("refused")},
                         {"unanswered", unanswered_},
                         {"sent", sent_},
                         {"leaves", leaves_}};
  if (const std::optional<crypto::CertificateFacts> shown = options_.certificate()) {
    const auto seconds = [](WallTime at) {
      return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
    };
    report["certificate_until"] = seconds(shown->until);
    report["certificate_late_from"] = seconds(shown->late_from());
    report["certificate_late"] = clock_.wall_now() > shown->late_from();
  }
  return report;
}

// Who has lost the core refuses at once, so it is the one with fewest connections, and a balancer would give
// it nearly all that come. Who goes says so while its door is open still.
HttpResponse Front::alive() const {
  const bool is_alive = !leaves_ && !core_.is_lost();
  HttpResponse response = json_response({{"alive", is_alive}, {"role", "front"}});
  if (!is_alive) response.status = 503;
  return response;
}

Task<HttpResponse> Front::probe(HttpRequest request) {
  const std::string_view path = path_of(request.target);
  if (path == "/livez") co_return alive();
  if (path == "/readyz") {
    json::object ready = report();
    ready["ready"] = core_.answers();
    HttpResponse response = json_response(ready);
    if (!core_.answers()) response.status = 503;
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
  for (const char* name : {"certificate_until", "certificate_late_from"})
    if (const auto at = json::get_int(figures["front"].as_object(), name)) figures[name] = *at;
  return figures;
}

}  // namespace tagring::cluster
