#include "followers/tagring_followers.h"

#include <algorithm>
#include <chrono>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "followers/authority.hpp"
#include "followers/digest.hpp"
#include "followers/header.hpp"
#include "followers/plan.hpp"

struct tagring_plan {
  tagring::followers::Plan plan;
};

namespace {

using namespace tagring::followers;

static_assert(TAGRING_HEADER_SIZE == kHeaderBytesMax + 1);

Digest from_c(const tagring_digest& digest) {
  Digest::Bytes bytes{};
  std::ranges::copy(digest.bytes, bytes.begin());
  return Digest(bytes);
}

tagring_digest to_c(const Digest& digest) {
  tagring_digest plain;
  std::ranges::copy(digest.bytes(), plain.bytes);
  return plain;
}

void copy(const std::string& from, char* to) { *std::ranges::copy(from, to).out = '\0'; }

// The names are literals, so they end with a zero.
const char* why(Ignore reason) { return to_string(reason).data(); }

const std::vector<std::string>* ids_of(const tagring_plan& plan, tagring_action action) {
  switch (action) {
    case TAGRING_REMOVE:
      return &plan.plan.remove;
    case TAGRING_ACCEPT:
      return &plan.plan.accept;
    case TAGRING_UNDO:
      return &plan.plan.undo;
  }
  return nullptr;
}

std::vector<std::string> to_strings(const char* const* texts, std::size_t count) {
  const std::span all(texts, count);
  return {all.begin(), all.end()};
}

}  // namespace

void tagring_digest_toggle(tagring_digest* digest, const char* id) noexcept {
  Digest sum = from_c(*digest);
  sum.add(id);
  *digest = to_c(sum);
}

void tagring_digest_hex(const tagring_digest* digest, char hex[65]) noexcept {
  copy(from_c(*digest).hex(), hex);
}

int tagring_header_write(const char* collection_id, const char* url, const tagring_digest* digest,
                         char value[TAGRING_HEADER_SIZE]) noexcept {
  const std::optional<std::string> text = format_header({collection_id, url, from_c(*digest)});
  if (!text) return 0;
  copy(*text, value);
  return 1;
}

const char* tagring_header_read(const char* value, tagring_header* header) noexcept {
  const std::expected<Header, Ignore> read = parse_header(value);
  if (!read) return why(read.error());
  copy(read->collection_id, header->collection_id);
  copy(read->url, header->url);
  header->digest = to_c(read->digest);
  return nullptr;
}

const char* tagring_header_check(const tagring_header* header, const tagring_delivery* delivery) noexcept {
  const std::optional<Authority> own = Authority::of(delivery->origin);
  if (!own) return "bad_origin";
  const char* followers = delivery->followers == nullptr ? "" : delivery->followers;
  const auto checked = check_header({header->collection_id, header->url, from_c(header->digest)},
                                    {delivery->actor, followers, delivery->covers_header != 0}, *own,
                                    {.require_coverage = delivery->require_coverage != 0});
  return checked ? nullptr : why(checked.error());
}

tagring_plan* tagring_plan_make(const tagring_situation* situation) noexcept {
  const std::optional<Authority> own = Authority::of(situation->origin);
  if (!own) return nullptr;
  const auto at = [](std::int64_t milliseconds) {
    return TimePoint(std::chrono::milliseconds(milliseconds));
  };
  Knowledge known;
  for (const tagring_follow& follow : std::span(situation->accepted, situation->accepted_count))
    known.accepted.push_back({follow.follower, at(follow.since)});
  known.pending = to_strings(situation->pending, situation->pending_count);
  const std::vector<std::string> listed = to_strings(situation->listed, situation->listed_count);
  std::optional<std::span<const std::string>> list;
  if (situation->list_is_complete != 0) list = listed;
  PlanRules rules;
  rules.grace = std::chrono::milliseconds(situation->grace);
  rules.undo_max = situation->undo_max;
  if (situation->is_own_actor != nullptr) {
    rules.is_own_actor = [situation](std::string_view id) {
      return situation->is_own_actor(std::string(id).c_str(), situation->context) != 0;
    };
  }
  return new tagring_plan{make_plan(known, list, from_c(situation->digest), *own, at(situation->now), rules)};
}

void tagring_plan_free(tagring_plan* plan) noexcept { delete plan; }

std::size_t tagring_plan_count(const tagring_plan* plan, tagring_action action) noexcept {
  const std::vector<std::string>* ids = ids_of(*plan, action);
  return ids == nullptr ? 0 : ids->size();
}

const char* tagring_plan_id(const tagring_plan* plan, tagring_action action, std::size_t index) noexcept {
  const std::vector<std::string>* ids = ids_of(*plan, action);
  return ids == nullptr || index >= ids->size() ? nullptr : (*ids)[index].c_str();
}

const char* tagring_plan_doubt(const tagring_plan* plan) noexcept {
  return plan->plan.doubt ? to_string(*plan->plan.doubt).data() : nullptr;
}

std::size_t tagring_plan_too_young(const tagring_plan* plan) noexcept { return plan->plan.too_young; }

std::size_t tagring_plan_undo_later(const tagring_plan* plan) noexcept { return plan->plan.undo_later; }
