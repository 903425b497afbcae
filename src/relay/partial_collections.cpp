#include "relay/partial_collections.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/http_error.hpp"
#include "fediverse/documents.hpp"
#include "followers/authority.hpp"
#include "followers/header.hpp"
#include "relay/results.hpp"

namespace tagring::relay {
namespace {

constexpr std::string_view kName = "/followers_synchronization";

// What stands before kName, and what after it.
struct Place {
  std::string_view actor;
  std::string_view page;  // "" or "/1"
};
std::optional<Place> place_of(std::string_view path) {
  const std::size_t at = path.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const Place place{path.substr(0, at), path.substr(at + kName.size())};
  if (!place.page.empty() && place.page.front() != '/') return std::nullopt;
  return place;
}

HttpResponse not_found(const std::string& what) { return error_response({ErrorCode::kNotFound, what}); }

}  // namespace

bool PartialCollections::is_path(std::string_view path) { return place_of(path).has_value(); }

std::string PartialCollections::actor_of(const std::string& tag) const {
  return tag.empty() ? identity_.actor() : identity_.tag_actor(*Tag::parse(tag));
}

std::optional<std::string> PartialCollections::header(const std::string& tag,
                                                      const std::string& inbox) const {
  const auto authority = followers::Authority::of(inbox);
  if (!options_.enabled || !authority) return std::nullopt;
  const Partial partial = followers_.partial({tag, authority->text()});
  if (!followers::documents_fit(partial.count, partial.octets, options_.documents)) return std::nullopt;
  const std::string actor = actor_of(tag);
  return followers::format_header(
      {fediverse::followers_of(actor), actor + std::string(kName), partial.digest});
}

Task<HttpResponse> PartialCollections::answer(HttpRequest request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  const std::optional<Place> place = place_of(path);
  if (!options_.enabled || !place) co_return not_found("no such page");
  std::string collection;
  if (place->actor != "/actor") {
    const auto tag = identity_.tag_of_actor(identity_.origin() + std::string(place->actor));
    if (!tag) co_return not_found("no such hashtag");
    collection = tag->canonical();
  }
  const Result<federation::Authentic> sender = co_await authenticator_.authenticate(std::move(request));
  if (!sender) co_return federation::not_authentic(sender.error());
  if (!observer_.is_offered(collection)) {
    HttpResponse response = not_found("this hashtag is not offered here");
    response.status = 410;
    co_return response;
  }
  const auto authority = followers::Authority::of(sender->actor.id);
  if (!authority || observer_.is_denied(sender->actor.id))
    co_return error_response({ErrorCode::kDenied, "this node has no dealings with that server"});

  const std::string url = actor_of(collection) + std::string(kName) + std::string(place->page);
  const std::optional<Documents> documents =
      co_await documents_of({collection, authority->text()}, /*fresh=*/place->page.empty());
  if (!documents) co_return not_found("too many followers for a list");
  const auto found = std::ranges::find(*documents, url, &followers::Document::url);
  if (found == documents->end()) co_return not_found("no such page of the list");
  HttpResponse response;
  response.headers.add("Content-Type", std::string(followers::kDocumentType));
  response.headers.add("Cache-Control", "private, max-age=0");
  response.headers.add("Vary", "Signature");
  response.body = found->body;
  co_return response;
}

// Nothing if the list is too long.
Task<std::optional<PartialCollections::Documents>> PartialCollections::documents_of(PartialKey key,
                                                                                    bool fresh) {
  std::erase_if(snapshots_, [this](const auto& snapshot) {
    return clock_.now() - snapshot.second.made >= kSnapshotLifetime;
  });
  if (const auto known = snapshots_.find(key); known != snapshots_.end() && !fresh)
    co_return known->second.documents;
  auto make = [url = actor_of(key.collection) + std::string(kName), ids = followers_.members(key),
               limits = options_.documents]() mutable {
    return followers::make_documents(url, std::move(ids), limits);
  };
  std::optional<Documents> documents = co_await workers_.run(std::move(make));
  if (documents) keep(key, *documents);
  co_return documents;
}

void PartialCollections::keep(const PartialKey& key, const Documents& documents) {
  snapshots_.erase(key);
  if (documents.size() == 1) return;
  if (snapshots_.size() == kSnapshotsMax) {
    snapshots_.erase(
        std::ranges::min_element(snapshots_, {}, [](const auto& snapshot) { return snapshot.second.made; }));
  }
  snapshots_.emplace(key, Snapshot{clock_.now(), documents});
}

}  // namespace tagring::relay
