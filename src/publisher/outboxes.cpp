#include "publisher/outboxes.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "fediverse/json_ld.hpp"
#include "fediverse/note.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "publisher/latest_authors.hpp"

namespace tagring::publisher {
namespace {

constexpr std::size_t kKnownAtOnce = 500;

// What an activity is about, of which an outbox has only to say the id.
const json::value* object_of(const json::value& item, std::initializer_list<const char*> types) {
  const json::object* activity = item.is_object() ? &item.get_object() : nullptr;
  const bool fits = activity != nullptr && std::ranges::any_of(types, [&](const char* type) {
                      return fediverse::has_type(*activity, type);
                    });
  return fits ? json::find(*activity, "object") : &item;
}

// Of a collection or a page, in whichever of the two forms.
const json::value* items_of(const json::object& page) {
  const json::value* ordered = json::find(page, "orderedItems");
  return ordered != nullptr ? ordered : json::find(page, "items");
}

bool is_before(const json::value& item, WallTime time) {
  if (!item.is_object()) return false;
  const auto published = from_rfc3339(json::text_of(item.get_object(), "published"));
  return published && *published < time;
}

}  // namespace

void Outboxes::start(Presence presence) { tasks_.spawn("outboxes", watch(std::move(presence))); }

Task<void> Outboxes::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  readings_.cancel();
  co_await readings_.join();
}

Task<void> Outboxes::watch(Presence presence) {
  co_await note_what_is_known(WallTime::max());
  co_await read_all();
  Instant seen = clock_.elapsed();
  WallTime seen_at = clock_.wall_now();
  bool has_met_others = false;
  for (;;) {
    const Instant next = clock_.now() + kLookEvery;
    co_await clock_.sleep_until(next);
    const bool is_among_others = presence.is_among_others();
    has_met_others = has_met_others || is_among_others;
    // A node that is the only one cannot tell whether it is cut off.
    if (is_among_others != has_met_others || !presence.can_write()) {
      if (!std::exchange(is_away_, true)) co_await note_what_is_known(seen_at);
      continue;
    }
    if (clock_.elapsed() - seen >= kAway) {
      // Who slept has not said so before, and who could not write could not write that down.
      is_away_ = true;
      co_await note_what_is_known(seen_at);
      co_await read_all();
    } else if (std::exchange(is_away_, false) ||
               clock_.now() >= people_again_until_.value_or(Instant::max())) {
      co_await drop_known();
    }
    // Not before that: it may have taken long, and would be another absence.
    seen = clock_.elapsed();
    seen_at = clock_.wall_now();
  }
}

Task<void> Outboxes::note_what_is_known(WallTime seen) {
  const bool is_start = seen == WallTime::max();
  // What is newer may have come since, and others been missed before it.
  const Result<WallTime> newest = co_await store_.newest_post();
  const WallTime until = newest ? std::min(*newest, seen) : is_start ? WallTime::min() : seen;
  WallTime people_until = is_start ? until : seen;
  // Who are being read are still missed since then, also if that could not be written down.
  if (people_again_until_) people_until = std::min(people_until, people_known_until_);
  people_known_until_ =
      co_await save_known(KnownOf::kPeopleOfInstances, people_until, !instances_.senders_of_all().empty());
  if (unread_[KnownOf::kSources] > 0) co_return;  // and is looked for back to what is older
  known_until_ = co_await save_known(KnownOf::kSources, until, !instances_.sources().empty());
  fetched_before_.clear();
  requests_[KnownOf::kSources] = 0;
}

// What was being read when the node was stopped is still missed.
Task<WallTime> Outboxes::save_known(KnownOf whom, WallTime until, bool is_needed) {
  const Result<std::optional<WallTime>> unread = co_await store_.known_until(whom);
  if (!unread) co_return WallTime::min();  // and what is newer does not take the place of that
  if (*unread) until = std::min(until, **unread);
  const bool says_more = until != WallTime::min() || !*unread;
  if (is_needed && says_more) co_await store_.save_known_until(whom, until);
  co_return until;
}

// Of what is read, or was waited for long enough. What is missed meanwhile by a node that is away is read
// when it is back: it may go away, and write that down, while the first is dropped.
Task<void> Outboxes::drop_known() {
  if (!is_away_ && unread_[KnownOf::kSources] == 0)
    co_await store_.save_known_until(KnownOf::kSources, std::nullopt);
  const bool is_over = clock_.now() >= people_again_until_.value_or(Instant::min());
  if (is_away_ || (!is_over && unread_[KnownOf::kPeopleOfInstances] > 0)) co_return;
  people_again_until_.reset();
  co_await store_.save_known_until(KnownOf::kPeopleOfInstances, std::nullopt);
}

