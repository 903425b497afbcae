// What a FASP (Fediverse Auxiliary Service Provider) and a fediverse server say to each other, as JSON: the
// registration, what the provider offers, and which objects were created, changed or deleted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace tagring::fediverse {

// A capability of a FASP, as `provider_info` names it. Paths have only the first part of the version.
struct FaspCapability {
  std::string id;
  std::string version;  // "0.1"
};

struct FaspProvider {
  std::string name;
  std::string privacy_policy;  // URL of a page in English; empty: none
  std::string contact_email;   // may be empty
  std::vector<FaspCapability> capabilities;
};
json::object make_fasp_provider_info(const FaspProvider& provider);

// What a server answers to a registration. kInvalid for what lacks something, kTooLarge for long texts.
struct FaspRegistration {
  std::string fasp_id;     // the name that the server gave to this FASP
  std::string public_key;  // of the server, 32 bytes
  std::string completion_url;
};
Result<FaspRegistration> parse_fasp_registration(std::string_view body);

enum class FaspCategory : std::uint8_t { kContent = 0, kAccount = 1 };
enum class FaspEvent : std::uint8_t { kNew = 0, kUpdate = 1, kDelete = 2 };
std::string_view to_string(FaspCategory category);

// Objects that a server tells of (data_sharing): an event, or the answer to a request for old ones.
struct FaspAnnouncement {
  std::string subscription;  // one of these two is set
  std::string backfill_request;
  FaspCategory category = FaspCategory::kContent;
  FaspEvent event = FaspEvent::kNew;  // always kNew of old ones
  bool more = false;                  // of a backfill request: there are older ones
  std::vector<std::string> uris;      // each once, all http(s) URLs
};
// kInvalid for anything else, kTooLarge for more than `uris_max` objects or an id or URI that is too long.
Result<FaspAnnouncement> parse_fasp_announcement(std::string_view body, std::size_t uris_max);

// The id in {"subscription": {"id": …}} or {"backfillRequest": {"id": …}}, text or number.
Result<std::string> parse_fasp_created(std::string_view body, std::string_view key);

// What a FASP tells a server of a hashtag (hashtag_subscription, docs/fasp.md): objects that have come under
// it, or left it.
std::string make_fasp_hashtag_announcement(std::string_view hashtag, bool gone,
                                           const std::vector<std::string>& uris);

}  // namespace tagring::fediverse
