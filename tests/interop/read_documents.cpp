// What the daemon makes of documents of other servers, for documents_check.py: paths on stdin, one a line,
// and for each document on stdout: path, type, what the inbox says to it, what the fetcher says to it; with
// tabs between. A .jsonl file has a document on each line. An answer kept whole ({"headers", "body"}) counts
// by its body.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>

#include "fediverse/activity.hpp"
#include "fediverse/actor.hpp"
#include "fediverse/vocabulary.hpp"
#include "followers/listing.hpp"

namespace tagring::fediverse {
namespace {

const WallTime kNow = *from_rfc3339("2026-11-21T10:00:00Z");

constexpr std::array<const char*, 19> kNames = {"Create",
                                                "Update",
                                                "Update of an actor",
                                                "Delete",
                                                "Follow",
                                                "Undo of a Follow",
                                                "Undo of an Announce",
                                                "Undo by id",
                                                "Accept",
                                                "Reject",
                                                "Announce",
                                                "Add",
                                                "Remove",
                                                "Ignored",
                                                "Block",
                                                "Undo of a Block",
                                                "post by its id",
                                                "report",
                                                "Remove of a follower"};
static_assert(kNames.size() == std::variant_size_v<decltype(Activity::content)>);

std::string rejected(const Error& error) { return "rejected: " + error.message; }

// Whom it is for is said if that is not everybody, as is that not everybody may announce it.
std::string described(const Note& note) {
  constexpr std::array<const char*, 4> kFor = {"", ", unlisted", ", to followers", ", direct"};
  return fmt::format("{} with {} hashtags{}{}", note.type, note.tags.size(),
                     kFor.at(static_cast<std::size_t>(note.visibility)),
                     note.may_be_announced ? "" : ", not to be announced");
}

std::string inbox(std::string_view body) {
  const Result<Activity> activity = parse_activity(body, kNow);
  if (!activity) return rejected(activity.error());
  const auto& content = activity->content;
  if (const auto* ignored = std::get_if<Ignored>(&content)) return "ignored: " + ignored->reason;
  std::string verdict = fmt::format("accepted: {}", kNames.at(content.index()));
  if (const auto* announce = std::get_if<Announce>(&content)) {
    constexpr std::array<const char*, 3> kOf = {"", " of an edit", " of a deletion"};
    verdict += kOf.at(static_cast<std::size_t>(announce->of));
  }
  const Note* note = nullptr;
  if (const auto* create = std::get_if<Create>(&content)) note = &create->note;
  if (const auto* update = std::get_if<Update>(&content)) note = &update->note;
  if (note != nullptr) verdict += " of a " + described(*note);
  return verdict;
}

std::string collection(std::string_view body, const std::string& url) {
  followers::Listing listing(url);
  if (listing.next() != nullptr) listing.take(body);
  if (!listing.problem().empty()) return "rejected: " + std::string(listing.problem());
  if (listing.next() != nullptr) return "accepted: collection that goes on elsewhere";
  return fmt::format("accepted: collection of {}", listing.items()->size());
}

std::string actor(std::string_view body, const std::string& url) {
  const Result<RemoteActor> actor = parse_actor(body, url);
  if (!actor) return rejected(actor.error());
  std::size_t good = 0;
  for (const KeyDocument& key : actor->keys) good += read_key(key) && actor->lists(key) ? 1 : 0;
  return fmt::format("accepted: {} with {} keys, {} good", actor->type, actor->keys.size(), good);
}

bool is_collection(const json::object& o) {
  for (const std::string& type : types_of(o)) {
    if (type.contains("Collection")) return true;
  }
  return false;
}

// By what it is, as whoever fetches it knows what to expect.
std::string fetcher(std::string_view body) {
  const Result<json::object> o = json::parse_object(body);
  if (!o) return rejected(o.error());
  const std::string id = json::id_of(*o);
  if (is_collection(*o)) return collection(body, id);
  if (is_post(*o)) {
    const Result<Note> note = parse_fetched_note(*o, kNow);
    if (!note) return rejected(note.error());
    return "accepted: " + described(*note);
  }
  if (json::find(*o, "publicKeyPem") != nullptr) {
    const Result<KeyDocument> key = parse_key_document(body, id);
    return key ? (read_key(*key) ? "accepted: key" : "rejected: key cannot be read") : rejected(key.error());
  }
  if (json::find(*o, "inbox") != nullptr) return actor(body, id);
  return "nothing that is fetched";
}

std::string body_of(std::string text) {
  const Result<json::object> o = json::parse_object(text);
  const std::optional<std::string> body =
      o && json::get_object(*o, "headers") ? json::get_string(*o, "body") : std::nullopt;
  return body ? *body : text;
}

void report(const std::string& path, std::string text) {
  const std::string body = body_of(std::move(text));
  const Result<json::object> o = json::parse_object(body);
  const std::vector<std::string> types = o ? types_of(*o) : std::vector<std::string>();
  fmt::print("{}\t{}\t{}\t{}\n", path, types.empty() ? "-" : fmt::format("{}", fmt::join(types, "+")),
             inbox(body), fetcher(body));
}

void read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  if (path.extension() != ".jsonl") return report(path, {std::istreambuf_iterator<char>(file), {}});
  for (std::string line; std::getline(file, line);) report(path, line);
}

}  // namespace
}  // namespace tagring::fediverse

int main() {
  for (std::string path; std::getline(std::cin, path);) tagring::fediverse::read(path);
}
