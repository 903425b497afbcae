#include "node/fixture.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include "db/contents.hpp"
#include "fediverse/vocabulary.hpp"
#include "signatures/signature.hpp"

namespace tagring::node {
namespace {

std::string new_id(const std::string& actor) {
  static std::uint64_t last = 0;
  return fmt::format("{}/activities/{}", actor, ++last);
}

json::object activity(const std::string& type, const std::string& actor) {
  return {{"@context", fediverse::kContext}, {"id", new_id(actor)}, {"type", type}, {"actor", actor}};
}

json::array items_of(const std::vector<PostText>& posts) {
  json::array items;
  for (const PostText& post : posts) items.push_back(note_object(post));
  return items;
}

HttpRequest control_request(const std::string& target, const std::string& body) {
  HttpRequest request;
  request.method = body.empty() ? "GET" : "POST";
  request.target = target;
  request.body = body;
  return request;
}

}  // namespace

// --- the world ---------------------------------------------------------------------------------------------

std::string Author::document() const {
  json::object actor = {
      {"@context", fediverse::kContext},
      {"id", id},
      {"type", is_node ? "Application" : type},
      {"preferredUsername", "somebody"},
      {"inbox", inbox},
      {"indexable", indexable},
      {"summary", summary},
      {"followers", id + "/followers"},
      {"publicKey", json::object{{"id", key_id()}, {"owner", id}, {"publicKeyPem", key.public_key().pem()}}}};
  if (!shared_inbox.empty()) actor["endpoints"] = json::object{{"sharedInbox", shared_inbox}};
  if (is_node) actor["tagring"] = 1;
  return json::serialize(actor);
}

HttpResponse with_status(int status, std::string body) {
  return {.status = status, .headers = {}, .body = std::move(body)};
}

void FakeInternet::serve(const std::string& url, std::string body) {
  documents[url] = {.status = 200,
                    .headers = {{"Content-Type", std::string(fediverse::kActivityJson)}},
                    .body = std::move(body)};
}

Task<Result<HttpResponse>> FakeInternet::send(HttpCall call) {
  calls.push_back(call);
  const std::string url = call.url.origin() + std::string(call.url.path());
  const auto delay = delays.find(url);
  const Instant arrival = clock_.now() + (delay == delays.end() ? Duration(1) : delay->second);
  co_await clock_.sleep_until(arrival);
  if (const auto answer = answers.find(url); answer != answers.end()) co_return answer->second(call);
  if (call.method == "POST") co_return with_status(202);
  const auto document = documents.find(call.url.text());
  co_return document == documents.end() ? with_status(404) : document->second;
}

void FakeInternet::refuse_late(const std::string& url) {
  answers[url] = [url](const HttpCall&) {
    HttpResponse response = with_status(302);
    response.headers.add("Location", url + "/more");
    return response;
  };
  answers[url + "/more"] = [](const HttpCall&) { return with_status(401); };
}

std::vector<HttpCall> FakeInternet::sent_to(const std::string& url) const {
  std::vector<HttpCall> found;
  for (const HttpCall& call : calls) {
    if (call.url.text() == url) found.push_back(call);
  }
  return found;
}

std::vector<json::object> FakeInternet::posted_to(const std::string& url) const {
  std::vector<json::object> bodies;
  for (const HttpCall& call : sent_to(url)) {
    if (call.method == "POST") bodies.push_back(json::parse_object(call.body).value());
  }
  return bodies;
}

// --- the node ----------------------------------------------------------------------------------------------

NodeTest::NodeTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tagring-node-XXXXXX").string();
  directory = ::mkdtemp(pattern.data());
  loop.run_for(std::chrono::hours(2));  // so that there is a time before the node's start
  start(config());
}

