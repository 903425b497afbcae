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
//   GET  /blocks, POST /blocks/…        moderation: node/moderation_control.hpp
//   GET  /fasp, POST /fasp/…            this node as a FASP: node/fasp_control.hpp
//   POST /followers/check        {"actor", "apply"}  compares with an actor who is followed (FEP-8fcf)
//   POST /followers/verify              computes the digests of all followers anew
//   GET  /instances/replays             histories on their way into instances
//   POST /instances/replay       {"host", "tag", "order"?, "max_age_s"?, "max_posts"?, "per_minute"?}
//                                order: "newest_first" (if absent) or "oldest_first"
//   POST /instances/cancel-replay {"host", "tag"}
//   GET  /subscriptions, /followers, /queues, /storage, /settings: node/overview.hpp
//   GET  /audit?tag=…                   what owners signed held against what they have: node/audit.hpp
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

#include "node/audit.hpp"
#include "node/fasp_control.hpp"
#include "node/history_service.hpp"
#include "node/inbox.hpp"
#include "node/logins.hpp"
#include "node/moderation_control.hpp"
#include "node/overview.hpp"
#include "node/replay.hpp"
#include "node/tag_sources.hpp"

namespace tagring::node {

class Control {
 public:
  Control(RingService& rings, HistoryService& history, Subscriber& subscriber, Instances& instances,
          Moderation& moderation, FollowerSync& sync, TagSources& tag_sources, Replayer& replayer,
          FaspControl& fasp, Audit& audit, Heads& heads, Overview& overview, Logins& logins,
          relay::Store& store, const Identity& identity, Log& log)
      : rings_(rings),
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
  // Set by the owner.
  std::function<json::object()> status;
  std::function<Task<void>()> leave;

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

  RingService& rings_;
  HistoryService& history_;
  Subscriber& subscriber_;
  Instances& instances_;
  ModerationControl moderation_;
  FollowerSync& sync_;
  TagSources& tag_sources_;
  Replayer& replayer_;
  FaspControl& fasp_;
  Audit& audit_;
  Heads& heads_;
  Overview& overview_;
  Logins& logins_;
  relay::Store& store_;
  const Identity& identity_;
  Log& log_;
};

}  // namespace tagring::node
