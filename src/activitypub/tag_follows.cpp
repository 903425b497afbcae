#include "activitypub/tag_follows.hpp"

#include <set>

#include "activitypub/answers.hpp"
#include "delivery/results.hpp"
#include "delivery/wire.hpp"
#include "fediverse/builders.hpp"
#include "fediverse/documents.hpp"
#include "hashtag/tag.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::activitypub {

Task<HttpResponse> TagFollows::follow(std::vector<delivery::Follower> followers, std::string actor,
                                      fediverse::RemoteActor sender, std::string body) {
  const std::string id = activities_.fresh_answer_id(actor, followers.front().follow_id);
  const Tag tag = followers.front().tag;
  const federation::ActivityQueue::ComingAccept coming(activities_, actor, host_of(sender.inbox));
  const Result<void> followed = co_await followers_.follow(std::move(followers));
  if (!followed) co_return error_response(followed.error());
  Result<void> answered =
      co_await activities_.send(actor, sender.inbox, delivery::accept_activity(id, actor, body));
  if (answered) answered = co_await tell_former_node(tag, sender.id);
  co_return answered ? accepted() : error_response(answered.error());
}

// Misskey and Pleroma follow the new actor, and do not say that they follow the old one no more: they would
// get each post twice.
Task<Result<void>> TagFollows::tell_former_node(const Tag& tag, const std::string& follower) {
  const std::string inbox = identity_.moved_from + "/inbox";
  if (identity_.moved_from.empty() || !activities_.check_room(inbox)) co_return Result<void>();
  const std::string actor = identity_.tag_actor(tag);
  const std::string id = activities_.fresh_id(actor, "removes", follower);
  const std::string from = fediverse::actor_at(identity_.moved_from, tag);
  std::string remove = json::serialize(fediverse::make_remove_follower(id, actor, follower, from));
  co_return co_await activities_.send(actor, inbox, std::move(remove));
}

Task<HttpResponse> TagFollows::reject(std::string actor, std::string follow_id, fediverse::RemoteActor sender,
                                      std::string body) {
  const std::string id = activities_.fresh_answer_id(actor, follow_id);
  const Result<void> answered =
      co_await activities_.send(actor, sender.inbox, delivery::reject_activity(id, actor, body));
  co_return answered ? accepted() : error_response(answered.error());
}

Task<HttpResponse> TagFollows::follow_as_node(std::vector<delivery::Follower> followers) {
  const std::size_t asked = followers.size();
  std::set<Tag> tags;
  for (const delivery::Follower& follower : followers) tags.insert(follower.tag);
  const Result<std::vector<delivery::Refusal>> refusals = co_await take_served(std::move(followers));
  co_return refusals ? delivery::results_response(asked, *refusals, redundancy_.news(tags, {}))
                     : error_response(refusals.error());
}

// A node follows owners only.
Task<Result<std::vector<delivery::Refusal>>> TagFollows::take_served(
    std::vector<delivery::Follower> followers) {
  std::vector<delivery::Refusal> refusals;
  std::vector<delivery::Follower> served;
  for (delivery::Follower& follower : followers) {
    Result<void> serving = owner_.check_serving(follower.tag);
    if (serving) serving = blocks_.check_tag(follower.tag.canonical());
    if (serving) {
      served.push_back(std::move(follower));
    } else if (redundancy_.is_draining(follower.tag, follower.inbox)) {
      // Not "not_owner": who leaves waits for that. Not taken either: whoever comes would be forgotten.
      refusals.push_back({"", follower.tag, {ErrorCode::kBusy, "this relay still delivers what it took"}});
    } else {
      if (serving.error().code == ErrorCode::kNotOwner)
        redundancy_.doubt(follower.tag, host_of(follower.actor));
      refusals.push_back({"", follower.tag, serving.error()});
    }
  }
  for (delivery::Follower& follower : followers_.take_out_excess(&served))
    refusals.push_back({"",
                        std::move(follower.tag),
                        {ErrorCode::kUnavailable, "too many hashtags are followed from there"}});
  for (const delivery::Follower& follower : served)
    redundancy_.note_request(follower.tag, follower.actor, /*follows=*/true);
  if (!served.empty()) {
    CO_TRY_VOID(co_await followers_.follow(std::move(served)));
  }
  co_return refusals;
}

Task<Result<void>> TagFollows::unfollow(std::vector<std::pair<Tag, std::string>> pairs, Undone undone) {
  for (const auto& [tag, actor] : pairs) {
    const bool is_noted = undone == Undone::kByNode || (undone == Undone::kByPeople && follows(tag, actor));
    if (is_noted) redundancy_.note_request(tag, actor, /*follows=*/false);
  }
  return followers_.unfollow(std::move(pairs));
}

}  // namespace tagring::activitypub
