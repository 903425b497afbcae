// The keys of [budget], and the limit of a stranger that each sets (docs/config.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "budget/manager.hpp"

namespace tagring::config {

// "budget.connections" and so on → where it stands in `budgets`, as long as that lives.
std::map<std::string, std::uint64_t*> budget_keys(budget::Budgets& budgets);

}  // namespace tagring::config
