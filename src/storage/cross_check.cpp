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

}  // namespace

std::vector<Disagreement> disagreements(const std::vector<HistoryPage>& owners, const PageWish& wish) {
  std::map<std::string, std::vector<HistoryEntry>> variants;  // by URI, each once
  std::map<std::string, std::size_t> said;                    // by so many that it lives
  for (const HistoryPage& page : owners) {
    for (const HistoryEntry& entry : page.entries) {
      // Since when it is so says nothing of whether it is.
      std::vector<HistoryEntry>& known = variants[entry.uri];
      const auto same = std::ranges::find_if(known, [&](HistoryEntry other) {
        other.changed = entry.changed;
        return other == entry;
      });
      if (same == known.end()) {
        known.push_back(entry);
      } else {
        same->changed = std::max(same->changed, entry.changed);
      }
      if (!entry.removed) ++said[entry.uri];
    }
  }
  std::vector<Disagreement> result;
  for (auto& [uri, entries] : variants) {
    const auto living =
        std::ranges::find_if(entries, [](const HistoryEntry& entry) { return !entry.removed; });
    if (living == entries.end()) continue;  // nobody shows it
    // Who shows it was asked, however far the page says that it gets: or one that lies about that agrees with
    // itself.
    const auto asked = static_cast<std::size_t>(std::ranges::count_if(owners, [&](const HistoryPage& page) {
      return reached(page, *living, wish.newer) ||
             std::ranges::find(page.entries, living->uri, &HistoryEntry::uri) != page.entries.end();
    }));
    const bool agreed = entries.size() == 1 && said[uri] >= asked;
    if (agreed) continue;
    std::vector<std::string> authors;
    for (const HistoryEntry& entry : entries) {
      const bool known = std::ranges::find(authors, entry.author) != authors.end();
      if (!entry.removed && !known) authors.push_back(entry.author);
    }
    result.push_back({*living, std::move(authors), said[uri], asked});
  }
  return result;
}

std::optional<bool> is_right(const HistoryPage& page, const std::string& uri,
                             const std::optional<HistoryEntry>& truth) {
  const auto shown = std::ranges::find(page.entries, uri, &HistoryEntry::uri);
  if (shown == page.entries.end()) return std::nullopt;
  return shown->removed ? !truth
                        : truth && shown->published == truth->published && shown->author == truth->author;
}

void apply(const Verdicts& verdicts, const PageWish& wish, std::vector<HistoryPage>* owners) {
  std::set<std::string> shown;
  for (HistoryPage& page : *owners) {
    for (HistoryEntry& entry : page.entries) {
      const auto verdict = verdicts.find(entry.uri);
      if (verdict == verdicts.end()) continue;
      const std::optional<HistoryEntry>& truth = verdict->second;
      // What is shown at another date than its own is removed there.
      entry.removed = !truth || truth->published != entry.published;
      entry.changed = {};
      if (entry.removed) continue;
      entry.author = truth->author;
      shown.insert(entry.uri);
    }
  }
  if (owners->empty()) return;
  HistoryPage& first = owners->front();
  for (const auto& [uri, truth] : verdicts) {
    if (!truth || shown.contains(uri) || !follows(*truth, wish) || !reached(first, *truth, wish.newer))
      continue;
    first.entries.insert(std::ranges::upper_bound(first.entries, *truth, newer), *truth);
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
