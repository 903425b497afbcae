// Who was proved to have dropped what it signed that it took (docs/audit.md, "Without being asked"): keeps
// the evidence, whoever found it, hands on what this node found, and has such owners read and heard last for
// a day. Only what the accused has signed itself counts, so nobody can be accused of what they did not do.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "audit/evidence.hpp"
#include "audit/notary.hpp"
#include "audit/owner_questions.hpp"
#include "audit/receipt_store.hpp"
#include "base/json.hpp"
#include "base/runtime.hpp"
#include "belief/standing.hpp"
#include "budget/manager.hpp"
#include "hashtag/tag.hpp"
#include "http/ip.hpp"
#include "http/message.hpp"
#include "overlay/ring_service.hpp"
#include "redundancy/partition.hpp"
#include "ring/contact.hpp"
#include "storage/history_service.hpp"

namespace tagring::audit {

// Whom evidence against an owner concerns: the accused, the other owners of the hashtag, and this node's
// neighbours on the rings.
class Concerned {
 public:
  Concerned(storage::HistoryService& history, overlay::RingService& rings, const Notary& notary,
            HttpClient& http, budget::Manager& budget, const Runtime& runtime)
      : history_(history),
        rings_(rings),
        notary_(notary),
        http_(http),
        budget_(budget),
        clock_(runtime.clock) {}

  // Sends it to each of them, again to who is busy or does not answer. Who is away for longer, and is
  // concerned, finds it out some day.
  [[nodiscard]] Task<void> tell(Evidence evidence, std::string path);
  // For what is asked of others, because somebody shows evidence: not granted if that one has enough already.
  [[nodiscard]] budget::Share place_for(const IpAddress& sender) {
    return {&budget_, budget::Resource::kLookUps, budget_.who(sender)};
  }
  // The node at that origin, if it is a storage owner of that partition now.
  [[nodiscard]] Task<std::optional<ring::Contact>> owner(redundancy::Partition partition, std::string origin);

 private:
  static constexpr std::size_t kToldMax = 16;  // nodes
  static constexpr unsigned kTellTries = 4;
  static constexpr Duration kTellAgain = std::chrono::seconds(30);
  [[nodiscard]] std::vector<ring::Contact> neighbours() const;
  // True if it has answered for good.
  Task<bool> tell_one(ring::Contact contact, std::string path, std::string body);

  storage::HistoryService& history_;
  overlay::RingService& rings_;
  const Notary& notary_;
  HttpClient& http_;
  budget::Manager& budget_;
  Clock& clock_;
};

class Offences {
 public:
  // Since its last head that was shown to lack a post. Who drops posts again and again is proved again before
  // that; who lost a disk has its posts back within the hour, and does not pay for it for long.
  static constexpr Duration kKept = std::chrono::hours(24);

  Offences(ReceiptStore& store, OwnerQuestions& questions, Concerned& concerned, belief::Standing& standing,
           const Notary& notary, const Runtime& runtime)
      : store_(store),
        questions_(questions),
        concerned_(concerned),
        standing_(standing),
        notary_(notary),
        clock_(runtime.clock),
        log_(runtime.log),
        tasks_(runtime.executor) {}
  // What was kept, once at the start.
  [[nodiscard]] Task<Result<void>> load();
  [[nodiscard]] Task<void> stop();

  // This node has just found it. It is handed to the accused, to the owners of the hashtag, and to
  // neighbours.
  [[nodiscard]] Task<void> found(Evidence evidence);

  static constexpr std::string_view kPath = "/tagring/v1/evidence";
  // Answers POST kPath, evidence from another node, and GET kPath, {"evidence": […]}: all that is kept here.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // {"offenders": [{"owner", "tag", "post", "accepted_at", "absent_at", "until", "evidence"}]}
  [[nodiscard]] json::object list() const;

  struct Counters {
    std::uint64_t found = 0;    // by this node
    std::uint64_t told = 0;     // by others, and true
    std::uint64_t refused = 0;  // proves nothing
    std::uint64_t accused = 0;  // true, and about this node
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // Owners that are read last now.
  [[nodiscard]] std::size_t offenders() const;

 private:
  static constexpr std::size_t kBytesMax = 1U << 16U;
  static constexpr std::size_t kKeptMax = 1'000;
  // An owner of which that much newer evidence is there is proved again.
  static constexpr Duration kAgain = std::chrono::hours(1);

  [[nodiscard]] bool is_known(const std::string& origin, WallTime at) const;
  [[nodiscard]] bool is_current(WallTime at) const;
  Task<Result<void>> consider(Evidence evidence, IpAddress sender);
  Task<Result<void>> take(HttpRequest request);
  Task<void> keep(Evidence evidence);

  ReceiptStore& store_;
  OwnerQuestions& questions_;
  Concerned& concerned_;
  belief::Standing& standing_;
  const Notary& notary_;
  Clock& clock_;
  Log& log_;
  std::map<std::string, Evidence> kept_;  // by origin, of each the latest
  Counters counters_;
  TaskGroup tasks_;
};

}  // namespace tagring::audit
