// Of RelayRedundancy: lists of followers, upkeep, and the answers to other relays.
#include <algorithm>

#include "delivery/store.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "redundancy/asked_tag.hpp"
#include "redundancy/overload_token.hpp"
#include "relay/relay_redundancy.hpp"

namespace tagring::relay {
namespace {

json::object to_json(const RelayCalls::Count& count) {
  return {{"relays", count.relays}, {"lately", count.lately}};
}

}  // namespace

// --- lists of followers ------------------------------------------------------------------------------------

// Adds the list of a relay, as far as it came. Of how many relays it knows.
Task<Result<unsigned>> RelayRedundancy::pull(Tag tag, std::string origin, unsigned of,
                                             FollowerLists::List* into) {
  FollowerLists::List list;
  Result<unsigned> relays = co_await pull_pages(tag, std::move(origin), of, &list);
  FollowerLists::merge(std::move(list), into);
  co_return relays;
}

Task<Result<unsigned>> RelayRedundancy::pull_pages(Tag tag, std::string origin, unsigned of,
                                                   FollowerLists::List* list) {
  std::string after;
  for (std::size_t page_number = 0; page_number < FollowerLists::kPagesMax; ++page_number) {
    json::object request = {{"action", "list"}, {"after", after}};
    CO_TRY(const json::object page, co_await calls_.ask(origin, tag, of, std::move(request)));
    const auto relays = json::get_int(page, "relays");
    if (!relays || !places_.hints().is_count(*relays))
      co_return fail(ErrorCode::kInvalid, "a list without 'relays'");
    lists_.read_page(page, list);
    const std::string next = json::text_of(page, "after");
    if (next.empty()) co_return static_cast<unsigned>(*relays);
    if (next <= after) co_return fail(ErrorCode::kInvalid, "a page of followers does not move on");
    after = next;
  }
  co_return fail(ErrorCode::kTooLarge, "a list of followers has no end");
}

// From all relays at rest that answer, anew. The greatest number of relays that one of them knows of.
Task<Result<unsigned>> RelayRedundancy::pull_at_rest(Tag tag, unsigned of) {
  unsigned most = 0;
  FollowerLists::List list;
  const std::vector<std::string> at_rest = co_await places_.origins(tag, places_.at_rest(), 0, 1);
  for (const std::string& origin : at_rest) {
    const Result<unsigned> relays = co_await pull(tag, origin, of, &list);
    if (relays) most = std::max(most, *relays);
  }
  if (most == 0) co_return fail(ErrorCode::kBusy, "no relay at rest gave its list of followers");
  Tended& spare = tended(tag);
  spare.list = std::move(list);
  spare.set.note_list(most, clock_.now());
  co_return most;
}

// From two relays, others each time, one of them at rest.
Task<void> RelayRedundancy::pull_by_turns(Tag tag) {
  const unsigned relays = relays_of(tag);
  const std::vector<std::string> at_rest = co_await places_.origins(tag, places_.at_rest(), 0, 1);
  const std::vector<std::string> all = co_await places_.origins(tag, relays, 0, 1);
  FollowerLists::List list;
  if (!at_rest.empty()) {
    const std::string& asked = at_rest[turn_ % at_rest.size()];
    Result<unsigned> heard = co_await pull(tag, asked, relays, &list);
    // It has forgotten so much that it gives no list.
    if (!heard && heard.error().code == ErrorCode::kNotOwner) {
      const Result<RelayCalls::Count> known = co_await ask_count(tag, Duration::zero());
      if (known) heard = known->relays;
    }
    if (heard && *heard > relays && places_.is_relay_at_rest(tag)) {
      hear_of_more(tag, *heard, asked);
    } else if (heard && relays_of(tag) == relays) {
      const std::optional<unsigned> news =
          tended(tag).set.hear(*heard, places_.is_relay_at_rest(tag), clock_.now());
      if (news) set_relays(tag, *news);
    }
  }
  if (!all.empty()) co_await pull(tag, all[turn_ % all.size()], relays, &list);
  tended(tag).list = std::move(list);
}

// Takes over whom the list has and this node lacks. False if that could not be saved.
Task<bool> RelayRedundancy::apply_list(Tag tag) {
  const FollowerLists::List list = std::move(tended(tag).list);
  FollowerLists::Changes changes = lists_.changes(tag, list);
  if (!changes.come.empty()) {
    // Those at rest are asked for what was missed by themselves.
    std::optional<std::uint64_t> from;
    if (!places_.is_relay_at_rest(tag)) from = tended(tag).set.feed_from();
    for (delivery::Follower& follower : changes.come) follower.since = from.value_or(0);
    const Result<void> added = co_await lists_.add(std::move(changes.come));
    if (!added) co_return false;
    if (from) co_await announcer_.push_missed(tag, std::move(changes.inboxes), *from);
  }
  co_return true;
}

// --- upkeep ------------------------------------------------------------------------------------------------

Task<void> RelayRedundancy::upkeep() {
  while (!sets_.empty()) {
    const Instant next = clock_.now() + options_.every;
    co_await clock_.sleep_until(next);
    ++turn_;
    std::erase_if(sets_, [this](const auto& entry) {
      const auto& [tag, tended] = entry;
      return tended.set.is_forgettable(clock_.now()) && !tended.tending && !raising_.contains(tag) &&
             !(meter_.is_strained() && meter_.is_major(tag));
    });
    for (auto& [tag, tended] : sets_) {
      tend_soon(tag, tended);
    }
  }
  keeping_up_ = false;
}

void RelayRedundancy::tend_soon(const Tag& tag, Tended& tended) {
  if (!std::exchange(tended.tending, true)) tasks_.spawn("tend", tend(tag));
}

Task<void> RelayRedundancy::tend(Tag tag) {
  const bool raised = is_raised(tag);
  if (is_relay(tag)) {
    if (raised) {
      co_await pull_by_turns(tag);
      co_await apply_list(tag);
      // Of the smaller sets, too: who has forgotten would never say that it can do without the others.
      for (unsigned relays = relays_of(tag); relays > places_.at_rest(); relays /= 2)
        co_await tell_next_set(tag, "raise", relays);
      co_await try_to_halve(tag);
    }
    const bool strained =
        meter_.is_strained() && meter_.is_major(tag) && relays_of(tag) < redundancy::kRelaysMax;
    if (strained && tended(tag).set.warn_spares(clock_.now()))
      co_await tell_next_set(tag, "spare", relays_of(tag) * 2);
  } else if (raised) {
    co_await lose_places(tag);
  } else if (tended(tag).set.is_spare(clock_.now())) {
    co_await pull_at_rest(tag, tended(tag).set.spare_of());
  }
  if (!is_relay(tag) && tended(tag).set.wants_last_list(clock_.now())) co_await pull_last_list(tag);
  co_await drain(tag);
  tended(tag).tending = false;
}

// --- answering ---------------------------------------------------------------------------------------------

Task<HttpResponse> RelayRedundancy::answer(HttpRequest request) {
  Result<json::object> answer = fail(ErrorCode::kNotOwner, "this node is no relay of the hashtag");
  if (request.method == "POST") {
    auto question = co_await calls_.read(std::move(request));
    if (!question) co_return std::move(question).error();
    answer = co_await act(std::move(question->body), std::move(question->origin));
  } else {
    const std::string query(query_of(request.target));
    const Result<Tag> tag = redundancy::asked_tag(query);
    if (!tag) co_return error_response(tag.error());
    if (is_relay(*tag)) answer = to_json(count(*tag));
  }
  if (!answer) co_return error_response(answer.error());
  co_return json_response(*answer);
}

Task<Result<json::object>> RelayRedundancy::act(json::object request, std::string origin) {
  CO_TRY(const Tag tag, Tag::parse(json::text_of(request, "tag")));
  const std::string action = json::text_of(request, "action");
  const std::int64_t index = json::get_int(request, "index").value_or(-1);
  const std::int64_t of = json::get_int(request, "of").value_or(-1);
  const std::int64_t relays = json::get_int(request, "relays").value_or(0);
  const bool shaped = places_.hints().is_count(of) && index >= 0 && index < of &&
                      (action == "list" || places_.hints().is_count(relays));
  if (!shaped) co_return fail(ErrorCode::kInvalid, "'index', 'of' or 'relays' is not as it should be");
  if (places_.rings().is_blocked_at(origin)) co_return fail(ErrorCode::kDenied, origin + " is blocked here");
  CO_TRY_VOID(
      co_await places_.check_asker(tag, origin, static_cast<unsigned>(index), static_cast<unsigned>(of)));
  if (action == "list") {
    std::string after = json::text_of(request, "after");
    co_return co_await give_list(tag, std::move(origin), static_cast<unsigned>(index),
                                 static_cast<unsigned>(of), std::move(after));
  }
  if (action == "raise") {
    CO_TRY_VOID(
        co_await hear_raise(std::move(request), tag, static_cast<unsigned>(relays), std::move(origin)));
  } else if (action == "spare" && !places_.is_relay_at_rest(tag) && of * 2 == relays &&
             has_room_for(tag, static_cast<unsigned>(relays)) &&
             !places_.own_places(tag, static_cast<unsigned>(relays)).empty()) {
    Tended& spare = tended(tag);
    spare.set.become_spare(static_cast<unsigned>(relays), clock_.now());
    tend_soon(tag, spare);
  } else if (action == "shrink" && relays_of(tag) == relays * 2 && of == relays) {
    tended(tag).set.vote(origin, clock_.now());
    co_await count_votes(tag, static_cast<unsigned>(relays));
  }
  co_return to_json(count(tag));
}

// Followers are nobody's business but the relays', and the spares'.
Task<Result<json::object>> RelayRedundancy::give_list(Tag tag, std::string origin, unsigned index,
                                                      unsigned of, std::string after) {
  // Both at rest, and this one has forgotten, or the other did not go along with the last halving.
  const bool is_behind = places_.is_relay_at_rest(tag) && places_.is_place_at_rest(index, of);
  if (is_behind && of > relays_of(tag) && !has_just_shrunk(tag)) hear_of_more(tag, of, std::move(origin));
  // Who has just ceased to be a relay wants the list once more.
  if (!is_relay(tag) || of > count(tag).lately * 2)
    co_return fail(ErrorCode::kNotOwner, "neither relay nor spare of the hashtag, as far as is known here");
  json::object page = lists_.page(tag, after);
  page["relays"] = relays_of(tag);
  co_return page;
}

Task<Result<void>> RelayRedundancy::hear_raise(json::object request, Tag tag, unsigned relays,
                                               std::string origin) {
  const json::value* shown = json::find(request, "token");
  if (shown == nullptr) {
    if (relays_of(tag) < relays) doubt(tag, host_of(origin));
    co_return Result<void>();
  }
  CO_TRY(redundancy::OverloadToken token, redundancy::token_from_json(*shown));
  if (token.tag == tag && token.relays * 2 == relays) {
    std::vector<redundancy::OverloadToken> tokens{std::move(token)};
    co_await present(std::move(tokens));
  }
  co_return Result<void>();
}

}  // namespace tagring::relay
