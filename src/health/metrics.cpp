#include "health/metrics.hpp"

#include <array>
#include <fmt/format.h>
#include <string_view>

namespace tagring::health {
namespace {

// One figure, or one of each ring. `path` is where it stands in the status, or below "rings".<ring>.
struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view path;
  std::string_view help;
};

constexpr std::array kOfNode = {
    Metric{"ready", "gauge", "ready",
           "1 if the node is on both rings or has moved, is reached by others, and can write"},
    Metric{"problems", "gauge", "problems", "What tagring doctor found to be wrong when it looked last"},
    Metric{"uptime_seconds", "gauge", "uptime_seconds", "Since the start of the node"},
    Metric{"certificate_expiry_seconds", "gauge", "certificate_until",
           "When the certificate expires, in seconds since 1970"},
    Metric{"certificate_late_seconds", "gauge", "certificate_late_from",
           "When there should be a new one, since a sixth of its lifetime is left, in seconds since 1970"},
    Metric{"disk_size_bytes", "gauge", "disk.size", "Size of the file system with the node's data"},
    Metric{"disk_free_bytes", "gauge", "disk.free", "What is free there"},
    Metric{"data_bytes", "gauge", "disk.used", "What the node's data takes"},
    Metric{"disk_full_days", "gauge", "forecast.disk_full_in_days",
           "Days until the disk is full; absent if that takes ten years, or is not known yet"},
    Metric{"history_full_days", "gauge", "forecast.history_full_in_days",
           "The same of the history and its limit"},
    Metric{"posts_published_total", "counter", "published", "Posts of this node's instances"},
    Metric{"posts_relayed_total", "counter", "relayed", "Posts taken as a relay owner"},
    Metric{"posts_archived_total", "counter", "archived", "Posts taken as a storage owner"},
    Metric{"posts_received_total", "counter", "received", "Posts received as a subscriber"},
    Metric{"posts_checked_total", "counter", "checked",
           "Posts fetched from their servers to see whether they are genuine"},
    Metric{"inbox_accepted_total", "counter", "inbox.accepted", "Activities that were taken"},
    Metric{"inbox_ignored_total", "counter", "inbox.ignored", "Activities of no concern"},
    Metric{"inbox_refused_total", "counter", "inbox.refused", "Activities that were refused"},
    Metric{"followers", "gauge", "followers", "Actors that follow hashtags or the node"},
    Metric{"followers_unlisted", "gauge", "followers_unlisted",
           "Lists of followers of one server that are too long to be compared"},
    Metric{"hashtags_wanted", "gauge", "wanted", "Hashtags that the node is subscribed to"},
    Metric{"subscriptions", "gauge", "subscriptions", "Owners that the node is subscribed at"},
    Metric{"subscriptions_settled", "gauge", "subscriptions_settled", "1 if all of these have accepted"},
    Metric{"posts_put_off", "gauge", "put_off",
           "Posts over the limits, which wait until the hour allows them"},
    Metric{"signed_copies_put_off", "gauge", "signed_copies.put_off",
           "Edits over the limit of their server, which are handed on in the next hour"},
    Metric{"signed_copies_dropped_total", "counter", "signed_copies.dropped",
           "Edits and deletions that could not be handed on"},
    Metric{"posts_owed", "gauge", "owed", "Posts that wait for an owner to take them"},
    Metric{"announcements_waiting", "gauge", "announcing", "Announcements that wait to be delivered"},
    Metric{"announcements_delivered_total", "counter", "announced", "Announcements that were delivered"},
    Metric{"replays_active", "gauge", "replaying", "Histories on their way into instances"},
    Metric{"history_posts", "gauge", "retention.posts", "Posts in the history"},
    Metric{"history_bytes", "gauge", "retention.octets", "What these take"},
    Metric{"history_limit_bytes", "gauge", "retention.octets_max", "Beyond this old posts are let go"},
    Metric{"history_let_go_total", "counter", "retention.let_go", "Old posts that made room"},
    Metric{"history_let_go_early_total", "counter", "retention.let_go_early",
           "Of these, younger than storage.keep_days"},
    Metric{"connections", "gauge", "budget.connections.used", "Open connections that came in"},
    Metric{"connections_refused_total", "counter", "budget.connections.refused",
           "Times that somebody had as many connections as they may"},
    Metric{"bodies_bytes", "gauge", "budget.bodies.used",
           "Bytes of requests that are read or dealt with, and of large answers until they are taken"},
    Metric{"bodies_refused_total", "counter", "budget.bodies.refused",
           "Times that somebody had as many bytes under way as they may"},
    Metric{"key_fetches_refused_total", "counter", "budget.key_fetches.refused",
           "Keys that were not fetched, because who asked had caused too many fetches"},
    Metric{"key_requests_refused_total", "counter", "budget.key_hosts.refused",
           "The same, because their host was asked too often"},
    Metric{"events_refused_total", "counter", "budget.events.refused",
           "Batches of posts put off, because their domain had brought too many"},
    Metric{"reports_open", "gauge", "budget.reports.used",
           "Reports of other servers that wait for the administrator"},
    Metric{"reports_oldest_seconds", "gauge", "reports_oldest",
           "When the oldest of these came, in seconds since 1970; absent if there is none"},
    Metric{"instances_waiting", "gauge", "budget.waiting.used", "Actors that wait for the administrator"},
    Metric{"receipts_bad_total", "counter", "receipts.bad", "Receipts of owners that were not in order"},
    Metric{"offenders", "gauge", "audits.offenders",
           "Owners that were proved to have dropped posts, in the last day"},
    Metric{"audits_amiss_total", "counter", "audits.amiss",
           "Times that owners did not all show posts that they were asked for"},
    Metric{"accused_total", "counter", "audits.accused",
           "Times that another node proved that this one had dropped a post"},
    Metric{"disputes_total", "counter", "disputes.raised", "Posts about which owners of a history differed"},
    Metric{"doubtful_nodes", "gauge", "disputes.doubtful_nodes",
           "Nodes that were wrong about posts of others lately, or are proved to have dropped some"},
    Metric{"entries_transferred_total", "counter", "transferred", "Entries fetched because owners changed"},
    Metric{"entries_reconciled_total", "counter", "reconciled.posts",
           "Entries that comparisons with other owners brought back"},
    Metric{"fronts", "gauge", "fronts", "Fronts of this core that are there (docs/scaling.md)"},
    Metric{"front_core_answers", "gauge", "front.core_answers", "Of a front: 1 if its core answers it"},
    Metric{"front_brought_total", "counter", "front.brought",
           "Of a front: requests that it brought its core, and that were answered"},
    Metric{"front_refused_total", "counter", "front.refused",
           "Of a front: requests that were signed wrongly"},
    Metric{"front_unanswered_total", "counter", "front.unanswered",
           "Of a front: requests that no core answered"},
    Metric{"front_sent_total", "counter", "front.sent", "Of a front: calls that it made for its core"},
};
// What a core knows of each of its fronts.
constexpr std::array kOfFront = {
    Metric{"front_brought_total", "counter", "brought", "Requests that the front brought"},
    Metric{"front_sent_total", "counter", "sent", "Calls that it made for the core, and that were answered"},
    Metric{"front_failed_total", "counter", "failed", "Calls that it made in vain"},
    Metric{"front_calls", "gauge", "calls", "Calls that it is making"},
    Metric{"front_refused_total", "counter", "refused", "Requests that it refused: signed wrongly"},
    Metric{"front_unanswered_total", "counter", "unanswered", "Requests for which it found no core"},
};
constexpr std::array kOfRing = {
    Metric{"ring_member", "gauge", "member", "1 if all of the node's places on the ring are taken"},
    Metric{"ring_serving", "gauge", "serving",
           "1 if these have what they own, and others reach them; a node alone serves"},
    Metric{"ring_share", "gauge", "share", "Of the ring that the node owns, 0 to 1"},
    Metric{"ring_vservers", "gauge", "vservers", "Places that the node has"},
    Metric{"ring_size", "gauge", "estimated_vservers", "Places of all nodes, estimated"},
    Metric{"ring_load", "gauge", "load", "What the node bears: bytes a second (relay), bytes (storage)"},
    Metric{"ring_capacity", "gauge", "capacity", "What it can bear"},
    Metric{"ring_moves_total", "counter", "moves", "Times that balancing moved a place"},
    Metric{"ring_lookups_total", "counter", "lookups", "Look-ups that needed calls"},
    Metric{"ring_lookup_calls_total", "counter", "lookup_calls", "Calls that these made"},
    Metric{"ring_merges_total", "counter", "merges", "Times that the node found itself on a ring split off"},
};

// A number, a truth as 1 or 0, how many there are in a list, or the sum of counts by reason; empty for all
// else.
std::string figure(const json::object& status, std::string_view path) {
  const std::size_t dot = path.find('.');
  const json::value* found = json::find(status, path.substr(0, dot));
  if (found == nullptr) return {};
  if (dot != std::string_view::npos)
    return found->is_object() ? figure(found->get_object(), path.substr(dot + 1)) : std::string();
  if (found->is_bool()) return found->get_bool() ? "1" : "0";
  if (found->is_array()) return fmt::to_string(found->get_array().size());
  if (found->is_object()) {
    std::int64_t sum = 0;
    for (const auto& [reason, count] : found->get_object())
      sum += count.is_number() ? count.to_number<std::int64_t>() : 0;
    return fmt::to_string(sum);
  }
  return found->is_number() ? json::serialize(*found) : std::string();
}

std::string head(const Metric& metric) {
  return fmt::format("# HELP tagring_{0} {1}\n# TYPE tagring_{0} {2}\n", metric.name, metric.help,
                     metric.type);
}

// Of everything that others may use, so that nothing is forgotten that comes later.
std::string of_budget(const json::object& status) {
  constexpr std::array kOfResource = {
      Metric{"budget_used", "gauge", "used",
             "What others use of this node, or spend in a while, by resource"},
      Metric{"budget_refused_total", "counter", "refused", "Times that somebody had as much as they may"}};
  const json::object* budget = json::get_object(status, "budget");
  if (budget == nullptr) return {};
  std::string text;
  for (const Metric& metric : kOfResource) {
    text += head(metric);
    for (const auto& [resource, use] : *budget) {
      if (use.is_object())
        text += fmt::format("tagring_{}{{resource=\"{}\"}} {}\n", metric.name, std::string_view(resource),
                            figure(use.get_object(), metric.path));
    }
  }
  return text;
}

// One line for each that is there.
std::string of_fronts(const json::object& status) {
  const json::value* fronts = json::find(status, "fronts");
  if (fronts == nullptr || !fronts->is_array() || fronts->get_array().empty()) return {};
  std::string text;
  for (const Metric& metric : kOfFront) {
    text += head(metric);
    json::for_each(fronts, [&](const json::value& front) {
      if (front.is_object())
        text += fmt::format("tagring_{}{{front=\"{}\"}} {}\n", metric.name,
                            json::text_of(front.get_object(), "at"), figure(front.get_object(), metric.path));
    });
  }
  return text;
}

std::string_view role_of(const json::object& status) {
  if (json::text_of(status, "role") == "front") return "front";
  return json::find(status, "fronts") != nullptr ? "core" : "all";
}

}  // namespace

std::string to_metrics(const json::object& status) {
  std::string text = fmt::format(
      "# HELP tagring_info The program that runs\n# TYPE tagring_info gauge\ntagring_info{{version=\"{}\","
      "role=\"{}\"}} 1\n",
      json::text_of(status, "version"), role_of(status));
  for (const Metric& metric : kOfNode) {
    const std::string value = figure(status, metric.path);
    if (!value.empty()) text += fmt::format("{}tagring_{} {}\n", head(metric), metric.name, value);
  }
  text += of_fronts(status);
  text += of_budget(status);
  const json::object* rings = json::get_object(status, "rings");
  if (rings == nullptr) return text;
  for (const Metric& metric : kOfRing) {
    text += head(metric);
    for (const auto& [ring, value] : *rings) {
      if (value.is_object())
        text += fmt::format("tagring_{}{{ring=\"{}\"}} {}\n", metric.name, std::string_view(ring),
                            figure(value.get_object(), metric.path));
    }
  }
  return text;
}

}  // namespace tagring::health