NodeTest::~NodeTest() {
  loop.drop(kOwner);
  node.reset();
  stores.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

config::Config NodeTest::config() {
  config::Config config;
  config.host = "tags.home.example";
  config.address = *IpAddress::parse("2001:db8:1::1");
  config.vservers = 1;
  config.balance = false;
  config.create = true;
  config.stabilise = std::chrono::seconds(2);
  config.instances = {"home.example"};
  config.deliveries_per_second = 400'000;  // on any machine
  return config;
}

void NodeTest::prepare(config::Config config) {
  loop.drop(kOwner);
  node.reset();
  stores.reset();
  const auto pause = [this] { return clock.sleep_until(clock.now() + database_pause); };
  auto opened = db::open_stores(
      {.path = directory / "node.db", .vfs = {}, .mode = sql::Mode::kInline, .pause = pause}, clock);
  if (!opened) throw std::runtime_error(opened.error().message);
  stores = std::move(*opened);
  const std::uint64_t incarnation = run(stores->meta.next_incarnation(clock)).value();
  const auto read_tokens = [this]() -> Result<std::vector<instances::TagToken>> { return tag_tokens; };
  Environment environment{clock, loop.executor(kOwner), internet,           workers, stores_of(*stores), log,
                          42,    read_tokens,           read_followed_tags, services};
  environment.machine = machine;
  environment.budget = budget;
  environment.ahead.saved = run(stores->meta.get("signed_ahead")).value();
  environment.ahead.save = [this](std::string ahead) {
    return stores->meta.set("signed_ahead", std::move(ahead));
  };
  environment.seen.saved = run(stores->meta.get("seen_posts")).value();
  environment.seen.save = [this](std::string seen) {
    return stores->meta.set("seen_posts", std::move(seen));
  };
  environment.move.saved = run(stores->meta.get("move")).value();
  environment.move.save = [this](std::string move) { return stores->meta.set("move", std::move(move)); };
  node =
      std::make_unique<Node>(std::move(config), crypto::PrivateKey::ed25519_from_seed(std::string(32, 'n')),
                             incarnation, environment);
}

void NodeTest::start(config::Config config) {
  prepare(std::move(config));
  const Result<void> started = run(node->start());
  if (!started) throw std::runtime_error(started.error().message);
  settle(std::chrono::seconds(1));
}

Author NodeTest::make_author(const std::string& id, const std::string& shared_inbox) {
  Author author{.id = id,
                .key = crypto::PrivateKey::ed25519_from_seed(fmt::format("{:032}", ++keys_)),
                .inbox = id + "/inbox",
                .shared_inbox = shared_inbox};
  internet.serve(author);
  return author;
}

Author NodeTest::make_node_author(const std::string& node_origin) {
  Author author{.id = node_origin + "/actor",
                .key = crypto::PrivateKey::ed25519_from_seed(fmt::format("{:032}", ++keys_)),
                .inbox = node_origin + "/inbox",
                .shared_inbox = node_origin + "/inbox",
                .is_node = true};
  internet.serve(author);
  return author;
}

HttpRequest NodeTest::signed_at(WallTime time, const Author& author, std::string body,
                                const std::string& target) const {
  HttpCall call("POST", Url::parse(origin + target).value(), loop.now());
  call.headers.add("Content-Type", "application/activity+json");
  call.body = std::move(body);
  signatures::sign_call(call, author.key, author.key_id(), time);
  HttpRequest request;
  request.method = call.method;
  request.target = call.url.target;
  request.headers = std::move(call.headers);
  request.headers.set("Host", call.url.authority());
  request.body = std::move(call.body);
  return request;
}

HttpRequest NodeTest::signed_request(const Author& author, std::string body,
                                     const std::string& target) const {
  return signed_at(loop.wall_now(), author, std::move(body), target);
}

HttpResponse NodeTest::get(const std::string& target) {
  HttpRequest request;
  request.target = target;
  return ask(std::move(request));
}

HttpResponse NodeTest::control(const std::string& target, const std::string& body) {
  return run(node->control(control_request(target, body)));
}

std::vector<int> NodeTest::control_twice(const std::string& target, const std::string& body) {
  std::vector<int> statuses;
  for (int i = 0; i < 2; ++i) {
    boost::asio::co_spawn(
        loop.executor(kOwner), node->control(control_request(target, body)),
        [&](std::exception_ptr, const HttpResponse& answer) { statuses.push_back(answer.status); });
  }
  settle();
  return statuses;
}

void NodeTest::expect_refused(HttpRequest request, int status, const std::string& error,
                              const std::string& message) {
  const std::string before = state();
  const HttpResponse response = ask(std::move(request));
  settle();
  EXPECT_EQ(response.status, status) << response.body;
  const Result<json::object> body = json::parse_object(response.body);
  ASSERT_TRUE(body) << response.body;
  EXPECT_EQ(json::get_string(*body, "error"), error) << response.body;
  EXPECT_THAT(json::get_string(*body, "message").value_or(""), testing::HasSubstr(message));
  EXPECT_EQ(state(), before);
}

void NodeTest::expect_repetition(HttpRequest request) {
  const std::string before = state();
  EXPECT_EQ(ask(std::move(request)).status, 202);
  settle();
  EXPECT_EQ(state(), before);
}

void NodeTest::expect_ignored(HttpRequest request, const std::string& reason, const std::string& noted_in) {
  const std::string before = state(noted_in);
  const HttpResponse response = ask(std::move(request));
  settle();
  EXPECT_EQ(response.status, 202) << response.body;
  const Result<json::object> body = json::parse_object(response.body);
  ASSERT_TRUE(body) << "accepted, not ignored: " << response.body;
  EXPECT_THAT(json::get_string(*body, "ignored").value_or(""), testing::HasSubstr(reason));
  EXPECT_EQ(state(noted_in), before);
}

std::vector<std::string> NodeTest::rows(const char* sql) {
  auto job = [sql](sql::Connection& connection) -> Result<std::vector<std::string>> {
    std::vector<std::string> found;
    sql::Statement statement = connection.query(sql);
    for (;;) {
      TRY(const bool more, statement.step());
      if (!more) return found;
      found.push_back(statement.text(0));
    }
  };
  return run(stores->database->read(std::move(job))).value();
}

std::string NodeTest::state(const std::string& but_for) {
  const auto job = [but_for](sql::Connection& connection) {
    return db::contents_of(connection, {but_for, "changes"});
  };
  return run(stores->database->read(job)).value();
}

std::vector<std::string> NodeTest::history(const std::string& tag) {
  const auto page = run(node->history().query(Tag::parse(tag).value(), std::nullopt, 100));
  std::vector<std::string> uris;
  if (!page) return {page.error().message};
  for (const storage::HistoryEntry& entry : page->entries) uris.push_back(entry.uri);
  return uris;
}

// --- activities --------------------------------------------------------------------------------------------

json::object note_object(const PostText& post) {
  json::array tags;
  for (const std::string& tag : post.tags) {
    tags.push_back(json::object{{"type", "Hashtag"}, {"name", "#" + tag}});
  }
  return {{"id", post.uri},
          {"type", "Note"},
          {"attributedTo", post.author},
          {"published", "2025-12-31T12:00:00Z"},
          {"to", post.to},
          {"cc", post.cc},
          {"indexable", post.indexable},
          {"tag", std::move(tags)}};
}

std::string create_text(const PostText& post, const std::string& type) {
  json::object out = activity(type, post.author);
  out["object"] = note_object(post);
  return json::serialize(out);
}

std::string delete_text(const std::string& uri, const std::string& actor) {
  json::object out = activity("Delete", actor);
  out["object"] = json::object{{"id", uri}, {"type", "Tombstone"}};
  return json::serialize(out);
}

std::string follow_text(const Author& author, const std::vector<std::string>& objects) {
  json::object out = activity("Follow", author.id);
  out["object"] = json::array(objects.begin(), objects.end());
  if (objects.size() == 1) out["object"] = objects.front();
  return json::serialize(out);
}

std::string undo_follow_text(const Author& author, const std::vector<std::string>& objects) {
  json::object out = activity("Undo", author.id);
  out["object"] = json::parse_object(follow_text(author, objects)).value();
  return json::serialize(out);
}

std::string batch_text(const std::string& type, const Author& sender, const std::string& target,
                       const std::vector<PostText>& posts) {
  json::object out = activity(type, sender.id);
  out["target"] = target;
  out["object"] = items_of(posts);
  return json::serialize(out);
}

std::string announce_text(const Author& sender, const std::vector<PostText>& posts) {
  json::object out = activity("Announce", sender.id);
  out["object"] = items_of(posts);
  return json::serialize(out);
}

std::vector<std::string> refusals_of(const HttpResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  const Result<json::object> body = json::parse_object(response.body);
  if (!body) return {response.body};
  std::vector<std::string> refusals;
  json::for_each(json::find(*body, "refused"), [&](const json::value& v) {
    const json::object& item = v.as_object();
    refusals.push_back(fmt::format("{} {} {}: {}", json::get_string(item, "uri").value_or("?"),
                                   json::get_string(item, "tag").value_or("?"),
                                   json::get_string(item, "error").value_or("?"),
                                   json::get_string(item, "message").value_or("?")));
  });
  return refusals;
}

}  // namespace tagring::node
