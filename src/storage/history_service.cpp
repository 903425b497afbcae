#include "storage/history_service.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <ranges>
#include <set>

#include "base/bytes.hpp"
#include "delivery/results.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::storage {
namespace {

constexpr std::size_t kLooksAtOnce = 16;
// For posts about which owners differ, a reader waits no longer than for those that are looked at by then.
constexpr Duration kLooksFor = std::chrono::seconds(8);

// An owner that does would count as several.
bool names_one_twice(const std::vector<HistoryEntry>& entries) {
  std::set<std::string_view> named;
  return !std::ranges::all_of(entries, [&](const HistoryEntry& e) { return named.insert(e.uri).second; });
}

// As the owner's own word, or as what it was told.
bool shows(const HistoryPage& page, const std::string& uri, bool heard) {
  const auto shown = std::ranges::find(page.entries, uri, &HistoryEntry::uri);
  return shown != page.entries.end() && !shown->removed && shown->is_hearsay() == heard;
}

}  // namespace

Task<std::vector<ring::Contact>> HistoryService::owners(Ring ring, Tag tag) {
  std::vector<RingId> positions;
  const unsigned count = replicas(ring);
  for (unsigned i = 0; i < count; ++i) positions.push_back(replica_key(tag.key(), i, count));
  co_return co_await owners_of(ring, std::move(positions));
}

Task<std::vector<ring::Contact>> HistoryService::owners_of_partition(redundancy::Partition partition) {
  std::vector<RingId> positions;
  for (unsigned copy = 0; copy < kept_.copies(); ++copy)
    positions.push_back(replica_key(partition.key(), copy, kept_.copies()));
  return owners_of(Ring::kStorage, std::move(positions));
}

Task<std::vector<ring::Contact>> HistoryService::owners_of(Ring ring, std::vector<RingId> positions) {
  std::vector<ring::Contact> contacts;
  for (const RingId& position : positions) {
    const Result<ring::Owner> owner = co_await rings_.of(ring).find_owner(position);
    if (!owner || rings_.is_blocked(owner->contact.host)) continue;
    const bool known = std::ranges::any_of(
        contacts, [&](const ring::Contact& contact) { return contact.origin() == owner->contact.origin(); });
    if (!known) contacts.push_back(owner->contact);
  }
  co_return contacts;
}

void HistoryService::forget_owners(const Tag& tag) {
  const auto forget = [&](Ring ring, unsigned count) {
    for (unsigned i = 0; i < count; ++i) rings_.of(ring).forget_route(replica_key(tag.key(), i, count));
  };
  forget(Ring::kRelay, relay_replicas_);
  forget(Ring::kStorage, kept_.hints().known(tag).read_factor);
}

// --- asking ------------------------------------------------------------------------------------------------

Task<HistoryService::Page> HistoryService::read_here(redundancy::Partition partition, Wish wish) {
  const bool upwards = wish.newer && wish.cursor;
  Page page = upwards ? co_await kept_.history().page_after(partition, *std::move(wish.cursor), wish.limit)
                      : co_await kept_.history().page(partition, std::move(wish.cursor), wish.limit);
  if (page) kept_.vouch_for_given(&page->entries);
  co_return page;
}

Task<HistoryService::Page> HistoryService::ask(ring::Contact owner, redundancy::Partition partition,
                                               Wish wish) {
  if (rings_.of(Ring::kStorage).find(owner.id) != nullptr) {
    CO_TRY(HistoryPage here, co_await read_here(partition, std::move(wish)));
    for (HistoryEntry& entry : here.entries) entry.partition = partition.tag;
    co_return here;
  }
  std::string target = fmt::format("{}?tag={}&slot={}&limit={}", kPath,
                                   percent_encode(partition.tag.canonical()), partition.number, wish.limit);
  if (wish.cursor) target += (wish.newer ? "&after=" : "&before=") + percent_encode(wish.cursor->text());
  const std::string origin = owner.origin();
  CO_TRY(const json::object body, co_await rings_.ask_owner(std::move(owner), std::move(target),
                                                            clock_.now() + overlay::kOwnerTimeout));
  HistoryPage page;
  CO_TRY(page.entries, entries_from_json(json::find(body, "entries"), partition.tag));
  if (page.entries.size() > wish.limit || !std::ranges::is_sorted(page.entries, newer) ||
      names_one_twice(page.entries))
    co_return fail(ErrorCode::kInvalid, "a replica's page is too long, out of order, or names a post twice");
  std::erase_if(page.entries, [](const HistoryEntry& entry) {
    return !belief::is_sound(entry.uri, entry.author, entry.published);
  });
  page.more = json::get_flag(body, "more");
  page.kept_from = WallTime(Duration(json::get_int(body, "kept_from").value_or(0)));
  kept_.hints().read_answer(body, {partition.tag}, origin);
  co_return page;
}

