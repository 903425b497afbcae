#include "belief/witnesses.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "crypto/hash.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::belief {
namespace {

// Not what the author's server signed, which proves itself.
std::array<std::uint8_t, 16> statement_of(const TagEvent& event) {
  const auto hash = crypto::sha3_256(
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", event.tag.canonical(), static_cast<int>(event.op), event.uri,
                  event.author, to_ms(event.published), event.indexable, to_ms(event.changed)));
  std::array<std::uint8_t, 16> statement{};
  std::copy_n(hash.begin(), statement.size(), statement.begin());
  return statement;
}

}  // namespace

void Witnesses::turn() {
  const Duration since = clock_.now() - turned_;
  if (since < kTurn && said_.size() < kTurnMax) return;
  said_before_ = std::exchange(said_, {});
  if (since >= 2 * kTurn) said_before_.clear();
  turned_ = clock_.now();
}

void Witnesses::note(const TagEvent& event, const std::string& origin, redundancy::RelayHalves halves) {
  if (event.is_hearsay()) return;
  const std::string host = host_of(origin);
  const std::string domain = ring::domain_of(host);
  turn();
  const Statement statement = statement_of(event);
  const auto before = said_before_.find(statement);
  Said& said =
      said_.try_emplace(statement, before == said_before_.end() ? Said{} : before->second).first->second;
  for (const std::size_t half : {0U, 1U}) {
    if ((halves >> half & 1U) == 0) continue;
    const std::string& opposite = said.by.at(1 - half);
    said.by_both = said.by_both || alone_ || (!opposite.empty() && opposite != domain);
    if (said.by.at(half).empty()) said.by.at(half) = domain;
  }
}

void Witnesses::forget(const TagEvent& event) {
  const Statement statement = statement_of(event);
  said_.erase(statement);
  said_before_.erase(statement);
}

bool Witnesses::agree_on(const TagEvent& event) {
  turn();
  const Statement statement = statement_of(event);
  const auto said = said_.find(statement);
  if (said != said_.end()) return said->second.by_both;
  const auto before = said_before_.find(statement);
  return before != said_before_.end() && before->second.by_both;
}

}  // namespace tagring::belief
