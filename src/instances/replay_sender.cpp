#include "instances/replay_sender.hpp"

#include "base/url.hpp"
#include "fediverse/builders.hpp"
#include "relay/wire.hpp"

namespace tagring::instances {

std::optional<Instances::Recipient> ReplaySender::recipient(const std::string& host,
                                                            const std::string& tag) const {
  if (blocks_.of_tag(tag) != nullptr) return std::nullopt;
  return instances_.recipient(host, tag);
}

bool ReplaySender::is_kept_away(const storage::HistoryEntry& entry, const std::string& host) const {
  const std::string origin = host_of(entry.uri);
  return origin == host || !blocks_.may_go(origin, host);
}

Task<Result<HttpResponse>> ReplaySender::send(Instances::Recipient recipient, std::string tag,
                                              storage::HistoryEntry entry) {
  const relay::TagEvent event{std::move(tag), relay::Op::kAdd, entry.uri, entry.author, entry.published};
  const std::string id = relay::announce_id(client_.identity(), recipient.relay, event.tag, event.uri);
  std::string announce = json::serialize(fediverse::make_announce(
      id, recipient.relay, event.uri, event.published, fediverse::Audience::kFollowers, clock_.wall_now()));
  co_return co_await client_.deliver_as(recipient.relay, recipient.inbox, std::move(announce));
}

}  // namespace tagring::instances