bool HistoryService::is_at_rest(unsigned number) const {
  const std::vector<unsigned> parts = redundancy::partitions_of_set(kept_.copies(), kept_.at_rest());
  return std::ranges::find(parts, number) != parts.end();
}

// Once more after a new look-up, if the owner has changed or does not answer. Not for a part of which it says
// that it has none and that may be invented: there could be hundreds of them, so ask_part does that once.
template <class T>
Task<Result<T>> HistoryService::ask_copy(RingId position, ring::Contact owner,
                                         redundancy::Partition partition, Ask<T> ask) {
  Result<T> answer = co_await ask(owner, partition);
  if (answer) co_return answer;
  if (answer.error().code == ErrorCode::kNotOwner && !is_at_rest(partition.number)) co_return answer;
  rings_.of(Ring::kStorage).forget_route(position);
  Result<ring::Owner> now = co_await rings_.of(Ring::kStorage).find_owner(position);
  if (now && now->contact != owner && !rings_.is_blocked(now->contact.host))
    co_return co_await ask(std::move(now->contact), std::move(partition));
  co_return answer;
}

// Of a part, what its owners answer; kUnavailable if none does.
template <class T>
Task<Result<std::vector<T>>> HistoryService::ask_part(Tag tag, unsigned number, Ask<T> ask) {
  std::vector<Task<Result<T>>> asked;
  std::set<std::string> origins;
  for (unsigned copy = 0; copy < kept_.copies(); ++copy) {
    const RingId position = replica_key(redundancy::partition_key(tag.key(), number), copy, kept_.copies());
    const Result<ring::Owner> owner = co_await rings_.of(Ring::kStorage).find_owner(position);
    if (!owner || rings_.is_blocked(owner->contact.host)) continue;
    if (origins.insert(owner->contact.origin()).second)
      asked.push_back(ask_copy<T>(position, owner->contact, {tag, number}, ask));
  }
  std::vector<Result<T>> answers = co_await all_of(std::move(asked));
  std::vector<T> good;
  std::string failure = "no owner found";
  std::size_t strangers = 0;  // who have no such part
  for (Result<T>& answer : answers) {
    if (answer) {
      good.push_back(std::move(*answer));
      continue;
    }
    failure = answer.error().message;
    strangers += answer.error().code == ErrorCode::kNotOwner ? 1 : 0;
  }
  const RingId first = redundancy::partition_key(tag.key(), number);
  if (good.empty() && strangers > 0 && !is_at_rest(number)) {
    // They may have had it until just now.
    rings_.of(Ring::kStorage).forget_route(first);
    const Result<ring::Owner> now = co_await rings_.of(Ring::kStorage).find_owner(first);
    const bool is_other =
        now && !origins.contains(now->contact.origin()) && !rings_.is_blocked(now->contact.host);
    if (is_other) {
      redundancy::Partition partition{tag, number};
      Result<T> answer = co_await ask(now->contact, std::move(partition));
      if (answer) good.push_back(std::move(*answer));
    }
  }
  // That there are so many parts may be what a single owner says: where one knows nothing of a part, and none
  // has anything of it, the others are read without. (Were one that is silent believed more, liars could stop
  // every reader.)
  const bool is_invented = strangers > 0 && !is_at_rest(number);
  if (good.empty() && !is_invented)
    co_return fail(ErrorCode::kUnavailable, "no replica of the tag answered: " + failure);
  co_return good;
}

// Of all parts. How many there are is what the owners at rest answer, who are among the first to be asked.
template <class T>
Task<Result<std::vector<std::vector<T>>>> HistoryService::ask_parts(Tag tag, Ask<T> ask) {
  std::vector<std::vector<T>> parts;
  std::set<unsigned> asked;
  for (;;) {
    std::vector<Task<Result<std::vector<T>>>> questions;
    for (const unsigned number :
         redundancy::partitions_of_set(kept_.copies(), kept_.hints().known(tag).read_factor)) {
      if (asked.insert(number).second) questions.push_back(ask_part<T>(tag, number, ask));
    }
    if (questions.empty()) co_return parts;
    std::vector<Result<std::vector<T>>> answers = co_await all_of(std::move(questions));
    for (Result<std::vector<T>>& answer : answers) {
      CO_TRY(std::vector<T> part, std::move(answer));
      parts.push_back(std::move(part));
    }
  }
}

