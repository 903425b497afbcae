#include "cluster/fronts.hpp"

#include <algorithm>

#include "cluster/channel.hpp"
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
  std::erase_if(fronts_, [this](const auto& f) { return clock_.now() - f.second.heard > kLostAfter; });
  if (fronts_.size() >= kMost && !fronts_.contains(place->text()))
    return error_response({ErrorCode::kBusy, "too many fronts"});
  const auto [front, is_new] = fronts_.try_emplace(place->text());
  front->second.heard = clock_.now();
  front->second.version = json::text_of(report, "version");
  front->second.report = report;
  if (is_new) log_.info("front_came", {{"at", front->first}, {"version", front->second.version}});
  return no_content();
}

std::map<std::string, Fronts::Front>::iterator Fronts::least_busy() {
  auto least = fronts_.end();
  for (auto front = fronts_.begin(); front != fronts_.end(); ++front) {
    if (clock_.now() - front->second.heard > kLostAfter) continue;
    if (least == fronts_.end() || front->second.calls < least->second.calls) least = front;
  }
  return least;
}

// Until it says again that it is there.
void Fronts::lose(const std::string& place, const Error& because) {
  if (fronts_.erase(place) > 0) log_.warn("front_lost", {{"at", place}, {"because", because.message}});
}

json::array Fronts::status() const {
  json::array list;
  for (const auto& [place, front] : fronts_) {
    const Duration heard = clock_.now() - front.heard;
    if (heard > kLostAfter) continue;
    json::object one = front.report;
    one["at"] = place;
    one["heard_ms"] = heard.count();
    one["brought"] = front.brought;
    one["calls"] = front.calls;
    one["sent"] = front.sent;
    one["failed"] = front.failed;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace tagring::cluster
