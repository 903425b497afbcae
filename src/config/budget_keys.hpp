// The keys of [budget], and the limit of a stranger that each sets (docs/config.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "budget/manager.hpp"

namespace tagring::config {

// "budget.connections" and so on → where it stands in `budgets`, as long as that lives.
std::map<std::string, std::uint64_t*> budget_keys(budget::Budgets& budgets);

// What to tell who sets a key that older versions had; empty if none was called so.
[[nodiscard]] std::string_view word_on_gone_key(std::string_view key);

}  // namespace tagring::config
