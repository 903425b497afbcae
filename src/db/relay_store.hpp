// delivery::Store on SQLite.
#pragma once

#include "base/time.hpp"
#include "delivery/store.hpp"
#include "federation/letter_store.hpp"
#include "hashtag/tag.hpp"
#include "sql/database.hpp"

namespace tagring::db {

// Hashtags of a post in one column.
std::string join_tags(const std::vector<Tag>& tags);
std::vector<Tag> split_tags(std::string_view text);

// Of a statement that gives one row of one number.
Result<std::uint64_t> number_in(sql::Statement rows);

class SqliteRelayStore : public delivery::Store, public federation::LetterStore {
 public:
  // For how long after its last change a (tag, uri) is remembered, so that it is not announced twice and a
  // late Add does not undo a removal. In the feed it is remembered longer if need be.
  static constexpr Duration kSeenFor = std::chrono::days(30);
  // For how long a deletion waits for the post that it overtook: servers try again for some days.
  static constexpr Duration kBuriedFor = std::chrono::days(7);
  // No post is put off for longer, no profile is to be looked at later: what is due after that got its date
  // from a clock that was ahead, and is due now.
  static constexpr Duration kPutOffFor = std::chrono::hours(1);
  static constexpr Duration kLookWithin = std::chrono::days(40);

  // Both must outlive it. The clock dates the feed, for prune_feed.
  SqliteRelayStore(sql::Database& database, const Clock& clock)
      : database_(database), clock_(clock), date_(clock) {}

  Task<Result<std::vector<delivery::OutboxEntry>>> publish(delivery::PublishedPost post,
                                                           unsigned replicas) override;
  Task<Result<void>> bury(std::string uri, WallTime edited) override;
  Task<Result<std::optional<delivery::PublishedPost>>> find_post(std::string uri) override;
  Task<Result<std::optional<delivery::PublishedPost>>> find_unsigned_deletion(std::string uri) override;
  Task<Result<WallTime>> newest_post() override;
  Task<Result<void>> save_known_until(KnownOf whom, std::optional<WallTime> known_until) override;
  Task<Result<std::optional<WallTime>>> known_until(KnownOf whom) override;
  Task<Result<bool>> put_off(delivery::PublishedPost post, WallTime due) override;
  Task<Result<void>> drop_put_off(std::string uri, WallTime due) override;
  Task<Result<void>> drop_tags_put_off(std::string uri) override;
  Task<Result<void>> drop_put_off_of(std::string author) override;
  Task<Result<std::vector<delivery::PublishedPost>>> put_off_until(WallTime now, std::size_t limit) override;
  Task<Result<std::uint64_t>> count_put_off() override;

  Task<Result<std::vector<delivery::PublishedPost>>> posts_of(std::string author, std::string after_uri,
                                                              std::size_t limit, PostsOf which) override;
  Task<Result<std::vector<delivery::PublishedPost>>> posts_after(std::string author, std::string uri,
                                                                 std::size_t limit) override;
  Task<Result<std::vector<Written>>> written_after(std::string uri, std::size_t limit) override;
  Task<Result<std::optional<delivery::Consent>>> consent(std::string author) override;
  Task<Result<void>> save_consent(std::string author, delivery::Consent consent) override;
  Task<Result<void>> save_look(delivery::ProfileLook look) override;
  Task<Result<void>> drop_look(std::string author) override;
  Task<Result<std::vector<delivery::ProfileLook>>> looks_due(WallTime now, std::size_t limit) override;

  Task<Result<std::vector<delivery::OutboxEntry>>> outbox(std::uint64_t after, std::size_t limit) override;
  Task<Result<std::vector<delivery::OutboxEntry>>> owe(Ring ring, std::vector<delivery::TagEvent> events,
                                                       std::uint32_t replicas) override;
  Task<Result<void>> acknowledge(std::map<std::uint64_t, std::uint32_t> replicas_done) override;

