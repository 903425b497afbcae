#include "instances/follower_sync.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "followers/authority.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::instances {
namespace {

using followers::Digest;
using followers::Knowledge;
using followers::Listing;
using followers::Plan;

// An Undo between nodes is for many hashtags at once.
constexpr std::size_t kUndoMaxAtNode = 100'000;

// Names below a registered domain cost nothing.
std::string name_that_costs(const std::string& url) {
  const std::string host = host_of(url);
  return ring::domain_of(host);
}

// Whether an id is that of one of the actors at `urls`, in its one spelling.
bool is_tag_actor(const fediverse::NodeUrls& urls, std::string_view id) {
  const auto tag = urls.tag_of_actor(id);
  return tag && urls.tag_actor(*tag) == id;
}

// Of a person or a relay: any hashtag can be made up, and only the node's actor follows without being asked
// as that hashtag's.
bool knows(const Knowledge& known, std::string_view id) {
  return std::ranges::find(known.accepted, id, &Knowledge::Follow::follower) != known.accepted.end() ||
         std::ranges::find(known.pending, id) != known.pending.end();
}

json::array to_array(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

}  // namespace

json::object FollowerSync::Counters::to_json() const {
  return {{"headers_ignored", ignored}, {"equal", equal},  {"different", different}, {"settled", settled},
          {"throttled", throttled},     {"lists", lists},  {"doubts", doubts},       {"removed", removed},
          {"accepted", accepted},       {"undone", undone}};
}

FollowerSync::FollowerSync(Options options, subscriber::Subscriptions& subscriber, Instances& instances,
                           federation::SignedClient& client, const delivery::Observer& observer,
                           const Runtime& runtime)
    : options_(options),
      subscriber_(subscriber),
      instances_(instances),
      observer_(observer),
      client_(client),
      identity_(client.identity()),
      clock_(runtime.clock),
      workers_(runtime.workers),
      log_(runtime.log),
      rng_(runtime.rng.fork("followers sync")),
      own_(followers::Authority::of(client.identity().origin()).value()),
      throttle_(options.throttle),
      nodes_throttle_(options.throttle),
      tasks_(runtime.executor) {}

void FollowerSync::start() {
  if (options_.enabled) tasks_.spawn("look_at_owners", look_again_and_again());
}

Task<void> FollowerSync::look_again_and_again() {
  for (;;) {
    const auto spread = static_cast<std::uint64_t>(kLookEvery.count() / 2);
    const Instant next =
        clock_.now() + kLookEvery / 2 + Duration(static_cast<Duration::rep>(rng_.below(spread)));
    co_await clock_.sleep_until(next);
    for (const std::string& owner : subscriber_.owners()) {
      const std::string actor = fediverse::NodeUrls(owner).actor();
      const Seen* seen = find_seen(actor);
      const bool is_heard = seen != nullptr && seen->agrees && clock_.wall_now() - seen->at < kLookEvery / 2;
      if (is_heard || observer_.is_denied(actor)) continue;
      const Result<json::object> looked = co_await check(actor, /*apply_it=*/true);
      if (!looked) log_.debug("owner_not_compared", {{"owner", owner}, {"because", looked.error().message}});
    }
  }
}

Task<void> FollowerSync::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- the header --------------------------------------------------------------------------------------------

std::expected<followers::Header, followers::Ignore> FollowerSync::judge(
    const std::string& value, const federation::Authentic& sender) const {
  auto header = followers::parse_header(value);
  if (!header) return header;
  const followers::Delivery delivery{sender.actor.id, sender.actor.followers, sender.covers_synchronization};
  const auto checked = followers::check_header(*header, delivery, own_, {options_.require_coverage});
  if (!checked) return std::unexpected(checked.error());
  return header;
}

void FollowerSync::take(const std::string& value, const federation::Authentic& sender) {
  if (!options_.enabled || observer_.is_denied(sender.actor.id)) return;
  auto header = judge(value, sender);
  fediverse::RemoteActor actor = as_believed(sender.actor);
  const bool is_equal = header && digest_of(actor) == header->digest;
  const std::string ignored = header ? std::string() : std::string(followers::to_string(header.error()));
  note_seen(sender.actor.id,
            Seen{std::string(cut_utf8(is_utf8(value) ? value : "", followers::kHeaderBytesMax)), ignored,
                 clock_.wall_now(), is_equal});
  if (!header) {
    ++counters_.ignored;
    log_.debug("followers_header_ignored", {{"sender", sender.actor.id}, {"because", ignored}});
    return;
  }
  ++(is_equal ? counters_.equal : counters_.different);
  const auto known = waiting_.find(actor.id);
  if (known != waiting_.end()) {
    known->second.sender = std::move(actor);
    known->second.header = std::move(*header);
    return;
  }
  if (is_equal) return;
  std::string counted_as = actor.is_node ? std::string() : name_that_costs(actor.id);
  if (!actor.is_node && !strangers_.has_room(counted_as)) return;
  if (!actor.is_node) strangers_.add(counted_as);
  waiting_.emplace(sender.actor.id, Waiting{std::move(actor), std::move(*header), std::move(counted_as)});
  tasks_.spawn("compare_followers", compare_later(sender.actor.id));
}

void FollowerSync::note_seen(const std::string& actor, Seen seen) {
  const std::string domain = name_that_costs(actor);
  const auto oldest = [](const SeenOf& its) {
    return std::ranges::min_element(its, {}, [](const auto& entry) { return entry.second.at; });
  };
  const auto is_older = [&](const SeenOf& one, const SeenOf& other) {
    return oldest(one)->second.at < oldest(other)->second.at;
  };
  if (find_seen(actor) == nullptr && seen_.size() >= kSeenMax)
    seen_.change(seen_.gives_way_to(domain, is_older), [&](SeenOf& its) { its.erase(oldest(its)); });
  seen_.change(domain, [&](SeenOf& its) { its.insert_or_assign(actor, std::move(seen)); });
}

const FollowerSync::Seen* FollowerSync::find_seen(const std::string& actor) const {
  const SeenOf* its = seen_.find(name_that_costs(actor));
  if (its == nullptr) return nullptr;
  const auto seen = its->find(actor);
  return seen == its->end() ? nullptr : &seen->second;
}

fediverse::RemoteActor FollowerSync::as_believed(fediverse::RemoteActor sender) const {
  const std::string origin = origin_of(sender.id);
  sender.is_node = sender.is_node && sender.id == origin + "/actor" && subscriber_.knows(origin);
  return sender;
}

Digest FollowerSync::digest_of(const fediverse::RemoteActor& sender) const {
  return sender.is_node ? subscriber_.digest_at(origin_of(sender.id))
                        : instances_.follows_of(sender.id).digest();
}

Knowledge FollowerSync::knowledge_of(const fediverse::RemoteActor& sender) const {
  return sender.is_node ? subscriber_.followed_at(origin_of(sender.id)) : instances_.follows_of(sender.id);
}

// --- the list ----------------------------------------------------------------------------------------------

Task<void> FollowerSync::compare_later(std::string actor) {
  const auto spread = static_cast<std::uint64_t>((kDelayMax - kDelayMin).count());
  const Instant later = clock_.now() + kDelayMin + Duration(static_cast<Duration::rep>(rng_.below(spread)));
  co_await clock_.sleep_until(later);
  auto waiting = waiting_.extract(actor);
  if (!waiting.mapped().counted_as.empty()) strangers_.remove(waiting.mapped().counted_as);
  if (digest_of(waiting.mapped().sender) == waiting.mapped().header.digest) {
    ++counters_.settled;
    if (const Seen* seen = find_seen(actor); seen != nullptr) {
      Seen agreed = *seen;
      agreed.agrees = true;
      note_seen(actor, std::move(agreed));
    }
    co_return;
  }
  // Nodes that are known are as many as this one follows or has met, whatever their names.
  const bool is_node = waiting.mapped().sender.is_node;
  followers::Throttle& throttle = is_node ? nodes_throttle_ : throttle_;
  std::string group = is_node ? std::string() : name_that_costs(actor);
  if (!throttle.start(actor, clock_.now().time_since_epoch(), std::move(group))) {
    ++counters_.throttled;
    co_return;
  }
  co_await synchronise(std::move(waiting.mapped()));
  throttle.finish(actor);
}

Task<void> FollowerSync::synchronise(Waiting waiting) {
  Fetched fetched = co_await fetch(waiting.header.url);
  Plan todo = co_await plan(waiting.sender, std::move(fetched.listing), waiting.header.digest);
  if (todo.doubt) ++counters_.doubts;
  log_.info("followers_differ", {{"sender", waiting.sender.id},
                                 {"remove", todo.remove.size()},
                                 {"accept", todo.accept.size()},
                                 {"undo", todo.undo.size()},
                                 {"doubt", todo.doubt ? followers::to_string(*todo.doubt) : ""},
                                 {"problem", fetched.problem}});
  co_await apply(std::move(waiting.sender), std::move(todo));
}

Task<FollowerSync::Fetched> FollowerSync::fetch(std::string url) {
  ++counters_.lists;
  Fetched fetched{Listing(std::move(url)), {}};
  const Instant deadline = clock_.now() + kListMax;
  const federation::SignedClient::MayAskMore is_in_time = [this, deadline] {
    return clock_.now() < deadline;
  };
  while (const std::string* next = fetched.listing.next()) {
    if (!is_in_time()) {
      fetched.listing.fail("takes too long");
      break;
    }
    const Result<std::string> body = co_await client_.fetch_body(*next, is_in_time);
    if (body) {
      fetched.listing.take(*body);
    } else {
      fetched.listing.fail("cannot be fetched");
      fetched.problem = federation::why_not(body.error());
    }
  }
  if (fetched.problem.empty()) fetched.problem = fetched.listing.problem();
  co_return fetched;
}

Task<Plan> FollowerSync::plan(fediverse::RemoteActor sender, Listing listing, Digest digest) {
  auto make = [known = knowledge_of(sender), listing = std::move(listing), digest, own = own_,
               now = clock_.wall_now(), urls = fediverse::NodeUrls(identity_.origin()),
               is_node = sender.is_node, grace = options_.grace] {
    followers::PlanRules rules;
    rules.grace = grace;
    if (is_node) rules.undo_max = kUndoMaxAtNode;
    rules.is_own_actor = [&](std::string_view id) {
      return is_node ? is_tag_actor(urls, id) : id == urls.actor() || knows(known, id);
    };
    return followers::make_plan(known, listing.items(), digest, own, now, rules);
  };
  co_return co_await workers_.run(std::move(make));
}

// --- the repair --------------------------------------------------------------------------------------------

Task<void> FollowerSync::apply(fediverse::RemoteActor sender, Plan plan) {
  counters_.removed += plan.remove.size();
  counters_.undone += plan.undo.size();
  if (sender.is_node) {
    co_await apply_to_node(origin_of(sender.id), std::move(plan));
    co_return;
  }
  counters_.accepted += plan.accept.size();
  const WallTime before = clock_.wall_now() - options_.grace;
  // Each looks again whether it is still so. What fails is found by the next header.
  for (const std::string& id : plan.remove) co_await instances_.forget_follow(id, sender.id, before);
  for (const std::string& id : plan.accept) co_await instances_.accept_follow(id, sender.id);
  for (const std::string& id : plan.undo) co_await instances_.disown_follow(id, sender.id, sender.inbox);
}

// Nodes answer a Follow at once, so there is nothing to accept.
Task<void> FollowerSync::apply_to_node(std::string owner, Plan plan) {
  const WallTime before = clock_.wall_now() - options_.grace;
  if (!plan.remove.empty()) co_await subscriber_.forget_at(owner, tags_of(plan.remove), before);
  if (!plan.undo.empty()) co_await subscriber_.disown_at(owner, tags_of(plan.undo));
}

std::vector<Tag> FollowerSync::tags_of(const std::vector<std::string>& ids) const {
  std::vector<Tag> tags;
  for (const std::string& id : ids) {
    if (const auto tag = identity_.tag_of_actor(id)) tags.push_back(*tag);
  }
  return tags;
}

// --- for the administrator ---------------------------------------------------------------------------------

FollowerSync::Said FollowerSync::said_by(const std::string& actor, json::object* report) const {
  Said said{.url = actor + "/followers_synchronization", .digest = {}};  // where most servers have it
  const Seen* seen = find_seen(actor);
  if (seen == nullptr) return said;
  (*report)["header"] =
      json::object{{"at", to_rfc3339(seen->at)}, {"value", seen->value}, {"ignored", seen->ignored}};
  const auto header = followers::parse_header(seen->value);
  if (!header || own_ == followers::Authority::of(header->url) ||
      followers::Authority::of(header->url) != followers::Authority::of(actor))
    return said;
  said.url = header->url;
  said.digest = header->digest;
  said.counts = seen->ignored.empty() && clock_.wall_now() - seen->at < kHeaderCounts;
  return said;
}

Task<Result<json::object>> FollowerSync::check(std::string actor, bool apply_it) {
  CO_TRY(const std::string body, co_await client_.fetch_body(actor));
  CO_TRY(fediverse::RemoteActor sender, fediverse::parse_actor(body, actor));
  sender = as_believed(std::move(sender));
  json::object report = {{"actor", actor}, {"followers", sender.followers}, {"is_node", sender.is_node}};
  const Said said = said_by(actor, &report);
  report["url"] = said.url;
  Fetched fetched = co_await fetch(said.url);
  const Knowledge known = knowledge_of(sender);
  report["known"] = json::object{{"accepted", known.accepted.size()},
                                 {"pending", known.pending.size()},
                                 {"digest", known.digest().hex()}};
  const auto items = fetched.listing.items();
  const bool is_nobody = said.counts && *said.digest == Digest();
  const bool is_hidden = fetched.listing.only_counts() && !is_nobody;
  if (!items || is_hidden) {
    report["problem"] = is_hidden ? "items are not shown" : fetched.problem;
    co_return report;
  }
  const Digest of_list = Digest::of(*items);
  report["listed"] = json::object{{"count", items->size()}, {"digest", of_list.hex()}};
  if (said.digest) report["digest_of_header"] = said.digest->hex();
  report["agree"] = known.digest() == of_list;
  const Digest& believed = said.counts ? *said.digest : of_list;
  Plan todo = co_await plan(sender, std::move(fetched.listing), believed);
  report["remove"] = to_array(todo.remove);
  report["accept"] = to_array(todo.accept);
  report["undo"] = to_array(todo.undo);
  report["too_young"] = todo.too_young;
  report["undo_later"] = todo.undo_later;
  if (todo.doubt) report["doubt"] = followers::to_string(*todo.doubt);
  report["applied"] = apply_it && !todo.empty();
  // Nothing is left that must wait, or cannot be believed.
  report["repaired"] =
      apply_it && !todo.empty() && !todo.doubt && todo.too_young == 0 && todo.undo_later == 0;
  if (apply_it) co_await apply(std::move(sender), std::move(todo));
  co_return report;
}

}  // namespace tagring::instances
