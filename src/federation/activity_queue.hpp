// Single activities of this node's actors that must arrive, such as the answer to a Follow. Each is on disk
// until its inbox has taken it or refused it, or for a week, or, if it is a Move, until that is called off.
// Letters about different things do not wait for each other.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "budget/manager.hpp"
#include "federation/letter_store.hpp"
#include "federation/signed_client.hpp"
#include "queues/inbox_lanes.hpp"

namespace tagring::federation {

class ActivityQueue {
 public:
  static constexpr Duration kLifetime = std::chrono::days(7);

  ActivityQueue(budget::Manager& budget, LetterStore& store, SignedClient& client, const Runtime& runtime);

  // Takes up what waited when the node stopped.
  [[nodiscard]] Task<Result<void>> load();
  [[nodiscard]] Task<void> stop();

  // Sends `body` on behalf of one of this node's actors. Durable when it completes; delivered later.
  [[nodiscard]] Task<Result<void>> send(std::string actor, std::string inbox, std::string body);

  // kUnavailable if many wait for the domain of that inbox: to be asked before a stranger is answered. What
  // the administrator wants sent is sent in any case.
  [[nodiscard]] Result<void> check_room(const std::string& inbox) const;
  // For an activity of that actor that is sent once, unlike any before it: NodeBB and GoToSocial drop
  // activities whose id they know, whatever happened since. A Follow has an id to be fetched by, since it
  // holds, and so has the answer to one (Identity::activity_id); others pass.
  [[nodiscard]] std::string fresh_follow_id(const std::string& actor, const std::string& object);
  [[nodiscard]] std::string fresh_answer_id(const std::string& actor, std::string_view about);
  [[nodiscard]] std::string fresh_id(const std::string& actor, std::string_view kind, std::string_view about);

  // GET of the id of an answer to a Follow: whoever is sent one may look there whether it is this node's.
  // They are in memory, not many, and not for long, since anybody who follows causes one. 404 for others.
  static constexpr std::string_view kPath = "/answers/";
  static constexpr std::size_t kAnswersMax = 500;  // of 9 kB at most: a Follow has 8 (Instances::check_asker)
  static constexpr Duration kAnswerFor = std::chrono::hours(1);  // after it was sent
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  // An Accept by that actor to that host is being made, for as long as this lives: what it accepts is written
  // down before it is. It counts as one that waits, so that check_room says so to who asks meanwhile. The
  // queue outlives it.
  class ComingAccept {
   public:
    ComingAccept(ActivityQueue& queue, std::string actor, std::string host);
    ~ComingAccept();
    ComingAccept(const ComingAccept&) = delete;
    ComingAccept& operator=(const ComingAccept&) = delete;

   private:
    ActivityQueue& queue_;
    std::pair<std::string, std::string> about_;
  };
  // An Accept by that actor is coming, or still to arrive at that host. Mastodon passes over what is
  // announced by an actor whom nobody there follows yet. One inbox that does not take it holds up the others
  // of its server for so long, and for no longer, whoever follows meanwhile:
  static constexpr Duration kAcceptFirst = std::chrono::hours(1);
  [[nodiscard]] bool awaits_accept(const std::string& actor, const std::string& host) const;

  // Accepts that have not arrived, by this node's actor and the inbox: why not, or nothing while none was
  // tried. Those that were refused or given up count until another arrives there, or the next start.
  using Untaken = std::map<std::pair<std::string, std::string>, std::string>;
  [[nodiscard]] Untaken untaken_accepts() const;

  [[nodiscard]] bool idle() const { return lanes_.idle(); }
  // By inbox.
  [[nodiscard]] std::map<std::string, queues::QueueStatus> lanes() const { return lanes_.status(); }

 private:
  using Lanes = queues::InboxLanes<Letter>;
  [[nodiscard]] std::string fresh(std::string_view about);
  void queue(Letter letter, bool tried);
  void keep_answer(const std::string& id, const std::string& body);
  void note_arrived(const Letter& letter, bool has_no_inbox);
  void note_accept(const Letter& letter, const Result<HttpResponse>& response);
  Task<Lanes::Outcome> deliver(std::string inbox, Letter letter);

  budget::Manager& budget_;
  LetterStore& store_;
  SignedClient& client_;
  Clock& clock_;
  SteadyDate date_;
  std::uint64_t last_id_ = 0;
  struct Accepts {
    Instant since;                                 // of which on some wait without a break
    std::map<std::uint64_t, std::string> letters;  // inbox, by Letter::seq
    std::size_t coming = 0;
  };
  using AcceptsByPair = std::map<std::pair<std::string, std::string>, Accepts>;
  void forget_if_none(AcceptsByPair::iterator accepts);

  static constexpr std::size_t kLostMax = 10'000;
  AcceptsByPair accepts_;  // by actor and host
  Untaken lost_;           // refused, given up, or there is no inbox
  struct Answer {
    std::string body;
    Instant sent;
  };
  std::map<std::string, Answer> answers_;  // by id
  Lanes lanes_;
};

}  // namespace tagring::federation
