#include "cluster/fronts.hpp"

#include <algorithm>

#include "cluster/channel.hpp"
#include "cluster/front_check.hpp"
#include "http/http_error.hpp"

namespace tagring::cluster {
namespace {

bool is_for_fronts(const HttpCall& call) {
  return call.method == "POST" && !call.required_prefix && call.headers.find("Signature").has_value();
}

}  // namespace

Task<Result<HttpResponse>> Fronts::send(HttpCall call) {
  while (is_for_fronts(call)) {
    const auto chosen = least_busy();
    if (chosen == fronts_.end()) break;
    const std::string place = chosen->first;
    Result<HttpCall> passed = to_front(call, place, clock_.now());
    if (!passed) break;
    passed->headers.add(std::string(kSecretField), secret_);
    ++chosen->second.calls;
    Result<HttpResponse> answer = co_await inside_.send(*std::move(passed));
    const auto front = fronts_.find(place);
    if (front != fronts_.end() && front->second.calls > 0) --front->second.calls;
    if (answer) {
      Result<HttpResponse> outcome = from_answer(*std::move(answer));
      if (front != fronts_.end()) ++(outcome ? front->second.sent : front->second.failed);
      co_return outcome;
    }
    lose(place, answer.error());
    if (clock_.now() >= call.deadline) co_return answer;
  }
  co_return co_await direct_.send(std::move(call));
}

Task<HttpResponse> Fronts::answer(HttpRequest request, const HttpHandler& node) {
  if (!shows(request.headers, secret_))
    co_return error_response({ErrorCode::kDenied, "only the fronts of this node may ask here"});
  if (path_of(request.target) == kFrontPath) co_return note(request);
  if (const auto front = fronts_.find(request.headers.find(kFrontField).value_or("")); front != fronts_.end())
    ++front->second.brought;
  co_return co_await node(from_front(std::move(request)));
}

HttpResponse Fronts::note(const HttpRequest& request) {
  const json::object report = json::parse_object(request.body).value_or(json::object());
  const Result<Place> place = Place::parse(json::text_of(report, "at"));
  if (!place) return error_response(place.error());
  std::erase_if(fronts_, [this](const auto& f) { return clock_.now() - f.second.heard > kForgottenAfter; });
  if (json::get_flag(report, "leaves")) {
    if (fronts_.erase(place->text()) > 0) log_.info("front_left", {{"at", place->text()}});
    return no_content();
  }
  if (fronts_.size() >= kMost && !fronts_.contains(place->text()))
    return error_response({ErrorCode::kBusy, "too many fronts"});
  const auto [front, is_new] = fronts_.try_emplace(place->text());
  const bool was_there = !is_new && is_there(front->second);
  front->second.heard = clock_.now();
  front->second.is_lost = false;
  front->second.version = json::text_of(report, "version");
  front->second.report = report;
  if (!was_there) log_.info("front_came", {{"at", front->first}, {"version", front->second.version}});
  return no_content();
}

bool Fronts::is_there(const Front& front) const {
  return !front.is_lost && clock_.now() - front.heard <= kLostAfter;
}

std::map<std::string, Fronts::Front>::iterator Fronts::least_busy() {
  auto least = fronts_.end();
  for (auto front = fronts_.begin(); front != fronts_.end(); ++front) {
    if (!is_there(front->second)) continue;
    if (least == fronts_.end() || front->second.calls < least->second.calls) least = front;
  }
  return least;
}

// Until it says again that it is there.
void Fronts::lose(const std::string& place, const Error& because) {
  const auto front = fronts_.find(place);
  if (front == fronts_.end() || std::exchange(front->second.is_lost, true)) return;
  log_.warn("front_lost", {{"at", place}, {"because", because.message}});
}

json::array Fronts::status() const {
  json::array list;
  for (const auto& [place, front] : fronts_) {
    if (!is_there(front)) continue;
    json::object one = front.report;
    one["at"] = place;
    one["heard_ms"] = (clock_.now() - front.heard).count();
    one["brought"] = front.brought;
    one["calls"] = front.calls;
    one["sent"] = front.sent;
    one["failed"] = front.failed;
    list.push_back(std::move(one));
  }
  return list;
}

Task<Result<json::object>> Fronts::ask(std::string place) {
  CO_TRY(HttpCall call, call_to("GET", place, kFrontPath, clock_.now() + kAnswersWithin));
  call.headers.add(std::string(kSecretField), secret_);
  CO_TRY(const HttpResponse answer, co_await inside_.send(std::move(call)));
  if (answer.status != 200) co_return std::unexpected(decode_error(answer.status, answer.body));
  co_return json::parse_object(answer.body);
}

Task<health::Checks> Fronts::look(std::string own) {
  std::vector<std::string> places;
  for (const auto& [place, front] : fronts_)
    if (clock_.now() - front.heard <= kForgottenAfter) places.push_back(place);
  health::Checks checks;
  if (std::ranges::none_of(fronts_, [this](const auto& front) { return is_there(front.second); }))
    checks.push_back(no_front(own));
  for (const std::string& place : places) {
    const Result<json::object> answer = co_await ask(place);
    const auto found = fronts_.find(place);
    if (found == fronts_.end()) continue;  // it left meanwhile
    const Front& front = found->second;
    checks.push_back(judge({.place = place,
                            .version = front.version,
                            .is_there = is_there(front),
                            .unheard_for = clock_.now() - front.heard,
                            .answer = answer},
                           own));
  }
  co_return checks;
}

}  // namespace tagring::cluster
