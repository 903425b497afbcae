#include "federation/blocks.hpp"

#include <algorithm>

#include "http/url.hpp"

namespace tagring::federation {
namespace {

std::unexpected<Error> denied(const std::string& what, const Block& block) {
  return fail(ErrorCode::kDenied,
              what + (block.reason.empty() ? " is blocked here" : " is blocked here: " + block.reason));
}

}  // namespace

void Blocks::add(Block block) {
  std::vector<Block>& all = blocks_[{block.kind, block.what}];
  std::erase_if(all, [&](const Block& other) { return other.source == block.source; });
  const auto rank = [](const Block& each) { return std::pair(each.source != kByHand, each.source); };
  all.insert(std::ranges::lower_bound(all, rank(block), {}, rank), std::move(block));
}

void Blocks::remove(const Block& block) {
  const auto found = blocks_.find({block.kind, block.what});
  if (found == blocks_.end()) return;
  std::erase_if(found->second, [&](const Block& other) { return other.source == block.source; });
  if (found->second.empty()) blocks_.erase(found);
}

const Block* Blocks::of_host(std::string_view host) const {
  if (host == spared_) return nullptr;
  for (;;) {
    const Block* block = find(BlockKind::kDomain, std::string(host));
    if (block != nullptr) return block;
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos) return nullptr;
    host.remove_prefix(dot + 1);
  }
}

const Block* Blocks::of_actor(const std::string& actor) const {
  if (blocks_.empty()) return nullptr;
  const Block* block = find(BlockKind::kAuthor, actor);
  return block != nullptr ? block : of_host(host_of(actor));
}

const Block* Blocks::of_tag(const std::string& tag) const { return find(BlockKind::kTag, tag); }

const Block* Blocks::find(BlockKind kind, const std::string& what) const {
  const auto found = blocks_.find(std::pair(kind, what));
  return found == blocks_.end() ? nullptr : &found->second.front();
}

std::vector<Block> Blocks::of_all_sources(BlockKind kind, const std::string& what) const {
  const auto found = blocks_.find(std::pair(kind, what));
  return found == blocks_.end() ? std::vector<Block>() : found->second;
}

Result<void> Blocks::check_actor(const std::string& actor) const {
  const Block* block = of_actor(actor);
  if (block != nullptr) return denied(block->what, *block);
  return {};
}

Result<void> Blocks::check_tag(const std::string& tag) const {
  const Block* block = of_tag(tag);
  if (block != nullptr) return denied("#" + tag, *block);
  return {};
}

bool Blocks::may_go(std::string_view author_host, std::string_view host) const {
  return std::ranges::none_of(separations_, [&](const Separation& separation) {
    const auto [who, whom] = separation.receive ? std::pair(host, author_host) : std::pair(author_host, host);
    return is_same_or_below(who, separation.host) && is_same_or_below(whom, separation.other);
  });
}

std::vector<Refusal> Blocks::refusals_by(const std::string& author) const {
  std::vector<Refusal> found;
  for (auto it = refusals_.lower_bound({author, ""}); it != refusals_.end() && it->author == author; ++it)
    found.push_back(*it);
  return found;
}

bool Blocks::is_refused_by(const std::string& author, const std::string& tag) const {
  return refusals_.contains({author, ""}) || (!tag.empty() && refusals_.contains({author, tag}));
}

std::vector<Block> Blocks::all() const {
  std::vector<Block> list;
  for (const auto& [key, blocks] : blocks_) list.insert(list.end(), blocks.begin(), blocks.end());
  return list;
}

}  // namespace tagring::federation
