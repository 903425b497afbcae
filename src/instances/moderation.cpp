#include "instances/moderation.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/counted.hpp"
#include "crypto/hash.hpp"
#include "http/url.hpp"

namespace tagring::instances {
namespace {

using federation::Block;
using federation::BlockKind;

constexpr std::size_t kRecentMax = 50'000;

federation::Blocks of(const std::vector<Block>& list) {
  federation::Blocks blocks;
  for (const Block& block : list) blocks.add(block);
  return blocks;
}

// With what there is between the two.
Error not_separated(const std::set<federation::Separation>& all, const federation::Separation& separation) {
  const auto in_words = [](const federation::Separation& one) {
    return fmt::format("{} never {} {}", one.host, one.receive ? "receives posts of" : "sends posts to",
                       one.other);
  };
  std::string what = fmt::format("there is no rule that {}", in_words(separation));
  for (const federation::Separation& one : all) {
    const bool is_of_both = (one.host == separation.host && one.other == separation.other) ||
                            (one.host == separation.other && one.other == separation.host);
    if (is_of_both) what += fmt::format("; there is one that {}", in_words(one));
  }
  return {ErrorCode::kNotFound, what};
}

// Who follows the hashtag, or the node's own actor without one.
bool is_blocked(const federation::Blocks& blocks, const std::string& actor, const std::optional<Tag>& tag) {
  return blocks.of_actor(actor) != nullptr || (tag && blocks.of_tag(tag->canonical()) != nullptr);
}

}  // namespace

Task<Result<void>> Moderation::load() {
  blocks_.spare(options_.own_host);
  blocks_.boost_own_posts(options_.boost_own_posts);
  CO_TRY(std::vector<Block> blocks, co_await store_.blocks());
  for (Block& block : blocks) blocks_.add(std::move(block));
  CO_TRY(std::vector<federation::Separation> separations, co_await store_.separations());
  for (federation::Separation& separation : separations) blocks_.add(std::move(separation));
  CO_TRY(std::vector<federation::Refusal> refusals, co_await store_.refusals());
  for (federation::Refusal& refusal : refusals) {
    options_.budget->count(budget::Resource::kAuthorBlocks, options_.budget->who(host_of(refusal.author)));
    blocks_.add(std::move(refusal));
  }
  co_return Result<void>();
}

std::vector<Tag> Moderation::admit(const std::string& author, const std::string& uri, std::vector<Tag> tags) {
  if (tags.size() > options_.hashtags_of_a_post) return {};
  make_room(recent_, kRecentMax);
  const std::uint64_t post = crypto::hash64(uri);
  std::erase_if(tags, [&](const Tag& tag) {
    std::deque<Counted>& posts = recent_[{author, tag}];
    while (!posts.empty() && clock_.now() - posts.front().at > std::chrono::hours(1)) posts.pop_front();
    if (std::ranges::find(posts, post, &Counted::post) != posts.end()) return false;
    if (posts.size() >= options_.posts_an_hour) return true;
    posts.push_back({post, clock_.now()});
    return false;
  });
  return tags;
}

void Moderation::take_back(const std::string& author, const std::string& uri, const std::vector<Tag>& tags) {
  const std::uint64_t post = crypto::hash64(uri);
  for (const Tag& tag : tags) {
    const auto posts = recent_.find({author, tag});
    if (posts != recent_.end())
      std::erase_if(posts->second, [&](const Counted& counted) { return counted.post == post; });
  }
}

Moderation::Effect Moderation::preview(const std::vector<Block>& list) const {
  Effect effect;
  for (const Block& block : list)
    ++(blocks_.find(block.kind, block.what) != nullptr ? effect.known : effect.fresh);
  const federation::Blocks coming = of(list);
  std::set<std::string> actors;
  std::set<std::string> hosts;
  followers_.all().visit([&](const Tag& tag, const std::string& actor) {
    if (is_blocked(coming, actor, tag)) actors.insert(actor);
  });
  for (Instances::User& user : instances_.users()) {
    if (coming.of_actor(user.actor) == nullptr) continue;
    if (user.is_person) {
      actors.insert(std::move(user.actor));
    } else {
      hosts.insert(host_of(user.actor));
    }
  }
  effect.followers.assign(actors.begin(), actors.end());
  effect.instances.assign(hosts.begin(), hosts.end());
  return effect;
}

Task<Result<Moderation::Effect>> Moderation::block(std::vector<Block> list) {
  for (const Block& block : list) {
    if (is_own(block)) co_return fail(ErrorCode::kInvalid, block.what + " is this node");
  }
  Effect effect = preview(list);
  for (Block& block : list) block.since = clock_.wall_now();
  CO_TRY_VOID(co_await store_.save_blocks(list));
  for (const Block& block : list) blocks_.add(block);
  CO_TRY_VOID(co_await enforce());
  co_return effect;
}

Task<Result<void>> Moderation::enforce() {
  if (blocks_.all().empty()) co_return Result<void>();
  Instances::IsUnwanted is_unwanted = [this](const std::string& actor, const std::optional<Tag>& tag) {
    return is_blocked(blocks_, actor, tag);
  };
  CO_TRY_VOID(co_await instances_.expel(std::move(is_unwanted)));
  std::vector<std::pair<Tag, std::string>> gone;
  followers_.all().visit([&](const Tag& tag, const std::string& actor) {
    if (is_blocked(blocks_, actor, tag)) gone.emplace_back(tag, actor);
  });
  co_return co_await instances_.turn_away(std::move(gone));
}

Task<Result<void>> Moderation::unblock(BlockKind kind, std::string what) {
  std::vector<Block> blocks = blocks_.of_all_sources(kind, what);
  co_return co_await drop(std::move(blocks));
}

Task<Result<void>> Moderation::separate(federation::Separation separation, bool on) {
  if (!on && !blocks_.separations().contains(separation))
    co_return std::unexpected(not_separated(blocks_.separations(), separation));
  if (on) {
    CO_TRY_VOID(co_await store_.save_separation(separation));
    blocks_.add(std::move(separation));
  } else {
    CO_TRY_VOID(co_await store_.drop_separation(separation));
    blocks_.remove(separation);
  }
  co_return Result<void>();
}

Task<Result<void>> Moderation::refuse(federation::Refusal refusal, bool on) {
  if (blocks_.contains(refusal) == on) co_return Result<void>();
  const budget::Spender domain = options_.budget->who(host_of(refusal.author));
  if (!on) {
    CO_TRY_VOID(co_await store_.drop_refusal(refusal));
    if (blocks_.remove(refusal)) options_.budget->give_back(budget::Resource::kAuthorBlocks, domain);
    co_return Result<void>();
  }
  if (options_.budget->take(budget::Resource::kAuthorBlocks, domain) > Duration::zero())
    co_return fail(ErrorCode::kUnavailable, "too many Blocks are kept from " + host_of(refusal.author));
  const WallTime look = clock_.wall_now() + look_at_refuser_in(refusal.author);
  const Result<void> saved = co_await store_.save_refusal(refusal, look);
  const bool is_new = saved && blocks_.add(std::move(refusal));
  if (!is_new) options_.budget->give_back(budget::Resource::kAuthorBlocks, domain);
  co_return saved;
}

Task<Result<void>> Moderation::gone(std::string account) {
  const std::vector<federation::Refusal> refusals = blocks_.refusals_by(account);
  for (const federation::Refusal& refusal : refusals) {
    CO_TRY_VOID(co_await refuse(refusal, /*on=*/false));
  }
  co_return co_await instances_.gone(std::move(account));
}

bool Moderation::knows(const std::string& account) const {
  return !blocks_.refusals_by(account).empty() || instances_.knows(account);
}

Duration Moderation::look_at_refuser_in(const std::string& author) {
  constexpr Duration kDay = std::chrono::hours(24);
  return 30 * kDay + Duration(static_cast<Duration::rep>(crypto::hash64(author) %
                                                         static_cast<std::uint64_t>((10 * kDay).count())));
}

bool Moderation::is_own(const Block& block) const {
  const std::string& own = options_.own_host;
  if (block.kind == BlockKind::kDomain) return block.what == own;
  return block.kind == BlockKind::kAuthor && !own.empty() && host_of(block.what) == own;
}

// Why others do not decide about that domain; empty if they may.
std::string Moderation::own_within(const std::string& domain) const {
  const std::string instance = instances_.own_within(domain);
  if (!instance.empty()) return instance + " is an instance of this node's own";
  return is_same_or_below(options_.own_host, domain) ? "this node is below it" : std::string();
}

Moderation::Plan Moderation::plan(fediverse::Blocklist list, const std::string& source) const {
  Plan plan;
  plan.skipped = std::move(list.skipped);
  for (fediverse::BlockedDomain& entry : list.domains) {
    Block block{BlockKind::kDomain, std::move(entry.domain), std::move(entry.reason), source, {}};
    if (is_own(block)) {
      plan.skipped.push_back(block.what + ": is this node");
    } else if (const std::string own = own_within(block.what); !own.empty()) {
      plan.skipped.push_back(fmt::format("{}: {}; block it by hand if that is meant", block.what, own));
    } else {
      plan.blocks.push_back(std::move(block));
    }
  }
  const federation::Blocks coming = of(plan.blocks);
  for (Block& block : blocks_.all()) {
    if (block.source != source || coming.find(block.kind, block.what) != nullptr) continue;
    if (blocks_.of_all_sources(block.kind, block.what).size() == 1) plan.lifted.push_back(block.what);
    plan.dropped.push_back(std::move(block));
  }
  return plan;
}

Moderation::Effect Moderation::preview_import(fediverse::Blocklist list, const std::string& source) const {
  Plan planned = plan(std::move(list), source);
  Effect effect = preview(planned.blocks);
  effect.lifted = std::move(planned.lifted);
  effect.skipped = std::move(planned.skipped);
  return effect;
}

Task<Result<Moderation::Effect>> Moderation::import(fediverse::Blocklist list, std::string source) {
  Plan planned = plan(std::move(list), source);
  CO_TRY_VOID(co_await drop(std::move(planned.dropped)));
  CO_TRY(Effect effect, co_await block(std::move(planned.blocks)));
  effect.lifted = std::move(planned.lifted);
  effect.skipped = std::move(planned.skipped);
  co_return effect;
}

Task<Result<void>> Moderation::drop(std::vector<Block> blocks) {
  CO_TRY_VOID(co_await store_.drop_blocks(blocks));
  std::set<std::string> tags;
  for (const Block& block : blocks) {
    blocks_.remove(block);
    if (block.kind == BlockKind::kTag && blocks_.of_tag(block.what) == nullptr) tags.insert(block.what);
  }
  if (tags.empty()) co_return Result<void>();
  co_return co_await instances_.give_back(std::move(tags));
}

}  // namespace tagring::instances
