#include "health/reach.hpp"

#include <fmt/format.h>

#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::health {
namespace {
constexpr std::size_t kAnswerMax = 4096;  // bytes
}

bool is_own_host(const config::Config& config, std::string_view field) {
  const Result<Url> asked = Url::parse(fmt::format("https://{}", field));
  return asked && asked->host == config.host && (asked->port == config.port || asked->port == 443);
}

Check judge_way_in(const config::Config& config, const HttpResponse& answer) {
  const Result<json::object> here = json::parse_object(answer.body);
  const std::string host = here ? json::text_of(*here, "host") : "";
  if (answer.status == 200 && is_own_host(config, host))
    return well("way in", "the proxy in front passes on what comes for " + host);
  if (answer.status == 421 || !host.empty())
    return bad("way in",
               fmt::format("the proxy in front passes requests on with {}: what is signed is refused",
                           host.empty() ? "another Host" : "Host: " + host),
               std::string(kKeepHost));
  const std::string instead =
      answer.status == 200 ? "another server" : decode_error(answer.status, answer.body).message;
  return bad("way in", fmt::format("{} answers: {}", config.origin(), instead),
             "see that the proxy in front passes that name on to what [listen] says, and that its user is in "
             "the node's group (docs/proxy.md)");
}

Task<HttpResponse> Reach::answer(HttpRequest request) {
  if (request.method != "POST") {
    const json::object here = {{"now", to_ms(clock_.wall_now())},
                               {"you", request.peer.text()},
                               {"host", request.headers.find("Host").value_or("")},
                               {"process", process_}};
    co_return json_response(here);
  }
  const Duration wait = budget_.take(budget::Resource::kCalls, budget_.who(request.peer));
  if (wait > Duration::zero())
    co_return busy_response(wait, "too many questions from that address; ask again in five minutes");
  const Result<json::object> reached = co_await call_back(std::move(request));
  if (!reached) co_return error_response(reached.error());
  co_return json_response(*reached);
}

// Only who has asked is called: the signature says so. The address can only narrow where the call goes.
Task<Result<json::object>> Reach::call_back(HttpRequest request) {
  const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
  if (!sender) co_return std::unexpected(sender.error());
  CO_TRY(const json::object question, json::parse_object(request.body));
  const auto address = IpAddress::parse(json::text_of(question, "address"));
  if (!address) co_return fail(ErrorCode::kInvalid, "'address' must be an address");
  const std::string origin = origin_of(sender->actor.id);
  const Result<json::object> seen = co_await get(origin, address);
  if (!seen) co_return json::object{{"reached", false}, {"because", seen.error().message}};
  co_return json::object{
      {"reached", true}, {"saw", json::text_of(*seen, "you")}, {"process", json::text_of(*seen, "process")}};
}

Task<Result<json::object>> Reach::get(std::string origin, std::optional<IpAddress> at) {
  CO_TRY(Url url, Url::parse(origin + std::string(kPath)));
  HttpCall call("GET", std::move(url), clock_.now() + kTimeout);
  call.response_size_max = kAnswerMax;
  if (at) call.required_prefix = at->prefix64();
  call.exact_address = at;
  call.is_for_stranger = at.has_value();  // whoever asks to be called back need be no node
  const Result<HttpResponse> response = co_await http_.send(std::move(call));
  if (!response) co_return std::unexpected(response.error());
  if (response->status != 200) co_return std::unexpected(decode_error(response->status, response->body));
  co_return json::parse_object(response->body);
}

Task<Result<Reach::Seen>> Reach::look(std::string origin) {
  const Instant before = clock_.now();
  CO_TRY(const json::object there, co_await get(std::move(origin), std::nullopt));
  const Duration travelled = clock_.now() - before;
  const auto now = json::get_int(there, "now");
  if (!now) co_return fail(ErrorCode::kInvalid, "the answer has no time");
  co_return Seen{WallTime(Duration(*now)) - (clock_.wall_now() - travelled / 2),
                 IpAddress::parse(json::text_of(there, "you"))};
}

// Who does not know the member says nothing of whom it found; who does, says "" of one that names no process,
// as this one does.
Result<void> Reach::check_process(const json::object& answer) const {
  const json::value* process = json::find(answer, "process");
  if (process == nullptr || *process == json::value(process_)) return {};
  return fail(ErrorCode::kConflict, "another node answers there in its name");
}

Task<Result<void>> Reach::come_back(std::string own_origin, IpAddress address) {
  const Result<json::object> there = co_await get(std::move(own_origin), address);
  if (!there && is_unanswered(there.error())) co_return std::unexpected(there.error());
  if (!there) co_return fail(ErrorCode::kConflict, "something else answers there: " + there.error().message);
  if (json::find(*there, "process") == nullptr)
    co_return fail(ErrorCode::kConflict, "something else answers there");
  co_return check_process(*there);
}

Task<Result<IpAddress>> Reach::ask(std::string origin, std::optional<IpAddress> at) {
  const std::string address = at.value_or(own_address_).text();
  CO_TRY(const json::object answer,
         co_await client_.ask(origin + std::string(kPath), {{"address", address}}));
  const json::value* reached = json::find(answer, "reached");
  if (reached == nullptr || !reached->is_bool() || !reached->get_bool()) {
    const std::string because = json::get_string(answer, "because").value_or("it does not say why");
    co_return fail(ErrorCode::kUnavailable, federation::why_not({ErrorCode::kUnavailable, because}));
  }
  CO_TRY_VOID(check_process(answer));
  co_return IpAddress::parse(json::text_of(answer, "saw")).value_or(IpAddress{});
}

}  // namespace tagring::health
