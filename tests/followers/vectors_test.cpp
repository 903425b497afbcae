// docs/vectors/followers.json, which knows no language. tests/package/followers_test.py reads it through the
// C interface.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "base/json.hpp"
#include "followers/digest.hpp"
#include "followers/header.hpp"
#include "followers/plan.hpp"
#include "tests/source_dir.hpp"

namespace tagring::followers {
namespace {

using std::chrono::milliseconds;

// Every element of a list of the file.
std::vector<json::object> vectors(std::string_view list) {
  std::ifstream file(source_dir() / "docs/vectors/followers.json");
  std::stringstream text;
  text << file.rdbuf();
  std::vector<json::object> found;
  const Result<json::object> parsed = json::parse_object(text.str());
  if (parsed)
    json::for_each(json::find(*parsed, list), [&](const json::value& v) { found.push_back(v.as_object()); });
  EXPECT_GE(found.size(), 6U) << list;
  return found;
}

std::string text(const json::object& of, std::string_view key) { return json::get_string(of, key).value(); }

std::vector<std::string> texts(const json::object& of, std::string_view key) {
  std::vector<std::string> found;
  for (const json::value& v : of.at(key).as_array()) found.emplace_back(v.as_string());
  return found;
}

// "" for null.
std::string or_none(const json::object& of, std::string_view key) {
  return of.at(key).is_null() ? std::string() : text(of, key);
}

TEST(PublishedVectors, HaveTheDigestsOfSetsOfIds) {
  for (const json::object& row : vectors("digests"))
    EXPECT_EQ(Digest::of(texts(row, "ids")).hex(), text(row, "digest")) << json::serialize(row);
}

TEST(PublishedVectors, HaveTheHeadersThatAreWritten) {
  for (const json::object& row : vectors("written")) {
    const Header header{text(row, "collection_id"), text(row, "url"),
                        Digest::from_hex(text(row, "digest")).value()};
    EXPECT_EQ(format_header(header).value_or(""), or_none(row, "value")) << json::serialize(row);
  }
}

TEST(PublishedVectors, HaveWhatIsReadInHeaders) {
  for (const json::object& row : vectors("read")) {
    const auto header = parse_header(text(row, "value"));
    if (row.contains("ignored")) {
      ASSERT_FALSE(header) << json::serialize(row);
      EXPECT_EQ(to_string(header.error()), text(row, "ignored")) << json::serialize(row);
      continue;
    }
    ASSERT_TRUE(header) << json::serialize(row);
    EXPECT_EQ(header->collection_id, text(row, "collection_id"));
    EXPECT_EQ(header->url, text(row, "url"));
    EXPECT_EQ(header->digest.hex(), text(row, "digest"));
  }
}

TEST(PublishedVectors, HaveWhichHeadersAreActedOn) {
  for (const json::object& row : vectors("checked")) {
    const std::string actor = text(row, "actor");
    const std::string collection = text(row, "followers");
    const auto own = Authority::of(text(row, "origin"));
    std::string ignored = "bad_origin";
    if (own) {
      const auto checked = check_header(parse_header(text(row, "value")).value(),
                                        {actor, collection, row.at("covers_header").as_bool()}, *own,
                                        {row.at("require_coverage").as_bool()});
      ignored = checked ? "" : to_string(checked.error());
    }
    EXPECT_EQ(ignored, or_none(row, "ignored")) << json::serialize(row);
  }
}

TEST(PublishedVectors, HaveWhatIsDoneAboutLists) {
  const auto number = [](const json::object& of, std::string_view key) {
    return json::get_int(of, key).value();
  };
  for (const json::object& row : vectors("plans")) {
    Knowledge known;
    for (const json::value& v : row.at("accepted").as_array()) {
      const json::object& follow = v.as_object();
      known.accepted.push_back({text(follow, "follower"), TimePoint(milliseconds(number(follow, "since")))});
    }
    known.pending = texts(row, "pending");
    const std::vector<std::string> listed = texts(row, "listed");
    std::optional<std::span<const std::string>> list;
    if (row.at("list_is_complete").as_bool()) list = listed;
    PlanRules rules;
    rules.grace = milliseconds(number(row, "grace"));
    rules.undo_max = static_cast<std::size_t>(number(row, "undo_max"));
    if (row.contains("own_actors")) {
      rules.is_own_actor = [actors = texts(row, "own_actors")](std::string_view id) {
        return std::ranges::find(actors, id) != actors.end();
      };
    }
    const Plan plan = make_plan(known, list, Digest::from_hex(text(row, "digest")).value(),
                                Authority::of(text(row, "origin")).value(),
                                TimePoint(milliseconds(number(row, "now"))), rules);
    EXPECT_EQ(plan.remove, texts(row, "remove")) << text(row, "about");
    EXPECT_EQ(plan.accept, texts(row, "accept")) << text(row, "about");
    EXPECT_EQ(plan.undo, texts(row, "undo")) << text(row, "about");
    EXPECT_EQ(plan.doubt ? to_string(*plan.doubt) : "", or_none(row, "doubt")) << text(row, "about");
    EXPECT_EQ(plan.too_young, static_cast<std::size_t>(number(row, "too_young"))) << text(row, "about");
    EXPECT_EQ(plan.undo_later, static_cast<std::size_t>(number(row, "undo_later"))) << text(row, "about");
  }
}

}  // namespace
}  // namespace tagring::followers
