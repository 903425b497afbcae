#include <algorithm>
#include <cmath>

#include "evaluation/network.hpp"
#include "scenarios/scenario.hpp"

namespace tagring::scenarios {

json::object run_hashtag_distribution(const ScenarioInput& input) {
  std::vector<evaluation::SpectrumRow> rows = input.spectrum;
  std::ranges::sort(rows, std::ranges::greater(), &evaluation::SpectrumRow::posts);
  double tags = 0;
  double uses = 0;
  double singletons = 0;
  for (const evaluation::SpectrumRow& row : rows) {
    tags += static_cast<double>(row.tags);
    uses += static_cast<double>(row.tags * row.posts);
    if (row.posts == 1) singletons += static_cast<double>(row.tags);
  }
  double rank = 0;
  double sum = 0;
  double half = 0;
  for (const evaluation::SpectrumRow& row : rows) {
    if (row.posts == 0) continue;
    const auto posts = static_cast<double>(row.posts);
    const auto count = static_cast<double>(row.tags);
    if (sum < uses / 2 && sum + posts * count >= uses / 2) half = rank + std::ceil((uses / 2 - sum) / posts);
    sum += posts * count;
    rank += count;
  }
  const double top = rows.empty() ? 0 : static_cast<double>(rows.front().posts);
  return {{"scenario", "hashtag-distribution"},
          {"tags", tags},
          {"uses", uses},
          {"singletons_ratio", singletons / tags},
          {"top_ratio", top / uses},
          {"half_tags", half},
          {"half_ratio", half / tags}};
}

}  // namespace tagring::scenarios
