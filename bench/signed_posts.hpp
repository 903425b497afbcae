// Authors of one server, and posts of theirs as their server delivers them: signed in advance (RSA-2048).
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "base/time.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"
#include "signatures/signature.hpp"

namespace tagring::bench {

inline unsigned cores() { return std::max(2U, std::thread::hardware_concurrency()); }

struct Author {
  std::string id;
  crypto::PrivateKey key;
  std::string document;
};

// Of the server at that origin.
inline Author make_author(const std::string& origin, const std::string& name) {
  const std::string id = fmt::format("{}/users/{}", origin, name);
  auto key = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  std::string document = json::serialize(json::object{
      {"@context", "https://www.w3.org/ns/activitystreams"},
      {"id", id},
      {"type", "Person"},
      {"preferredUsername", name},
      {"indexable", true},
      {"inbox", id + "/inbox"},
      {"publicKey",
       json::object{{"id", id + "#main-key"}, {"owner", id}, {"publicKeyPem", key.public_key().pem()}}}});
  return {id, std::move(key), std::move(document)};
}

inline std::vector<Author> make_authors(const std::string& origin, std::size_t count) {
  std::vector<Author> authors;
  for (std::size_t i = 0; i < count; ++i) authors.push_back(make_author(origin, fmt::format("author{}", i)));
  return authors;
}

// What their server answers to that URL.
inline HttpResponse serve_authors(const std::vector<Author>& authors, std::string_view url) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/activity+json");
  const auto found = std::ranges::find(authors, url, &Author::id);
  if (found == authors.end())
    response.status = 404;
  else
    response.body = found->document;
  return response;
}

// The author's request to that inbox, without deadline.
inline HttpCall make_signed(const Author& author, const std::string& inbox, const json::object& activity,
                            WallTime now) {
  HttpCall call("POST", *Url::parse(inbox), Instant());
  call.headers.add("Content-Type", "application/activity+json");
  call.body = json::serialize(activity);
  signatures::sign_call(call, author.key, author.id + "#main-key", now);
  return call;
}

// A new post under these hashtags.
inline HttpCall make_post(const Author& author, const std::string& inbox, std::size_t number,
                          const std::vector<std::string>& tags, WallTime now) {
  const std::string id = fmt::format("{}/statuses/{}", author.id, 113'512'345'678'901'234U + number);
  json::array named;
  for (const std::string& tag : tags) named.push_back(json::object{{"type", "Hashtag"}, {"name", "#" + tag}});
  const std::string_view to_all = "https://www.w3.org/ns/activitystreams#Public";
  const json::object note = {{"id", id},
                             {"type", "Note"},
                             {"attributedTo", author.id},
                             {"to", json::array{to_all}},
                             {"cc", json::array{author.id + "/followers"}},
                             {"published", to_rfc3339(now)},
                             {"content", "<p>Somebody says something about #this and #that.</p>"},
                             {"tag", std::move(named)}};
  return make_signed(author, inbox,
                     {{"@context", "https://www.w3.org/ns/activitystreams"},
                      {"id", id + "/activity"},
                      {"type", "Create"},
                      {"actor", author.id},
                      {"to", json::array{to_all}},
                      {"object", note}},
                     now);
}

// `make(i)` for each i below `count`, on all cores.
template <class Make>
std::vector<HttpCall> make_calls(std::size_t count, const Make& make) {
  std::vector<HttpCall> calls(count, HttpCall("POST", Url{}, Instant()));
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < cores(); ++t) {
    threads.emplace_back([&calls, &make, t] {
      for (std::size_t i = t; i < calls.size(); i += cores()) calls[i] = make(i);
    });
  }
  return calls;
}

}  // namespace tagring::bench
