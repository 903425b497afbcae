// Lists of followers, what relays ask each other, and the upkeep of RelaySets.
#include <algorithm>
#include <fmt/format.h>

#include "base/http_error.hpp"
#include "federation/authenticator.hpp"
#include "relay/relay_redundancy.hpp"
#include "relay/results.hpp"
#include "relay/wire.hpp"
#include "ring/codec.hpp"

namespace tagring::relay {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(5);
constexpr Duration kSpareFor = std::chrono::minutes(1);
constexpr Duration kWarnEvery = std::chrono::seconds(20);
constexpr Duration kContradicted = std::chrono::minutes(1);
constexpr Duration kDrainAfter = std::chrono::seconds(10);  // what was being written then is in the feed
constexpr std::size_t kListMax = 100'000;
constexpr std::size_t kGoneMax = 1'000;
constexpr std::size_t kSetsMax = 10'000;

WallTime time_of(const json::object& item) {
  return WallTime(Duration(std::max<std::int64_t>(0, json::get_int(item, "at").value_or(0))));
}

}  // namespace

// --- followers ---------------------------------------------------------------------------------------------

void RelayRedundancy::note_request(const std::string& tag, const std::string& actor, bool follows) {
  times_.note(tag, actor, {clock_.wall_now(), follows});
}

bool RelayRedundancy::is_draining(const std::string& tag, const std::string& inbox) const {
  if (followers_.target(tag, inbox) == nullptr) return false;
  const auto set = sets_.find(tag);
  const bool known = set != sets_.end() && set->second.retired != Instant{};
  if (known && set->second.retired_at == 0) return true;
  return !announcer_.has_reached(inbox, known ? set->second.retired_at : announcer_.last_seq());
}

// Followers who are nodes, by actor; with the first page, who asked last not to follow.
json::object RelayRedundancy::list_page(const std::string& tag, const std::string& after) const {
  json::array items;
  json::object page;
  for (const auto& [actor, inbox] : followers_.nodes(tag)) {
    if (actor <= after) continue;
    if (items.size() == options_.page) {
      page["after"] = items.back().as_object().at("actor");
      break;
    }
    const FollowTimes::Request last = times_.last(tag, actor);
    const WallTime at = last.follows ? last.at : WallTime{};
    items.push_back(json::object{{"actor", actor}, {"inbox", inbox}, {"at", at.time_since_epoch().count()}});
  }
  page["followers"] = std::move(items);
  if (!after.empty()) return page;
  json::array gone;
  for (const auto& [actor, at] : times_.gone(tag)) {
    if (gone.size() == kGoneMax) break;
    gone.push_back(json::object{{"actor", actor}, {"at", at.time_since_epoch().count()}});
  }
  page["gone"] = std::move(gone);
  return page;
}

// Adds the list of a relay: of what several say of one follower, the latest request counts.
Task<Result<RelayRedundancy::Heard>> RelayRedundancy::pull(Tag tag, std::string origin, unsigned of,
                                                           List* into) {
  std::string after;
  Heard heard;
  for (;;) {
    json::object request = {{"action", "list"}, {"after", after}};
    CO_TRY(const json::object page, co_await call(origin, tag, of, std::move(request)));
    const auto relays = json::get_int(page, "relays");
    if (!relays || !redundancy::is_relay_count(*relays))
      co_return fail(ErrorCode::kInvalid, "a list without 'relays'");
    heard.relays = static_cast<unsigned>(*relays);
    for (const bool follows : {true, false}) {
      json::for_each(json::find(page, follows ? "followers" : "gone"), [&](const json::value& element) {
        if (!element.is_object() || into->size() >= kListMax) return;
        const json::object& item = element.get_object();
        const std::string actor = json::get_string(item, "actor").value_or("");
        const std::string inbox = json::get_string(item, "inbox").value_or("");
        const std::string node = origin_of(actor);
        if (node.empty() || node == identity_.origin() || rings_.is_blocked_at(actor)) return;
        if (follows && origin_of(inbox) != node) return;
        const Listed listed{inbox, time_of(item), follows};
        const auto [it, fresh] = into->try_emplace(actor, listed);
        if (!fresh && it->second.at <= listed.at) it->second = listed;
      });
    }
    const std::string next = json::get_string(page, "after").value_or("");
    if (next.empty()) co_return heard;
    if (next <= after) co_return fail(ErrorCode::kInvalid, "a page of followers does not move on");
    after = next;
  }
}

