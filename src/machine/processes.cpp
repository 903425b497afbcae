#include "machine/processes.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/ranges.h>

#include "base/json.hpp"
#include "cluster/channel.hpp"
#include "net/http_client.hpp"
#include "net/resolver.hpp"
#include "net/system_clock.hpp"

namespace tagring::machine {
namespace {

constexpr Duration kAtOnce = std::chrono::seconds(2);

Result<HttpResponse> ask_here(const cluster::Place& place, std::string_view path) {
  boost::asio::io_context loop(1);
  const net::SystemClock clock(loop.get_executor());
  net::Resolver resolver(
      {.hosts = {}, .allow_ip_literals = true, .threads = 1, .ring_threads = 1, .name_server = {}});
  net::HttpClientOptions options;
  options.allow_private_addresses = true;
  TRY(const auto client, net::BeastHttpClient::make(std::move(options), loop.get_executor(), resolver));
  TRY(HttpCall call, cluster::call_to("GET", place.text(), path, clock.now() + kAtOnce));
  Result<HttpResponse> result = fail(ErrorCode::kUnavailable, "no answer");
  boost::asio::co_spawn(loop, client->send(std::move(call)),
                        [&](std::exception_ptr error, Result<HttpResponse> answer) {
                          if (!error) result = std::move(answer);
                          loop.stop();
                        });
  loop.run();
  return result;
}

}  // namespace

std::optional<FrontHere> find_front(const config::Config& config) {
  if (config.metrics_port == 0) return std::nullopt;
  const Result<HttpResponse> answer = ask_here({config.metrics_address, config.metrics_port}, "/readyz");
  if (!answer) return std::nullopt;
  const Result<json::object> report = json::parse_object(answer->body);
  if (!report || json::text_of(*report, "role") != "front") return std::nullopt;
  return FrontHere{.at = json::text_of(*report, "at"),
                   .version = json::text_of(*report, "version"),
                   .core = json::text_of(*report, "core"),
                   .core_answers = json::get_flag(*report, "core_answers")};
}

health::Check judge(const FrontHere& front) {
  const std::string runs = fmt::format("runs here at {}, tagring {}", front.at, front.version);
  if (front.core.empty())
    return health::bad("front", runs + ", and has found no core in the database",
                       "see that the core runs (tagring doctor on its machine), and that this machine "
                       "reaches PostgreSQL");
  if (!front.core_answers)
    return health::bad("front", fmt::format("{}, and its core at {} does not answer", runs, front.core),
                       fmt::format("see that the core runs (tagring doctor on its machine), and that this "
                                   "machine may connect to {}",
                                   front.core));
  return {"front", true, fmt::format("{}, and reaches its core at {}", runs, front.core),
          "how the node is, tagring doctor says on the core's machine"};
}

health::Check judge(const Result<sql::Tenure>& tenure) {
  if (!tenure)
    return health::bad("standby", tenure.error().message,
                       "see that PostgreSQL runs and takes connections; its log says more");
  if (tenure->holder.empty())
    return health::bad(
        "standby", fmt::format("term {} has ended: no process is the node", tenure->term),
        "start one (systemctl start tagring; with fronts, tagring-core@ADDRESS:PORT), or see in its log "
        "why it ended");
  const std::string is_node = fmt::format("the node, in term {}, is {}", tenure->term, tenure->holder);
  if (tenure->waiting.empty())
    return health::bad("standby", is_node + "; no other process waits to take over",
                       "start tagring on the other machine (systemctl start tagring; with fronts, "
                       "tagring-core@ADDRESS:PORT); \"systemctl status\" of it says what it waits for");
  return health::well(
      "standby", fmt::format("{}; to take over waits {}", is_node, fmt::join(tenure->waiting, ", and ")));
}

}  // namespace tagring::machine
