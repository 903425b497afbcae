// The administrator's requests about histories on their way into instances (see control.hpp).
//
//   GET  /instances/replays        {"replays": […]}
//   POST /instances/replay         {"host", "tag", "order"?, "max_age_s", "max_posts"?, "per_minute"?,
//                                   "authors_per_day"?, "may_trend"?}
//                                  order: "newest_first" (if absent) or "oldest_first"; max_age_s: how long
//                                  the instance keeps posts of others, 0 for ever → {…, "begins",
//                                  "waits_for"?}: when its first posts go, and why none do
//   POST /instances/cancel-replay  {"host", "tag"}
#pragma once

#include "admin/routes.hpp"
#include "replay/replay.hpp"

namespace tagring::admin {

class ReplayControl final : public Subject {
 public:
  explicit ReplayControl(replay::Replayer& replayer) : replayer_(replayer) {}

  void add_routes(Routes& routes) override;

 private:
  Task<Reply> begin(json::object body);
  Task<Reply> cancel(json::object body);

  replay::Replayer& replayer_;
};

}  // namespace tagring::admin
