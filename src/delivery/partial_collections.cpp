#include "delivery/partial_collections.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/counted.hpp"
#include "delivery/results.hpp"
#include "fediverse/documents.hpp"
#include "followers/authority.hpp"
#include "followers/header.hpp"
#include "http/http_error.hpp"

namespace tagring::delivery {
namespace {

constexpr std::string_view kName = "/followers_synchronization";

// What stands before kName, and what after it.
struct Place {
  std::string_view actor;
  std::string_view page;  // "" or "/1"
};
std::optional<Place> place_of(std::string_view path) {
  const std::size_t at = path.rfind(kName);
  if (at == std::string_view::npos) return std::nullopt;
  // The hashtag of that name has a page and an actor as others have.
  const std::string_view actor = path.substr(0, at);
  constexpr std::string_view kOfTag = "/tag/";
  const bool is_tag = actor.starts_with(kOfTag) && actor.size() > kOfTag.size() &&
                      actor.find('/', kOfTag.size()) == std::string_view::npos;
  if (actor != "/actor" && !is_tag) return std::nullopt;
  const Place place{actor, path.substr(at + kName.size())};
  if (!place.page.empty() && place.page.front() != '/') return std::nullopt;
  return place;
}

HttpResponse not_found(const std::string& what) { return error_response({ErrorCode::kNotFound, what}); }

}  // namespace

bool PartialCollections::is_path(std::string_view path) { return place_of(path).has_value(); }

std::string PartialCollections::actor_of(const std::string& collection) const {
  const Result<Tag> tag = Tag::parse(collection);
  return tag ? identity_.tag_actor(*tag) : identity_.actor();
}

std::optional<std::string> PartialCollections::header(const std::string& collection,
                                                      const std::string& inbox) const {
  const auto authority = followers::Authority::of(inbox);
  if (!options_.enabled || !authority) return std::nullopt;
  const Partial partial = followers_.partial({collection, authority->text()});
  if (!fits(partial)) return std::nullopt;
  const std::string actor = actor_of(collection);
  return followers::format_header(
      {fediverse::followers_of(actor), actor + std::string(kName), partial.digest});
}

bool PartialCollections::fits(const Partial& partial) const {
  return followers::documents_fit(partial.count, partial.bytes, options_.documents);
}

void PartialCollections::note_sent(const std::string& collection, const std::string& inbox,
                                   const std::string& header, std::string problem) {
  const auto authority = followers::Authority::of(inbox);
  const auto read = followers::parse_header(header);
  TR_ASSERT(authority && read);
  make_room(sent_, kNotedMax);
  const PartialKey key{collection, authority->text()};
  SentHeader& sent = sent_[key];
  // Who was turned away while it was on its way stands in it still.
  const bool is_old = sent.names_turned_away && read->digest != followers_.partial(key).digest;
  sent = {clock_.wall_now(), read->digest.hex(), std::move(problem), is_old};
}

void PartialCollections::note_turned_away(const PartialKey& key) {
  const auto sent = sent_.find(key);
  if (sent != sent_.end()) sent->second.names_turned_away = true;
}

std::size_t PartialCollections::too_long() const {
  // No shorter one can be: an id has so many bytes at most.
  constexpr std::size_t kIdBytesMax = 2'048;
  const std::size_t least = options_.documents.bytes_max * options_.documents.pages_max / kIdBytesMax / 2;
  std::size_t count = 0;
  followers_.visit_partials(least, [&](const Partial& partial) { count += fits(partial) ? 0 : 1; });
  return count;
}

json::object PartialCollections::report(const std::string& collection, const std::string& server) const {
  const PartialKey key{collection, server};
  const Partial partial = followers_.partial(key);
  json::array problems;
  json::object report = {{"actor", actor_of(collection)},
                         {"server", server},
                         {"count", partial.count},
                         {"digest", partial.digest.hex()}};
  json::array ids;
  if (fits(partial)) {
    std::vector<std::string> members = followers_.members(key);
    if (followers::Digest::of(members) != partial.digest)
      problems.emplace_back("the digest is not that of the list: a restart of the node computes it anew");
    std::ranges::sort(members);
    for (std::size_t i = 0; i < std::min(members.size(), kReportedMax); ++i) ids.emplace_back(members[i]);
  } else {
    problems.emplace_back("too many followers for a list: no header is sent");
  }
  report["followers"] = std::move(ids);
  const auto sent = sent_.find(key);
  if (sent != sent_.end()) {
    report["header"] = json::object{{"at", to_rfc3339(sent->second.at)},
                                    {"digest", sent->second.digest},
                                    {"problem", sent->second.problem}};
    if (!sent->second.problem.empty())
      problems.emplace_back("the last delivery with a header was not taken: " + sent->second.problem);
    // Where somebody follows, the next post brings another.
    if (partial.count == 0 && sent->second.names_turned_away)
      problems.emplace_back(
          "nobody of it follows here any more, and the last header named some: it may not know");
  }
  const auto fetch = fetches_.find(key);
  if (fetch != fetches_.end()) {
    report["fetch"] = json::object{{"at", to_rfc3339(fetch->second.at)}, {"status", fetch->second.status}};
    // One that was answered says nothing: it is also how a server looks whether both agree.
    if (fetch->second.status != 200)
      problems.emplace_back(
          fmt::format("its last fetch of the list was answered with {}", fetch->second.status));
  }
  report["unknown"] = partial.count > 0 && sent == sent_.end() && fetch == fetches_.end();
  report["problems"] = std::move(problems);
  return report;
}

Task<HttpResponse> PartialCollections::answer(HttpRequest request) {
  const std::string path(path_of(request.target));
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
  const auto authority = followers::Authority::of(sender->actor.id);
  const PartialKey key{collection, authority ? authority->text() : std::string()};
  HttpResponse response = co_await answer_to(*sender, key, std::string(place->page));
  if (authority) {
    make_room(fetches_, kNotedMax);
    fetches_[key] = {clock_.wall_now(), static_cast<unsigned>(response.status)};
  }
  co_return response;
}

Task<HttpResponse> PartialCollections::answer_to(federation::Authentic sender, PartialKey key,
                                                 std::string page) {
  if (!observer_.is_offered(key.collection)) {
    HttpResponse response = not_found("this hashtag is not offered here");
    response.status = 410;
    co_return response;
  }
  if (key.authority.empty() || observer_.is_denied(sender.actor.id))
    co_return error_response({ErrorCode::kDenied, "this node has no dealings with that server"});

  const std::string url = actor_of(key.collection) + std::string(kName) + page;
  const std::optional<Documents> documents = co_await documents_of(key, /*fresh=*/page.empty());
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
  const Partial partial = followers_.partial(key);
  const auto known = snapshots_.find(key);
  const bool is_same = known != snapshots_.end() && known->second.digest == partial.digest;
  if (is_same && fresh) known->second.made = clock_.now();
  if (is_same || (known != snapshots_.end() && !fresh)) co_return known->second.documents;
  // Before the ids are copied: who may ask at any time shall not make us copy hundreds of thousands.
  if (!fits(partial)) co_return std::nullopt;
  auto make = [url = actor_of(key.collection) + std::string(kName), ids = followers_.members(key),
               limits = options_.documents]() mutable {
    return followers::make_documents(url, std::move(ids), limits);
  };
  std::optional<Documents> documents = co_await workers_.run(std::move(make));
  if (documents) keep(key, partial.digest, *documents);
  co_return documents;
}

void PartialCollections::keep(const PartialKey& key, const followers::Digest& digest,
                              const Documents& documents) {
  snapshots_.erase(key);
  if (documents.size() == 1) return;
  std::size_t bytes = 0;
  for (const followers::Document& document : documents) bytes += document.body.size();
  std::size_t all = bytes;
  for (const auto& [other, snapshot] : snapshots_) all += snapshot.bytes;
  while (all > options_.snapshot_bytes_max && !snapshots_.empty()) {
    const auto oldest =
        std::ranges::min_element(snapshots_, {}, [](const auto& snapshot) { return snapshot.second.made; });
    all -= oldest->second.bytes;
    snapshots_.erase(oldest);
  }
  snapshots_.emplace(key, Snapshot{clock_.now(), digest, documents, bytes});
}

}  // namespace tagring::delivery
