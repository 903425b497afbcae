// The servers of posts: documents by URL, else 404, or what they answer instead; or all of them are down.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string>

#include "base/time.hpp"
#include "http/message.hpp"

namespace tagring {

// A post, for tests that need one.
inline const std::string kUri = "https://post.example/1";
inline const std::string kAuthor = "https://post.example/u";
inline const WallTime kDate(Duration(1'763'691'840'000));

class Servers final : public HttpClient {
 public:
  Task<Result<HttpResponse>> send(HttpCall call) override {
    ++asked[call.url.text()];
    meanwhile();
    if (pause) co_await pause();
    HttpResponse response;
    const auto document = documents.find(call.url.text());
    const auto refused = refusals.find(call.url.text());
    response.status = down                          ? 503
                      : refused != refusals.end()   ? refused->second
                      : document == documents.end() ? 404
                                                    : 200;
    if (response.status == 200) {
      response.headers.add("Content-Type", "application/activity+json");
      response.body = document->second;
      if (!cache_control.empty()) response.headers.add("Cache-Control", cache_control);
    }
    co_return response;
  }
  void publish(const std::string& uri, const std::string& author, const std::string& tag, WallTime published,
               WallTime updated = {}) {
    documents[uri] = fmt::format(
        R"({{"id":"{}","type":"Note","attributedTo":"{}","published":"{}","updated":"{}",)"
        R"("to":["https://www.w3.org/ns/activitystreams#Public"],"tag":[{{"type":"Hashtag","name":"#{}"}}]}})",
        uri, author, to_rfc3339(published), to_rfc3339(std::max(published, updated)), tag);
    join(author, /*indexable=*/true);
  }
  // A post that was published, as it says, on `date`.
  void date(const std::string& uri, const std::string& date) {
    std::string& document = documents.at(uri);
    const std::string key = R"("published":")";
    const std::size_t begin = document.find(key) + key.size();
    document.replace(begin, document.find('"', begin) - begin, date);
  }
  void join(const std::string& author, bool indexable, const std::string& summary = "") {
    documents[author] = fmt::format(
        R"({{"id":"{0}","type":"Person","inbox":"{0}/inbox","preferredUsername":"u","indexable":{1},"summary":"{2}"}})",
        author, indexable, summary);
  }
  // As Mastodon does: the profile says so, and the posts are shown to nobody.
  void suspend(const std::string& author) {
    join(author, /*indexable=*/false);
    documents[author].insert(1, R"("suspended":true,)");
  }
  [[nodiscard]] int asked_in_all() const {
    int all = 0;
    for (const auto& [url, times] : asked) all += times;
    return all;
  }

  std::map<std::string, std::string> documents;
  std::map<std::string, int> refusals;  // status, by URL
  std::map<std::string, int> asked;     // by URL
  std::string cache_control;            // which they answer with
  bool down = false;
  std::function<void()> meanwhile = [] {};  // before who asked has the answer
  std::function<Task<void>()> pause;        // for as long as they take; null: no time
};

}  // namespace tagring