Task<Result<std::vector<HistoryPage>>> HistoryService::ask_all(Tag tag, Wish wish) {
  Ask<Answered> ask_one = [this, wish](ring::Contact owner, redundancy::Partition partition) {
    return ask_by_name(std::move(owner), std::move(partition), wish);
  };
  CO_TRY(std::vector<std::vector<Answered>> parts, co_await ask_parts<Answered>(tag, std::move(ask_one)));
  std::vector<HistoryPage> pages;
  for (std::vector<Answered>& part : parts) {
    std::vector<HistoryPage> checked = co_await cross_check(tag, wish, std::move(part));
    std::ranges::move(checked, std::back_inserter(pages));
  }
  co_return pages;
}

Task<Result<HistoryService::Answered>> HistoryService::ask_by_name(ring::Contact owner,
                                                                   redundancy::Partition partition,
                                                                   Wish wish) {
  std::string name = owner.origin();
  CO_TRY(HistoryPage page, co_await ask(std::move(owner), std::move(partition), std::move(wish)));
  co_return Answered{std::move(name), std::move(page)};
}

// --- where owners differ -----------------------------------------------------------------------------------

// Who was wrong lately is read only where there are not two others.
void HistoryService::leave_out_doubtful(std::vector<Answered>* answers) const {
  const auto doubtful = [this](const Answered& answer) {
    return origins_.standing().is_doubtful(answer.owner);
  };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(*answers, doubtful));
  if (may_leave_out(answers->size(), count)) std::erase_if(*answers, doubtful);
}

Task<std::vector<HistoryPage>> HistoryService::cross_check(Tag tag, Wish wish,
                                                           std::vector<Answered> answers) {
  const Instant end = clock_.now() + kLooksFor;
  Verdicts verdicts;
  std::vector<HistoryPage> owners;
  for (;;) {
    leave_out_doubtful(&answers);
    owners.clear();
    for (const Answered& answer : answers) owners.push_back(answer.page);
    std::vector<Disagreement> open = disagreements(owners, wish);
    std::erase_if(open, [&](const Disagreement& one) { return verdicts.contains(one.entry.uri); });
    if (open.empty()) break;
    // Whoever names enough servers that are slow could keep readers waiting.
    if (clock_.now() >= end) {
      for (const Disagreement& one : open)
        verdicts[one.entry.uri] = without_look(one, is_vouched(one, answers));
      continue;
    }
    if (open.size() > kLooksAtOnce) open.erase(open.begin() + kLooksAtOnce, open.end());
    std::map<std::string, std::vector<Disagreement>> by_host;  // no server is asked for two things at once
    for (Disagreement& one : open) by_host[host_of(one.entry.uri)].push_back(std::move(one));
    std::vector<Task<std::vector<Looked>>> looks;
    for (auto& [host, of_host] : by_host) looks.push_back(look_at_all(tag, answers, std::move(of_host), end));
    const std::vector<std::vector<Looked>> seen = co_await all_of(std::move(looks));
    for (const Looked& looked : seen | std::views::join) verdicts[looked.uri] = looked.verdict;
  }
  pass_over_lone_removals(wish, &owners);
  apply(verdicts, wish, &owners);
  pass_over_early_ends(wish.limit, &owners);
  if (!owners.empty()) owners.front().disputed = verdicts.size();
  co_return owners;
}

// What came of one look decides whether the next one at the same host is worth it.
Task<std::vector<HistoryService::Looked>> HistoryService::look_at_all(Tag tag,
                                                                      const std::vector<Answered>& answers,
                                                                      std::vector<Disagreement> of_host,
                                                                      Instant end) {
  std::vector<Looked> all;
  for (Disagreement& one : of_host) {
    const bool vouched = is_vouched(one, answers);
    if (clock_.now() >= end) {
      all.push_back({one.entry.uri, without_look(one, vouched)});
      continue;
    }
    all.push_back(co_await look(tag, std::move(one), vouched));
    note_who_is_right(answers, all.back());
  }
  co_return all;
}

// Who was told of it by another one that says so itself is not wrong about it: liars would have honest owners
// read last.
void HistoryService::note_who_is_right(const std::vector<Answered>& answers, const Looked& looked) {
  const bool is_said = std::ranges::any_of(
      answers, [&](const Answered& answer) { return shows(answer.page, looked.uri, /*heard=*/false); });
  for (const Answered& answer : answers) {
    if (is_said && shows(answer.page, looked.uri, /*heard=*/true)) continue;
    const std::optional<bool> right = is_right(answer.page, looked.uri, looked.verdict);
    if (right) origins_.standing().note(answer.owner, looked.uri, *right);
  }
}

