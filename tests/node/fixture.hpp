// A whole node on a real database, in virtual time, in a world that answers from a map. The node creates its
// network and owns every tag.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "db/stores.hpp"
#include "node/node.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::node {

inline const std::string kEverybody = "https://www.w3.org/ns/activitystreams#Public";

// Somebody with a key: a person, or a node.
struct Author {
  std::string id;
  crypto::PrivateKey key;
  std::string inbox;
  std::string shared_inbox = {};
  bool is_node = false;
  std::string type = "Person";
  bool indexable = true;
  std::string summary = {};

  [[nodiscard]] std::string key_id() const { return id + "#main-key"; }
  [[nodiscard]] std::string document() const;
};

// Everything outside the node. GET is answered from `documents`, or 404; POST by 202; both by `answers`
// first, where there is one for the URL without its query.
class FakeInternet final : public HttpClient {
 public:
  explicit FakeInternet(Clock& clock) : clock_(clock) {}
  Task<Result<HttpResponse>> send(HttpCall call) override;

  void serve(const std::string& url, HttpResponse response) { documents[url] = std::move(response); }
  void serve(const std::string& url, std::string body);  // as application/activity+json
  void serve(const Author& author) { serve(author.id, author.document()); }
  // What takes more than one request to find refused: it redirects, and no form of signature will do there.
  void refuse_late(const std::string& url);
  [[nodiscard]] std::vector<HttpCall> sent_to(const std::string& url) const;
  [[nodiscard]] std::vector<json::object> posted_to(const std::string& url) const;

  using Answer = std::function<Result<HttpResponse>(const HttpCall&)>;
  std::map<std::string, HttpResponse> documents;
  std::map<std::string, Answer> answers;
  std::map<std::string, Duration> delays;  // of answers, by URL without its query
  std::vector<HttpCall> calls;

 private:
  Clock& clock_;
};

HttpResponse with_status(int status, std::string body = {});

class NodeTest : public testing::Test {
 protected:
  NodeTest();
  ~NodeTest() override;

  static config::Config config();
  void start(config::Config config);
  // The same, but for the start itself.
  void prepare(config::Config config);
  // Serves the actor's document.
  Author make_author(const std::string& id, const std::string& shared_inbox = {});
  Author make_node_author(const std::string& origin);

  // Lets `task` come to its end.
  template <class T>
  T run(Task<T> task);
  void settle(Duration duration = std::chrono::seconds(3)) { loop.run_for(duration); }

  // POST to the node, signed now.
  [[nodiscard]] HttpRequest signed_request(const Author& author, std::string body,
                                           const std::string& target = "/inbox") const;
  [[nodiscard]] HttpRequest signed_at(WallTime time, const Author& author, std::string body,
                                      const std::string& target = "/inbox") const;
  HttpResponse ask(HttpRequest request) { return run(node->answer(std::move(request))); }
  HttpResponse get(const std::string& target);
  // As the administrator: `body` empty for GET.
  HttpResponse control(const std::string& target, const std::string& body = {});
  // As one who presses the button twice: the statuses of both answers.
  std::vector<int> control_twice(const std::string& target, const std::string& body);
  HttpResponse post_signed(const std::string& body, const Author& author,
                           const std::string& target = "/inbox") {
    return ask(signed_request(author, body, target));
  }
  // A request that was taken before is answered so again, and changes nothing.
  void expect_repetition(HttpRequest request);
  // The answer must be that error, and nothing may have changed even seconds later.
  void expect_refused(HttpRequest request, int status, const std::string& error, const std::string& message);
  // The same of something that is passed over in silence, but for what is noted in that table.
  void expect_ignored(HttpRequest request, const std::string& reason, const std::string& noted_in = {});

  // Every row of every table, or of all but that one; and but for what administrators asked for.
  std::string state(const std::string& but_for = {});
  // One query, a row a line, columns joined by blanks.
  std::vector<std::string> rows(const char* sql);
  [[nodiscard]] json::object status() const { return node->status(); }
  std::vector<std::string> history(const std::string& tag);

  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{7};
  ring_sim::LoopClock clock{loop, kOwner};
  FakeInternet internet{clock};
  std::filesystem::path directory;
  std::vector<std::string> log_lines;
  Log log{[this](LogLevel, const std::string& line) { log_lines.push_back(line); }};
  Workers workers;
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  // What start() hands to the node. The tokens are read again and again.
  Result<std::vector<instances::TagToken>> tag_tokens;
  instances::ReadFollowedTags read_followed_tags;
  ServiceFinder* services = nullptr;
  health::Machine* machine = nullptr;
  budget::Manager* budget = nullptr;
  Duration database_pause = Duration::zero();  // that a caller waits for the database
  std::unique_ptr<db::Stores> stores;
  std::unique_ptr<Node> node;

  const std::string origin = "https://tags.home.example";

 private:
  std::size_t keys_ = 0;
};

// --- activities --------------------------------------------------------------------------------------------

struct PostText {
  std::string uri;
  std::string author;
  std::vector<std::string> tags;
  json::value to = json::value("https://www.w3.org/ns/activitystreams#Public");
  json::value cc = json::value(json::array());
  bool indexable = true;  // in batches
};
json::object note_object(const PostText& post);
std::string create_text(const PostText& post, const std::string& type = "Create");
inline std::string update_text(const PostText& post) { return create_text(post, "Update"); }
std::string delete_text(const std::string& uri, const std::string& actor);
std::string follow_text(const Author& author, const std::vector<std::string>& objects);
std::string undo_follow_text(const Author& author, const std::vector<std::string>& objects);
// Between nodes. `type` is Add or Remove.
std::string batch_text(const std::string& type, const Author& sender, const std::string& target,
                       const std::vector<PostText>& posts);
std::string announce_text(const Author& sender, const std::vector<PostText>& posts);
// "uri tag error" of each refusal in the answer to a batch.
std::vector<std::string> refusals_of(const HttpResponse& response);

template <class T>
T NodeTest::run(Task<T> task) {
  std::optional<T> result = loop.await(kOwner, std::move(task), std::chrono::minutes(10), Duration(1));
  if (!result) throw std::runtime_error("the task did not end");
  return *std::move(result);
}

}  // namespace tagring::node
