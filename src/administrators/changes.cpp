#include "administrators/changes.hpp"

#include "base/printable.hpp"

namespace tagring::administrators {

// What a request said anybody may have written, and PostgreSQL keeps no NUL.
Task<void> Changes::note(Change change) {
  change.at = clock_.wall_now();
  change.about = printable(change.about);
  change.outcome = printable(change.outcome);
  log_.info(
      "admin",
      {{"who", change.who}, {"does", change.does}, {"about", change.about}, {"outcome", change.outcome}});
  const Result<void> kept = co_await store_.add_change(std::move(change), kKept);
  if (!kept) log_.warn("change_not_kept", {{"because", kept.error().message}});
}

}  // namespace tagring::administrators
