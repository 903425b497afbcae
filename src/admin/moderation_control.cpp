#include "admin/moderation_control.hpp"

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/url.hpp"

namespace tagring::admin {
namespace {

using federation::BlockKind;

constexpr std::array<std::string_view, 3> kKinds = {"domain", "author", "tag"};
constexpr std::size_t kReasonMax = 1'000;

std::string text_of(const json::object& object, std::string_view key) {
  return json::get_string(object, key).value_or("");
}

Result<std::string> host_in(const json::object& request, std::string_view key) {
  std::string host = ascii_lower(text_of(request, key));
  if (!is_host_name(host)) return fail(ErrorCode::kInvalid, "'" + host + "' is no host name");
  return host;
}

// What is named, in its one spelling.
Result<federation::Block> block_in(const json::object& request) {
  federation::Block block;
  const std::string kind = text_of(request, "kind");
  const auto* const known = std::ranges::find(kKinds, kind);
  if (known == kKinds.end()) return fail(ErrorCode::kInvalid, "'kind' must be domain, author or tag");
  block.kind = static_cast<BlockKind>(known - kKinds.begin());
  block.what = text_of(request, "what");
  if (block.kind == BlockKind::kDomain) {
    TRY(block.what, host_in(request, "what"));
  } else if (block.kind == BlockKind::kTag) {
    TRY(const Tag tag, Tag::parse(block.what));
    block.what = tag.canonical();
  } else if (!Url::parse(block.what)) {
    return fail(ErrorCode::kInvalid, "an author is named by the URL of the actor");
  }
  block.reason = text_of(request, "reason").substr(0, kReasonMax);
  block.source = "admin";
  return block;
}

json::object to_json(const instances::Moderation::Effect& effect) {
  return {{"fresh", effect.fresh},
          {"known", effect.known},
          {"lifted", json::array(effect.lifted.begin(), effect.lifted.end())},
          {"followers", json::array(effect.followers.begin(), effect.followers.end())},
          {"instances", json::array(effect.instances.begin(), effect.instances.end())}};
}

}  // namespace

json::object ModerationControl::list() const {
  json::array blocks;
  for (const federation::Block& block : moderation_.blocks().all()) {
    blocks.push_back(json::object{{"kind", kKinds.at(static_cast<std::size_t>(block.kind))},
                                  {"what", block.what},
                                  {"reason", block.reason},
                                  {"source", block.source},
                                  {"since", to_rfc3339(block.since)}});
  }
  json::array separations;
  for (const federation::Separation& one : moderation_.blocks().separations()) {
    separations.push_back(json::object{
        {"host", one.host}, {"other", one.other}, {"direction", one.receive ? "receive" : "send"}});
  }
  return {{"blocks", std::move(blocks)}, {"separations", std::move(separations)}};
}

Task<Result<json::object>> ModerationControl::change(std::string path, json::object request) {
  if (path == "/blocks/add") co_return co_await add(std::move(request));
  if (path == "/blocks/import") co_return co_await import(std::move(request));
  if (path == "/separations/add") co_return co_await separate(std::move(request), true);
  if (path == "/separations/remove") co_return co_await separate(std::move(request), false);
  if (path != "/blocks/remove") co_return fail(ErrorCode::kNotFound, "no such control request");
  CO_TRY(federation::Block block, block_in(request));
  if (moderation_.blocks().find(block.kind, block.what) == nullptr)
    co_return fail(ErrorCode::kNotFound, block.what + " is not blocked");
  const std::string what = block.what;
  CO_TRY_VOID(co_await moderation_.unblock(block.kind, std::move(block.what)));
  co_return json::object{{"removed", what}};
}

Task<Result<json::object>> ModerationControl::add(json::object request) {
  CO_TRY(federation::Block block, block_in(request));
  std::vector<federation::Block> blocks = {std::move(block)};
  CO_TRY(const instances::Moderation::Effect effect, co_await moderation_.block(std::move(blocks)));
  co_return to_json(effect);
}

Task<Result<json::object>> ModerationControl::import(json::object request) {
  const std::string source = text_of(request, "source");
  if (source.empty() || source == "admin" || source.size() > 100)
    co_return fail(ErrorCode::kInvalid, "'source' must name the list, in at most 100 letters");
  CO_TRY(fediverse::Blocklist list, fediverse::parse_blocklist(text_of(request, "text")));
  const json::array skipped(list.skipped.begin(), list.skipped.end());
  const json::value* preview = json::find(request, "preview");
  json::object result;
  if (preview != nullptr && preview->is_bool() && preview->get_bool()) {
    result = to_json(moderation_.preview_import(std::move(list), source));
  } else {
    CO_TRY(const instances::Moderation::Effect effect, co_await moderation_.import(std::move(list), source));
    result = to_json(effect);
  }
  result["skipped"] = skipped;
  co_return result;
}

Task<Result<json::object>> ModerationControl::separate(json::object request, bool on) {
  federation::Separation separation;
  CO_TRY(separation.host, host_in(request, "host"));
  CO_TRY(separation.other, host_in(request, "other"));
  const std::string direction = text_of(request, "direction");
  if (direction != "receive" && direction != "send")
    co_return fail(ErrorCode::kInvalid, "'direction' must be receive or send");
  separation.receive = direction == "receive";
  CO_TRY_VOID(co_await moderation_.separate(std::move(separation), on));
  co_return json::object{{"separated", on}};
}

}  // namespace tagring::admin
