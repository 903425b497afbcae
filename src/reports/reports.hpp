// Reports (Flag): what people of other servers tell this node's administrator about its actors and what these
// announce. A report is kept until somebody has closed it; until then it counts against what its server may
// leave here (budget/manager.hpp).
//
// Nobody but the author's server can do more than hide a post here, so a report can be handed on to it. It
// goes out as from this node: who complained is not told.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "budget/manager.hpp"
#include "federation/activity_queue.hpp"
#include "federation/signed_client.hpp"
#include "fediverse/activity.hpp"
#include "fediverse/actor.hpp"
#include "reports/report_store.hpp"

namespace tagring::reports {

class Reports {
 public:
  static constexpr std::size_t kCommentMax = 4'000;  // bytes; more is cut
  static constexpr std::size_t kAboutMax = 20;       // URIs; more are left out
  static constexpr std::size_t kClosedMax = 500;

  Reports(budget::Manager& budget, ReportStore& store, federation::ActivityQueue& activities,
          federation::SignedClient& client, const Runtime& runtime)
      : budget_(budget),
        store_(store),
        activities_(activities),
        client_(client),
        clock_(runtime.clock),
        log_(runtime.log) {}

  // Counts what is open.
  [[nodiscard]] Task<Result<void>> load();
  // Durable when it completes. Empty if it was taken; else why not: it is about nothing of this node, or too
  // many of that server's are open, or of all.
  [[nodiscard]] Task<Result<std::string>> take(fediverse::Flag flag, std::string activity,
                                               std::string reporter);
  // The open ones first.
  [[nodiscard]] Task<Result<std::vector<Report>>> list(std::size_t limit);
  // When the oldest of those that are open came.
  [[nodiscard]] std::optional<WallTime> oldest() const { return oldest_; }
  // kNotFound, kConflict if it is closed already.
  [[nodiscard]] Task<Result<void>> close(std::uint64_t id);
  // Tells the server of its author of one post, or of somebody there; or, without `uri`, of each of the
  // report's that is not this node's own and was not told of before. What it told of. kInvalid if there is
  // none; errors of fetching a post or its author, which name those that it could not tell of when it has
  // told of the others. Of whose post it tells, it does not tell again then. kConflict while it is being
  // handed on already.
  [[nodiscard]] Task<Result<std::vector<std::string>>> forward(std::uint64_t id, std::string uri);

 private:
  [[nodiscard]] bool is_own(const std::string& uri) const;
  // Of the store; after each change, so that whoever asks last sees all that came before.
  Task<void> look_for_oldest();
  // What a report is about, as its server shows it: a post and its author, or somebody.
  struct Named {
    std::string uri;
    fediverse::RemoteActor actor;
    [[nodiscard]] bool is_person() const { return uri == actor.id; }
  };
  [[nodiscard]] Task<Result<Named>> look_up(std::string uri);
  // Of those that can be told of; else as forward().
  [[nodiscard]] Task<Result<std::vector<std::string>>> tell_of_all(std::uint64_t id,
                                                                   std::vector<std::string> uris,
                                                                   std::string comment);
  // To the actor's server.
  Task<Result<void>> tell_of(std::uint64_t id, Named named, std::string comment);

  budget::Manager& budget_;
  ReportStore& store_;
  federation::ActivityQueue& activities_;
  federation::SignedClient& client_;
  Clock& clock_;
  Log& log_;
  std::set<std::uint64_t> forwarding_;  // reports
  std::optional<WallTime> oldest_;
  std::uint64_t looks_ = 0;  // for the oldest
};

}  // namespace tagring::reports
