// Every document of tests/fixtures/activitypub through parse_activity: nothing crashes, and what is accepted,
// ignored or refused, and why, stays as it is until somebody changes it on purpose.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>

#include "base/json.hpp"
#include "crypto/key.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/actor.hpp"
#include "tests/source_dir.hpp"

namespace tagring::fediverse {
namespace {

namespace fs = std::filesystem;

const WallTime kNow = *from_rfc3339("2026-11-21T10:00:00Z");
const fs::path kFixtures = source_dir() / "tests/fixtures/activitypub";

constexpr std::array<const char*, 4> kOrigins = {"Automattic__wordpress-activitypub", "fedify-dev__fedify",
                                                 "go-ap__activitypub", "w3c__activitystreams"};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// All .json files of one origin, in order.
std::vector<fs::path> documents(const std::string& origin) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(kFixtures / origin)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

// Some fixtures are whole HTTP answers: {"headers": …, "body": "…"}.
std::string body_of(std::string text) {
  const auto object = json::parse_object(text);
  const auto body = object ? json::get_string(*object, "body") : std::nullopt;
  return body ? *body : text;
}

constexpr std::array<const char*, 19> kNames = {
    "Create",   "Update",    "UpdateActor", "Delete",   "Follow",        "UndoFollow", "UndoAnnounce",
    "UndoById", "Accept",    "Reject",      "Announce", "Add",           "Remove",     "Ignored",
    "Block",    "UndoBlock", "Told",        "Flag",     "RemoveFollower"};
static_assert(kNames.size() == std::variant_size_v<decltype(Activity::content)>);

// "accepted Create", "ignored: no use for this type", "refused: id is missing".
std::string outcome(std::string_view body) {
  const Result<Activity> result = parse_activity(body, kNow);
  if (!result) return "refused: " + result.error().message;
  if (const auto* ignored = std::get_if<Ignored>(&result->content)) return "ignored: " + ignored->reason;
  return fmt::format("accepted {}", kNames.at(result->content.index()));
}

using Table = std::map<std::string, int>;

Table outcomes(const std::string& origin) {
  Table table;
  for (const fs::path& path : documents(origin)) ++table[outcome(body_of(read(path)))];
  return table;
}

void expect_table(const std::string& origin, const Table& actual, const Table& expected) {
  for (const auto& [what, count] : actual) fmt::print("{:<32} {:4}  {}\n", origin, count, what);
  EXPECT_EQ(actual, expected);
}

TEST(DocumentsOfOthers, AreAcceptedIgnoredOrRefusedAsPinned) {
  const std::map<std::string, Table> pinned = {
      {"Automattic__wordpress-activitypub",
       {{"refused: actor is missing", 2},
        {"refused: body is not JSON: syntax error", 1},
        {"refused: type is missing", 2}}},
      {"fedify-dev__fedify",
       {{"ignored: no use for this type", 1},
        {"ignored: there is no object, or several", 1},
        {"refused: actor is missing", 20},
        {"refused: id is missing", 2},
        {"refused: id is on another server than the actor", 1},
        {"refused: type is missing", 1}}},
      {"go-ap__activitypub",
       {{"ignored: there is no object, or several", 1},
        {"refused: actor is missing", 8},
        {"refused: id is missing", 4},
        {"refused: object.id is missing", 1},
        {"refused: type is missing", 5}}},
      {"w3c__activitystreams",
       {{"ignored: it has no id", 1},
        {"ignored: the object is not a post", 1},
        {"refused: actor is missing", 35},
        {"refused: actor is not an http(s) URL", 1},
        {"refused: body is not JSON: syntax error", 1},
        {"refused: body is not UTF-8", 1},
        {"refused: body is not a JSON object", 3},
        {"refused: id is missing", 171},
        {"refused: id is on another server than the actor", 2},
        {"refused: object is on another server than the actor", 1},
        {"refused: object.id is missing", 1},
        {"refused: type is missing", 15}}},
  };
  for (const char* origin : kOrigins) expect_table(origin, outcomes(origin), pinned.at(origin));
}

// Most examples of the specification lack an id or an actor. With both put in, the rest of each is read too.
TEST(DocumentsOfOthers, ExamplesOfTheSpecificationWithIdAndActorAreReadAsPinned) {
  Table table;
  for (const fs::path& path : documents("w3c__activitystreams")) {
    auto object = json::parse_object(read(path));
    if (!object) continue;
    (*object)["id"] = "http://example.org/activities/1";
    (*object)["actor"] = "http://example.org/actor";
    ++table[outcome(json::serialize(*object))];
  }
  expect_table("with id and actor", table,
               {{"accepted Block", 1},
                {"accepted Delete", 1},
                {"ignored: no use for this type", 192},
                {"ignored: the object is neither a Follow nor an Announce", 2},
                {"ignored: the object is not a Follow", 4},
                {"ignored: the object is not a post", 2},
                {"accepted Told", 2},
                {"ignored: the target is not the relay or storage of a node", 5},
                {"refused: object is missing", 2},
                {"refused: object.id is missing", 2},
                {"refused: type is missing", 15}});
}

// Posts in all the shapes that Mastodon gives them: every one has hashtags, and not every one is public.
TEST(DocumentsOfOthers, PostsOfMastodonAreAllRead) {
  std::ifstream lines(kFixtures / "mastodon_posts.jsonl");
  Table outcomes_of_lines;
  std::map<Visibility, int> visibilities;
  std::size_t tags = 0;
  for (std::string line; std::getline(lines, line);) {
    ++outcomes_of_lines[outcome(line)];
    const Note note = std::get<Create>(parse_activity(line, kNow).value().content).note;
    ++visibilities[note.visibility];
    EXPECT_FALSE(note.tags.empty()) << note.id;
    EXPECT_LT(note.published, kNow) << note.id;
    tags += note.tags.size();
  }
  expect_table("mastodon", outcomes_of_lines, {{"accepted Create", 24}});
  EXPECT_EQ(visibilities,
            (std::map<Visibility, int>{
                {Visibility::kPublic, 19}, {Visibility::kUnlisted, 4}, {Visibility::kFollowers, 1}}));
  EXPECT_EQ(tags, 38U);
}

// Real profiles are actors with a key; nothing else is. In one of them the PEM has lost its line breaks; two
// have Multikeys.
TEST(DocumentsOfOthers, OnlyProfilesAreActors) {
  std::map<std::string, std::string> keys_of_actors;
  for (const char* origin : kOrigins) {
    for (const fs::path& path : documents(origin)) {
      const std::string body = body_of(read(path));
      const auto object = json::parse_object(body);
      const auto actor = parse_actor(body, object ? json::id_of(*object) : std::string());
      if (!actor) continue;
      std::string& keys = keys_of_actors[path.filename()];
      for (const KeyDocument& key : actor->keys) {
        keys += read_key(key) ? "good " : "bad ";
        EXPECT_TRUE(actor->lists(parse_key_document(body, key.id).value())) << path;
      }
    }
  }
  const std::map<std::string, std::string> expected = {
      {"3609fd4e-d51d-4db8-9f04-4189815864dd.json", "good "},
      {"alice.json", "good "},
      {"brauca_darradiul.json", "bad "},
      {"hongminhee.json", "good good good "},
      {"lemmy-ml-u-pfefferle.json", "good "},
      {"notiz-blog-author-matthias-pfefferle.json", "good "}};
  EXPECT_EQ(keys_of_actors, expected);
}

}  // namespace
}  // namespace tagring::fediverse
