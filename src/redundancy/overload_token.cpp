#include "redundancy/overload_token.hpp"

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "hashtag/tag.hpp"
#include "http/url.hpp"
#include "redundancy/relay_place.hpp"

namespace tagring::redundancy {
namespace {
constexpr std::size_t kTokensMax = 8;
constexpr std::size_t kSignatureMax = 2048;
}  // namespace

std::string OverloadToken::signed_text(const std::string& network) const {
  return fmt::format("tagring overload\n{}\n{}\n{}\n{}\n{}", network, tag.canonical(), relays, actor,
                     to_ms(at));
}

json::object to_json(const OverloadToken& token) {
  return {{"tag", token.tag.canonical()},
          {"relays", token.relays},
          {"actor", token.actor},
          {"at", to_ms(token.at)},
          {"signature", to_base64(token.signature)}};
}

Result<OverloadToken> token_from_json(const json::value& value) {
  if (!value.is_object()) return fail(ErrorCode::kInvalid, "a token is no object");
  const json::object& object = value.get_object();
  TRY(Tag tag, Tag::parse(json::text_of(object, "tag")));
  const auto relays = json::get_int(object, "relays");
  const auto at = json::get_int(object, "at");
  const std::string actor = json::text_of(object, "actor");
  const auto signature = from_base64(json::text_of(object, "signature"));
  const bool has_actor = !origin_of(actor).empty() && actor == origin_of(actor) + "/actor";
  if (!relays || !is_relay_count(*relays) || !at || !has_actor || !signature || signature->empty() ||
      signature->size() > kSignatureMax) {
    return fail(ErrorCode::kInvalid, "a token lacks 'relays', 'actor', 'at' or 'signature'");
  }
  return OverloadToken{std::move(tag), static_cast<unsigned>(*relays), actor, WallTime(Duration(*at)),
                       *signature};
}

std::vector<OverloadToken> tokens_from_json(const json::value* list) {
  std::vector<OverloadToken> tokens;
  json::for_each(list, [&](const json::value& element) {
    if (tokens.size() == kTokensMax) return;
    Result<OverloadToken> token = token_from_json(element);
    if (token) tokens.push_back(std::move(*token));
  });
  return tokens;
}

json::array to_json(const std::vector<OverloadToken>& tokens) {
  json::array list;
  for (const OverloadToken& token : tokens) list.push_back(to_json(token));
  return list;
}

}  // namespace tagring::redundancy
