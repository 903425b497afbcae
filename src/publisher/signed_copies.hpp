// Deletions and edits as their authors' servers signed them, handed on byte for byte (docs/protocol.md §7.8):
// other servers believe those, whoever brings them, and take nobody else's word.
//
// Only the publisher's node gives out the bytes: deletions, which have no content, for a week, from disk;
// edits for a day, from memory, and only until the post has left a hashtag. Where that is full, the
// oldest of the registered domain that has most goes. Events in the rings name them by
// their SHA-256. A node that has followers of the hashtag fetches them from there, and queues them for its
// followers as it does single activities, on disk until each has taken them. Whose publisher's node is away
// is asked for again, for a week and after restarts. Never a new post, and nothing that is not public; of who
// is blocked here, or blocks the hashtag, only deletions; and from a node that does not speak for the
// author's server only the deletion of a post that is gone. Edits beyond an hour's limit wait for the next,
// in memory, of each post the latest.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/runtime.hpp"
#include "base/time.hpp"
#include "belief/tag_event.hpp"
#include "delivery/announcer.hpp"
#include "delivery/store.hpp"
#include "federation/activity_queue.hpp"
#include "federation/blocks.hpp"
#include "federation/signed_client.hpp"
#include "http/message.hpp"
#include "instances/instances.hpp"

namespace tagring::publisher {

class SignedCopies {
 public:
  static constexpr std::string_view kPath = "/tagring/v1/signed";
  static constexpr std::size_t kSizeMax = 65'536;     // of one; those of Mastodon have 1500 to 10,000 bytes
  static constexpr std::size_t kOnDiskMax = 16'384;   // of a deletion
  static constexpr std::size_t kBytesMax = 16 << 20;  // of all that are kept in memory
  static constexpr Duration kKept = std::chrono::hours(24);
  static constexpr Duration kLookAgain = std::chrono::hours(1);  // for those who were away
  static constexpr std::size_t kSentMax = 100'000;               // (copy, inbox) remembered
  static constexpr std::size_t kAnHour = 1000;      // edits handed on of the servers of one registered domain
  static constexpr std::size_t kPendingMax = 1000;  // copies that are being fetched
  static constexpr std::size_t kPendingOfDomainMax = 250;  // from one, which may be away
  // Copies that are asked for in vain of one host that does not speak for the post's server: anybody can name
  // it, for posts that never were.
  static constexpr std::size_t kOfStrangerAMinute = 10;
  static constexpr std::size_t kPostsMax = 1000;  // of one copy: who saw one of an account's saw the account
  static constexpr std::size_t kTagsMax = 128;    // of a post: those that it has, and had
  static constexpr std::size_t kPutOffMax = 10'000;

  SignedCopies(federation::ActivityQueue& activities, federation::SignedClient& client,
               delivery::Announcer& announcer, const instances::Instances& instances,
               const federation::Blocks& blocks, const Runtime& runtime)
      : activities_(activities),
        client_(client),
        announcer_(announcer),
        store_(announcer.store()),
        instances_(instances),
        blocks_(blocks),
        clock_(runtime.clock),
        date_(runtime.clock),
        log_(runtime.log),
        tasks_(runtime.executor) {}
  // Goes on with what was owed when the node stopped.
  void start() { tasks_.spawn("copies_owed", look_again_and_again()); }
  [[nodiscard]] Task<void> stop();

