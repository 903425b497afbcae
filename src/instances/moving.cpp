#include "instances/moving.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "fediverse/builders.hpp"
#include "fediverse/documents.hpp"

namespace tagring::instances {
namespace {

WallTime time_in(const json::object& object, std::string_view key) {
  return WallTime(Duration(json::get_int(object, key).value_or(0)));
}

}  // namespace

Moving::Moving(Options options, federation::Identity& identity, Instances& instances,
               subscriber::HashtagFollowers& followers, federation::ActivityQueue& activities,
               const Runtime& runtime)
    : options_(std::move(options)),
      identity_(identity),
      instances_(instances),
      followers_(followers),
      activities_(activities),
      clock_(runtime.clock),
      date_(runtime.clock),
      log_(runtime.log),
      move_(parse(options_.memory.saved.value_or(""))),
      tasks_(runtime.executor) {
  // The new node has begun with a copy of the old one's database.
  if (move_ && move_->to == identity_.origin()) move_.reset();
  if (move_) identity_.moved_to = move_->to;
}

std::optional<Moving::Move> Moving::parse(const std::string& text) {
  const Result<json::object> saved = json::parse_object(text);
  if (!saved || json::text_of(*saved, "to").empty()) return std::nullopt;
  return Move{.to = json::text_of(*saved, "to"),
              .since = time_in(*saved, "since"),
              .next = time_in(*saved, "next"),
              .told = json::text_of(*saved, "told"),
              .on_rings = json::get_flag(*saved, "on_rings")};
}

Task<Result<void>> Moving::save() {
  json::object text;
  if (move_) {
    text = {{"to", move_->to},
            {"since", to_ms(move_->since)},
            {"next", to_ms(move_->next)},
            {"told", move_->told},
            {"on_rings", move_->on_rings}};
  }
  if (!options_.memory.save) co_return Result<void>();
  co_return co_await options_.memory.save(json::serialize(text));
}

void Moving::start() {
  if (move_) tasks_.spawn("move", carry_out(move_->since));
}

Task<void> Moving::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Result<void>> Moving::begin(std::string to, bool at_once) {
  if (move_ && move_->to == to) co_return Result<void>();
  if (move_)
    co_return fail(ErrorCode::kConflict,
                   fmt::format("this node has moved to {} already: tagring move --cancel", move_->to));
  const WallTime now = clock_.wall_now();
  move_ = Move{.to = to, .since = now, .next = now, .on_rings = !at_once};
  const Result<void> saved = co_await save();
  if (!saved) {
    move_.reset();
    co_return saved;
  }
  identity_.moved_to = std::move(to);
  log_.info("moves", {{"to", identity_.moved_to}});
  tasks_.spawn("move", carry_out(now));
  if (at_once) tasks_.spawn("leave", options_.leave());
  co_return Result<void>();
}

Task<Result<void>> Moving::cancel() {
  if (!move_) co_return fail(ErrorCode::kNotFound, "this node has not moved");
  const std::optional<Move> former = std::exchange(move_, std::nullopt);
  const Result<void> saved = co_await save();
  if (!saved) {
    if (!move_) move_ = former;
    co_return saved;
  }
  log_.info("does_not_move", {{"to", identity_.moved_to}});
  identity_.moved_to.clear();
  co_return Result<void>();
}

// --- who is told -------------------------------------------------------------------------------------------

// Other nodes follow owners, wherever these are; relays and FASP servers are told by their administrators.
std::map<std::string, Moving::Recipients> Moving::recipients() const {
  std::map<std::string, Recipients> all;
  followers_.all().visit_tags([&](const Tag& tag, const auto& /*counts*/) {
    Recipients found{tag, {}};
    for (const auto& [inbox, target] : *followers_.all().targets(tag))
      if (!target.people.empty()) found.inboxes.insert(inbox);
    if (!found.inboxes.empty()) all.emplace(identity_.tag_actor(tag), std::move(found));
  });
  for (std::string& inbox : instances_.inboxes_of_followers())
    all[identity_.actor()].inboxes.insert(std::move(inbox));
  return all;
}

// After a crash the followers of the actor whose turn it was are told once more, by the same ids.
Task<Result<void>> Moving::tell_followers(WallTime since) {
  const std::map<std::string, Recipients> all = recipients();
  for (auto next = all.upper_bound(move_->told); next != all.end(); ++next) {
    const auto& [actor, to] = *next;
    const std::string target = fediverse::actor_at(move_->to, to.tag);
    const std::string id =
        federation::Identity::passing_id(actor, "moves", fmt::format("{} {}", target, to_ms(move_->next)));
    const std::string body = json::serialize(fediverse::make_move(id, actor, target));
    for (const std::string& inbox : to.inboxes) {
      CO_TRY_VOID(co_await activities_.send(actor, inbox, body));
      const Instant later = clock_.now() + kPace;
      co_await clock_.sleep_until(later);
      if (!goes_on(since)) co_return Result<void>();
    }
    move_->told = actor;
    CO_TRY_VOID(co_await save());
    if (!goes_on(since)) co_return Result<void>();
  }
  move_->told.clear();
  move_->next = clock_.wall_now() + kAgainAfter;
  co_return co_await save();
}

// Each is told by a Reject, so that nobody waits for posts that do not come: relays are shown as refused to
// their administrators.
Task<Result<void>> Moving::let_go(WallTime since) {
  CO_TRY_VOID(co_await instances_.expel([](const auto&, const auto&) { return true; }));
  std::vector<std::pair<Tag, std::string>> people;
  followers_.all().visit_tags([&](const Tag& tag, const auto& /*counts*/) {
    for (const auto& [inbox, target] : *followers_.all().targets(tag))
      for (const std::string_view actor : target.people) people.emplace_back(tag, actor);
  });
  CO_TRY_VOID(co_await instances_.turn_away(std::move(people)));
  if (!move_ || !move_->on_rings) co_return Result<void>();
  // Until then the owners of the hashtags know that nobody wants them here.
  const Instant later = clock_.now() + 2 * subscriber::HashtagFollowers::kUnsubscribeAfter;
  co_await clock_.sleep_until(later);
  if (!goes_on(since)) co_return Result<void>();
  co_await options_.leave();
  if (!goes_on(since)) co_return Result<void>();
  move_->on_rings = false;
  co_return co_await save();
}

Task<void> Moving::carry_out(WallTime since) {
  while (goes_on(since)) {
    const WallTime end = since + kTerm;
    const bool is_over = clock_.wall_now() >= end;
    if (is_over && !date_.is_believed()) {
      const Instant later = clock_.now() + kRetry;
      co_await clock_.sleep_until(later);
      continue;
    }
    Result<void> done;
    if (is_over) {
      done = co_await let_go(since);
      if (done) co_return;
    } else if (clock_.wall_now() >= move_->next) {
      done = co_await tell_followers(since);
    }
    if (!goes_on(since)) co_return;
    if (!done) log_.warn("move_halts", {{"because", done.error().message}});
    const Duration left = std::min(move_->next, end) - clock_.wall_now();
    const Instant later = clock_.now() + (done ? std::max(left, Duration::zero()) : kRetry);
    co_await clock_.sleep_until(later);
  }
}

// --- for the administrator ---------------------------------------------------------------------------------

std::optional<json::object> Moving::status() const {
  if (!move_) return std::nullopt;
  return json::object{{"to", move_->to},
                      {"since", to_rfc3339(move_->since)},
                      {"until", to_rfc3339(move_->since + kTerm)},
                      {"over", clock_.wall_now() >= move_->since + kTerm},
                      {"told", move_->told.empty() && move_->next > move_->since},
                      {"on_rings", move_->on_rings}};
}

json::array Moving::instances_to_tell() const {
  json::array told;
  const json::array all = instances_.list();
  for (const json::value& item : all) {
    const json::object& instance = item.get_object();
    json::for_each(json::find(instance, "links"), [&](const json::value& element) {
      const json::object& link = element.get_object();
      const std::string style = json::text_of(link, "style");
      if (style != "mastodon" && style != "litepub") return;
      const std::string relay = json::text_of(link, "relay");
      const std::optional<Tag> tag = identity_.tag_of_actor(relay);
      const std::string actor = fediverse::actor_at(identity_.moved_to, tag);
      std::string add = tag ? actor + "/inbox" : identity_.moved_to + "/inbox";
      if (style == "litepub") add = actor;
      if (relay == identity_.relay()) add = fediverse::NodeUrls(identity_.moved_to).relay();
      told.push_back({{"host", json::text_of(instance, "host")}, {"style", style}, {"add", std::move(add)}});
    });
  }
  return told;
}

json::array Moving::groups_to_follow() const {
  json::array groups;
  for (const OwnFollow& own : instances_.groups()) {
    const std::optional<Tag> tag = identity_.tag_of_actor(own.actor);
    groups.push_back({{"group", own.object}, {"tag", tag ? tag->canonical() : ""}});
  }
  return groups;
}

}  // namespace tagring::instances
