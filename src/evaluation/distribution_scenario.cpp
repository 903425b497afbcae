#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "evaluation/scenario.hpp"

namespace tagring::evaluation {

ScenarioOutput run_hashtag_distribution(const ScenarioInput& input) {
  std::vector<SpectrumRow> rows = input.spectrum;
  std::ranges::sort(rows, std::ranges::greater(), &SpectrumRow::posts);
  double tags = 0;
  double uses = 0;
  double singletons = 0;
  for (const SpectrumRow& row : rows) {
    tags += static_cast<double>(row.tags);
    uses += static_cast<double>(row.tags * row.posts);
    if (row.posts == 1) singletons += static_cast<double>(row.tags);
  }
  Series by_rank{"posts", {}};
  Series covered{"share of all posts", {}};
  double rank = 0;
  double sum = 0;
  double half = 0;
  for (const SpectrumRow& row : rows) {
    if (row.posts == 0) continue;
    const auto posts = static_cast<double>(row.posts);
    const auto count = static_cast<double>(row.tags);
    if (sum < uses / 2 && sum + posts * count >= uses / 2) half = rank + std::ceil((uses / 2 - sum) / posts);
    by_rank.points.emplace_back(rank + 1, posts);
    sum += posts * count;
    rank += count;
    by_rank.points.emplace_back(rank, posts);
    covered.points.emplace_back(rank, sum / uses);
  }
  const double top = rows.empty() ? 0 : static_cast<double>(rows.front().posts);
  Report report("How posts are spread over hashtags: figure 4 of the paper");
  report.paragraph(describe_data(input));
  report.paragraph(
      "A few hashtags have most of the posts, and most hashtags have one. So no ring balances by itself: a "
      "place on it is as heavy as the heaviest hashtag there.");
  report.table({"figure", "here", "paper §6.1"},
               {{"hashtags used once", fmt::format("{:.1f} %", 100 * singletons / tags), "69.7 %"},
                {"the top hashtag, of all uses", fmt::format("{:.2f} %", 100 * top / uses), "1.4 %"},
                {"hashtags that cover half of all uses",
                 fmt::format("{:.0f} ({:.3f} %)", half, 100 * half / tags), "0.17 %"}});
  report.plot({"Posts of a hashtag by its rank", "rank", "posts", {by_rank}, true, true});
  report.plot({"What the first hashtags cover", "hashtags", "share of all posts", {covered}, true, false});
  return {json::object{{"scenario", "hashtag-distribution"},
                       {"tags", tags},
                       {"uses", uses},
                       {"singletons_ratio", singletons / tags},
                       {"top_ratio", top / uses},
                       {"half_tags", half},
                       {"half_ratio", half / tags}},
          report};
}

}  // namespace tagring::evaluation
