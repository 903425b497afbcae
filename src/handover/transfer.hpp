// Moves data to whom owns it now (paper §5.3, §5.6): followers, feed and history of a segment are fetched by
// its new owner before it answers for it, and by the successor of a node that leaves.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "federation/authenticator.hpp"
#include "handover/reassign_queue.hpp"
#include "relay/feed.hpp"
#include "storage/kept_partitions.hpp"

namespace tagring::handover {

class Transfer {
 public:
  struct Options {
    std::string network;
    ring::IdRules ids;
    unsigned relay_replicas = 2;
    unsigned attempts_max =
        5;  // then a new owner serves with what it got: replicas and retries make up for the rest
    std::size_t page = 400;  // entries of one request: a page stays below the limit of a body
  };
  static constexpr std::string_view kPath = "/tagring/v1/transfer";

  Transfer(Options options, relay::Store& store, storage::HistoryStore& history, overlay::RingService& rings,
           storage::KeptPartitions& kept, federation::SignedClient& client,
           federation::Authenticator& authenticator, relay::Followers& followers, relay::Feed& feed,
           ReassignQueue& reassign, const Runtime& runtime);

  // A vserver's segment has changed: fetch what it lacks, in the background.
  void segment_changed(Ring ring, ring::Vserver& vserver);
  // Copies the segment of a leaver, who asked that vserver of ours.
  [[nodiscard]] Task<Result<void>> take_over(Ring ring, ring::Contact asked, ring::TakeOver request);
  // storage::Observer::fetch_partition.
  [[nodiscard]] Task<Result<void>> fetch_shelf(std::string origin, ring::Contact requester,
                                               redundancy::Partition from, redundancy::Partition to,
                                               std::uint64_t version);
  // Answers POST kPath, to the vserver that owns, or is about to own, the keys it asks for.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] std::uint64_t fetched() const { return fetched_; }

  struct Request {
    Ring ring = Ring::kRelay;
    ring::Contact requester;
    Segment segment;  // of keys, not of positions, but for kind "sets"
    std::string kind;
    std::string shelf;  // kind "shelf": its name
    std::string after_tag;
    std::string after;
    json::object question;  // kind "hours": see AntiEntropy
  };
  // Origins of who may hold data of a vserver's positions.
  [[nodiscard]] Task<std::vector<std::string>> sources(Ring ring, RingId vserver, Segment positions);
  // One request, and its answer.
  [[nodiscard]] Task<Result<json::object>> ask(std::string origin, Request request);

 private:
  Task<void> fill(Ring ring, RingId vserver);
  Task<Result<void>> fetch_from(std::string origin, Ring ring, ring::Contact requester, Segment positions);
  Task<Result<void>> fetch_kind(std::string origin, Request request);
  Task<Result<std::size_t>> absorb(Request* request, json::object page);
  Task<Result<std::size_t>> absorb_history(Request* request, const json::value* items);
  Task<Result<json::object>> page_of(Request request);
  Task<Result<json::object>> page_of_shelf(Request request);
  Task<Result<void>> may_have(Request request);
  Result<Request> read(const HttpRequest& request, const fediverse::RemoteActor& sender) const;
  [[nodiscard]] unsigned replicas(Ring ring) const;

  Options options_;
  relay::Store& store_;
  storage::HistoryStore& history_;
  overlay::RingService& rings_;
  storage::KeptPartitions& kept_;
  federation::SignedClient& client_;
  federation::Authenticator& authenticator_;
  relay::Followers& followers_;
  relay::Feed& feed_;
  ReassignQueue& reassign_;
  Clock& clock_;
  std::set<std::pair<Ring, RingId>> filling_;
  std::uint64_t fetched_ = 0;
  TaskGroup tasks_;
};

// A transferred item, of a hashtag or one of its shelves, belongs to the segment that was asked for, and its
// two URLs (post and author, or follower and inbox) to one server.
Result<void> check_item(const Segment& segment, const std::string& tag, const std::string& url,
                        const std::string& other);

}  // namespace tagring::handover
