// The pages for people: start, search, hashtags, and the administrator's. They stand on what the node answers
// to other clients (Mastodon's API), and are whole without JavaScript, except for the administrator's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "budget/manager.hpp"
#include "hashtag/tag.hpp"
#include "http/message.hpp"

namespace tagring::web {

class Site {
 public:
  struct Options {
    std::string authority;                       // "tags.example.org"
    std::string origin;                          // "https://tags.example.org"
    std::string contact = {};                    // an e-mail address of who runs the node, or empty
    std::function<std::string()> moved_to = {};  // the origin that the node has from now on, or empty
  };
  // `api` answers GETs below /api/. `http`, `clock` and `budget` are for the servers of readers.
  Site(Options options, HttpHandler api, HttpClient& http, Clock& clock, budget::Manager& budget)
      : options_(std::move(options)), api_(std::move(api)), http_(http), clock_(clock), budget_(budget) {}

  [[nodiscard]] static bool is_path(std::string_view path);
  // Answers a GET of such a path.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // What a reader is shown where nothing is.
  [[nodiscard]] HttpResponse missing() const;

 private:
  // Where a reader finds that page now; empty if here.
  [[nodiscard]] std::string moved_page(const std::string& target) const;
  [[nodiscard]] HttpResponse page(std::string title, std::string main, int status = 200) const;
  // What was typed is none, and what may have been meant.
  [[nodiscard]] HttpResponse no_such_hashtag(const std::string& name, const Error& error) const;
  Task<HttpResponse> home(IpAddress reader);
  Task<HttpResponse> search(std::string query, IpAddress reader);
  Task<HttpResponse> tag(std::string rest, std::string query, IpAddress reader);
  Task<HttpResponse> follow(Tag tag, std::string account, bool as_json, IpAddress asker);
  // Where a server wants to be told what to follow.
  struct Way {
    std::string text;      // a URI with {uri} in it
    bool guessed = false;  // the server does not say: the place where many have it
  };
  Task<Result<Way>> way_to_follow(std::string server, std::string user, IpAddress asker);
  // What the server's WebFinger has of a resource.
  struct Known {
    std::string way;     // the template; empty without one
    std::string server;  // who answered, in the end
    bool found = false;
  };
  // An error if it does not answer.
  Task<Result<Known>> ask_webfinger(std::string server, std::string resource);
  Task<std::string> software_of(std::string server);
  // Follows a few redirects, by HTTPS only and wherever they lead (RFC 7033, 4.2). `from`: who answered in
  // the end; may be null.
  Task<Result<HttpResponse>> get(std::string url, std::string* from);
  // On behalf of the reader, who may ask only so much.
  Task<HttpResponse> ask_api(std::string target, IpAddress reader);

  const Options options_;
  const HttpHandler api_;
  HttpClient& http_;
  Clock& clock_;
  budget::Manager& budget_;
};

}  // namespace tagring::web
