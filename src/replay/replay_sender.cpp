#include "replay/replay_sender.hpp"

#include <algorithm>
#include <limits>

#include "delivery/wire.hpp"
#include "fediverse/builders.hpp"
#include "fediverse/json_ld.hpp"
#include "fediverse/note.hpp"
#include "http/url.hpp"

namespace tagring::replay {

std::optional<instances::Instances::Recipient> ReplaySender::recipient(const std::string& host,
                                                                       const Tag& tag) const {
  if (blocks_.of_tag(tag.canonical()) != nullptr) return std::nullopt;
  return instances_.recipient(host, tag);
}

bool ReplaySender::is_kept_away(const storage::HistoryEntry& entry, const std::string& host) const {
  const std::string origin = host_of(entry.uri);
  return origin == host || !blocks_.may_go(origin, host) || blocks_.of_actor(entry.uri) != nullptr ||
         blocks_.of_actor(entry.author) != nullptr ||
         blocks_.is_refused_by(entry.author, entry.partition.tag.canonical());
}

Task<Result<budget::DayAuthors::Got>> ReplaySender::got(std::string host, Tag tag,
                                                        std::set<std::string> ways) {
  budget::DayAuthors::Got got;
  const auto known = recipient(host, tag);
  if (!known || ways.empty()) co_return got;
  std::vector<Tag> tags;
  std::vector<std::uint64_t> since;  // or who unsubscribes meanwhile would have got nothing
  for (const std::string& way : ways) {
    tags.push_back(Tag::from_canonical(way));
    since.push_back(instances_.live_since(*known, tags.back()));
  }
  CO_TRY(std::vector<delivery::Store::Stretches> left, co_await store_.left_today(known->inbox, tags));
  for (std::size_t i = 0; i < tags.size(); ++i) {
    left[i].emplace_back(std::min(since[i], instances_.live_since(*known, tags[i])),
                         std::numeric_limits<std::uint64_t>::max());
    got[tags[i].canonical()] = std::move(left[i]);
  }
  co_return got;
}

Task<Result<std::vector<std::string>>> ReplaySender::tags_of(Tag tag, std::string uri) {
  std::vector<Tag> all;
  auto known = co_await store_.find_post(uri);
  if (known && *known) {
    all = std::move((*known)->tags);
  } else {
    CO_TRY(const std::string body, co_await client_.fetch_body(uri));
    CO_TRY(const json::object document, fediverse::parse_document(body));
    CO_TRY(fediverse::Note note, fediverse::parse_fetched_note(document, clock_.wall_now()));
    if (note.id != uri) co_return fail(ErrorCode::kInvalid, uri + " has another id");
    all = std::move(note.tags);
  }
  std::vector<std::string> tags = {tag.canonical()};
  for (const Tag& other : all) {
    if (other != tag) tags.push_back(other.canonical());
  }
  co_return tags;
}

Task<Result<HttpResponse>> ReplaySender::send(instances::Instances::Recipient recipient, Tag tag,
                                              storage::HistoryEntry entry) {
  const delivery::TagEvent event{std::move(tag), delivery::Op::kAdd, entry.uri, entry.author,
                                 entry.published};
  std::vector<std::string> uris = {event.uri};
  const auto announced = co_await store_.announced(event.tag, std::move(uris));
  if (!announced) co_return std::unexpected(announced.error());
  const std::string id =
      delivery::announce_id(client_.identity(), recipient.relay, event.tag, event.uri, announced->front());
  observer_.announces(id, recipient.relay, entry);
  std::string announce = json::serialize(fediverse::make_announce(
      id, recipient.relay, event.uri, event.published, fediverse::Audience::kFollowers, clock_.wall_now()));
  co_return co_await client_.deliver_as(recipient.relay, recipient.inbox, std::move(announce));
}

}  // namespace tagring::replay
