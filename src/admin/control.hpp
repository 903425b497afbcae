// What an administrator asks of a running node, over the control socket in its data directory. The command
// line is made of these; each answers JSON.
//
//   GET  /status                        everything worth knowing, as numbers
//   GET  /ring                          vservers, neighbours, segments
//   GET  /history?tag=…&limit=…&before= the tag's history, merged from its owners
//   GET  /feed?after=…&limit=…          what this node announced, or got as a subscriber, in order
//   GET  /owners?tag=…                  who relays and who stores a tag
//   POST /subscribe   {"tags": […]}     wants tags
//   POST /unsubscribe {"tags": […]}
//   GET  /instances                     who uses this node as a relay, and who waits for a decision
//   GET  /instances/hashtags?host=…     what an instance gets, and who wants it
//   POST /instances/permit       {"host", "publishes", "receives"}
//   POST /instances/subscribe    {"host", "tags": […]}
//   POST /instances/unsubscribe  {"host", "tags": […]}
//   GET  /blocks, POST /blocks/…        moderation: admin/moderation_control.hpp
//   GET  /fasp, POST /fasp/…            this node as a FASP: admin/fasp_control.hpp
//   POST /followers/check        {"actor", "apply"}  compares with an actor who is followed (FEP-8fcf)
//   POST /followers/verify              computes the digests of all followers anew
//   GET  /instances/replays             histories on their way into instances
//   POST /instances/replay       {"host", "tag", "order"?, "max_age_s"?, "max_posts"?, "per_minute"?}
//                                order: "newest_first" (if absent) or "oldest_first"
//   POST /instances/cancel-replay {"host", "tag"}
//   GET  /subscriptions, /followers, /queues, /storage, /settings: admin/overview.hpp
//   GET  /audit?tag=…                   what owners signed held against what they have: audit/audit.hpp
//   GET  /audits                        {"audits": […]}: the last of them
//   GET  /takedowns                     {"takedowns": […]}, the latest first
//   POST /takedown    {"tag", "uri", "reason"}  a post that this node shall show no more
//   POST /takedown/undo {"tag", "uri"}  shows it again
//   POST /login                         opens a session at the web page: {"url", "seconds"}
//   POST /logout                        ends all of them
//   POST /leave                         hands over and leaves both rings
//
// Everything that changes something leaves a line in the log, event "admin".
#pragma once

#include <functional>

#include "admin/fasp_control.hpp"
#include "admin/logins.hpp"
#include "admin/moderation_control.hpp"
#include "admin/overview.hpp"
#include "audit/audit.hpp"
#include "instances/follower_sync.hpp"
#include "instances/replay.hpp"
#include "instances/tag_sources.hpp"
#include "storage/history_service.hpp"

namespace tagring::admin {

class Control {
 public:
  // What only the whole node can do.
  struct Actions {
    std::function<json::object()> status;
    std::function<Task<void>()> leave;
  };
  Control(Actions actions, overlay::RingService& rings, storage::HistoryService& history,
          relay::Subscriptions& subscriber, instances::Instances& instances,
          instances::Moderation& moderation, instances::FollowerSync& sync,
          instances::TagSources& tag_sources, instances::Replayer& replayer, FaspControl& fasp,
          audit::Audit& audit, audit::SignedTreeHeads& heads, Overview& overview, Logins& logins,
          relay::Store& store, const federation::Identity& identity, Log& log)
      : actions_(std::move(actions)),
        rings_(rings),
        history_(history),
        subscriber_(subscriber),
        instances_(instances),
        moderation_(moderation),
        sync_(sync),
        tag_sources_(tag_sources),
        replayer_(replayer),
        fasp_(fasp),
        audit_(audit),
        heads_(heads),
        overview_(overview),
        logins_(logins),
        store_(store),
        identity_(identity),
        log_(log) {}

  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Task<HttpResponse> history(std::string query);
  Task<HttpResponse> feed(std::string query);
  Task<HttpResponse> owners(std::string query);
  Task<HttpResponse> audit(std::string query);
  Task<HttpResponse> take_down(json::object request);
  Task<HttpResponse> undo_take_down(json::object request);
  Task<HttpResponse> change(std::string path, json::object request);
  Task<HttpResponse> subscribe(std::vector<std::string> tags, bool on);
  Task<HttpResponse> subscribe_instance(std::string host, std::vector<std::string> tags, bool on);
  Task<HttpResponse> permit(std::string host, json::object request);
  Task<HttpResponse> check_followers(std::string actor, bool apply);
  Task<HttpResponse> verify_followers();
  Task<HttpResponse> replay(std::string host, json::object request);
  Task<HttpResponse> cancel_replay(std::string host, json::object request);
  HttpResponse ring() const;

  Actions actions_;
  overlay::RingService& rings_;
  storage::HistoryService& history_;
  relay::Subscriptions& subscriber_;
  instances::Instances& instances_;
  ModerationControl moderation_;
  instances::FollowerSync& sync_;
  instances::TagSources& tag_sources_;
  instances::Replayer& replayer_;
  FaspControl& fasp_;
  audit::Audit& audit_;
  audit::SignedTreeHeads& heads_;
  Overview& overview_;
  Logins& logins_;
  relay::Store& store_;
  const federation::Identity& identity_;
  Log& log_;
};

}  // namespace tagring::admin
