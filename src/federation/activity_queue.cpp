#include "federation/activity_queue.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/counted.hpp"
#include "base/json.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::federation {
namespace {

constexpr std::size_t kLoadPage = 1'000;

// What must arrive in order: all about who follows whom, by whichever id, since servers end a follow by both
// actors; activities of one of this node's actors about one object; and what others have signed about a post,
// whoever of this node's actors brings it.
std::string subject_of(const Letter& letter, const Result<json::object>& activity) {
  if (!activity) return letter.actor;
  const std::string type = json::id_of(*activity, "type");
  const json::object* follow = type == "Follow" ? &*activity : json::get_object(*activity, "object");
  if (follow != nullptr && json::id_of(*follow, "type") == "Follow") {
    const bool is_answer = type == "Accept" || type == "Reject";
    const std::string followed = is_answer ? letter.actor : json::id_of(*follow, "object");
    return json::id_of(*follow, "actor") + " follows " + followed;
  }
  const std::string object = json::id_of(*activity, "object");
  return json::id_of(*activity, "actor") == letter.actor ? letter.actor + " " + object : object;
}

bool is_of_type(const Result<json::object>& activity, std::string_view type) {
  return activity && json::id_of(*activity, "type") == type;
}

// A Move elsewhere than this node goes now: it was called off.
bool is_called_off(const Result<json::object>& activity, const std::string& moved_to) {
  if (!is_of_type(activity, "Move")) return false;
  return moved_to.empty() || origin_of(json::id_of(*activity, "target")) != moved_to;
}

}  // namespace

ActivityQueue::ActivityQueue(budget::Manager& budget, LetterStore& store, SignedClient& client,
                             const Runtime& runtime)
    : budget_(budget),
      store_(store),
      client_(client),
      clock_(runtime.clock),
      date_(runtime.clock),
      lanes_(
          queues::QueueOptions{}, client.hosts(), runtime, runtime.rng.fork("activities"),
          [this](std::string inbox, Letter letter) { return deliver(std::move(inbox), std::move(letter)); }) {
}

Task<Result<void>> ActivityQueue::load() {
  std::uint64_t after = 0;
  for (;;) {
    CO_TRY(std::vector<Letter> page, co_await store_.letters(after, kLoadPage));
    if (page.empty()) co_return Result<void>();
    after = page.back().seq;
    for (Letter& letter : page) queue(std::move(letter), /*tried=*/true);
  }
}

Result<void> ActivityQueue::check_room(const std::string& inbox) const {
  if (budget_.has_room(budget::Resource::kLetters, budget_.who(host_of(inbox)))) return {};
  return fail(ErrorCode::kUnavailable, "too many answers wait for " + host_of(inbox) + " already");
}

Task<void> ActivityQueue::stop() { return lanes_.stop(); }

Task<Result<void>> ActivityQueue::send(std::string actor, std::string inbox, std::string body) {
  Letter draft{0, std::move(actor), std::move(inbox), std::move(body), {}};
  CO_TRY(Letter letter, co_await store_.write_letter(std::move(draft)));
  queue(std::move(letter), /*tried=*/false);
  co_return Result<void>();
}

std::string ActivityQueue::fresh_follow_id(const std::string& actor, const std::string& object) {
  return client_.identity().activity_id("follows", fresh(actor + " " + object));
}

std::string ActivityQueue::fresh_id(const std::string& actor, std::string_view kind, std::string_view about) {
  return Identity::passing_id(actor, kind, fresh(about));
}

std::string ActivityQueue::fresh_answer_id(const std::string& actor, std::string_view about) {
  return client_.identity().activity_id("answers", fresh(fmt::format("{} {}", actor, about)));
}

Task<HttpResponse> ActivityQueue::answer(HttpRequest request) {
  const std::string id = client_.identity().origin() + std::string(path_of(request.target));
  const auto known = answers_.find(id);
  if (known == answers_.end() || clock_.now() - known->second.sent > kAnswerFor)
    co_return error_response({ErrorCode::kNotFound, "no such answer, or it was given some time ago"});
  HttpResponse response;
  response.headers.add("Content-Type", std::string(fediverse::kActivityJson));
  response.body = known->second.body;
  co_return response;
}

void ActivityQueue::keep_answer(const std::string& id, const std::string& body) {
  if (!id.starts_with(client_.identity().origin() + std::string(kPath))) return;
  if (!answers_.contains(id)) make_room(answers_, kAnswersMax);
  answers_.insert_or_assign(id, Answer{body, clock_.now()});
}

