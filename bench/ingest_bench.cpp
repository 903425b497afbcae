// Posts into one node's inbox: ingest_bench <directory> [posts]
//
// Each post is a request signed by its author (RSA-2048) in advance. The node is the only one of its network,
// so that it also relays and archives what it takes: `ingest_verified` counts until the last 2xx, which is
// given after the commit; `ingest_settled` until every post is in the archive too.
#include "lone_node.hpp"
#include "signatures/signature.hpp"

namespace tagring::bench {
namespace {

constexpr std::size_t kAuthors = 8;
constexpr std::size_t kInFlight = 256;
constexpr double kGoal = 20'000;

struct Author {
  std::string id;
  crypto::PrivateKey key;
  std::string document;
};

std::vector<Author> make_authors() {
  std::vector<Author> authors;
  for (std::size_t i = 0; i < kAuthors; ++i) {
    const std::string id = fmt::format("https://{}/users/author{}", kInstance, i);
    auto key = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
    std::string document = json::serialize(json::object{
        {"@context", "https://www.w3.org/ns/activitystreams"},
        {"id", id},
        {"type", "Person"},
        {"preferredUsername", fmt::format("author{}", i)},
        {"indexable", true},
        {"inbox", id + "/inbox"},
        {"publicKey",
         json::object{{"id", id + "#main-key"}, {"owner", id}, {"publicKeyPem", key.public_key().pem()}}}});
    authors.push_back({id, std::move(key), std::move(document)});
  }
  return authors;
}

HttpResponse serve_authors(const std::vector<Author>& authors, const HttpCall& call) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/activity+json");
  for (const Author& author : authors) {
    if (author.id == call.url.text()) {
      response.body = author.document;
      return response;
    }
  }
  response.status = 404;
  return response;
}

HttpCall make_call(const Author& author, std::size_t number, WallTime now) {
  const std::string id = fmt::format("{}/statuses/{}", author.id, 113'512'345'678'901'234U + number);
  json::array tags = {json::object{{"type", "Hashtag"}, {"name", fmt::format("#tag{}", number % 1000)}}};
  if (number % 2 == 0) tags.push_back(json::object{{"type", "Hashtag"}, {"name", "#hot"}});
  const std::string_view to_all = "https://www.w3.org/ns/activitystreams#Public";
  const json::object note = {{"id", id},
                             {"type", "Note"},
                             {"attributedTo", author.id},
                             {"to", json::array{to_all}},
                             {"cc", json::array{author.id + "/followers"}},
                             {"published", to_rfc3339(now)},
                             {"content", "<p>Somebody says something about #this and #that.</p>"},
                             {"tag", std::move(tags)}};
  HttpCall call("POST", *Url::parse(fmt::format("https://{}/inbox", kNodeHost)), Instant());
  call.headers.add("Content-Type", "application/activity+json");
  call.body = json::serialize(json::object{{"@context", "https://www.w3.org/ns/activitystreams"},
                                           {"id", id + "/activity"},
                                           {"type", "Create"},
                                           {"actor", author.id},
                                           {"to", json::array{to_all}},
                                           {"object", note}});
  signatures::sign_call(call, author.key, author.id + "#main-key", now);
  return call;
}

std::vector<HttpRequest> make_requests(const std::vector<Author>& authors, std::size_t posts, WallTime now) {
  std::vector<HttpRequest> requests(posts);
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < cores(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < posts; i += cores()) {
        HttpCall call = make_call(authors[i % authors.size()], i, now);
        requests[i].method = call.method;
        requests[i].target = call.url.target;
        requests[i].headers = std::move(call.headers);
        requests[i].headers.set("Host", call.url.authority());
        requests[i].body = std::move(call.body);
      }
    });
  }
  return requests;
}

struct Load {
  std::vector<HttpRequest> requests;
  std::size_t next = 0;
  std::size_t done = 0;
};

Task<void> send_some(LoneNode* lone, Load* load) {
  while (load->next < load->requests.size()) {
    HttpRequest request = std::move(load->requests[load->next++]);
    const HttpResponse response = co_await lone->node->answer(std::move(request));
    if (response.status != 202) give_up(fmt::format("HTTP {}: {}", response.status, response.body));
    ++load->done;
  }
}

struct Rates {
  double taken = 0;
  double settled = 0;
};

Task<void> send_all(LoneNode* lone, const std::vector<Author>* authors, std::size_t posts, Rates* rates) {
  Load load;
  load.requests = make_requests(*authors, posts, lone->clock.wall_now());
  TaskGroup clients(lone->loop.get_executor());
  const Stopwatch watch;
  for (std::size_t i = 0; i < kInFlight; ++i) clients.spawn("client", send_some(lone, &load));
  co_await clients.join();
  rates->taken = static_cast<double>(load.done) / watch.seconds();
  fmt::print(stderr, "{} posts taken in {:.1f} s, {:.1f} s of CPU\n", load.done, watch.seconds(),
             watch.cpu_seconds());
  co_await lone->wait_for([lone] { return lone->node->is_idle(); });
  fmt::print(stderr, "settled after {:.1f} s, {:.1f} s of CPU\n", watch.seconds(), watch.cpu_seconds());
  rates->settled = static_cast<double>(load.done) / watch.seconds();
}

void measure(const std::filesystem::path& directory, std::size_t posts) {
  const std::vector<Author> authors = make_authors();
  const crypto::PublicKey key = authors[0].key.public_key();
  const std::string message = "as long as most signing strings are";
  const std::string signature = authors[0].key.sign(message);
  const double verifies = rate_on_all_cores([&] {
    if (!key.verify(message, signature)) give_up("a signature does not verify");
  });
  LoneNode lone(directory, crypto::PrivateKey::generate(crypto::KeyType::kRsa2048));
  lone.http.answer = [&authors](const HttpCall& call) { return serve_authors(authors, call); };
  Rates rates;
  lone.run(send_all(&lone, &authors, posts, &rates));
  print({"ingest_verified", rates.taken, "posts/s", kGoal, "goal"});
  print({"ingest_verified_of_rsa", rates.taken, "posts/s", verifies,
         "RSA-2048 verifications/s of all cores, just before"});
  print({"ingest_settled", rates.settled, "posts/s", kGoal, "goal for taking them"});
}

}  // namespace
}  // namespace tagring::bench

int main(int argc, char** argv) {
  if (argc < 2) tagring::bench::give_up("usage: ingest_bench <directory> [posts]");
  tagring::bench::measure(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 30'000);
}