Task<void> Outboxes::read_all() {
  const Instant begin = clock_.now() + kAfterStart;
  co_await clock_.sleep_until(begin);
  readings_.cancel();
  co_await readings_.join();
  readings_.reopen();
  is_away_ = false;  // from now on what comes to its end is dropped
  unread_.clear();
  people_again_until_.reset();
  spawn(KnownOf::kSources, draw());
  if (people_known_until_ <= clock_.wall_now() - kInstancesTry && !instances_.senders_of_all().empty()) {
    ++unread_[KnownOf::kPeopleOfInstances];
    people_again_until_ = Instant::max();
    requests_[KnownOf::kPeopleOfInstances] = 0;
    readings_.spawn("outboxes_of_people", read_people());
  }
  co_await drop_known();
}

// By host; any of them, if there are too many, or the same would be left out at each start.
Outboxes::Readings Outboxes::draw() {
  std::vector<instances::Instances::Source> sources = instances_.sources();
  Readings by_host;
  for (std::size_t i = 0; i < std::min(sources.size(), kSourcesMax); ++i) {
    std::swap(sources[i], sources[i + rng_.below(sources.size() - i)]);
    const std::string host = host_of(sources[i].actor);
    by_host[host].push_back(
        {.whom = KnownOf::kSources, .source = std::move(sources[i]), .known_until = known_until_});
  }
  return by_host;
}

// Who is followed is read as such.
Outboxes::Readings Outboxes::readings_of(const std::vector<std::string>& people) const {
  const std::map<std::string, WallTime> senders = instances_.senders_of_all();
  std::set<std::string> followed;
  for (const instances::Instances::Source& source : instances_.sources()) followed.insert(source.actor);
  Readings by_host;
  for (const std::string& author : people) {
    const auto sender = senders.find(host_of(author));
    if (sender == senders.end() || followed.contains(author) || !fetched_.takes(author)) continue;
    by_host[sender->first].push_back({.whom = KnownOf::kPeopleOfInstances,
                                      .source = {author, sender->second, /*is_person=*/true},
                                      .known_until = people_known_until_});
  }
  return by_host;
}

void Outboxes::spawn(KnownOf whom, Readings by_host) {
  unread_[whom] += by_host.size();
  for (auto& [host, readings] : by_host)
    readings_.spawn("outboxes_of_host", read_host(whom, host, std::move(readings)));
}

// A database that fails is asked again, while the others are read.
Task<void> Outboxes::read_people() {
  Duration pause = kFirstPause;
  Result<std::vector<std::string>> people = co_await choose_people();
  while (!people) {
    log_.warn("outboxes_unread", {{"because", people.error().message}});
    const Instant next = clock_.now() + pause;
    pause = std::min(pause * 2, kLongestPause);
    co_await clock_.sleep_until(next);
    people = co_await choose_people();
  }
  people_again_until_ = clock_.now() + kPeopleAgain;
  spawn(KnownOf::kPeopleOfInstances, readings_of(*people));
  co_await end_one(KnownOf::kPeopleOfInstances);
}

// The same after a restart, whoever has published since.
Task<Result<std::vector<std::string>>> Outboxes::choose_people() {
  // If it is not known since when they are missed, it may be as long as anything is looked for.
  const bool is_known = people_known_until_ != WallTime::min();
  const WallTime to = is_known ? people_known_until_ : clock_.wall_now();
  const WallTime from = to - (is_known ? kBack : 2 * kBack);
  const std::map<std::string, WallTime> senders = instances_.senders_of_all();
  LatestAuthors latest({.of_host = kAuthorsOfHostMax, .all = kAuthorsMax});
  std::string after;
  for (;;) {
    CO_TRY(const std::vector<delivery::Store::Written> posts,
           co_await store_.written_after(after, kPostsAtOnce));
    for (const delivery::Store::Written& post : posts) {
      if (!post.has_tags || post.published <= from || post.published > to) continue;
      const std::string host = host_of(post.author);
      if (senders.contains(host)) latest.add(host, post.author, post.published);
    }
    if (posts.size() < kPostsAtOnce) co_return latest.chosen();
    after = posts.back().uri;
    const Instant next = clock_.now() + kBetweenLooks;
    co_await clock_.sleep_until(next);
  }
}

Task<void> Outboxes::read_host(KnownOf whom, std::string host, std::deque<Reading> waiting) {
  const Instant end = clock_.now() + kPatience;
  Duration pause = kFirstPause;
  std::size_t found = 0;
  while (!waiting.empty() && clock_.now() < end) {
    Reading reading = std::move(waiting.front());
    waiting.pop_front();
    const Result<void> read = co_await go_on(&reading);
    found += std::exchange(reading.found, 0);
    if (read) pause = kFirstPause;
    const bool is_enough = !read && read.error().code == ErrorCode::kBusy;
    if (!is_enough && (read || !is_unanswered(read.error()))) continue;
    // Behind the others: it may be that one alone.
    waiting.push_back(std::move(reading));
    if (is_enough) break;
    Instant next = client_.hosts().of(host)->fetch_again;
    if (next <= clock_.now()) {
      next = clock_.now() + pause;
      pause = std::min(pause * 2, kLongestPause);
    }
    co_await clock_.sleep_until(next);
  }
  if (found > 0 || !waiting.empty())
    log_.info("outboxes_read", {{"host", host}, {"posts", found}, {"unread", waiting.size()}});
  co_await end_one(whom);
}

