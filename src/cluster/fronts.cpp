#include "cluster/fronts.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "base/counted.hpp"
#include "base/task.hpp"
#include "cluster/front_check.hpp"
#include "cluster/kept_answers.hpp"
#include "http/http_error.hpp"
#include "queues/alarm.hpp"

namespace tagring::cluster {
namespace {

constexpr std::size_t kTries = 2;  // fronts for one call, of those that are there

}  // namespace

Fronts::Fronts(Options options, HttpClient& inside, const budget::Manager& budget, Clock& clock, Log& log)
    : options_(std::move(options)), inside_(inside), budget_(budget), clock_(clock), log_(log) {
  const Result<json::value> saved = json::parse(options_.saved);
  if (!saved || !saved->is_array()) return;
  for (const json::value& item : saved->get_array()) {
    const std::string place(item.is_string()
                                ? std::string_view(item.get_string())
                                : json::text_of(item.is_object() ? item.get_object() : json::object(), "at"));
    const auto since =
        item.is_object() ? from_rfc3339(json::text_of(item.get_object(), "lost")) : std::nullopt;
    const Duration lost_for =
        since ? std::max(Duration::zero(), clock_.wall_now() - *since) : Duration::zero();
    if (place.empty() || lost_for > kForgottenAfter || fronts_.size() >= kMost) continue;
    Front& front = fronts_[place];
    front.heard = clock_.now() - lost_for;
    front.is_lost = true;  // until it says that it is there
    front.is_noted_lost = since.has_value();
  }
}

// A call that is under way with a front.
struct Fronts::Passing {
  Passing(Clock& clock, const Executor& executor) : done(clock, executor), tasks(executor) {}
  std::optional<Result<HttpResponse>> answer;
  queues::Alarm done;
  TaskGroup tasks;
};

// kUnavailable, too, once the front has been silent for so long that it is none any more: its machine may be
// gone, of which nobody is told on a connection that stood.
Task<Result<HttpResponse>> Fronts::pass(std::string place, HttpCall call) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  Passing passing(clock_, executor);
  passing.tasks.spawn("send_on", send_on(std::move(call), &passing));
  passing.tasks.spawn("miss", miss(std::move(place), &passing));
  co_await passing.tasks.join();
  if (!passing.answer) throw boost::system::system_error(boost::asio::error::operation_aborted);  // cancelled
  co_return *std::move(passing.answer);
}

Task<void> Fronts::send_on(HttpCall call, Passing* passing) {
  Result<HttpResponse> answer = co_await inside_.send(std::move(call));
  if (!passing->answer) passing->answer = std::move(answer);
  passing->done.ring();
}

// One that takes its leave ends what it has begun. Silent is who still is after a second look: what came
// while this process stood still is heard first.
Task<void> Fronts::miss(std::string place, Passing* passing) {
  for (bool was_silent = false; !passing->answer;) {
    const auto known = fronts_.find(place);
    if (known == fronts_.end()) co_return;
    const Instant next = was_silent ? clock_.now() + kSecondLook : known->second.heard + kLostAfter;
    co_await passing->done.wait_until(next);
    const auto found = fronts_.find(place);
    if (passing->answer || found == fronts_.end()) continue;
    // Who cannot write tells fronts so, and hears less of them.
    const bool silent = is_silent(found->second) && options_.can_write();
    if (silent && was_silent) {
      passing->answer = fail(ErrorCode::kUnavailable, "it is silent");
      passing->tasks.cancel();
    }
    was_silent = is_silent(found->second);
  }
}

