// Fan-out of one hot tag from its relay owner: fanout_bench <directory>
//
// The node owns every tag, and so does all there is to do for each post: de-duplication, the feed and the
// archive on the disk, and a signed delivery to each of 1,000 followers. Deliveries end in memory.
#include <cstring>

#include "lone_node.hpp"

namespace tagring::bench {
namespace {

constexpr std::size_t kFollowers = 1000;
constexpr std::size_t kBurst = 1000;

HttpResponse take_delivery(const HttpCall& /*call*/) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  response.body = R"({"accepted":0,"refused":[]})";
  return response;
}

std::vector<delivery::Follower> make_followers(bool nodes) {
  std::vector<delivery::Follower> followers;
  for (std::size_t i = 0; i < kFollowers; ++i) {
    const std::string origin = fmt::format("https://{}{}.example", nodes ? "tags" : "social", i);
    followers.push_back({Tag::from_canonical("hot"), origin + (nodes ? "/actor" : "/users/somebody"),
                         origin + "/inbox", origin + "/follows/1",
                         nodes ? delivery::Via::kNode : delivery::Via::kBoost, 0});
  }
  return followers;
}

std::vector<delivery::TagEvent> make_posts(std::size_t first, std::size_t count, WallTime now) {
  std::vector<delivery::TagEvent> events;
  for (std::size_t i = first; i < first + count; ++i) {
    const std::string author = fmt::format("https://mastodon{}.example/users/author{}", i % 50, i % 997);
    events.push_back({Tag::from_canonical("hot"), delivery::Op::kAdd,
                      fmt::format("{}/statuses/{}", author, 113'512'345'678'901'234U + i), author, now});
  }
  return events;
}

Task<void> publish(LoneNode* lone, std::size_t posts, double* seconds) {
  const Stopwatch watch;
  for (std::size_t first = 0; first < posts; first += kBurst) {
    auto events = make_posts(first, std::min(kBurst, posts - first), lone->clock.wall_now());
    const auto refused =
        co_await lone->node->relay_owner().take(std::move(events), "https://tags.bench.example", {});
    if (!refused || !refused->empty()) give_up("the node refused posts");
  }
  const std::uint64_t deliveries = posts * kFollowers;
  co_await lone->wait_for([lone, deliveries] {
    return lone->node->status().at("announced").to_number<std::uint64_t>() >= deliveries;
  });
  *seconds = watch.seconds();
  fmt::print(stderr, "{:.1f} s of CPU: ", watch.cpu_seconds());
}

// Deliveries a second.
double measure(const std::filesystem::path& directory, const crypto::PrivateKey& key, bool nodes,
               std::size_t posts) {
  LoneNode lone(directory, key);
  lone.http.answer = take_delivery;
  boost::asio::co_spawn(lone.loop, lone.stores->relay.follow(make_followers(nodes)),
                        [](std::exception_ptr, const auto& stored) {
                          if (!stored) give_up(stored.error().message);
                        });
  lone.loop.run();
  lone.loop.restart();
  double seconds = 0;
  lone.run(publish(&lone, posts, &seconds));
  const double rate = static_cast<double>(posts * kFollowers) / seconds;
  fmt::print(stderr, "{} posts to {} {}: {:.1f} s, {} requests, {:.0f} MB\n", posts, kFollowers,
             nodes ? "nodes" : "people", seconds, lone.http.calls,
             static_cast<double>(lone.http.bytes) / 1e6);
  return rate;
}

}  // namespace
}  // namespace tagring::bench

int main(int argc, char** argv) {
  using namespace tagring;
  using namespace tagring::bench;
  if (argc != 2) give_up("usage: fanout_bench <directory>");
  const std::filesystem::path directory = argv[1];
  constexpr double kGoal = 1'620'000;
  const auto rsa = crypto::PrivateKey::generate(crypto::KeyType::kRsa2048);
  const auto ed25519 = crypto::PrivateKey::generate(crypto::KeyType::kEd25519);
  print({"fanout_uris", measure(directory, rsa, true, 10'000), "URIs/s", kGoal, "goal"});
  print({"fanout_uris_ed25519", measure(directory, ed25519, true, 10'000), "URIs/s", kGoal, "goal"});
  const double signs = rate_on_all_cores([&rsa] {
    if (rsa.sign("as long as most signing strings are").empty()) give_up("cannot sign");
  });
  // So many that it does not matter that they begin spread over ten seconds (delivery/announcer.cpp).
  print({"deliver_signed", measure(directory, rsa, false, 300), "deliveries/s", signs,
         "RSA-2048 signatures/s of all cores, just before (goal: ratio 0.8)"});
}