// From all relays at rest that answer, anew. The greatest number of relays that one of them knows of.
Task<Result<unsigned>> RelayRedundancy::pull_base(Tag tag, unsigned of) {
  unsigned relays = 0;
  List list;
  const std::vector<std::string> base = co_await origins(tag, counts_.at_rest(), 0, 1);
  for (const std::string& origin : base) {
    const Result<Heard> heard = co_await pull(tag, origin, of, &list);
    if (heard) relays = std::max(relays, heard->relays);
  }
  if (relays == 0) co_return fail(ErrorCode::kBusy, "no relay at rest gave its list of followers");
  Set& set = set_of(tag.canonical());
  set.list = std::move(list);
  set.pulled = clock_.now();
  set.pulled_with = relays;
  co_return relays;
}

// From two relays, others each time, one of them at rest.
Task<void> RelayRedundancy::pull_by_turns(Tag tag) {
  const std::string name = tag.canonical();
  const unsigned relays = relays_of(name);
  const std::vector<std::string> base = co_await origins(tag, counts_.at_rest(), 0, 1);
  const std::vector<std::string> all = co_await origins(tag, relays, 0, 1);
  List list;
  if (!base.empty()) {
    const Result<Heard> heard = co_await pull(tag, base[turn_ % base.size()], relays, &list);
    if (heard && relays_of(name) == relays) {
      Set& set = set_of(name);
      if (heard->relays > relays && has_just_shrunk(name)) {
        set.contradicted = {};
      } else if (heard->relays > relays) {
        set_relays(name, heard->relays);
      } else if (heard->relays == relays || is_base(tag)) {
        set.contradicted = {};
      } else if (set.contradicted == Instant{}) {
        set.contradicted = clock_.now();
      } else if (clock_.now() - set.contradicted > kContradicted) {
        set_relays(name, heard->relays);  // all others have agreed, or forgotten
      }
    }
  }
  if (!all.empty()) co_await pull(tag, all[turn_ % all.size()], relays, &list);
  set_of(name).list = std::move(list);
}

// Takes over what the list has later than this node.
Task<void> RelayRedundancy::apply_list(std::string tag) {
  const List list = std::move(set_of(tag).list);
  std::vector<Follower> come;
  std::vector<std::pair<std::string, std::string>> gone;
  std::vector<std::string> inboxes;
  for (const auto& [actor, listed] : list) {
    const FollowTimes::Request last = times_.last(tag, actor);
    const bool known = followers_.follows(tag, actor);
    if (listed.follows && !known && (last.follows || listed.at > last.at || last.at == WallTime{})) {
      come.push_back(
          {tag, actor, listed.inbox, identity_.activity_id("lists", tag + " " + actor), Via::kNode, 0});
      inboxes.push_back(listed.inbox);
    } else if (!listed.follows && known && listed.at > last.at) {
      gone.emplace_back(tag, actor);
    }
  }
  if (!come.empty()) {
    const auto stored = co_await store_.follow(std::move(come));
    if (stored) {
      for (const Follower& follower : *stored) followers_.add(follower);
      const Result<Tag> parsed = Tag::parse(tag);
      if (is_extra(*parsed) && !is_base(*parsed))
        co_await announcer_.push_missed(tag, std::move(inboxes), set_of(tag).feed_from);
    }
  }
  if (gone.empty()) co_return;
  const Result<void> removed = co_await store_.unfollow(gone);
  if (!removed) co_return;
  for (const auto& [of, actor] : gone) followers_.remove(of, actor);
}

// Of a tag that this node does not relay any more: forgets followers who have got all that it took.
Task<void> RelayRedundancy::drain(std::string tag) {
  Set& set = set_of(tag);
  if (is_relay(*Tag::parse(tag))) set.retired = {};
  if (set.retired == Instant{} || clock_.now() - set.retired < kDrainAfter) co_return;
  if (set.retired_at == 0) set.retired_at = std::max<std::uint64_t>(1, announcer_.last_seq());
  std::vector<std::pair<std::string, std::string>> done;
  bool all = true;
  for (const auto& [actor, inbox] : followers_.nodes(tag)) {
    const bool reached = announcer_.has_reached(inbox, set.retired_at);
    all = all && reached;
    if (reached) done.emplace_back(tag, actor);
  }
  if (all) set.retired = {};
  if (done.empty()) co_return;
  const Result<void> removed = co_await store_.unfollow(done);
  if (!removed) co_return;
  for (const auto& [of, actor] : done) followers_.remove(of, actor);
}

