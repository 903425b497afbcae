// The administrator's questions about the rings and the hashtags (see control.hpp).
//
//   GET /ring                          vservers, neighbours, segments
//   GET /owners?tag=…                  who relays and who stores a tag
//   GET /history?tag=…&limit=…&before= the tag's history, merged from its owners
//   GET /feed?after=…&limit=…&tag=…    what this node announced, or got as a subscriber: the first after that
//                                      number, in order; without "after" the last, newest first
#pragma once

#include "admin/routes.hpp"
#include "delivery/store.hpp"
#include "overlay/ring_service.hpp"
#include "storage/history_service.hpp"

namespace tagring::admin {

class QueryControl final : public Subject {
 public:
  QueryControl(overlay::RingService& rings, storage::HistoryService& history, delivery::Store& store)
      : rings_(rings), history_(history), store_(store) {}

  void add_routes(Routes& routes) override;

 private:
  [[nodiscard]] json::object rings() const;
  Task<Reply> owners(std::string query);
  Task<Reply> history(std::string query);
  Task<Reply> feed(std::string query);

  overlay::RingService& rings_;
  storage::HistoryService& history_;
  delivery::Store& store_;
};

}  // namespace tagring::admin
