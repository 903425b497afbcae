// Posts into one node's inbox: ingest_bench <directory> [posts]
//
// Each post is a request signed by its author (RSA-2048) in advance. The node is the only one of its network,
// so that it also relays and archives what it takes: `ingest_verified` counts until the last 2xx, which is
// given after the commit; `ingest_settled` until every post is in the archive too.
#include "lone_node.hpp"
#include "signed_posts.hpp"

namespace tagring::bench {
namespace {

constexpr std::size_t kAuthors = 8;
constexpr std::size_t kInFlight = 256;
constexpr double kGoal = 20'000;

HttpCall make_call(const std::vector<Author>& authors, std::size_t number, WallTime now) {
  std::vector<std::string> tags = {fmt::format("tag{}", number % 1000)};
  if (number % 2 == 0) tags.emplace_back("hot");
  return make_post(authors[number % authors.size()], fmt::format("https://{}/inbox", kNodeHost), number, tags,
                   now);
}

HttpRequest received(HttpCall call) {
  HttpRequest request;
  request.method = call.method;
  request.target = call.url.target;
  request.headers = std::move(call.headers);
  request.headers.set("Host", call.url.authority());
  request.body = std::move(call.body);
  return request;
}

struct Load {
  std::vector<HttpCall> requests;
  std::size_t next = 0;
  std::size_t done = 0;
};

Task<void> send_some(LoneNode* lone, Load* load) {
  while (load->next < load->requests.size()) {
    HttpRequest request = received(std::move(load->requests[load->next++]));
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
  const WallTime now = lone->clock.wall_now();
  load.requests = make_calls(posts, [&](std::size_t i) { return make_call(*authors, i, now); });
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
  const std::vector<Author> authors = make_authors(fmt::format("https://{}", kInstance), kAuthors);
  const crypto::PublicKey key = authors[0].key.public_key();
  const std::string message = "as long as most signing strings are";
  const std::string signature = authors[0].key.sign(message);
  const double verifies = rate_on_all_cores([&] {
    if (!key.verify(message, signature)) give_up("a signature does not verify");
  });
  LoneNode lone(directory, crypto::PrivateKey::generate(crypto::KeyType::kRsa2048));
  lone.http.answer = [&authors](const HttpCall& call) { return serve_authors(authors, call.url.text()); };
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
