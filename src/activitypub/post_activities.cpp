#include "activitypub/post_activities.hpp"

#include <set>

#include "activitypub/answers.hpp"
#include "http/http_error.hpp"

namespace tagring::activitypub {
namespace {

HttpResponse respond(const publisher::Publisher::Outcome& outcome) {
  if (!outcome) return error_response(outcome.error());
  return outcome->empty() ? accepted() : ignored(*outcome);
}

// Of a post that was named by its URI. That its server does not show it, or shows no such thing, is no fault
// of who named it: servers count refusals, and take 404 for the end of the inbox.
HttpResponse respond_about_named(const publisher::Publisher::Outcome& outcome) {
  if (outcome) return respond(outcome);
  const ErrorCode why = outcome.error().code;
  const bool is_not_shown =
      why == ErrorCode::kNotFound || why == ErrorCode::kDenied || why == ErrorCode::kInvalid;
  return is_not_shown ? ignored("what was named is not shown by its server") : respond(outcome);
}

}  // namespace

Task<HttpResponse> PostActivities::post(fediverse::Note note, fediverse::RemoteActor author, bool is_update,
                                        std::string signed_body) {
  co_return respond(
      co_await publisher_.post(std::move(note), std::move(author), is_update, std::move(signed_body)));
}

Task<HttpResponse> PostActivities::deletion(fediverse::Delete deletion, std::string actor, std::string body) {
  std::string signed_body = deletion.is_signed ? std::move(body) : std::string();
  if (deletion.uri == actor)
    co_return respond(co_await publisher_.gone(std::move(actor), /*is_signed=*/true, std::move(signed_body)));
  co_return respond(
      co_await publisher_.deletion(std::move(deletion.uri), std::move(actor), std::move(signed_body)));
}

Task<HttpResponse> PostActivities::changed(std::string author, fediverse::UpdateActor update,
                                           std::string body) {
  std::string signed_body = update.is_signed && update.suspends() ? std::move(body) : std::string();
  co_return respond(
      co_await publisher_.changed(std::move(author), std::move(update.profile), std::move(signed_body)));
}

Task<HttpResponse> PostActivities::gone(std::string author) {
  const Result<bool> is_looked_at = co_await publisher_.look_for(std::move(author));
  if (!is_looked_at) co_return error_response(is_looked_at.error());
  if (*is_looked_at) co_return ignored("an account whose key is not known here is gone: it is looked for");
  co_return ignored("an account whose key was never known here is gone");
}

Task<Result<void>> PostActivities::blocked(std::string author) {
  return publisher_.refused_by(std::move(author));
}

Task<HttpResponse> PostActivities::announced(fediverse::Announce announce) {
  using Of = fediverse::Announce::Of;
  if (announce.posts.size() != 1) co_return ignored("a relay announces one post at a time");
  std::string uri = std::move(announce.posts.front().uri);
  publisher::FetchedPosts::Told told{.is_update = announce.of == Of::kUpdate, .by_id_only = true};
  const publisher::Publisher::Outcome outcome = announce.of == Of::kDelete
                                                    ? co_await fetched_.deleted(uri)
                                                    : co_await fetched_.announced(uri, std::move(told));
  if (outcome || !is_unanswered(outcome.error())) co_return respond_about_named(outcome);
  const Result<bool> noted = co_await fetched_.ask_later(std::move(uri));
  if (!noted) co_return error_response(noted.error());
  co_return ignored(*noted ? "the post's server does not answer now: it is asked later"
                           : "the post's server does not answer, and too many of its posts wait already");
}

Task<HttpResponse> PostActivities::reported(fediverse::Flag flag, std::string activity,
                                            std::string reporter) {
  std::vector<std::string> about;
  std::set<std::string> named;  // thousands, maybe
  const auto add = [&](std::string uri) {
    if (named.insert(uri).second) about.push_back(std::move(uri));
  };
  for (std::string& object : flag.objects) {
    if (announced_.may_be_read(object))
      co_return error_response({ErrorCode::kUnavailable, std::string(Announced::kBeingRead)});
    // Mastodon names what it has of the reported actor: announcements, which say nothing to who reads that,
    // and would leave no room for the posts.
    std::optional<Announced::Named> announcement = announced_.named_by(object);
    if (announcement) add(std::move(announcement->actor));
    add(announcement ? std::move(announcement->post) : std::move(object));
  }
  flag.objects = std::move(about);
  co_return respond(co_await reports_.take(std::move(flag), std::move(activity), std::move(reporter)));
}

Task<HttpResponse> PostActivities::told(fediverse::Told told, std::string actor) {
  publisher::FetchedPosts::Told how{.by = std::move(actor), .is_update = told.is_update, .by_id_only = true};
  co_return respond_about_named(co_await fetched_.announced(std::move(told.uri), std::move(how)));
}

}  // namespace tagring::activitypub
