#include "activitypub/resolver.hpp"

#include "delivery/results.hpp"
#include "fediverse/negotiation.hpp"
#include "hashtag/uri.hpp"
#include "http/http_error.hpp"
#include "ring/contact.hpp"

namespace tagring::activitypub {
namespace {

// The hashtag's actor at each of these nodes.
json::array actors_at(const std::vector<ring::Contact>& owners, const Tag& tag) {
  json::array actors;
  for (const ring::Contact& owner : owners)
    actors.push_back(json::value(fediverse::NodeUrls(owner.origin()).tag_actor(tag)));
  return actors;
}

}  // namespace

Task<HttpResponse> Resolver::answer(HttpRequest request) {
  const std::string query(query_of(request.target));
  const Result<Tag> tag = parse_hashtag_uri(query_value(query, "uri"));
  if (!tag) co_return error_response(tag.error());
  if (blocks_.of_tag(tag->canonical()) != nullptr)
    co_return error_response({ErrorCode::kNotFound, "this hashtag is not offered here"});
  HttpResponse response;
  if (fediverse::prefers_activities_to_json(request.headers.joined("Accept").value_or(""))) {
    response = redirect(303, identity_.tag_actor(*tag));
  } else {
    const Result<json::object> found = co_await resolve(*tag, request.peer);
    if (!found) co_return error_response(found.error());
    response = json_response(*found);
  }
  response.headers.add("Vary", "Accept");
  co_return response;
}

Task<Result<json::object>> Resolver::resolve(Tag tag, IpAddress asker) {
  const budget::Share share(&budget_, budget::Resource::kLookUps, budget_.who(asker));
  if (!share.is_granted()) co_return fail(ErrorCode::kBusy, "too many look-ups at once");
  std::vector<Task<std::vector<ring::Contact>>> questions;
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) questions.push_back(history_.owners(ring, tag));
  const std::vector<std::vector<ring::Contact>> owners = co_await all_of(std::move(questions));
  if (owners[0].empty() && owners[1].empty())
    co_return fail(ErrorCode::kUnavailable, "no owner of the hashtag was found");
  co_return json::object{{"uri", hashtag_uri(tag)},
                         {"tag", tag.canonical()},
                         {"key", tag.key().hex()},
                         {"actor", identity_.tag_actor(tag)},
                         {"relay", actors_at(owners[0], tag)},
                         {"storage", actors_at(owners[1], tag)}};
}

}  // namespace tagring::activitypub