// Most owners show it, and not only such as were wrong before. Where a host had nothing of what was named, a
// single owner that invented it must not hide what the others show, nor most owners show what they invent.
bool HistoryService::is_vouched(const Disagreement& disagreement,
                                const std::vector<Answered>& answers) const {
  const std::string& uri = disagreement.entry.uri;
  const auto vouches = [&](const Answered& answer) {
    const auto shown = std::ranges::find(answer.page.entries, uri, &HistoryEntry::uri);
    return shown != answer.page.entries.end() && !shown->removed &&
           origins_.standing().is_believed_about(answer.owner, host_of(uri));
  };
  return disagreement.shown_by * 2 > disagreement.asked && std::ranges::any_of(answers, vouches);
}

// The post's server decides; where it cannot be asked now, the most of the owners.
Task<HistoryService::Looked> HistoryService::look(Tag tag, Disagreement disagreement, bool is_vouched) {
  HistoryEntry entry = disagreement.entry;
  Result<belief::Answer> answer = fail(ErrorCode::kConflict, "");
  for (std::string& author : disagreement.authors) {
    if (answer || answer.error().code != ErrorCode::kConflict) break;
    entry.author = std::move(author);
    belief::Claim claim{.tag = tag,
                        .uri = entry.uri,
                        .author = entry.author,
                        .published = entry.published,
                        .changed = entry.changed,
                        .is_vouched = is_vouched};
    answer = co_await origins_.ask_about_dispute(std::move(claim));
  }
  if (answer) {
    entry.published = answer->published;
    co_return Looked{entry.uri, {entry}};
  }
  const ErrorCode why = answer.error().code;
  if (belief::is_refuted(why))
    co_return Looked{entry.uri,
                     {std::nullopt, /*is_certain=*/true, /*is_everywhere=*/why != ErrorCode::kConflict}};
  co_return Looked{entry.uri, without_look(disagreement, is_vouched)};
}

// As most owners say; where nothing was, only if one of them was not wrong before.
Verdict HistoryService::without_look(const Disagreement& disagreement, bool is_vouched) const {
  const bool is_nowhere = origins_.hosts().has_nothing(host_of(disagreement.entry.uri));
  const bool shown = is_nowhere ? is_vouched : disagreement.shown_by * 2 > disagreement.asked;
  return {shown ? std::optional(disagreement.entry) : std::nullopt, /*is_certain=*/false};
}

void HistoryService::hide(HistoryPage& page) const {
  std::erase_if(page.entries, [this](const HistoryEntry& entry) { return !is_shown(entry); });
}

// Another place of each page, so that all have their turn.
void HistoryService::note_read(const HistoryPage& page) {
  if (page.entries.empty()) return;
  lately_read_.push_back(page.entries[pages_read_++ % page.entries.size()]);
  if (lately_read_.size() > kLatelyReadMax) lately_read_.pop_front();
}

Task<Result<HistoryPage>> HistoryService::query(Tag tag, std::optional<HistoryCursor> cursor,
                                                std::size_t limit) {
  Wish wish{std::move(cursor), false, std::clamp<std::size_t>(limit, 1, kLimitMax)};
  const std::size_t clamped = wish.limit;
  CO_TRY(const std::vector<HistoryPage> pages, co_await ask_all(std::move(tag), std::move(wish)));
  HistoryPage merged = merge_pages(pages, clamped, /*keep_removed=*/false);
  hide(merged);
  note_read(merged);
  co_return merged;
}

Task<Result<HistoryPage>> HistoryService::query_newer(Tag tag, HistoryCursor cursor, std::size_t limit) {
  Wish wish{std::move(cursor), true, std::clamp<std::size_t>(limit, 1, kLimitMax)};
  const std::size_t clamped = wish.limit;
  CO_TRY(const std::vector<HistoryPage> pages, co_await ask_all(std::move(tag), std::move(wish)));
  HistoryPage merged = merge_newer_pages(pages, clamped);
  hide(merged);
  co_return merged;
}

// --- answering ---------------------------------------------------------------------------------------------