Task<std::optional<Result<HttpResponse>>> Fronts::send(HttpCall call, federation::SignAs as) {
  const Errand errand{std::move(call), std::move(as)};
  std::set<std::string> tried;
  while (tried.size() < kTries) {
    const std::optional<std::string> place = least_busy(tried);
    if (!place) break;
    tried.insert(*place);
    Result<HttpCall> passed = to_front(errand, *place, clock_.now());
    if (!passed) break;
    options_.secret.prove(*passed, clock_.wall_now());
    const std::shared_ptr<std::size_t> calls = fronts_[*place].calls;
    const Counted under_way(*calls);
    Result<HttpResponse> answer = co_await pass(*place, *std::move(passed));
    // What is too large, or slow, is so with another front, too. But the other side has until its deadline:
    // who gives up before has not reached the front, whose machine may be gone without a word.
    const bool is_gone =
        !answer && (answer.error().code == ErrorCode::kUnavailable ||
                    (answer.error().code == ErrorCode::kTimedOut && clock_.now() < errand.call.deadline));
    if (!answer && !is_gone) {
      note_outcome(*place, false);
      co_return std::move(answer);
    }
    if (!answer) {
      lose(*place, answer.error());
      tried.erase(*place);
      if (clock_.now() >= errand.call.deadline) co_return std::move(answer);
      continue;
    }
    Result<HttpResponse> outcome = from_answer(*std::move(answer));
    note_outcome(*place, outcome.has_value());
    if (outcome || outcome.error().code != ErrorCode::kUnavailable) co_return std::move(outcome);
  }
  co_return std::nullopt;
}

void Fronts::note_outcome(const std::string& place, bool has_reached) {
  const auto found = fronts_.find(place);
  if (found == fronts_.end()) return;
  Front& front = found->second;
  ++(has_reached ? front.sent : front.failed);
  if (!has_reached) ++front.failed_lately;
}

Task<HttpResponse> Fronts::answer(HttpRequest request, HttpHandler node) {
  if (!options_.secret.is_proven(request.headers, options_.place, clock_.wall_now()))
    co_return refuse(request);
  if (!is_from_outside(request)) {
    if (request.target == kFrontPath) co_return co_await note(std::move(request));
    co_return error_response({ErrorCode::kNotFound, "no such page"});
  }
  if (const auto front = fronts_.find(request.headers.find(kFrontField).value_or("")); front != fronts_.end())
    ++front->second.brought;
  const std::string signer = request.headers.find(kSignerField).value_or("");
  const HttpRequest asked = from_front(std::move(request));
  HttpResponse answer = co_await node(asked);
  mark(answer, asked, signer);
  co_return to_front(std::move(answer));
}

HttpResponse Fronts::refuse(const HttpRequest& request) {
  const std::string because = options_.secret.has_key(request.headers, options_.place)
                                  ? "its clock and that of the core are more than five minutes apart"
                                  : "it does not show the key of this node";
  if (clock_.now() >= refusals_said_until_) {
    log_.warn("front_refused", {{"from", request.peer.text()}, {"because", because}});
    refusals_said_until_ = clock_.now() + kRefusalsEvery;
  }
  return error_response(
      {ErrorCode::kDenied, "only the fronts of this node may ask here, and who asks is none: " + because});
}

void Fronts::mark(HttpResponse& answer, const HttpRequest& asked, const std::string& signer) const {
  std::string known;
  if (budget_.who(asked.peer).known) known += kKnownPeer;
  if (!signer.empty() && budget_.who(signer).known) known.append(" ").append(kKnownSigner);
  if (!known.empty()) answer.headers.add(std::string(kKnownField), known);
  if (may_be_kept(asked, answer)) answer.headers.add(std::string(kKeepField), "1");
}

Task<HttpResponse> Fronts::note(HttpRequest request) {
  const Result<void> taken = take(json::parse_object(request.body).value_or(json::object()));
  if (!taken) co_return error_response(taken.error());
  if (!options_.can_write()) {
    HttpResponse response;
    response.headers.add("Content-Type", "application/json");
    response.body = R"({"cannot_write": true})";
    co_return response;
  }
  co_await save();
  co_return no_content();
}

Result<void> Fronts::take(const json::object& report) {
  TRY(const Place said, Place::parse(json::text_of(report, "at")));
  const std::string place = said.text();
  const std::size_t forgotten = std::erase_if(
      fronts_, [this](const auto& front) { return clock_.now() - front.second.heard > kForgottenAfter; });
  if (forgotten > 0) is_saved_ = false;
  note_lost();
  if (json::get_flag(report, "leaves")) {
    const auto known = fronts_.find(place);
    if (known == fronts_.end()) return {};
    count_refused(known->second, report);
    fronts_.erase(known);
    is_saved_ = false;
    log_.info("front_left", {{"at", place}});
    return {};
  }
  if (fronts_.size() >= kMost && !fronts_.contains(place)) return fail(ErrorCode::kBusy, "too many fronts");
  const auto [found, is_new] = fronts_.try_emplace(place);
  Front& front = found->second;
  count_refused(front, report);
  if (is_new) is_saved_ = false;
  if (is_new || !is_there(front))
    log_.info("front_came", {{"at", place}, {"version", json::text_of(report, "version")}});
  front.heard = clock_.now();
  if (std::exchange(front.is_noted_lost, false)) is_saved_ = false;
  front.failed_lately /= 2;
  front.is_lost = false;
  front.version = json::text_of(report, "version");
  front.report = report;
  return {};
}

