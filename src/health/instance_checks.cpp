#include "health/instance_checks.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "http/url.hpp"

namespace tagring::health {
namespace {

constexpr Duration kDay = std::chrono::days(1);
constexpr Duration kRefused =
    std::chrono::days(30);  // what was refused before says nothing of an instance now

// How an instance uses this node.
struct Links {
  std::size_t all = 0;
  bool has_relay = false;    // its server does, not only people there or groups
  bool is_accepted = false;  // one of them is
  bool is_taken = false;     // and the Accept has arrived
  std::string why_untaken;   // one has not, and that matters: some person's does if nobody's has
};

Links links_of(const json::object& instance) {
  Links links;
  std::string of_person;
  json::for_each(json::find(instance, "links"), [&](const json::value& element) {
    const json::object& link = element.get_object();
    const std::string style = json::text_of(link, "style");
    const bool is_relay = style != "person" && style != "group";
    ++links.all;
    links.has_relay = links.has_relay || is_relay;
    if (!json::get_flag(link, "accepted")) return;
    links.is_accepted = true;
    const std::optional<std::string> untaken = json::get_string(link, "untaken");
    if (!untaken) {
      links.is_taken = true;
    } else if (!untaken->empty()) {
      (is_relay ? links.why_untaken : of_person) = *untaken;
    }
  });
  if (links.why_untaken.empty() && !links.is_taken) links.why_untaken = of_person;
  return links;
}

// As what below that host uses the node, as the server of a domain may; empty if nothing does.
std::string seen_below(const json::array& instances, const std::string& host) {
  for (const json::value& element : instances) {
    const json::object& instance = element.get_object();
    const std::string name = json::text_of(instance, "host");
    if (!is_same_or_below(name, host)) continue;
    const Links links = links_of(instance);
    if (links.is_accepted) return (links.is_taken ? "is connected as " : "uses this node as ") + name;
  }
  return {};
}

// The date of that time, of UTC, as all dates that the node shows.
std::string date_of(WallTime time) { return to_rfc3339(time).substr(0, 10); }

}  // namespace

// Nothing is expected of who was denied or is blocked.
bool InstanceChecks::is_kept_away(const json::object& instance, const std::string& host) const {
  const bool may_use = json::get_flag(instance, "publishes") || json::get_flag(instance, "receives");
  return (json::get_flag(instance, "decided") && !may_use) || subjects_.blocks.of_host(host) != nullptr;
}

// Nobody else would say that their posts go nowhere: lists of blocks pass them over, so it was done by hand.
Checks InstanceChecks::look_at_own_blocked() const {
  Checks checks;
  for (const std::string& host : subjects_.config.instances) {
    const federation::Block* block = subjects_.blocks.of_host(host);
    if (block == nullptr) continue;
    checks.push_back(
        bad("instance " + host, fmt::format("is this node's own, and is blocked: {}", block->what),
            fmt::format("tagring block remove domain {}, or take it out of publish.instances", block->what)));
  }
  return checks;
}

InstanceChecks::Deliveries InstanceChecks::deliveries() const {
  Deliveries found{{}, subjects_.announcer.failing()};
  for (const auto& [inbox, times] : subjects_.announcer.refusing()) found.refusing[host_of(inbox)] += times;
  return found;
}

std::string InstanceChecks::how_to_add() const {
  return fmt::format(
      "its administrator adds the relay {0}/inbox (Mastodon, Misskey), or follows {0}/actor (Pleroma, "
      "Akkoma)",
      subjects_.config.origin());
}

// Who is not connected may bring posts in another way, as by a FASP.
Check InstanceChecks::look_at_posts(const std::string& host, bool is_connected, bool expected) const {
  const std::string name = "instance " + host;
  const std::string try_it =
      expected ? "write a public post with a hashtag there, and look again: it should show here" : "";
  const SeenPosts::Posts* const seen = subjects_.seen.of(host);
  if (seen == nullptr && !is_connected)
    return {name, true, "may use this node as a relay, and does not yet", how_to_add()};
  if (seen == nullptr) return {name, true, "is connected; no post of it has come yet", try_it};
  const SeenPosts::Posts& posts = *seen;
  const WallTime now = clock_.wall_now();
  const bool is_of_today = date_of(posts.newest_taken) == date_of(now);
  std::string detail = posts.taken ? fmt::format("owners took a post of it {}at {}",
                                                 is_of_today ? "today, " : "", to_rfc3339(*posts.taken))
                                   : "owners have taken no post of it yet";
  const bool is_refused = posts.newest_refused > posts.newest_taken && now - posts.newest_refused < kRefused;
  if (is_refused)
    detail += fmt::format(", and refused {}: {}", posts.taken ? "a newer one" : "one", posts.why_refused);
  // Of one that is well there may be posts that are not, as of somebody whom owners have blocked.
  if (is_refused && (!posts.taken || now - *posts.taken >= kDay))
    return bad(name, detail,
               fmt::format("owners fetch posts from {0} before they take them: see that it shows these to "
                           "servers that ask, whatever it has against bots, and that it is not blocked there",
                           host));
  if (!is_connected) return {name, true, "does not use this node as a relay now; " + detail, how_to_add()};
  if (now - posts.newest_taken < kDay) return well(name, "is connected; " + detail);
  // What was written long ago, and is taken now, may have come in another way.
  if (posts.taken && now - *posts.taken < kDay) detail += ", written at " + to_rfc3339(posts.newest_taken);
  return {name, true, "is connected; " + detail, try_it};
}

Check InstanceChecks::look_at(const json::object& instance, const std::string& host,
                              const json::array& instances, const Deliveries& deliveries) const {
  const std::string name = "instance " + host;
  if (const auto refused = deliveries.refusing.find(host); refused != deliveries.refusing.end())
    return bad(name, fmt::format("refuses whatever this node sends, {} times in a row", refused->second),
               "ask its administrator whether this node, or its hashtags, are blocked there");
  const Links links = links_of(instance);
  if (!links.why_untaken.empty())
    return bad(
        name, "has not taken the Accept: " + links.why_untaken,
        fmt::format("see that {} lets this node in. It is sent again for a week, unless it was refused "
                    "(4xx), and at once if the relay is removed there and added again",
                    host));
  if (links.all > 0 && !links.is_accepted)
    return bad(name, "waits to be allowed", "tagring instance allow " + host);
  if (const auto fails = deliveries.failing.find(host); fails != deliveries.failing.end())
    return bad(
        name,
        fmt::format("has taken nothing since {}: {}", to_rfc3339(fails->second.failing_since),
                    fails->second.reason),
        fmt::format("see that {} runs and lets this node in: what waits is sent again for a week", host));
  if (const std::string below = links.all == 0 ? seen_below(instances, host) : ""; !below.empty())
    return well(name, below);
  if (links.is_accepted && !links.is_taken) return well(name, "is allowed, and is being told so");
  return look_at_posts(host, links.all > 0, links.has_relay && json::get_flag(instance, "publishes"));
}

Checks InstanceChecks::look() const {
  Checks checks = look_at_own_blocked();
  const Deliveries sent = deliveries();
  const json::array instances = subjects_.instances.list();
  for (const json::value& element : instances) {
    const json::object& instance = element.get_object();
    const std::string host = json::text_of(instance, "host");
    if (!is_kept_away(instance, host)) checks.push_back(look_at(instance, host, instances, sent));
  }
  for (const auto& [inbox, days] : subjects_.announcer.silent())
    checks.push_back(bad("FASP server " + host_of(inbox),
                         fmt::format("took no announcement on {} days; what is older than a week is not "
                                     "sent any more, and its subscriptions are kept",
                                     days),
                         "if it does not come back: tagring fasp remove " + host_of(inbox)));
  const delivery::OwnerQueue& owners = subjects_.owners;
  if (owners.size() > 0 && owners.delivered() == 0)
    checks.push_back(bad("owners",
                         fmt::format("{} posts wait, and none was taken since the start", owners.size()),
                         "tagring show queues says by whom they are not taken"));
  const delivery::Announcer& announcer = subjects_.announcer;
  const json::object reading = announcer.is_reading() ? announcer.reading() : json::object();
  if (const std::string because = json::text_of(reading, "because"); !because.empty())
    checks.push_back(bad("feed",
                         fmt::format("nothing new is announced, since the feed of before the start cannot "
                                     "be read: {}",
                                     because),
                         "see that the database and its disk are well; it is tried again every second"));
  return checks;
}

}  // namespace tagring::health
