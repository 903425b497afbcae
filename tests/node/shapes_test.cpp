// The documents of tests/fixtures/activitypub/shapes through a whole node: what other software writes of a
// new post brings it into the history of its hashtags. Their days are in the future of the tests' clock, so
// they are moved to the one before it starts; all else is as it stands there.
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <ostream>
#include <sstream>

#include "fediverse/note.hpp"
#include "http/url.hpp"
#include "node/fixture.hpp"
#include "tests/source_dir.hpp"

namespace tagring::node {
namespace {

// One line of a file of theirs.
struct Shape {
  std::string software;
  std::size_t line;  // from 1
  json::object activity;
  json::object post;  // that it brings, whole

  [[nodiscard]] std::string type() const { return json::text_of(activity, "type"); }
  [[nodiscard]] std::string actor() const { return json::id_of(activity, "actor"); }
  // The node is given it whole by its author, and need not ask.
  [[nodiscard]] bool has_post() const {
    return type() == "Create" && json::get_object(activity, "object") != nullptr;
  }
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << json::serialize(shape.activity);
}

std::string moved_to_yesterday(std::string text) {
  constexpr std::string_view kDay = "2026-11-20";
  for (std::size_t at = text.find(kDay); at != std::string::npos; at = text.find(kDay, at))
    text.replace(at, kDay.size(), "2025-12-31");
  return text;
}

std::vector<json::object> documents_in(const std::filesystem::path& path) {
  std::vector<json::object> documents;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    documents.push_back(json::parse_object(moved_to_yesterday(line)).value());
  return documents;
}

// By their ids: as the server shows them, where a line has that, else as the first activity has them.
std::map<std::string, json::object> posts_of(const std::vector<json::object>& documents) {
  std::map<std::string, json::object> posts;
  for (const json::object& document : documents) {
    const json::object* inner = &document;
    while (const json::object* next = json::get_object(*inner, "object")) inner = next;
    if (!fediverse::is_post(*inner)) continue;
    const std::string id = json::text_of(*inner, "id");
    if (inner == &document)
      posts[id] = *inner;
    else
      posts.try_emplace(id, *inner);
  }
  return posts;
}

// Of a Create, or of an Announce of a post or of its Create. Empty for what brings none.
std::string uri_of_new_post(const json::object& activity) {
  const std::string type = json::text_of(activity, "type");
  const json::object* object = json::get_object(activity, "object");
  if (type == "Announce" && object != nullptr && !fediverse::is_post(*object))
    return json::text_of(*object, "type") == "Create" ? json::id_of(*object, "object") : std::string();
  return type == "Create" || type == "Announce" ? json::id_of(activity, "object") : std::string();
}

std::vector<Shape> shapes() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() / "tests/fixtures/activitypub/shapes"))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<Shape> found;
  for (const std::filesystem::path& path : paths) {
    const std::vector<json::object> documents = documents_in(path);
    const std::map<std::string, json::object> posts = posts_of(documents);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const std::string uri = uri_of_new_post(documents[i]);
      if (!uri.empty()) found.push_back({path.stem().string(), i + 1, documents[i], posts.at(uri)});
    }
  }
  return found;
}

// How many lines of the shapes documents.tsv calls accepted as something that brings a post.
std::size_t accepted_in_table() {
  std::size_t count = 0;
  std::ifstream file(source_dir() / "tests/interop/documents.tsv");
  for (std::string row; std::getline(file, row);) {
    std::vector<std::string> columns;
    std::istringstream cells(row);
    for (std::string cell; std::getline(cells, cell, '\t');) columns.push_back(cell);
    if (!columns.at(0).starts_with("shapes/")) continue;
    const bool is_create = columns.at(2) == "Create" && columns.at(3).starts_with("accepted");
    if (is_create || columns.at(3) == "accepted: Announce") count += std::stoul(columns.at(1));
  }
  return count;
}

class NewPostsAsOthersWriteThem : public NodeTest, public testing::WithParamInterface<Shape> {
 protected:
  // Only the server that sends it may publish.
  void start_for(const Shape& shape) {
    config::Config own = config();
    own.instances = {host_of(shape.actor())};
    start(own);
  }
  Author make_sender(const Shape& shape) {
    Author sender = make_author(shape.actor());
    // Groups announce; of Akkoma its relay.
    if (shape.type() == "Announce") sender.type = shape.software == "akkoma" ? "Application" : "Group";
    internet.serve(sender);
    return sender;
  }
};

TEST_P(NewPostsAsOthersWriteThem, AreInTheHistoryOfTheirHashtags) {
  const Shape& shape = GetParam();
  start_for(shape);
  const Author sender = make_sender(shape);
  const fediverse::Note note = fediverse::parse_fetched_note(shape.post, loop.wall_now()).value();
  if (note.author != sender.id) make_author(note.author);
  if (!shape.has_post()) internet.serve(note.id, json::serialize(shape.post));
  const HttpResponse response = post_signed(json::serialize(shape.activity), sender);
  settle();
  EXPECT_EQ(response.status, 202) << response.body;
  ASSERT_FALSE(note.tags.empty());
  // Whoever wants to be asked before is boosted by nobody (GoToSocial).
  const std::vector<std::string> expected =
      note.may_be_announced ? std::vector{note.id} : std::vector<std::string>();
  for (const Tag& tag : note.tags) EXPECT_EQ(history(tag.canonical()), expected) << response.body;
}

INSTANTIATE_TEST_SUITE_P(Shapes, NewPostsAsOthersWriteThem, testing::ValuesIn(shapes()),
                         [](const auto& named) {
                           return fmt::format("{}_{}_{}", named.param.software, named.param.line,
                                              named.param.type());
                         });

TEST(ShapesOfNewPosts, AreAllThatTheTableOfDocumentsCallsAccepted) {
  EXPECT_EQ(shapes().size(), accepted_in_table());
}

}  // namespace
}  // namespace tagring::node
