// Where the owners of one part of a history say different things to a reader: which posts that is about, and
// what becomes of their pages once it is known what is true (paper §3.4).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/history.hpp"

namespace tagring::storage {

// What was asked of the owners.
struct PageWish {
  std::optional<HistoryCursor> cursor;
  bool newer = false;  // on the newer side of the cursor
  std::size_t limit = 0;
};

// A post of which not all owners that got as far say the same.
struct Disagreement {
  HistoryEntry entry;                     // living, as most of those have it who show it
  std::vector<std::string> authors = {};  // whom those name who do, each once; that entry's first
  std::size_t shown_by = 0;               // so many show it, with whatever author and date
  std::size_t asked = 0;                  // of so many
};
[[nodiscard]] std::vector<Disagreement> disagreements(const std::vector<HistoryPage>& owners,
                                                      const PageWish& wish);

// Of so many owners that answered, those who were wrong lately may be left out: two others are there, who are
// held against each other. A server that says one thing today and another one tomorrow makes whom it likes
// seem wrong about its own posts; a single owner would be left, who leaves out what it likes.
[[nodiscard]] constexpr bool may_leave_out(std::size_t owners, std::size_t doubtful) {
  return owners >= doubtful + 2;
}

struct Verdict {
  std::optional<HistoryEntry> truth;  // the post as it is, or nothing if it is not there
  bool is_certain = true;             // its server said so, not most of the owners
  // That it is not there holds for whatever another part shows. Not if its server said only that it is by
  // nobody whom the owners of this part name.
  bool is_everywhere = true;
};
using Verdicts = std::map<std::string, Verdict>;  // by URI

// Whether an owner's page says what is true of a post; nothing where that is not certain, or the page says
// nothing, or lacks it: that may be slowness.
[[nodiscard]] std::optional<bool> is_right(const HistoryPage& page, const std::string& uri,
                                           const Verdict& verdict);

// The pages as if their owners had known: what is not there is removed in all of them. Unless that is certain
// and holds everywhere, it says nothing of what other parts of the history show.
void apply(const Verdicts& verdicts, const PageWish& wish, std::vector<HistoryPage>* owners);

// A removal of what no owner of this part shows would count where another part shows it. It does if more than
// half of these owners say so, other than by hearsay; one alone, or with whom it told, would remove what is
// not its own.
void pass_over_lone_removals(const PageWish& wish, std::vector<HistoryPage>* owners);

// Whoever has more to say decides how far a reader gets at a time (merge_pages). Not so an owner whose page,
// after the verdicts, is less than half full of what lives or another one shows, too: with few posts, or with
// many that never were, it would keep readers from all that is older. There has to be another one left.
void pass_over_early_ends(std::size_t limit, std::vector<HistoryPage>* owners);

}  // namespace tagring::storage
