// Mastodon's client API, as far as it is about reading hashtags (docs/client-api.md): what the page of this
// node and existing clients ask. Everybody may ask; answers may be read by any page (CORS).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "federation/rate_limit.hpp"
#include "mastodon_api/feed.hpp"
#include "mastodon_api/instance.hpp"
#include "mastodon_api/streams.hpp"
#include "mastodon_api/timeline.hpp"
#include "mastodon_api/trends.hpp"

namespace tagring::mastodon_api {

class ClientApi {
 public:
  struct Options {
    federation::RateLimit::Options rate;
    // Fetching what somebody names by its URI (search).
    federation::RateLimit::Options resolve_rate{.requests = 30};
    Duration days_fresh = std::chrono::seconds(60);  // how long posts per day are remembered
    std::size_t days_max = 500;                      // of so many hashtags
    std::string email;
    // How many domains posts come from, for /api/v1/instance.
    std::function<std::uint64_t()> domains = [] { return std::uint64_t{0}; };
  };

  ClientApi(Options options, const federation::Identity& identity, storage::HistoryService& history,
            storage::HistoryStore& store, PostCache& posts, Timeline& timeline, Trends& trends,
            Streams& streams, const federation::Blocks& blocks, Clock& clock)
      : options_(std::move(options)),
        site_{identity.origin()},
        history_(history),
        store_(store),
        posts_(posts),
        timeline_(timeline),
        trends_(trends),
        streams_(streams),
        blocks_(blocks),
        clock_(clock),
        rate_(options_.rate, clock),
        resolve_rate_(options_.resolve_rate, clock) {}

  // Requests that answer() is for.
  [[nodiscard]] static bool is_path(std::string_view path);
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  struct Request {
    std::string path;
    std::string query;
    std::string method;
    IpAddress peer;
    bool wants_socket = false;
  };
  Task<HttpResponse> route(Request request);
  Task<HttpResponse> tag_timeline(Request request, std::string name);
  Task<HttpResponse> tag(Request request, std::string name);
  Task<HttpResponse> trending(Request request);
  Task<HttpResponse> search(Request request);
  Task<HttpResponse> feed(std::string name, FeedFormat format);
  Task<HttpResponse> days(Request request, std::string name);
  Task<HttpResponse> instance(bool v1);
  HttpResponse stream(const Request& request);
  Task<std::vector<storage::HistoryDay>> days_of(Tag tag, std::chrono::sys_days from,
                                                 std::chrono::sys_days to);
  Task<json::object> describe(Tag tag);
  Task<json::array> find_tags(std::string text, std::size_t limit);
  Task<json::array> find_post(std::string uri, IpAddress peer);
  [[nodiscard]] Result<Tag> offered(std::string_view name) const;

  Options options_;
  Site site_;
  storage::HistoryService& history_;
  storage::HistoryStore& store_;
  PostCache& posts_;
  Timeline& timeline_;
  Trends& trends_;
  Streams& streams_;
  const federation::Blocks& blocks_;
  Clock& clock_;
  federation::RateLimit rate_;
  federation::RateLimit resolve_rate_;
  struct KnownDays {
    Instant since;
    std::vector<storage::HistoryDay> days;
  };
  std::map<std::tuple<std::string, std::chrono::sys_days, std::chrono::sys_days>, KnownDays> known_days_;
};

// {"error": "…"} as Mastodon says it.
HttpResponse api_error(int status, std::string_view message);
HttpResponse api_error(const Error& error);
HttpResponse api_response(const json::value& value);

}  // namespace tagring::mastodon_api