// --- upkeep ------------------------------------------------------------------------------------------------

Task<void> RelayRedundancy::upkeep() {
  while (!sets_.empty()) {
    const Instant next = clock_.now() + options_.every;
    co_await clock_.sleep_until(next);
    ++turn_;
    std::erase_if(sets_, [this](const auto& entry) {
      const Set& set = entry.second;
      return set.relays == counts_.at_rest() && !set.tending && !raising_.contains(entry.first) &&
             set.retired == Instant{} && clock_.now() > std::max(set.lately_until, set.spare_until) &&
             !(meter_.is_strained() && meter_.is_major(entry.first));
    });
    for (auto& [name, set] : sets_) {
      const Result<Tag> tag = Tag::parse(name);
      if (tag && !std::exchange(set.tending, true)) tasks_.spawn("tend", tend(*tag));
    }
  }
  keeping_up_ = false;
}

Task<void> RelayRedundancy::tend(Tag tag) {
  const std::string name = tag.canonical();
  const unsigned relays = relays_of(name);
  const bool raised = relays > counts_.at_rest();
  if (is_relay(tag)) {
    if (raised) {
      co_await pull_by_turns(tag);
      co_await apply_list(name);
      co_await tell_children(tag, "raise", relays_of(name));
      co_await try_to_shrink(tag);
    }
    const bool strained =
        meter_.is_strained() && meter_.is_major(name) && relays_of(name) < redundancy::kRelaysMax;
    if (strained && clock_.now() - set_of(name).warned >= kWarnEvery) {
      set_of(name).warned = clock_.now();
      co_await tell_children(tag, "spare", relays_of(name) * 2);
    }
  } else if (raised) {
    set_relays(name, counts_.at_rest());  // its places are others' now
  } else if (clock_.now() < set_of(name).spare_until) {
    co_await pull_base(tag, set_of(name).spare_of);
  }
  co_await drain(name);
  set_of(name).tending = false;
}

// --- asking ------------------------------------------------------------------------------------------------

// As one of so many relays of the tag.
Task<Result<json::object>> RelayRedundancy::call(std::string origin, Tag tag, unsigned of,
                                                 json::object body) {
  const std::vector<unsigned> places = own_places(tag, of);
  if (places.empty()) co_return fail(ErrorCode::kNotOwner, "no place of the set is here");
  const auto at_rest = std::ranges::find_if(places, [&](unsigned place) { return is_at_rest(place, of); });
  body["tag"] = tag.canonical();
  body["index"] = at_rest != places.end() ? *at_rest : places.front();
  body["of"] = of;
  co_return co_await client_.ask(origin + std::string(kPath), std::move(body));
}

Task<Result<RelayRedundancy::Heard>> RelayRedundancy::ask_count_at(ring::Contact owner, Tag tag) {
  std::string target = fmt::format("{}?tag={}", kPath, percent_encode(tag.canonical()));
  CO_TRY(const json::object body,
         co_await rings_.ask_owner(std::move(owner), std::move(target), clock_.now() + kTimeout));
  const auto relays = json::get_int(body, "relays");
  const auto lately = json::get_int(body, "lately");
  if (!relays || !lately || !redundancy::is_relay_count(*relays) || !redundancy::is_relay_count(*lately))
    co_return fail(ErrorCode::kInvalid, "an answer without 'relays' and 'lately'");
  co_return Heard{static_cast<unsigned>(*relays), static_cast<unsigned>(*lately), {}};
}

// --- answering ---------------------------------------------------------------------------------------------

json::object RelayRedundancy::counts(const std::string& tag) const {
  const auto set = sets_.find(tag);
  const unsigned relays = relays_of(tag);
  const bool lately = set != sets_.end() && clock_.now() < set->second.lately_until;
  return {{"relays", relays}, {"lately", std::max(relays, lately ? set->second.lately : 0)}};
}

