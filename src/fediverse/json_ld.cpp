#include "fediverse/json_ld.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tagring::fediverse {
namespace {

constexpr std::array<std::string_view, 10> kVocabularies = {"https://www.w3.org/ns/activitystreams#",
                                                            "as:",
                                                            "https://w3id.org/security#",
                                                            "sec:",
                                                            "http://joinmastodon.org/ns#",
                                                            "toot:",
                                                            "http://www.w3.org/ns/ldp#",
                                                            "ldp:",
                                                            "http://schema.org#",
                                                            "https://gotosocial.org/ns#"};

// The term, if that is how it is spelled; empty for what is plain already, and for foreign words.
std::string_view plain_term(std::string_view key) {
  if (key == "@id" || key == "@type") return key.substr(1);
  for (const std::string_view vocabulary : kVocabularies) {
    if (key.starts_with(vocabulary)) return key.substr(vocabulary.size());
  }
  return {};
}

void replace(json::value& v, json::value inner) { v = std::move(inner); }

// Depth is bounded where documents are parsed. NOLINTNEXTLINE(misc-no-recursion)
void make_plain(json::value& v) {
  if (v.is_array()) {
    for (json::value& element : v.get_array()) make_plain(element);
  }
  if (!v.is_object()) return;
  json::object& o = v.get_object();
  for (const char* wrapper : {"@value", "@list", "@set"}) {
    const auto inner = o.find(wrapper);
    if (inner == o.end()) continue;
    replace(v, std::move(inner->value()));
    return make_plain(v);
  }
  const bool is_reference = o.size() == 1 && o.contains("@id");
  std::vector<std::string> spelled;
  for (auto& [key, member] : o) {
    if (std::string_view(key) == "@context") continue;
    make_plain(member);
    if (!plain_term(key).empty()) spelled.emplace_back(key);
  }
  for (const std::string& key : spelled) {
    json::value member = std::move(o.at(key));
    o.erase(key);
    // In the expanded form everything is a list.
    if (member.is_array() && member.get_array().size() == 1)
      replace(member, std::move(member.get_array()[0]));
    o.emplace(plain_term(key), std::move(member));
  }
  if (is_reference) replace(v, std::move(o.at("id")));
}

}  // namespace

Result<json::object> parse_document(std::string_view body) {
  TRY(json::value document, json::parse(body));
  make_plain(document);
  if (document.is_array() && document.get_array().size() == 1)
    replace(document, std::move(document.get_array()[0]));
  if (!document.is_object()) return fail(ErrorCode::kInvalid, "body is not a JSON object");
  return std::move(document.get_object());
}

}  // namespace tagring::fediverse
