#include "cluster/core_link.hpp"

#include "base/json.hpp"
#include "http/http_error.hpp"

namespace tagring::cluster {

CoreLink::CoreLink(Options options, HttpClient& client, Clock& clock, Executor executor, Log& log)
    : options_(std::move(options)),
      client_(client),
      clock_(clock),
      log_(log),
      alarm_(clock, std::move(executor)) {}

Task<Result<HttpResponse>> CoreLink::send(HttpClient& client, HttpCall call) {
  options_.secret.prove(call, clock_.wall_now());
  call.headers.add(std::string(kFrontField), options_.place);
  co_return co_await client.send(std::move(call));
}

// A core that was asked before another took over says nothing of that one. One that is slow is not lost: each
// two seconds it has its chance to say so.
void CoreLink::note(const std::string& place, const std::optional<Error>& trouble) {
  if (place != core_) return;
  if (!trouble) answered_ = clock_.now();
  if (answers_ == !trouble) return;
  answers_ = !trouble;
  if (answers_) {
    log_.info("core_found", {{"at", core_}});
  } else {
    log_.warn("core_lost", {{"at", core_}, {"because", trouble->message}});
    alarm_.ring();
  }
}

bool CoreLink::is_lost() const { return !answers_ && (!answered_ || clock_.now() - *answered_ > kTakeOver); }

Task<Result<HttpResponse>> CoreLink::ask(HttpClient& client, HttpCall call) {
  if (!answers_) co_return fail(ErrorCode::kUnavailable, "no core answers");
  const std::string place = core_;
  Result<HttpResponse> answer = co_await send(client, std::move(call));
  if (answer) co_return from_core(*std::move(answer));
  if (answer.error().code == ErrorCode::kUnavailable) note(place, answer.error());
  co_return answer;
}

Task<void> CoreLink::tell(std::string news) {
  if (!answers_ || !can_write_) {
    Result<std::string> found = co_await options_.find_core();
    if (found && *found != core_) {
      core_ = *std::move(found);
      answers_ = false;
    }
  }
  const std::string place = core_;
  Result<HttpCall> call = call_to("POST", place, kFrontPath, clock_.now() + kTellEvery);
  if (!call) co_return;
  call->body = std::move(news);
  const Result<HttpResponse> answer = co_await send(client_, *std::move(call));
  if (!answer) {
    note(place, answer.error());
    co_return;
  }
  const Result<json::object> said = json::parse_object(answer->body);
  can_write_ = !said || !json::get_flag(*said, "cannot_write");
  if (answer->status == 204 || !can_write_)
    note(place, std::nullopt);
  else
    note(place, decode_error(answer->status, answer->body));
}

Task<void> CoreLink::keep(std::function<std::string()> news) {
  for (;;) {
    co_await tell(news());
    const Instant next = clock_.now() + (answers_ && can_write_ ? kTellEvery : kLookEvery);
    co_await alarm_.wait_until(next);
  }
}

}  // namespace tagring::cluster