// What it refused before this core heard it was another core's to count. A report that a later one has
// overtaken, as where packets are lost, says nothing new; one of another run counts from nothing.
void Fronts::count_refused(Front& front, const json::object& report) {
  const json::object* refused = json::get_object(report, "inbox_refused");
  if (refused == nullptr) return;
  const bool is_first = front.report.empty();
  const std::optional<std::int64_t> began = json::get_int(report, "began");
  if (std::exchange(front.began, began) != began) front.inbox_refused.clear();
  for (const auto& [name, count] : *refused) {
    const std::string reason(name);
    const std::int64_t times = json::get_int(*refused, reason).value_or(0);
    if (!has_room(front.inbox_refused, reason) || !has_room(inbox_refused_, reason)) continue;
    std::int64_t& counted = front.inbox_refused[reason];
    if (times <= counted) continue;
    if (!is_first) inbox_refused_[reason] += times - counted;
    counted = times;
  }
}

bool Fronts::has_room(const std::map<std::string, std::int64_t>& reasons, const std::string& reason) {
  return reasons.size() < kReasonsMax || reasons.contains(reason);
}

// Since when it was not heard is known to the next core, too, so that restarts do not keep it for ever.
void Fronts::note_lost() {
  for (auto& [place, front] : fronts_) {
    if (is_there(front) || std::exchange(front.is_noted_lost, true)) continue;
    is_saved_ = false;
  }
}

Task<void> Fronts::save() {
  if (std::exchange(is_saved_, true)) co_return;
  json::array places;
  for (const auto& [place, front] : fronts_) {
    if (front.is_noted_lost)
      places.push_back(json::object{{"at", place},
                                    {"lost", to_rfc3339(clock_.wall_now() - (clock_.now() - front.heard))}});
    else
      places.emplace_back(place);
  }
  const Result<void> saved = co_await options_.save(json::serialize(places));
  if (!saved) is_saved_ = false;  // the next one that is heard sees to it
}

bool Fronts::is_silent(const Front& front) const { return clock_.now() - front.heard >= kLostAfter; }

bool Fronts::is_there(const Front& front) const { return !front.is_lost && !is_silent(front); }

std::optional<std::string> Fronts::least_busy(const std::set<std::string>& but) const {
  std::optional<std::string> least;
  std::size_t least_load = 0;
  for (const auto& [place, front] : fronts_) {
    const std::size_t load = *front.calls + front.failed_lately;
    if (!is_there(front) || but.contains(place) || (least && load >= least_load)) continue;
    least = place;
    least_load = load;
  }
  return least;
}

// Until it says again that it is there.
void Fronts::lose(const std::string& place, const Error& because) {
  const auto front = fronts_.find(place);
  if (front == fronts_.end()) return;
  if (std::exchange(front->second.is_lost, true)) return;
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
    one["calls"] = *front.calls;
    one["sent"] = front.sent;
    one["failed"] = front.failed;
    list.push_back(std::move(one));
  }
  return list;
}

Task<Result<json::object>> Fronts::ask(std::string place) {
  CO_TRY(HttpCall call, call_to("GET", place, kFrontPath, clock_.now() + kAnswersWithin));
  options_.secret.prove(call, clock_.wall_now());
  CO_TRY(const HttpResponse answer, co_await inside_.send(std::move(call)));
  if (answer.status != 200) co_return std::unexpected(decode_error(answer.status, answer.body));
  co_return json::parse_object(answer.body);
}

Task<health::Checks> Fronts::look() {
  std::vector<std::string> places;
  for (const auto& [place, front] : fronts_)
    if (clock_.now() - front.heard <= kForgottenAfter) places.push_back(place);
  health::Checks checks;
  if (std::ranges::none_of(fronts_, [this](const auto& front) { return is_there(front.second); }))
    checks.push_back(no_front(options_.place));
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
                           options_.place));
  }
  co_return checks;
}

}  // namespace tagring::cluster
