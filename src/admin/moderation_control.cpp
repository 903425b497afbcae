#include "admin/moderation_control.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/printable.hpp"
#include "federation/blocks.hpp"
#include "fediverse/blocklist.hpp"
#include "fediverse/domain.hpp"
#include "hashtag/typed.hpp"
#include "http/url.hpp"
#include "ring/public_suffix.hpp"

namespace tagring::admin {
namespace {

using federation::BlockKind;

constexpr std::array<std::string_view, 3> kKinds = {"domain", "author", "tag"};
constexpr std::size_t kReasonMax = 1'000;  // bytes
constexpr std::size_t kSourceMax = 100;    // bytes

Result<std::string> host_in(const json::object& body, std::string_view key) {
  std::string host = fediverse::domain_in(text_in(body, key));
  if (!is_host_name(host)) return fail(ErrorCode::kInvalid, "'" + host + "' is no host name");
  return host;
}

// Shown to others, and in lists and logs: what these would obey is in none. Nothing is cut: who wrote it
// decides what it says.
Result<std::string> line_in(const json::object& body, std::string_view key, std::size_t bytes_max) {
  std::string line = text_in(body, key);
  if (line.size() > bytes_max)
    return fail(ErrorCode::kInvalid,
                fmt::format("'{}' has {} bytes, and may have {}", key, line.size(), bytes_max));
  if (printable(line) != line)
    return fail(ErrorCode::kInvalid, fmt::format("'{}' must be one line, without control characters", key));
  return line;
}

// What is named, in its one spelling.
Result<federation::Block> block_in(const json::object& body) {
  federation::Block block;
  const std::string kind = text_in(body, "kind");
  const auto* const known = std::ranges::find(kKinds, kind);
  if (known == kKinds.end()) return fail(ErrorCode::kInvalid, "'kind' must be domain, author or tag");
  block.kind = static_cast<BlockKind>(known - kKinds.begin());
  block.what = text_in(body, "what");
  if (block.kind == BlockKind::kDomain) {
    TRY(block.what, host_in(body, "what"));
  } else if (block.kind == BlockKind::kTag) {
    TRY(const Tag tag, parse_typed_tag(block.what));
    block.what = tag.canonical();
  } else if (!Url::parse(block.what)) {
    return fail(ErrorCode::kInvalid, "an author is named by the URL of the actor");
  }
  TRY(block.reason, line_in(body, "reason", kReasonMax));
  block.source = federation::kByHand;
  return block;
}

json::array to_array(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

// Of blocked domains, such as "social" or "co.uk": names of servers that have nothing in common end so.
template <class Domains, class Name>
json::array suffixes_in(const Domains& domains, Name name) {
  json::array suffixes;
  for (const auto& one : domains) {
    if (!ring::registered_domain(std::invoke(name, one))) suffixes.emplace_back(std::invoke(name, one));
  }
  return suffixes;
}

json::object to_json(const instances::Moderation::Effect& effect) {
  return {{"fresh", effect.fresh},
          {"known", effect.known},
          {"lifted", to_array(effect.lifted)},
          {"followers", to_array(effect.followers)},
          {"instances", to_array(effect.instances)},
          {"skipped", to_array(effect.skipped)}};
}

Result<std::uint64_t> id_in(const json::object& body) {
  const std::optional<std::int64_t> id = json::get_int(body, "id");
  if (!id || *id < 0) return fail(ErrorCode::kInvalid, "'id' must be the number of a report");
  return static_cast<std::uint64_t>(*id);
}

// `what` is none of the blocks; a domain above it may be.
std::unexpected<Error> not_a_block(const federation::Blocks& blocks, BlockKind kind,
                                   const std::string& what) {
  const federation::Block* over = kind == BlockKind::kDomain   ? blocks.of_host(what)
                                  : kind == BlockKind::kAuthor ? blocks.of_actor(what)
                                                               : nullptr;
  if (over == nullptr) return fail(ErrorCode::kNotFound, what + " is not blocked");
  const std::string by =
      over->source == federation::kByHand
          ? ""
          : fmt::format(", which is on the list {0} and comes back with the next import of {0}",
                        over->source);
  return fail(
      ErrorCode::kNotFound,
      fmt::format("{0} is under the block of {1}{2}: tagring block remove domain {1}", what, over->what, by));
}

}  // namespace

void ModerationControl::add_routes(Routes& routes) {
  routes.get("/blocks", [this](const Request&) { return replied(list()); });
  routes.post(
      "/blocks/add", [this](Request request) { return add(std::move(request.body)); }, Role::kModerate);
  routes.post(
      "/blocks/remove", [this](Request request) { return remove(std::move(request.body)); }, Role::kModerate);
  routes.post(
      "/blocks/import", [this](Request request) { return import(std::move(request.body)); }, Role::kModerate,
      [](const json::object& body) { return json::get_flag(body, "preview"); });
  routes.post(
      "/blocks/lift", [this](Request request) { return lift(std::move(request.body)); }, Role::kModerate);
  routes.post(
      "/separations/add", [this](Request request) { return separate(std::move(request.body), true); },
      Role::kModerate);
  routes.post(
      "/separations/remove", [this](Request request) { return separate(std::move(request.body), false); },
      Role::kModerate);
  routes.get("/reports", [this](const Request&) { return list_reports(); });
  routes.post(
      "/reports/close", [this](Request request) { return close_report(std::move(request.body)); },
      Role::kModerate);
  routes.post(
      "/reports/forward", [this](Request request) { return forward_report(std::move(request.body)); },
      Role::kModerate);
}

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

Task<Reply> ModerationControl::add(json::object body) {
  CO_TRY(federation::Block block, block_in(body));
  // Whoever says it again without a reason does not mean that there is none.
  for (const federation::Block& known : moderation_.blocks().of_all_sources(block.kind, block.what))
    if (block.reason.empty() && known.source == block.source) block.reason = known.reason;
  std::vector<federation::Block> blocks = {std::move(block)};
  json::array suffixes;
  std::string own;
  if (blocks.front().kind == BlockKind::kDomain) {
    suffixes = suffixes_in(blocks, &federation::Block::what);
    own = moderation_.own_within(blocks.front().what);
  }
  CO_TRY(const instances::Moderation::Effect effect, co_await moderation_.block(std::move(blocks)));
  json::object answer = to_json(effect);
  answer["suffixes"] = std::move(suffixes);
  if (!own.empty()) answer["own"] = json::array{own};
  co_return answer;
}

Task<Reply> ModerationControl::remove(json::object body) {
  CO_TRY(federation::Block block, block_in(body));
  if (moderation_.blocks().find(block.kind, block.what) == nullptr)
    co_return not_a_block(moderation_.blocks(), block.kind, block.what);
  const std::string what = block.what;
  CO_TRY_VOID(co_await moderation_.unblock(block.kind, std::move(block.what)));
  co_return json::object{{"removed", what}};
}

Task<Reply> ModerationControl::import(json::object body) {
  CO_TRY(const std::string source, line_in(body, "source", kSourceMax));
  if (source.empty() || source == federation::kByHand || trim(source) != source)
    co_return fail(ErrorCode::kInvalid, "'source' must name the list, without blanks around the name");
  CO_TRY(fediverse::Blocklist list, fediverse::parse_blocklist(text_in(body, "text")));
  json::array suffixes = suffixes_in(list.domains, &fediverse::BlockedDomain::domain);
  instances::Moderation::Effect effect;
  if (json::get_flag(body, "preview")) {
    effect = moderation_.preview_import(std::move(list), source);
  } else {
    CO_TRY(effect, co_await moderation_.import(std::move(list), source));
  }
  json::object answer = to_json(effect);
  answer["suffixes"] = std::move(suffixes);
  co_return answer;
}

Task<Reply> ModerationControl::lift(json::object body) {
  const std::string source = text_in(body, "source");
  const std::vector<federation::Block> all = moderation_.blocks().all();
  if (source == federation::kByHand ||
      std::ranges::find(all, source, &federation::Block::source) == all.end())
    co_return fail(ErrorCode::kNotFound,
                   "there is no list '" + source + "'; `tagring block list` names them");
  CO_TRY(const instances::Moderation::Effect effect, co_await moderation_.import({}, source));
  co_return to_json(effect);
}

Task<Reply> ModerationControl::separate(json::object body, bool on) {
  federation::Separation separation;
  CO_TRY(separation.host, host_in(body, "host"));
  CO_TRY(separation.other, host_in(body, "other"));
  if (on && separation.host == separation.other)
    co_return fail(ErrorCode::kInvalid, separation.host + " cannot be kept apart from itself");
  const std::string direction = text_in(body, "direction");
  if (direction != "receive" && direction != "send")
    co_return fail(ErrorCode::kInvalid, "'direction' must be receive or send");
  separation.receive = direction == "receive";
  CO_TRY_VOID(co_await moderation_.separate(std::move(separation), on));
  co_return json::object{{"separated", on}};
}

Task<Reply> ModerationControl::list_reports() {
  CO_TRY(const std::vector<reports::Report> all, co_await reports_.list(kListMax));
  json::array rows;
  for (const reports::Report& one : all) {
    rows.push_back(json::object{{"id", one.id},
                                {"at", to_rfc3339(one.at)},
                                {"from", one.reporter},
                                {"comment", one.comment},
                                {"about", to_array(one.about)},
                                {"forwarded", to_array(one.forwarded)},
                                {"open", one.open}});
  }
  co_return json::object{{"reports", std::move(rows)}};
}

Task<Reply> ModerationControl::close_report(json::object body) {
  CO_TRY(const std::uint64_t id, id_in(body));
  CO_TRY_VOID(co_await reports_.close(id));
  co_return json::object{{"closed", id}};
}

Task<Reply> ModerationControl::forward_report(json::object body) {
  CO_TRY(const std::uint64_t id, id_in(body));
  std::string uri = text_in(body, "uri");
  // Of a variable that is not set, say; it does not mean all of them.
  if (uri.empty() && body.contains("uri")) co_return fail(ErrorCode::kInvalid, "'uri' is empty");
  CO_TRY(const std::vector<std::string> told, co_await reports_.forward(id, std::move(uri)));
  co_return json::object{{"forwarded", to_array(told)}};
}

}  // namespace tagring::admin