std::string ActivityQueue::fresh(std::string_view about) {
  return fmt::format("{} {} {}", about, to_ms(clock_.wall_now()), ++last_id_);
}

void ActivityQueue::queue(Letter letter, bool tried) {
  budget_.count(budget::Resource::kLetters, budget_.who(host_of(letter.inbox)));
  const std::string inbox = letter.inbox;
  const Result<json::object> activity = json::parse_object(letter.body);
  const std::string subject = subject_of(letter, activity);
  if (is_of_type(activity, "Accept")) {
    const Accepts first{clock_.now() - std::max(clock_.wall_now() - letter.written, Duration::zero()), {}, 0};
    accepts_.try_emplace({letter.actor, host_of(inbox)}, first)
        .first->second.letters.emplace(letter.seq, inbox);
  }
  lanes_.push(inbox, subject, std::move(letter), Duration::zero(), tried);
}

ActivityQueue::ComingAccept::ComingAccept(ActivityQueue& queue, std::string actor, std::string host)
    : queue_(queue), about_(std::move(actor), std::move(host)) {
  ++queue_.accepts_.try_emplace(about_, Accepts{queue_.clock_.now(), {}, 0}).first->second.coming;
  queue_.budget_.count(budget::Resource::kLetters, queue_.budget_.who(about_.second));
}

ActivityQueue::ComingAccept::~ComingAccept() {
  const auto accepts = queue_.accepts_.find(about_);
  --accepts->second.coming;
  queue_.budget_.give_back(budget::Resource::kLetters, queue_.budget_.who(about_.second));
  queue_.forget_if_none(accepts);
}

void ActivityQueue::forget_if_none(AcceptsByPair::iterator accepts) {
  if (accepts->second.letters.empty() && accepts->second.coming == 0) accepts_.erase(accepts);
}

bool ActivityQueue::awaits_accept(const std::string& actor, const std::string& host) const {
  const auto known = accepts_.find({actor, host});
  return known != accepts_.end() && clock_.now() - known->second.since < kAcceptFirst;
}

void ActivityQueue::note_arrived(const Letter& letter, bool has_no_inbox) {
  const auto known = accepts_.find({letter.actor, host_of(letter.inbox)});
  if (known == accepts_.end()) return;
  // Where there is no inbox, what waits behind it would find none either.
  std::erase_if(known->second.letters, [&](const auto& waits) {
    return waits.first == letter.seq || (has_no_inbox && waits.second == letter.inbox);
  });
  forget_if_none(known);
}

void ActivityQueue::note_accept(const Letter& letter, const Result<HttpResponse>& response) {
  const std::pair about(letter.actor, letter.inbox);
  if (was_accepted(response)) {
    lost_.erase(about);
    return;
  }
  if (!lost_.contains(about)) make_room(lost_, kLostMax);
  lost_[about] = why_not(response);
}

ActivityQueue::Untaken ActivityQueue::untaken_accepts() const {
  Untaken untaken = lost_;
  const auto lanes = lanes_.status();
  for (const auto& [about, accepts] : accepts_) {
    for (const auto& [seq, inbox] : accepts.letters) {
      const auto lane = lanes.find(inbox);
      untaken[{about.first, inbox}] = lane == lanes.end() ? "" : lane->second.reason;
    }
  }
  return untaken;
}

Task<ActivityQueue::Lanes::Outcome> ActivityQueue::deliver(std::string inbox, Letter letter) {
  const Result<json::object> activity = json::parse_object(letter.body);
  const bool called_off = is_called_off(activity, client_.identity().moved_to);
  if (activity) keep_answer(json::id_of(*activity, "id"), letter.body);
  Result<HttpResponse> response = HttpResponse();
  if (!called_off) response = co_await client_.deliver_as(letter.actor, inbox, letter.body);
  const bool is_old = clock_.wall_now() - letter.written > kLifetime;
  const bool given_up = called_off || (date_.is_believed() && is_old);
  // An inbox that is not there now may be tomorrow: proxies err.
  const bool refused = was_refused(response) && !is_gone(response);
  if (was_accepted(response) || refused || given_up || is_gone(response)) {
    note_arrived(letter, is_gone(response));
    if (is_of_type(activity, "Accept")) note_accept(letter, response);
  }
  if (!was_accepted(response) && !refused && !given_up) co_return Lanes::Outcome{false, why_not(response)};
  budget_.give_back(budget::Resource::kLetters, budget_.who(host_of(inbox)));
  // If this fails, the letter goes out once more after a restart.
  co_await store_.drop_letter(letter.seq);
  co_return Lanes::Outcome{};
}

}  // namespace tagring::federation