  Task<Result<std::vector<Accepted>>> accept(std::vector<delivery::TagEvent> events,
                                             unsigned storage_replicas) override;
  Task<Result<std::vector<WallTime>>> announced(Tag tag, std::vector<std::string> uris) override;
  Task<Result<std::vector<delivery::TagEvent>>> news_of(std::vector<delivery::TagEvent> events) override;
  Task<Result<std::vector<OwedCopy>>> copies_owed(std::uint64_t after, std::size_t limit) override;
  Task<Result<void>> settle_copies(std::vector<std::uint64_t> seqs) override;
  Task<Result<void>> prune_copies() override;
  Task<Result<void>> keep_deletion(std::string hash, std::string body) override;
  Task<Result<std::string>> find_deletion(std::string hash) override;
  Task<Result<std::vector<delivery::FeedEntry>>> feed(std::uint64_t after, std::size_t limit) override;
  Task<Result<std::uint64_t>> feed_end() override;
  Task<Result<std::uint64_t>> feed_start(WallTime since) override;
  Task<Result<std::vector<delivery::FeedEntry>>> feed_of_segment(Segment segment, std::uint64_t after,
                                                                 std::size_t limit) override;
  Task<Result<void>> prune_feed(std::uint64_t through, WallTime before) override;

  Task<Result<std::vector<delivery::Follower>>> follow(std::vector<delivery::Follower> followers) override;
  Task<Result<std::vector<Stretches>>> left_today(std::string inbox, std::vector<Tag> tags) override;
  Task<Result<std::vector<delivery::Follower>>> unfollow(
      std::vector<std::pair<Tag, std::string>> tags_and_actors) override;
  Task<Result<Tag>> tag_followed(std::string actor, std::string follow_id, std::vector<Tag> tags) override;
  Task<Result<std::vector<delivery::Follower>>> followers(std::optional<Tag> after_tag,
                                                          std::string after_actor,
                                                          std::size_t limit) override;
  Task<Result<std::vector<delivery::Follower>>> nodes_of_segment(Segment segment,
                                                                 std::optional<Tag> after_tag,
                                                                 std::string after_actor,
                                                                 std::size_t limit) override;
  Task<Result<delivery::Partial>> partial(delivery::PartialKey key) override;
  Task<Result<PartialsCheck>> check_partials() override;
  Task<Result<std::vector<FormerServer>>> former_servers() override;
  Task<Result<void>> drop_former_server(delivery::PartialKey key) override;
  Task<Result<std::optional<WallTime>>> actor_since(std::optional<Tag> tag) override;
  Task<Result<void>> advance(Cursors cursors, Notes notes) override;
  Task<Result<Cursors>> cursors() override;
  Task<Result<Notes>> notes(std::uint64_t after, std::uint64_t through) override;

  Task<Result<federation::Letter>> write_letter(federation::Letter letter) override;
  Task<Result<std::vector<federation::Letter>>> letters(std::uint64_t after, std::size_t limit) override;
  Task<Result<void>> drop_letter(std::uint64_t seq) override;

  Task<Result<void>> want(std::vector<Tag> tags, std::string reason) override;
  Task<Result<void>> unwant(std::vector<Tag> tags, std::string reason) override;
  Task<Result<std::vector<Tag>>> wanted(std::optional<Tag> after, std::size_t limit) override;
  Task<Result<void>> save_subscriptions(std::vector<delivery::Subscription> subscriptions) override;
  Task<Result<void>> drop_subscriptions(std::vector<std::pair<Tag, std::string>> tags_and_owners) override;
  Task<Result<std::vector<delivery::Subscription>>> subscriptions() override;

 private:
  sql::Database& database_;
  const Clock& clock_;
  SteadyDate date_;
};

// Inside a job: the sequence that numbers the feed.
inline constexpr const char* kFeedSequence = "feed";
// Inside a job: a post of that time has been written.
Result<void> note_written(sql::Connection& db, WallTime published);

}  // namespace tagring::db