Task<void> Outboxes::end_one(KnownOf whom) {
  if (--unread_[whom] == 0) co_await drop_known();
}

// Each host in its turn.
Task<Result<void>> Outboxes::wait(const Reading* reading) {
  const bool is_followed = reading->whom == KnownOf::kSources;
  std::size_t& requests = requests_[reading->whom];
  if (requests >= (is_followed ? kRequestsMax : kRequestsForInstances))
    co_return fail(ErrorCode::kBusy, "enough was asked for");
  ++requests;
  const Instant next = std::max(next_request_, clock_.now()) + kBetween;
  next_request_ = next;
  co_await clock_.sleep_until(next);
  // An instance may have left, or been blocked, while it was waited for.
  const std::string& actor = reading->source.actor;
  if (!is_followed && !(instances_.sends_all(host_of(actor)) && fetched_.takes(actor)))
    co_return fail(ErrorCode::kDenied, "it does not publish here any more");
  co_return Result<void>();
}

Task<Result<json::object>> Outboxes::get(std::string url, const Reading* reading) {
  if (!fediverse::is_same_origin(url, reading->source.actor))
    co_return fail(ErrorCode::kInvalid, "the outbox is elsewhere");
  CO_TRY_VOID(co_await wait(reading));
  CO_TRY(const std::string body, co_await client_.fetch_body(std::move(url)));
  co_return fediverse::parse_document(body);
}

// A post that an outbox names, by itself or by its Create, and of a relay or a group (FEP-1b12) by what is
// announced of it; empty if it is none that could be published.
Outboxes::Listed Outboxes::post_in(const json::value& item, bool of_person, WallTime now) {
  const json::value* object = of_person ? &item : object_of(item, {"Announce"});
  if (object != nullptr) object = object_of(*object, {"Create", "Update"});
  if (object == nullptr) return {};
  const json::object* note = object->is_object() ? &object->get_object() : nullptr;
  const bool is_whole =
      note != nullptr && json::find(*note, "type") != nullptr;  // else an id, in braces or not
  if (!is_whole) return {.uri = json::id_of(*object)};
  if (!fediverse::is_post(*note)) return {};
  Listed listed{.uri = json::id_of(*object), .updated = from_rfc3339(json::text_of(*note, "updated"))};
  // One that does not say for whom it is may lack its hashtags, too.
  if (json::find(*note, "to") == nullptr) return listed;
  const Result<fediverse::Note> shown = fediverse::parse_fetched_note(*note, now);
  listed.is_bare = shown && (shown->tags.empty() || shown->visibility != fediverse::Visibility::kPublic);
  return listed;
}

Outboxes::Page Outboxes::read_page(const json::object& page, bool of_person, WallTime not_before) const {
  Page read{.posts = {}, .is_old = false, .next = json::id_of(page, "next")};
  if (read.next.size() > fediverse::kIdSizeMax) read.next.clear();
  std::size_t bare = 0;
  std::size_t others = 0;
  json::for_each(items_of(page), [&](const json::value& item) {
    if (is_before(item, not_before)) {
      read.is_old = true;
      return;
    }
    Listed post = post_in(item, of_person, clock_.wall_now());
    if (post.uri.empty() || post.uri.size() > kUriMax) return;
    std::size_t& count = post.is_bare ? bare : others;
    if (++count <= kItemsMax) read.posts.push_back(std::move(post));
  });
  return read;
}