Task<HttpResponse> HistoryService::answer(HttpRequest request) {
  const std::string query(query_of(request.target));
  Wish wish;
  const std::string before = query_value(query, "before");
  const std::string after = query_value(query, "after");
  if (!before.empty() || !after.empty()) {
    wish.newer = before.empty();
    Result<HistoryCursor> parsed = HistoryCursor::parse(wish.newer ? after : before);
    if (!parsed) co_return error_response(parsed.error());
    wish.cursor = std::move(*parsed);
  }
  std::size_t limit = 40;
  if (const std::string text = query_value(query, "limit"); !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (error != std::errc() || end != text.data() + text.size() || limit == 0)
      co_return error_response({ErrorCode::kInvalid, "'limit' must be a number"});
  }
  const Result<redundancy::Partition> partition = kept_.asked_for(query);
  if (!partition) co_return error_response(partition.error());
  wish.limit = std::min(limit, kLimitMax);
  const Result<HistoryPage> page = co_await read_here(*partition, std::move(wish));
  if (!page) co_return error_response(page.error());
  json::object answer = kept_.news({partition->tag});
  answer["entries"] = to_json(page->entries, false);
  answer["more"] = page->more;
  if (page->kept_from != WallTime{}) answer["kept_from"] = to_ms(page->kept_from);
  co_return json_response(answer);
}

// --- days --------------------------------------------------------------------------------------------------

Task<HistoryService::Days> HistoryService::ask_days(ring::Contact owner, redundancy::Partition partition,
                                                    std::chrono::sys_days from, std::chrono::sys_days to) {
  if (rings_.of(Ring::kStorage).find(owner.id) != nullptr)
    co_return co_await kept_.history().days(partition, from, to);
  std::string target =
      fmt::format("{}?tag={}&slot={}&from={}&to={}", kDaysPath, percent_encode(partition.tag.canonical()),
                  partition.number, date(from), date(to));
  const std::string origin = owner.origin();
  CO_TRY(const json::object body, co_await rings_.ask_owner(std::move(owner), std::move(target),
                                                            clock_.now() + overlay::kOwnerTimeout));
  std::vector<HistoryDay> days;
  bool is_valid = true;
  json::for_each(json::find(body, "days"), [&](const json::value& v) {
    const json::object item = v.is_object() ? v.get_object() : json::object();
    const auto day = parse_date(json::text_of(item, "day"));
    const std::int64_t posts = json::get_int(item, "posts").value_or(-1);
    const std::int64_t authors = json::get_int(item, "authors").value_or(-1);
    is_valid = is_valid && day && *day >= from && *day < to && posts >= 0 && authors >= 0;
    if (is_valid)
      days.push_back({*day, static_cast<std::uint64_t>(posts), static_cast<std::uint64_t>(authors)});
  });
  if (!is_valid || days.size() > static_cast<std::size_t>((to - from).count()))
    co_return fail(ErrorCode::kInvalid, "a replica's days are none that were asked for");
  kept_.hints().read_answer(body, {partition.tag}, origin);
  co_return days;
}

Task<Result<std::vector<HistoryDay>>> HistoryService::query_days(Tag tag, std::chrono::sys_days from,
                                                                 std::chrono::sys_days to) {
  if (to <= from || to - from > kDaysMax) co_return fail(ErrorCode::kInvalid, "no such span of days");
  using List = std::vector<HistoryDay>;
  Ask<List> ask_one = [this, from, to](ring::Contact owner, redundancy::Partition partition) {
    return ask_days(std::move(owner), std::move(partition), from, to);
  };
  CO_TRY(const std::vector<std::vector<List>> answers,
         co_await ask_parts<List>(std::move(tag), std::move(ask_one)));
  std::vector<List> parts;
  for (const std::vector<List>& part : answers) parts.push_back(merge_days(part));
  co_return add_days(parts);
}

Task<HttpResponse> HistoryService::answer_days(HttpRequest request) {
  const std::string pairs(query_of(request.target));
  const auto from = parse_date(query_value(pairs, "from"));
  const auto to = parse_date(query_value(pairs, "to"));
  if (!from || !to || *to <= *from || *to - *from > kDaysMax)
    co_return error_response({ErrorCode::kInvalid, "'from' and 'to' must be days, at most ten years apart"});
  const Result<redundancy::Partition> partition = kept_.asked_for(pairs);
  if (!partition) co_return error_response(partition.error());
  const Days days = co_await kept_.history().days(*partition, *from, *to);
  if (!days) co_return error_response(days.error());
  json::array list;
  for (const HistoryDay& day : *days) {
    list.push_back(json::object{{"day", date(day.day)}, {"posts", day.posts}, {"authors", day.authors}});
  }
  json::object answer = kept_.news({partition->tag});
  answer["days"] = std::move(list);
  co_return json_response(answer);
}

}  // namespace tagring::storage
