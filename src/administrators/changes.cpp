#include "administrators/changes.hpp"

namespace tagring::administrators {

Task<void> Changes::note(Change change) {
  change.at = clock_.wall_now();
  log_.info(
      "admin",
      {{"who", change.who}, {"does", change.does}, {"about", change.about}, {"outcome", change.outcome}});
  const Result<void> kept = co_await store_.add_change(std::move(change), kKept);
  if (!kept) log_.warn("change_not_kept", {{"because", kept.error().message}});
}

}  // namespace tagring::administrators
