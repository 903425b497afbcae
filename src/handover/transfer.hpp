// Fetches data for this node's vservers from whom owned it before (paper §5.3, §5.6): followers, feed and
// history of a segment before its new owner answers for it, and those of a node that leaves for its
// successor.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/runtime.hpp"
#include "federation/signed_client.hpp"
#include "handover/kinds.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/partition.hpp"
#include "ring/vserver.hpp"
#include "storage/history.hpp"

namespace tagring::handover {

// What is fetched of a segment, in this order.
struct FetchedKinds {
  FetchedKind& followers;
  FetchedKind& feed;
  FetchedKind& sets;  // before the history: they say where posts of these hashtags belong
  FetchedKind& history;
};

class Transfer {
 public:
  struct Options {
    std::string network;
    unsigned relay_replicas = 2;
    unsigned storage_replicas = 4;  // of each key
    unsigned attempts_max =
        5;  // then a new owner serves with what it got: replicas and retries make up for the rest
    std::size_t page_size = kPage;  // items of a page of a partition, as whoever is asked has it
  };
  static constexpr std::string_view kPath = "/tagring/v1/transfer";
  // All who may have the data are asked at once. When one of them has given all, the others have as long
  // again twice over, but at least so long; and nobody has longer than that. Who goes on then is left out: a
  // liar need not come to an end. What it had comes by reconciling, and from who owned it before
  // (reassign_queue.hpp).
  static constexpr Duration kPatience = std::chrono::minutes(1);
  static constexpr Duration kPatienceMax = std::chrono::hours(1);

  Transfer(Options options, overlay::RingService& rings, FetchedKinds kinds, storage::Disputes& disputes,
           federation::SignedClient& client, const Runtime& runtime);
  [[nodiscard]] Task<void> stop();

  // A vserver's segment has changed: fetch what it lacks, in the background.
  void segment_changed(Ring ring, ring::Vserver& vserver);
  // Copies the segment of a leaver, who asked that vserver of ours. Anybody could have asked so: the leaver
  // is asked whether it leaves, and what it hands over is what it says then, as far as look-ups say that it
  // owns it. kBusy while that is being done; kNotOwner where that vserver is given up itself.
  // A leaver who has heard no answer to that asks again, and what has just been copied is not copied twice.
  [[nodiscard]] Task<Result<void>> take_over(Ring ring, ring::Contact asked, ring::TakeOver request);
  // storage::Observer::fetch_partition.
  [[nodiscard]] Task<Result<void>> fetch_partition(std::string origin, ring::Contact requester,
                                                   redundancy::Partition from, redundancy::Partition to,
                                                   std::uint64_t version, std::size_t sources);

  // Who may hold data of a vserver's positions.
  struct Sources {
    // By origin: for which copies, 0 of those that stand at these positions, 1 at the next equidistant ones.
    std::map<std::string, std::set<unsigned>> copies;
    bool are_all = true;  // else there are others, who could not be looked up
  };
  [[nodiscard]] Task<Sources> sources(Ring ring, RingId vserver, Segment positions);
  // One request, and its answer.
  [[nodiscard]] Task<Result<json::object>> ask(std::string origin, Request request);

  [[nodiscard]] std::uint64_t fetched() const { return fetched_; }  // items

 private:
  // Those who are asked for the same data at once.
  struct Round {
    std::map<std::string, std::set<unsigned>> sources;  // Sources::copies
    Instant begun;
    bool is_of_rivals = false;
    std::size_t under_way = 0;  // sources that have neither given all nor failed once
    std::optional<Instant> first_done = std::nullopt;

    [[nodiscard]] Instant end() const;
  };
  struct TakenOver {
    ring::Contact leaver;
    Segment segment;
    Instant done;
  };
  Task<void> fill(Ring ring, RingId vserver);
  Task<Result<Segment>> owned_part(Ring ring, ring::Contact leaver, Segment named);
  Task<Result<void>> take_over_from(Ring ring, ring::Contact leaver, ring::Contact asked);
  Task<Result<void>> fetch_in_round(std::string origin, Ring ring, ring::Contact requester, Segment positions,
                                    Round& round);
  Task<Result<void>> fetch_from(std::string origin, Ring ring, ring::Contact requester, Segment positions,
                                const Round& round);
  Task<Result<void>> fetch(std::string origin, Request request, FetchedKind& kind, const Round& round);
  [[nodiscard]] unsigned replicas(Ring ring) const;
  [[nodiscard]] redundancy::RelayHalves halves(const std::set<unsigned>& copies, std::size_t index) const;

  Options options_;
  overlay::RingService& rings_;
  FetchedKinds kinds_;
  storage::Disputes& disputes_;
  federation::SignedClient& client_;
  Clock& clock_;
  Log& log_;
  std::set<std::pair<Ring, RingId>> filling_;
  std::set<std::pair<Ring, RingId>> taking_over_;            // from these
  std::map<std::pair<Ring, RingId>, TakenOver> taken_over_;  // last, by the vserver that was asked
  std::uint64_t fetched_ = 0;
  TaskGroup tasks_;
};

}  // namespace tagring::handover