Task<Result<bool>> Outboxes::publish(std::vector<Listed> posts, Reading* reading, WallTime not_before) {
  const std::string actor = reading->source.actor;
  const bool is_person = reading->source.is_person;
  bool reached_known = false;
  for (const auto& [uri, updated, is_bare] : posts) {
    const std::size_t hash = std::hash<std::string>()(uri);
    if (!is_bare) reading->listed.insert(hash);
    if (const auto before = fetched_before_.find(hash); before != fetched_before_.end()) {
      reached_known = reached_known || before->second;
      continue;
    }
    CO_TRY(const std::optional<delivery::PublishedPost> known, co_await store_.find_post(uri));
    reached_known = reached_known || (known && known->published <= reading->known_until);
    if (known) reading->oldest_known = std::min(reading->oldest_known, known->published);
    const bool is_later = known && updated && *updated > std::max(known->changed, known->published);
    const bool has_lost_its_tags = is_bare && known && !known->tags.empty();
    const bool is_wanted = known ? is_later || has_lost_its_tags : !is_bare;
    if (!is_wanted || (is_person && !fediverse::is_same_origin(uri, actor))) continue;
    CO_TRY_VOID(co_await wait(reading));
    const auto taken = co_await fetched_.announced(
        uri,
        {.not_before = not_before, .by = is_person ? actor : std::string(), .is_update = known.has_value()});
    if (!taken && is_unanswered(taken.error())) {
      if (!client_.hosts().may_fetch(host_of(actor))) co_return std::unexpected(taken.error());
      // Or one that is never shown, or is elsewhere, would hold up those behind it.
      reading->lacks_some = true;
      continue;
    }
    const bool is_too_old = taken && *taken == FetchedPosts::kTooOld;
    fetched_before_.emplace(hash, is_too_old);
    reached_known = reached_known || is_too_old;
    reading->found += taken && taken->empty() ? 1 : 0;
  }
  co_return reached_known;
}

// What is known of the time that the pages are of, and is not on them, may have been deleted.
Task<Result<void>> Outboxes::look_at_missing(const Reading* reading, WallTime not_before) {
  const std::string actor = reading->source.actor;
  bool lacks_some = false;
  std::string after;
  for (;;) {
    CO_TRY(const std::vector<delivery::PublishedPost> posts,
           co_await store_.posts_of(actor, after, kKnownAtOnce, delivery::Store::PostsOf::kRelayed));
    if (posts.empty()) break;
    after = posts.back().uri;
    for (const delivery::PublishedPost& post : posts) {
      const std::size_t hash = std::hash<std::string>()(post.uri);
      const bool is_of_then = post.published >= not_before && post.published <= reading->known_until;
      if (!is_of_then || reading->listed.contains(hash) || fetched_before_.contains(hash)) continue;
      CO_TRY_VOID(co_await wait(reading));
      const auto looked = co_await fetched_.announced(post.uri, {.by = actor, .is_update = true});
      if (looked || !is_unanswered(looked.error())) {
        fetched_before_.emplace(hash, false);
        continue;
      }
      if (!client_.hosts().may_fetch(host_of(actor))) co_return std::unexpected(looked.error());
      lacks_some = true;
    }
  }
  if (lacks_some) co_return fail(ErrorCode::kUnavailable, "not all posts could be looked at");
  co_return Result<void>();
}

Task<Result<std::string>> Outboxes::outbox_of(const Reading* reading) {
  CO_TRY(const json::object profile, co_await get(reading->source.actor, reading));
  co_return json::id_of(profile, "outbox");
}

Task<Result<json::object>> Outboxes::first_page(Reading* reading) {
  CO_TRY(std::string url, co_await outbox_of(reading));
  CO_TRY(json::object outbox, co_await get(std::move(url), reading));
  const json::value* first = json::find(outbox, "first");
  if (first == nullptr) co_return outbox;
  if (first->is_object() && items_of(first->get_object()) != nullptr) {
    json::object inner = first->get_object();
    co_return inner;
  }
  reading->next = json::id_of(*first);
  if (reading->next.empty() && first->is_object())  // a Link
    reading->next = json::text_of(first->get_object(), "href");
  outbox.clear();
  co_return co_await get(reading->next, reading);
}

Task<Result<void>> Outboxes::go_on(Reading* reading) {
  const instances::Instances::Source& source = reading->source;
  const WallTime not_before = std::max(source.since, clock_.wall_now() - kBack);
  WallTime begin = not_before;  // of what the pages list
  for (;;) {
    Page page;
    {  // documents are large, and many hosts may wait for their turn
      Result<json::object> document;
      if (reading->next.empty()) {
        document = co_await first_page(reading);
      } else {
        document = co_await get(reading->next, reading);
      }
      if (!document) co_return std::unexpected(document.error());
      page = read_page(*document, source.is_person, not_before);
    }
    CO_TRY(const bool reached_known, co_await publish(std::move(page.posts), reading, not_before));
    const bool is_whole = page.is_old || page.next.empty();
    begin = is_whole ? not_before : std::max(not_before, reading->oldest_known);
    if (reached_known || is_whole || ++reading->pages == kPagesMax) break;
    reading->next = std::move(page.next);
  }
  if (!reading->lacks_some && source.is_person) co_return co_await look_at_missing(reading, begin);
  if (!reading->lacks_some) co_return Result<void>();
  *reading = {.whom = reading->whom,
              .source = reading->source,
              .known_until = reading->known_until,
              .found = reading->found};
  co_return fail(ErrorCode::kUnavailable, "not all posts could be had");
}

}  // namespace tagring::publisher
