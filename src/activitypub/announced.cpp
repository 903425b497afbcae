#include "activitypub/announced.hpp"

#include <algorithm>
#include <vector>

#include "base/counted.hpp"
#include "delivery/wire.hpp"
#include "fediverse/vocabulary.hpp"
#include "hashtag/tag.hpp"
#include "http/http_error.hpp"

namespace tagring::activitypub {
namespace {

using delivery::Via;
using fediverse::Audience;

}  // namespace

void Announced::note(const delivery::TagEvent& event) {
  const auto* targets = followers_.all().targets(event.tag);
  if (event.is_edit() || event.is_repeat() || (targets == nullptr && event.op == delivery::Op::kAdd)) return;
  std::set<Via> ways;
  if (targets != nullptr) {
    for (const auto& [inbox, target] : *targets) ways.insert(target.via());
  }
  const bool is_removed = event.op == delivery::Op::kRemove;
  if (is_removed || ways.contains(Via::kRelay)) note(identity_.actor(), Audience::kFollowers, event);
  if (is_removed || ways.contains(Via::kBareRelay)) note(identity_.relay(), Audience::kFollowers, event);
  if (!is_removed && !ways.contains(Via::kBoost) && !ways.contains(Via::kTagRelay)) return;
  // Where there are both, people are told more than relays.
  note(identity_.tag_actor(event.tag), ways.contains(Via::kBoost) ? Audience::kPublic : Audience::kFollowers,
       event);
}

void Announced::note(const std::string& actor, Audience audience, const delivery::TagEvent& event) {
  std::string id = delivery::announce_id(identity_, actor, event.tag, event.uri, event.announced);
  auto known = by_id_.find(id);
  if (event.op == delivery::Op::kRemove) {
    shown_.erase(id);
    if (known != by_id_.end() && known->second.tags.erase(event.tag) > 0 && known->second.tags.empty())
      by_id_.erase(known);
    return;
  }
  if (known == by_id_.end()) {
    make_room(by_id_, kMax);
    One one{actor, audience, event.uri, event.author, event.published, {}, {}};
    known = by_id_.emplace(std::move(id), std::move(one)).first;
  }
  known->second.tags.insert(event.tag);
}

bool Announced::is_offered(const std::string& author, const Tag& tag) const {
  return blocks_.of_actor(author) == nullptr && blocks_.of_tag(tag.canonical()) == nullptr &&
         !blocks_.is_refused_by(author, tag.canonical());
}

Task<Result<std::vector<std::string>>> Announced::show(Tag tag, std::vector<storage::HistoryEntry> entries) {
  std::vector<std::string> uris;
  for (const storage::HistoryEntry& entry : entries) uris.push_back(entry.uri);
  CO_TRY(const std::vector<WallTime> announced, co_await followers_.announced(tag, std::move(uris)));
  const std::string actor = identity_.tag_actor(tag);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ids.push_back(delivery::announce_id(identity_, actor, tag, entries[i].uri, announced[i]));
    remember(ids.back(), actor, Audience::kPublic, entries[i]);
  }
  co_return ids;
}

void Announced::note_replayed(std::string id, std::string actor, const storage::HistoryEntry& post) {
  remember(std::move(id), std::move(actor), Audience::kFollowers, post);
}

void Announced::remember(std::string id, std::string actor, Audience audience,
                         const storage::HistoryEntry& post) {
  make_room(shown_, kMax);
  One one{std::move(actor),     audience,    post.uri, post.author, post.published,
          {post.partition.tag}, clock_.now()};
  shown_.insert_or_assign(std::move(id), std::move(one));
}

const Announced::One* Announced::find(const std::string& id) const {
  if (const auto known = by_id_.find(id); known != by_id_.end()) return &known->second;
  const auto shown = shown_.find(id);
  return shown == shown_.end() || clock_.now() - shown->second.shown > kShown ? nullptr : &shown->second;
}

std::optional<Announced::Named> Announced::named_by(const std::string& id) const {
  const One* found = find(id);
  if (found == nullptr) return std::nullopt;
  return Named{found->actor, found->uri};
}

bool Announced::may_be_read(const std::string& id) const {
  return is_being_read_ && id.starts_with(identity_.origin() + std::string(kPath)) && find(id) == nullptr;
}

Task<HttpResponse> Announced::answer(HttpRequest request) {
  const std::string id = identity_.origin() + std::string(path_of(request.target));
  if (may_be_read(id)) co_return error_response({ErrorCode::kUnavailable, std::string(kBeingRead)});
  const One* found = find(id);
  if (found == nullptr ||
      std::ranges::none_of(found->tags, [&](const Tag& tag) { return is_offered(found->author, tag); }))
    co_return error_response({ErrorCode::kNotFound, "no such announcement"});
  const One& one = *found;
  // When it was sent is not kept; what can be said is when the post was published, as in the outbox.
  HttpResponse response;
  response.headers.add("Content-Type", std::string(fediverse::kActivityJson));
  response.body = json::serialize(
      fediverse::make_announce(id, one.actor, one.uri, one.published, one.audience, one.published));
  co_return response;
}

}  // namespace tagring::activitypub