  // Keeps what an author's server signed of a public post, and returns its name for events
  // (delivery::TagEvent::signed_copy). Empty if it is too large. What is on disk is there when it completes.
  [[nodiscard]] Task<Result<std::string>> keep(const std::string& body, const std::string& author);
  // Answers GET kPath?sha256=….
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);
  // An event names a copy: it goes to those who follow the hashtag here and are no nodes, once each. One copy
  // may be named for many posts: that of the end of their author's account.
  void hand_on(const delivery::FeedEntry& entry);
  // The same under all hashtags that the post has or had, for its publisher's node: through the rings events
  // go to others only.
  void hand_on(const delivery::PublishedPost& post, delivery::Op op);
  // The post is there no more, or not under all its hashtags: nobody is given its edits, but for that one.
  void forget_edits(const std::string& uri, const std::string& but_hash = "");
  // Those that wait for another hour.
  [[nodiscard]] std::size_t put_off() const { return put_off_count_.size(); }
  // Those that there was no room for, or no disk.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Copy {
    std::string body;
    std::string whose;
    Instant since;
    bool own = false;              // this node is the publisher's, and gives it out
    std::string edited_post = {};  // URI; empty for a deletion
  };
  // Those of one registered domain: of who signed them, or of the node that gave them.
  struct Held {
    std::set<std::pair<Instant, std::string>> by_age;  // hashes
    std::size_t bytes = 0;
    [[nodiscard]] std::size_t size() const { return bytes; }
  };
  struct Hour {
    Instant end;
    std::size_t count = 0;
  };
  // A copy that is to be handed on, for posts of that author, under these of their tags.
  struct Work {
    std::string signed_copy;  // delivery::TagEvent::signed_copy
    std::string author;
    std::map<std::string, std::set<Tag>> posts;  // by URI; never empty, and more than one for an account only
    std::vector<std::uint64_t> owed;             // by delivery::Store::copies_owed
    Instant not_before{};
    belief::Version version{};  // of what was said with it
    [[nodiscard]] const std::string& first() const { return posts.begin()->first; }
  };
  using Ways = std::map<std::string, std::string>;  // by inbox: the actor who brings it
  // Nothing if nobody here is to get it. `was_here`: a removal is of what this node had announced.
  [[nodiscard]] std::optional<Work> work_of(const delivery::TagEvent& event, bool was_here) const;
  void begin(Work work);
  void put_off(Work work);
  Task<void> go_on(std::string host);
  void drop(const std::string& host, std::string_view why);
  Task<void> hand_on_all(std::string signed_copy);
  Task<void> wait_for_announcer();
  // Whether there is nothing left to do.
  Task<bool> hand_over(Work work, std::string body);
  Task<void> look_again_and_again();
  Task<void> look_again();
  // `away`: domains that have not answered in this look.
  Task<bool> is_done_with(const delivery::FeedEntry& entry, WallTime since, std::set<std::string>& away);
  void settle(std::vector<std::uint64_t> owed);
  Task<void> write_settled();
  Task<Result<std::string>> fetch_again_and_again(std::string signed_copy, bool is_strange);
  [[nodiscard]] bool is_from_who_speaks(const std::string& signed_copy, const std::string& uri) const;
  [[nodiscard]] bool is_from_stranger(const Work& work) const {
    return !is_from_who_speaks(work.signed_copy, work.first());
  }
  [[nodiscard]] Ways ways_of(const Work& work, const std::string& hash, bool deletes) const;
  Task<Result<std::string>> fetch(std::string signed_copy, bool is_strange);
  Task<Result<std::string>> fetch_from_stranger(std::string url, const std::string& hash);
  Task<Result<std::string>> fetch_from(std::string url, const std::string& hash);
  void remember(const std::string& hash, std::string body, std::string whose);
  void erase(const std::string& hash);
  void drop(Held& its, const std::string& hash);
  [[nodiscard]] bool admits(const std::string& domain, const std::string& hash);

  federation::ActivityQueue& activities_;
  federation::SignedClient& client_;
  const delivery::Announcer& announcer_;
  delivery::Store& store_;
  const instances::Instances& instances_;
  const federation::Blocks& blocks_;
  Clock& clock_;
  SteadyDate date_;
  Log& log_;
  std::map<std::string, Copy> copies_;                  // by SHA-256
  Shares<Held> held_;                                   // those in copies_, by bytes
  std::map<std::string, std::set<std::string>> edits_;  // hashes, by the post's URI
  std::set<std::pair<std::string, std::string>> sent_;
  std::map<std::string, Hour> hours_;              // by registered domain
  std::map<std::string, Hour> minutes_;            // by host, of strangers that are asked
  std::map<std::string, Work> pending_;            // what is being fetched, by signed_copy
  std::map<std::string, std::size_t> pending_of_;  // by registered domain of the origin
  // By host, and post: who has a place here has a task that goes on with it.
  std::map<std::string, std::map<std::string, Work>> put_off_;
  DynamicThreshold put_off_count_{kPutOffMax};  // by registered domain of the posts
  std::uint64_t dropped_ = 0;
  std::vector<std::uint64_t> settled_;  // that is to be written: there is a task for it
  Instant next_warning_{};
  TaskGroup tasks_;
};

}  // namespace tagring::publisher
