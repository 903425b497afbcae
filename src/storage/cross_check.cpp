#include "storage/cross_check.hpp"

#include <algorithm>
#include <set>

namespace tagring::storage {
namespace {

// An owner that has more to say has reached the last that it shows. Of what it let go it says nothing.
bool reached(const HistoryPage& page, const HistoryEntry& entry, bool newer_side) {
  if (entry.published < page.kept_from) return false;
  if (!page.more) return true;
  if (page.entries.empty()) return false;
  const HistoryEntry& last = newer_side ? page.entries.front() : page.entries.back();
  return newer_side ? !newer(entry, last) : !newer(last, entry);
}

bool follows(const HistoryEntry& entry, const PageWish& wish) {
  if (!wish.cursor) return true;
  const HistoryEntry place{entry.partition, wish.cursor->uri, {}, wish.cursor->published};
  return wish.newer ? newer(entry, place) : newer(place, entry);
}

// What so many owners say of a post.
struct Variant {
  HistoryEntry entry;
  std::size_t owners = 0;
  std::size_t sure = 0;  // of these; the others have only heard it
};

void count(const HistoryEntry& entry, std::vector<Variant>* variants) {
  // Since when it is so says nothing of whether it is.
  const auto same = std::ranges::find_if(*variants, [&](const Variant& variant) {
    HistoryEntry other = variant.entry;
    other.changed = entry.changed;
    return other == entry;
  });
  const std::size_t sure = entry.is_hearsay() ? 0 : 1;
  if (same == variants->end()) {
    variants->push_back({entry, 1, sure});
  } else {
    same->entry.changed = std::max(same->entry.changed, entry.changed);
    ++same->owners;
    same->sure += sure;
  }
}

// Who shows it was asked, however far the page says that it gets: or one that lies about that agrees with
// itself.
std::size_t asked_about(const HistoryEntry& entry, const std::vector<HistoryPage>& owners,
                        const PageWish& wish) {
  return static_cast<std::size_t>(std::ranges::count_if(owners, [&](const HistoryPage& page) {
    return reached(page, entry, wish.newer) ||
           std::ranges::find(page.entries, entry.uri, &HistoryEntry::uri) != page.entries.end();
  }));
}

// By URI.
std::map<std::string, std::vector<Variant>> variants_in(const std::vector<HistoryPage>& owners) {
  std::map<std::string, std::vector<Variant>> posts;
  for (const HistoryPage& page : owners) {
    for (const HistoryEntry& entry : page.entries) count(entry, &posts[entry.uri]);
  }
  return posts;
}

}  // namespace

std::vector<Disagreement> disagreements(const std::vector<HistoryPage>& owners, const PageWish& wish) {
  std::vector<Disagreement> result;
  for (const auto& [uri, variants] : variants_in(owners)) {
    const auto living = std::ranges::max_element(
        variants, {}, [](const Variant& v) { return v.entry.removed ? 0 : v.owners; });
    if (living->entry.removed) continue;  // nobody shows it
    const std::size_t asked = asked_about(living->entry, owners, wish);
    // One that lies may have told the others of it just now.
    const bool agreed = variants.size() == 1 && living->owners >= asked && living->sure * 2 > asked;
    if (agreed) continue;
    Disagreement open{.entry = living->entry, .authors = {living->entry.author}, .asked = asked};
    for (const Variant& variant : variants) {
      if (variant.entry.removed) continue;
      open.entry.changed = std::max(open.entry.changed, WallTime());
      open.shown_by += variant.owners;
      if (std::ranges::find(open.authors, variant.entry.author) == open.authors.end())
        open.authors.push_back(variant.entry.author);
    }
    result.push_back(std::move(open));
  }
  return result;
}

std::optional<bool> is_right(const HistoryPage& page, const std::string& uri, const Verdict& verdict) {
  const auto shown = std::ranges::find(page.entries, uri, &HistoryEntry::uri);
  if (shown == page.entries.end() || !verdict.is_certain) return std::nullopt;
  const std::optional<HistoryEntry>& truth = verdict.truth;
  if (!shown->removed) return truth && shown->published == truth->published && shown->author == truth->author;
  // It may be there, by somebody else.
  if (!truth && !verdict.is_everywhere) return std::nullopt;
  return !truth;
}

void apply(const Verdicts& verdicts, const PageWish& wish, std::vector<HistoryPage>* owners) {
  std::set<std::string> shown;
  for (HistoryPage& page : *owners) {
    for (HistoryEntry& entry : page.entries) {
      // It was looked at, or enough owners say so.
      if (!entry.removed) entry.changed = std::max(entry.changed, WallTime());
      const auto verdict = verdicts.find(entry.uri);
      if (verdict == verdicts.end()) continue;
      const std::optional<HistoryEntry>& truth = verdict->second.truth;
      const bool is_for_all = verdict->second.is_certain && verdict->second.is_everywhere;
      // What is shown at another date than its own is removed there.
      entry.removed = !truth || truth->published != entry.published;
      entry.changed = entry.removed && !is_for_all ? kBeforeAll : WallTime();
      if (entry.removed) continue;
      entry.author = truth->author;
      shown.insert(entry.uri);
    }
  }
  if (owners->empty()) return;
  HistoryPage& first = owners->front();
  for (const auto& [uri, verdict] : verdicts) {
    const std::optional<HistoryEntry>& truth = verdict.truth;
    if (!truth || shown.contains(uri) || !follows(*truth, wish) || !reached(first, *truth, wish.newer))
      continue;
    first.entries.insert(std::ranges::upper_bound(first.entries, *truth, newer), *truth);
  }
}

void pass_over_lone_removals(const PageWish& wish, std::vector<HistoryPage>* owners) {
  std::set<std::string> lone;
  for (const auto& [uri, variants] : variants_in(*owners)) {
    const bool is_shown = std::ranges::any_of(variants, [](const Variant& v) { return !v.entry.removed; });
    std::size_t said = 0;
    for (const Variant& variant : variants) said += variant.sure;
    if (!is_shown && said * 2 <= asked_about(variants.front().entry, *owners, wish)) lone.insert(uri);
  }
  for (HistoryPage& page : *owners) {
    for (HistoryEntry& entry : page.entries)
      if (lone.contains(entry.uri)) entry.changed = kBeforeAll;
  }
}

void pass_over_early_ends(std::size_t limit, std::vector<HistoryPage>* owners) {
  std::map<std::string, std::size_t> shown;  // by so many, living or not
  for (const HistoryPage& page : *owners) {
    for (const HistoryEntry& entry : page.entries) ++shown[entry.uri];
  }
  const auto ends_early = [&](const HistoryPage& page) {
    const auto counts = std::ranges::count_if(
        page.entries, [&](const HistoryEntry& entry) { return !entry.removed || shown[entry.uri] > 1; });
    return page.more && static_cast<std::size_t>(counts) * 2 < limit;
  };
  if (std::ranges::all_of(*owners, ends_early)) return;
  for (HistoryPage& page : *owners) page.more = page.more && !ends_early(page);
}

}  // namespace tagring::storage
