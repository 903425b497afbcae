#include "reports/reports.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "base/printable.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/builders.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/note.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/url.hpp"

namespace tagring::reports {

using budget::Resource;

Task<Result<void>> Reports::load() {
  CO_TRY(const std::vector<std::string> reporters, co_await store_.open_reporters());
  for (const std::string& reporter : reporters)
    budget_.count(Resource::kReports, budget_.who(host_of(reporter)));
  co_await look_for_oldest();
  co_return Result<void>();
}

Task<void> Reports::look_for_oldest() {
  const std::uint64_t look = ++looks_;
  const Result<std::optional<WallTime>> oldest = co_await store_.oldest_open();
  if (oldest && look == looks_) oldest_ = *oldest;
}

bool Reports::is_own(const std::string& uri) const {
  return fediverse::is_same_origin(uri, client_.identity().actor());
}

Task<Result<std::string>> Reports::take(fediverse::Flag flag, std::string activity, std::string reporter) {
  if (std::ranges::none_of(flag.objects, [&](const std::string& uri) { return is_own(uri); }))
    co_return "a report about nothing of this node";
  const budget::Spender server = budget_.who(host_of(reporter));
  // Not to be sent again: only the administrator makes room, and until then the sender's queue is not held
  // up.
  if (budget_.take(Resource::kReports, server) > Duration::zero())
    co_return "too many reports wait for this node's administrator";
  // What of this node it is about comes first, and is not cut off.
  std::vector<std::string> about_all;
  for (const bool own : {true, false})
    std::ranges::copy_if(flag.objects, std::back_inserter(about_all),
                         [&](const std::string& uri) { return is_own(uri) == own; });
  if (about_all.size() > kAboutMax) about_all.resize(kAboutMax);
  Report report{.at = clock_.wall_now(),
                .activity = std::move(activity),
                .reporter = std::move(reporter),
                .comment = printable(cut_utf8(flag.comment, kCommentMax)),
                .about = std::move(about_all),
                .forwarded = {}};
  const std::string by = report.reporter;
  const std::string about = report.about.front();
  const Result<bool> fresh = co_await store_.add_report(std::move(report));
  if (!fresh || !*fresh) budget_.give_back(Resource::kReports, server);
  if (!fresh) co_return std::unexpected(fresh.error());
  if (!*fresh) co_return "";
  log_.warn("report", {{"by", by}, {"about", about}, {"see", "tagring report list"}});
  co_await look_for_oldest();
  co_return "";
}

Task<Result<std::vector<Report>>> Reports::list(std::size_t limit) { return store_.reports(limit); }

Task<Result<void>> Reports::close(std::uint64_t id) {
  CO_TRY(const Report report, co_await store_.report(id));
  CO_TRY(const bool closed, co_await store_.close_report(id, kClosedMax));
  if (!closed) co_return fail(ErrorCode::kConflict, fmt::format("report {} is closed already", id));
  budget_.give_back(Resource::kReports, budget_.who(host_of(report.reporter)));
  co_await look_for_oldest();
  co_return Result<void>();
}

Task<Result<std::vector<std::string>>> Reports::forward(std::uint64_t id, std::string uri) {
  const Held forwarding(forwarding_, id);
  if (!forwarding.is_first())
    co_return fail(ErrorCode::kConflict, fmt::format("report {} is being handed on already", id));
  CO_TRY(const Report report, co_await store_.report(id));
  std::vector<std::string> posts;
  if (!uri.empty()) {
    posts.push_back(std::move(uri));
  } else {
    // So that who asks again, since one could not be told, tells nobody twice.
    std::ranges::copy_if(report.about, std::back_inserter(posts), [&](const std::string& named) {
      return !is_own(named) && std::ranges::find(report.forwarded, named) == report.forwarded.end();
    });
  }
  if (posts.empty())
    co_return fail(
        ErrorCode::kInvalid,
        fmt::format("report {} names nothing of which its server was not told; say what else: tagring "
                    "report forward {} URI",
                    id, id));
  co_return co_await tell_of_all(id, std::move(posts), report.comment);
}

Task<Result<std::vector<std::string>>> Reports::tell_of_all(std::uint64_t id, std::vector<std::string> uris,
                                                            std::string comment) {
  std::vector<std::string> told;
  std::optional<Error> failure;
  const auto note = [&](const std::string& uri, const Result<void>& done) {
    if (done) {
      told.push_back(uri);
      return;
    }
    const std::string& message = done.error().message;
    const std::string why = uris.size() > 1 ? fmt::format("{}: {}", uri, message) : message;
    failure = failure ? Error{failure->code, failure->message + "; " + why} : Error{done.error().code, why};
  };
  std::set<std::string> authors;
  std::vector<Named> people;
  for (const std::string& uri : uris) {
    Result<Named> named = co_await look_up(uri);
    if (!named) {
      note(uri, std::unexpected(named.error()));
    } else if (named->is_person()) {
      people.push_back(*std::move(named));
    } else {
      const Result<void> done = co_await tell_of(id, *named, comment);
      if (done) authors.insert(named->actor.id);
      note(uri, done);
    }
  }
  for (const Named& person : people) {
    // With a post of theirs they were named already.
    const bool is_told = authors.contains(person.actor.id);
    if (is_told) {
      note(person.uri, co_await store_.note_forwarded(id, person.uri));
    } else {
      note(person.uri, co_await tell_of(id, person, comment));
    }
  }
  if (!failure) co_return told;
  if (!told.empty()) failure->message += fmt::format(". Told of: {}", fmt::join(told, ", "));
  co_return std::unexpected(*std::move(failure));
}

Task<Result<Reports::Named>> Reports::look_up(std::string uri) {
  if (!Url::parse(uri) || is_own(uri))
    co_return fail(ErrorCode::kInvalid,
                   "'" + uri + "' is not the URL of somebody's post elsewhere, nor of somebody");
  CO_TRY(const std::string body, co_await client_.fetch_body(uri));
  CO_TRY(json::object document, fediverse::parse_document(body));
  Named named{.uri = std::move(uri), .actor = {}};
  const Result<fediverse::Note> note = fediverse::parse_fetched_note(document, clock_.wall_now());
  const bool is_post = note && note->id == named.uri;
  if (is_post) {
    CO_TRY(const std::string profile, co_await client_.fetch_body(note->author));
    CO_TRY(document, fediverse::parse_document(profile));
  }
  Result<fediverse::RemoteActor> actor = fediverse::parse_actor(document, is_post ? note->author : named.uri);
  // By its one id, as a post.
  if (!is_post && (!actor || actor->id != named.uri))
    co_return fail(ErrorCode::kInvalid,
                   named.uri + " is no post of an author on that server, and nobody there");
  CO_TRY(named.actor, std::move(actor));
  co_return named;
}

Task<Result<void>> Reports::tell_of(std::uint64_t id, Named named, std::string comment) {
  const std::string self = client_.identity().actor();
  std::vector<std::string> about = {named.actor.id};
  if (!named.is_person()) about.push_back(named.uri);
  const json::object flag =
      fediverse::make_flag(activities_.fresh_id(self, "flags", named.uri), self, comment, about);
  CO_TRY_VOID(co_await activities_.send(self, named.actor.inbox, json::serialize(flag)));
  log_.info("report_forwarded",
            {{"report", std::to_string(id)}, {"about", named.uri}, {"to", named.actor.inbox}});
  co_return co_await store_.note_forwarded(id, std::move(named.uri));
}

}  // namespace tagring::reports