Task<HttpResponse> RelayRedundancy::answer(HttpRequest request) {
  Result<json::object> answer = fail(ErrorCode::kNotOwner, "this node is no relay of the hashtag at rest");
  if (request.method == "POST") {
    const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
    if (!sender) co_return federation::not_authentic(sender.error());
    Result<json::object> body = json::parse_object(request.body);
    if (!body) co_return error_response(body.error());
    answer = co_await act(std::move(*body), origin_of(sender->actor.id));
  } else {
    const std::size_t mark = std::min(request.target.find('?'), request.target.size());
    const std::string query = request.target.substr(std::min(mark + 1, request.target.size()));
    const Result<Tag> tag = Tag::parse(query_value(query, "tag"));
    if (!tag) co_return error_response(tag.error());
    if (is_base(*tag)) answer = counts(tag->canonical());
  }
  if (!answer) co_return error_response(answer.error());
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(*answer);
  co_return response;
}

Task<Result<json::object>> RelayRedundancy::act(json::object request, std::string origin) {
  CO_TRY(const Tag tag, Tag::parse(json::get_string(request, "tag").value_or("")));
  const std::string name = tag.canonical();
  const std::string action = json::get_string(request, "action").value_or("");
  const auto index = json::get_int(request, "index");
  const auto of = json::get_int(request, "of");
  const std::int64_t relays = json::get_int(request, "relays").value_or(0);
  const bool shaped = index && of && redundancy::is_relay_count(*of) && *index >= 0 && *index < *of &&
                      (action == "list" || redundancy::is_relay_count(relays));
  if (!shaped) co_return fail(ErrorCode::kInvalid, "'index', 'of' or 'relays' is not as it should be");
  if (rings_.is_blocked_at(origin)) co_return fail(ErrorCode::kDenied, origin + " is blocked here");
  CO_TRY_VOID(co_await check_place(tag, origin, static_cast<unsigned>(*index), static_cast<unsigned>(*of)));
  if (action == "list") {
    // Followers are nobody's business but the relays', and the spares'.
    if (!is_relay(tag) || *of > relays_of(name) * 2)
      co_return fail(ErrorCode::kNotOwner, "neither relay nor spare of the hashtag, as far as is known here");
    // Both at rest, and the other did not go along with the last halving: it waits for this one to ask again.
    const bool is_behind =
        is_base(tag) && is_at_rest(static_cast<unsigned>(*index), static_cast<unsigned>(*of));
    if (is_behind && *of > relays_of(name) && !has_just_shrunk(name))
      set_relays(name, static_cast<unsigned>(*of));
    json::object page = list_page(name, json::get_string(request, "after").value_or(""));
    page["relays"] = relays_of(name);
    co_return page;
  }
  if (action == "raise") {
    const json::value* shown = json::find(request, "token");
    if (shown != nullptr) {
      CO_TRY(redundancy::OverloadToken token, redundancy::token_from_json(*shown));
      if (token.tag == name && token.relays * 2 == relays) {
        std::vector<redundancy::OverloadToken> tokens{std::move(token)};
        co_await present(std::move(tokens));
      }
    } else if (relays_of(name) < relays) {
      doubt(tag);
    }
  } else if (action == "spare" && !is_base(tag) && sets_.size() < kSetsMax && *of * 2 == relays) {
    Set& set = set_of(name);
    set.spare_until = clock_.now() + kSpareFor;
    set.spare_of = static_cast<unsigned>(relays);
    if (!std::exchange(set.tending, true)) tasks_.spawn("tend", tend(tag));
  } else if (action == "shrink" && relays_of(name) == relays * 2 && *of == relays) {
    set_of(name).votes[origin] = clock_.now();
    co_await count_votes(tag, static_cast<unsigned>(relays));
  }
  co_return counts(name);
}

json::array RelayRedundancy::status() const {
  json::array list;
  for (const auto& [tag, set] : sets_) {
    list.push_back(json::object{{"tag", tag},
                                {"relays", set.relays},
                                {"spare", clock_.now() < set.spare_until},
                                {"deliveries_per_second", meter_.rate(tag)}});
  }
  return list;
}

}  // namespace tagring::relay
