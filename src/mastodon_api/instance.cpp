#include "mastodon_api/instance.hpp"

#include <fmt/format.h>

#include "federation/version.hpp"
#include "posts/ids.hpp"

namespace tagring::mastodon_api {
namespace {

constexpr std::string_view kDescription =
    "A node of a tagring network: every public post under a hashtag, from all servers that take part.";

std::string streaming_url(const posts::Site& site) {
  const std::size_t rest = site.origin.find("://");
  return (site.origin.starts_with("https") ? "wss" : "ws") + site.origin.substr(rest);
}

std::string authority(const posts::Site& site) { return site.origin.substr(site.origin.find("//") + 2); }

std::string compatible_version(const InstanceFacts& facts) {
  return fmt::format("{} (compatible; tagring {})", kMastodonVersion, facts.version);
}

// Nobody posts here, so everything that limits posts is 0.
json::object media_limits() {
  return {{"supported_mime_types", json::array()},
          {"description_limit", 0},
          {"image_size_limit", 0},
          {"image_matrix_limit", 0},
          {"video_size_limit", 0},
          {"video_frame_rate_limit", 0},
          {"video_matrix_limit", 0}};
}

json::object poll_limits() {
  return {{"max_options", 0}, {"max_characters_per_option", 0}, {"min_expiration", 0}, {"max_expiration", 0}};
}

json::object status_limits() {
  return {{"max_characters", 0}, {"max_media_attachments", 0}, {"characters_reserved_per_url", 23}};
}

json::object account_limits() {
  return {{"max_display_name_length", 0},
          {"max_note_length", 0},
          {"max_avatar_description_length", 0},
          {"max_header_description_length", 0},
          {"max_featured_tags", 0},
          {"max_pinned_statuses", 0},
          {"max_profile_fields", 0},
          {"profile_field_name_limit", 0},
          {"profile_field_value_limit", 0}};
}

}  // namespace

json::object make_instance(const InstanceFacts& facts) {
  const posts::Site& site = facts.site;
  const json::object feed = {{"local", "public"}, {"remote", "public"}};
  const json::object configuration = {
      {"urls", json::object{{"streaming", streaming_url(site)},
                            {"status", nullptr},
                            {"about", site.origin + "/"},
                            {"privacy_policy", nullptr},
                            {"terms_of_service", nullptr}}},
      {"vapid", json::object{{"public_key", ""}}},
      {"accounts", account_limits()},
      {"statuses", status_limits()},
      {"media_attachments", media_limits()},
      {"polls", poll_limits()},
      {"translation", json::object{{"enabled", false}}},
      {"timelines_access",
       json::object{{"live_feeds", json::object{{"local", "disabled"}, {"remote", "disabled"}}},
                    {"hashtag_feeds", feed},
                    {"trending_link_feeds", json::object{{"local", "disabled"}, {"remote", "disabled"}}}}},
      {"limited_federation", false}};
  return {{"domain", authority(site)},
          {"title", "tagring on " + authority(site)},
          {"version", compatible_version(facts)},
          {"source_url", site.origin + "/"},
          {"description", kDescription},
          {"wrapstodon", nullptr},
          {"usage", json::object{{"users", json::object{{"active_month", 0}}}}},
          {"thumbnail", json::object{{"url", site.missing_image()}, {"description", ""}}},
          {"icon", json::array()},
          {"languages", json::array{"en"}},
          {"configuration", configuration},
          {"registrations", json::object{{"enabled", false},
                                         {"approval_required", false},
                                         {"message", nullptr},
                                         {"min_age", nullptr},
                                         {"reason_required", nullptr},
                                         {"url", nullptr}}},
          {"api_versions", json::object{{"mastodon", 2}}},
          {"contact", json::object{{"email", facts.email}, {"account", nullptr}}},
          {"rules", json::array()}};
}

json::object make_instance_v1(const InstanceFacts& facts) {
  const posts::Site& site = facts.site;
  return {{"uri", authority(site)},
          {"title", "tagring on " + authority(site)},
          {"short_description", kDescription},
          {"description", kDescription},
          {"email", facts.email},
          {"version", compatible_version(facts)},
          {"urls", json::object{{"streaming_api", streaming_url(site)}}},
          {"stats",
           json::object{{"user_count", 0}, {"status_count", facts.posts}, {"domain_count", facts.domains}}},
          {"thumbnail", nullptr},
          {"languages", json::array{"en"}},
          {"registrations", false},
          {"approval_required", false},
          {"invites_enabled", false},
          {"configuration", json::object{{"accounts", account_limits()},
                                         {"statuses", status_limits()},
                                         {"media_attachments", media_limits()},
                                         {"polls", poll_limits()}}},
          {"contact_account", nullptr},
          {"rules", json::array()}};
}

json::object make_tag(const Tag& tag, const posts::Site& site, const std::vector<TagDay>& days,
                      std::chrono::sys_days today) {
  json::array history;
  for (int back = 0; back < kTagDays; ++back) {
    const std::chrono::sys_days day = today - std::chrono::days(back);
    TagDay found{.day = day};
    for (const TagDay& each : days) {
      if (each.day == day) found = each;
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(day.time_since_epoch()).count();
    history.push_back(json::object{{"day", std::to_string(seconds)},
                                   {"uses", std::to_string(found.posts)},
                                   {"accounts", std::to_string(found.authors)}});
  }
  const std::string url = site.tag_url(tag.canonical());
  return {{"id", posts::stable_id(url)},   {"name", tag.canonical()}, {"url", url},
          {"history", std::move(history)}, {"trendable", true},       {"usable", true},
          {"requires_review", false}};
}

Task<std::optional<HttpResponse>> InstanceApi::answer(ApiRequest request) {
  const bool v1 = request.path == "/api/v1/instance";
  if (!v1 && request.path != "/api/v2/instance") co_return std::nullopt;
  InstanceFacts facts{.site = site_,
                      .version = std::string(federation::kVersion),
                      .domains = options_.domains(),
                      .email = options_.email};
  if (const auto totals = co_await history_.totals()) facts.posts = totals->entries;
  co_return api_response(v1 ? make_instance_v1(facts) : make_instance(facts));
}

}  // namespace tagring::mastodon_api
