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
//   POST /leave                         hands over and leaves both rings
#pragma once

#include <functional>

#include "node/history_service.hpp"
#include "node/inbox.hpp"

namespace tagring::node {

class Control {
 public:
  Control(RingService& rings, HistoryService& history, Subscriber& subscriber, relay::Store& store)
      : rings_(rings), history_(history), subscriber_(subscriber), store_(store) {}

  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // Set by the owner.
  std::function<json::object()> status;
  std::function<Task<void>()> leave;

 private:
  Task<HttpResponse> history(std::string query);
  Task<HttpResponse> feed(std::string query);
  Task<HttpResponse> owners(std::string query);
  Task<HttpResponse> subscribe(std::string body, bool on);
  HttpResponse ring() const;

  RingService& rings_;
  HistoryService& history_;
  Subscriber& subscriber_;
  relay::Store& store_;
};

}  // namespace tagring::node
