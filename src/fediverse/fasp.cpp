#include "fediverse/fasp.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

#include "base/bytes.hpp"
#include "fediverse/vocabulary.hpp"
#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

constexpr std::size_t kNameMax = 200;  // of a name that one side gave to something
constexpr std::size_t kKeySize = 32;
constexpr std::array<std::string_view, 2> kCategories = {"content", "account"};
constexpr std::array<std::string_view, 3> kEvents = {"new", "update", "delete"};

std::unexpected<Error> bad(std::string message) { return fail(ErrorCode::kInvalid, std::move(message)); }

// A name may be given as a number: Mastodon does so in its answers, and not in its announcements.
Result<std::string> name_in(const json::object& o, std::string_view key) {
  const json::value* value = json::find(o, key);
  std::string name;
  if (value != nullptr && value->is_string()) name = std::string(value->get_string());
  if (value != nullptr && (value->is_int64() || value->is_uint64())) name = json::serialize(*value);
  if (name.empty()) return bad(fmt::format("'{}' is missing", key));
  if (name.size() > kNameMax) return fail(ErrorCode::kTooLarge, fmt::format("'{}' is too long", key));
  return name;
}

template <class Enum, std::size_t N>
Result<Enum> one_of(const std::array<std::string_view, N>& names, const json::object& o,
                    std::string_view key) {
  const std::string text = json::text_of(o, key);
  const auto* const found = std::ranges::find(names, text);
  if (found == names.end()) return bad(fmt::format("'{}' is none of those known here", key));
  return static_cast<Enum>(found - names.begin());
}

Result<void> read_source(const json::object& o, FaspAnnouncement& out) {
  const json::object* source = json::get_object(o, "source");
  if (source == nullptr) return bad("'source' is missing");
  const json::object* subscription = json::get_object(*source, "subscription");
  const json::object* backfill = json::get_object(*source, "backfillRequest");
  if ((subscription == nullptr) == (backfill == nullptr))
    return bad("'source' must be a subscription or a backfillRequest");
  if (subscription != nullptr) {
    TRY(out.subscription, name_in(*subscription, "id"));
    TRY(out.event, one_of<FaspEvent>(kEvents, o, "eventType"));
    return {};
  }
  TRY(out.backfill_request, name_in(*backfill, "id"));
  out.more = json::get_flag(o, "moreObjectsAvailable");
  return {};
}

}  // namespace

std::string_view to_string(FaspCategory category) {
  return kCategories.at(static_cast<std::size_t>(category));
}

json::object make_fasp_provider_info(const FaspProvider& provider) {
  json::array policies;
  if (!provider.privacy_policy.empty())
    policies.push_back(json::object{{"url", provider.privacy_policy}, {"language", "en"}});
  json::array capabilities;
  for (const FaspCapability& capability : provider.capabilities)
    capabilities.push_back(json::object{{"id", capability.id}, {"version", capability.version}});
  json::object info = {{"name", provider.name},
                       {"privacyPolicy", std::move(policies)},
                       {"capabilities", std::move(capabilities)}};
  if (!provider.contact_email.empty()) info["contactEmail"] = provider.contact_email;
  return info;
}

Result<FaspRegistration> parse_fasp_registration(std::string_view body) {
  TRY(const json::object o, json::parse_object(body));
  FaspRegistration registration;
  TRY(registration.fasp_id, name_in(o, "faspId"));
  TRY(const std::string key, name_in(o, "publicKey"));
  const std::optional<std::string> bytes = from_base64(key);
  if (!bytes || bytes->size() != kKeySize) return bad("'publicKey' is no Ed25519 key in base64");
  registration.public_key = *bytes;
  const std::string completion = json::text_of(o, "registrationCompletionUri");
  if (!Url::parse(completion)) return bad("'registrationCompletionUri' is no http(s) URL");
  registration.completion_url = completion;
  return registration;
}

Result<FaspAnnouncement> parse_fasp_announcement(std::string_view body, std::size_t uris_max) {
  TRY(const json::object o, json::parse_object(body));
  FaspAnnouncement announcement;
  TRY_VOID(read_source(o, announcement));
  TRY(announcement.category, one_of<FaspCategory>(kCategories, o, "category"));
  const json::value* uris = json::find(o, "objectUris");
  // A Mastodon that has no more old posts says so with an empty list.
  const bool may_be_empty = !announcement.backfill_request.empty();
  if (uris == nullptr || !uris->is_array() || (uris->get_array().empty() && !may_be_empty))
    return bad("'objectUris' must name at least one object");
  if (uris->get_array().size() > uris_max)
    return fail(ErrorCode::kTooLarge, fmt::format("'objectUris' may name {} objects at most", uris_max));
  for (const json::value& element : uris->get_array()) {
    if (!element.is_string()) return bad("'objectUris' has something in it that is no text");
    std::string uri(element.get_string());
    if (uri.size() > kIdSizeMax) return fail(ErrorCode::kTooLarge, "'objectUris' has a URI that is too long");
    if (!Url::parse(uri)) return bad("'objectUris' has something in it that is no http(s) URL");
    if (std::ranges::find(announcement.uris, uri) == announcement.uris.end())
      announcement.uris.push_back(std::move(uri));
  }
  return announcement;
}

Result<std::string> parse_fasp_created(std::string_view body, std::string_view key) {
  TRY(const json::object o, json::parse_object(body));
  const json::object* created = json::get_object(o, key);
  if (created == nullptr) return bad(fmt::format("the answer has no '{}'", key));
  return name_in(*created, "id");
}

std::string make_fasp_hashtag_announcement(std::string_view hashtag, bool gone,
                                           const std::vector<std::string>& uris) {
  return json::serialize(json::object{{"hashtag", hashtag},
                                      {"eventType", gone ? "delete" : "new"},
                                      {"objectUris", json::array(uris.begin(), uris.end())}});
}

}  // namespace tagring::fediverse
