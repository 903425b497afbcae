// Who gets announcements of which tag: the followers of this node's hashtag actors, in memory, indexed for
// fan-out, and with the digests of FEP-8fcf, so that neither costs a query for each delivery.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "budget/manager.hpp"
#include "delivery/store.hpp"
#include "hashtag/tag.hpp"

namespace tagring::delivery {

// What followers of that kind take of the budget of their domain.
[[nodiscard]] std::optional<budget::Resource> resource_of(Via via);

class Followers {
 public:
  // What strangers follow is counted there, by their domains; null: nowhere.
  explicit Followers(budget::Manager* budget = nullptr) : budget_(budget) {}

  // Adds or replaces by (tag, actor).
  void add(const Follower& follower);
  // Somebody there asks to follow the tag, and is being written down: what is known of the inbox from before
  // does not count against that (Target::asked).
  void note_asked(const Tag& tag, const std::string& inbox);
  // How they followed; nothing for unknown pairs.
  std::optional<Via> remove(const Tag& tag, const std::string& actor);
  // Somebody who is no node follows the node's own actor, or not any more: a person or a LitePub relay, who
  // stands in its collection under the own id. Repetitions are ignored.
  void count_own(const std::string& actor, bool is_person, bool enters);

  // An inbox that gets announcements of a tag, once for all followers behind it.
  struct Target {
    std::string host;                            // of the inbox
    std::uint64_t since = 0;                     // the least of theirs
    std::uint64_t asked = 0;                     // another number whenever somebody there follows, or again
    std::array<std::size_t, kVias> followers{};  // by Via
    std::array<bool, kVias> ever{};              // by Via: somebody follows so, or has since the start
    std::set<std::string_view> people;           // actors that get boosts

    // The most visible way that one of them asked for.
    [[nodiscard]] Via via() const;
    // Those in which people there and relays may have been told of something; the most visible first.
    [[nodiscard]] std::vector<Via> vias_ever() const;
    [[nodiscard]] std::size_t count() const;
    // As GoToSocial's, which has no shared inbox, and files what comes to one for all whom it concerns.
    [[nodiscard]] bool is_one_of_many(const std::string& inbox) const;
  };
  // By inbox. Null if nobody follows the tag. Valid until the next change.
  [[nodiscard]] const std::map<std::string, Target>* targets(const Tag& tag) const;
  // Where something about a post is to go, for whoever follows the tag. Of inboxes of which one stands for
  // its host's all that need it are, or one of the best: by the post, so that what one person there blocks is
  // not lost to the others for ever.
  enum class Use : std::uint8_t { kNone, kFails, kWorks, kNeeded };
  using Way = std::map<std::string, Target>::value_type;
  using Judge = std::function<Use(const Way& way)>;
  [[nodiscard]] std::vector<const Way*> ways(const Tag& tag, const std::string& uri,
                                             const Judge& judge) const;
  // Who sees what the tag's actor boosts to the inbox.
  [[nodiscard]] std::set<std::string_view> reached(const Tag& tag, const std::string& inbox) const;
  // Hashtags that are followed there.
  [[nodiscard]] std::size_t tags_at(const std::string& inbox) const;
  // Which they are: looks at all that are followed anywhere.
  [[nodiscard]] std::vector<Tag> all_tags_at(const std::string& inbox) const;
  // Target::asked; 0 if nobody there follows the tag.
  [[nodiscard]] std::uint64_t asked(const Tag& tag, const std::string& inbox) const;
  // Null if nobody there follows the tag.
  [[nodiscard]] const Target* target(const Tag& tag, const std::string& inbox) const;

  [[nodiscard]] bool follows(const Tag& tag, const std::string& actor) const;
  // Hashtags that the actor follows.
  [[nodiscard]] std::vector<Tag> tags_of(const std::string& actor) const;
  [[nodiscard]] std::vector<std::string> actors(const Tag& tag, const std::string& inbox) const;
  // How many people follow the tag, nodes and relays not counted; and pairs of a tag and a person, of all.
  [[nodiscard]] std::size_t people(const Tag& tag) const;
  [[nodiscard]] std::size_t people() const;
  // The nodes among those who follow the tag: actor and inbox, by actor.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> nodes(const Tag& tag) const;
  // Somebody follows the tag who is not a node: a reason for this node to subscribe to it.
  [[nodiscard]] bool has_people(const Tag& tag) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  // visit(tag, count by Via) for each hashtag that is followed.
  template <class Visit>
  void visit_tags(Visit visit) const {
    for (const auto& [tag, of_tag] : tags_) {
      std::array<std::size_t, kVias> counts{};
      for (const auto& [inbox, target] : of_tag.targets) {
        for (std::size_t via = 0; via < counts.size(); ++via) counts[via] += target.followers[via];
      }
      visit(tag, counts);
    }
  }
  // visit(tag, actor) for each.
  template <class Visit>
  void visit(Visit visit) const {
    for (const auto& [tag, of_tag] : tags_) {
      for (const auto& [actor, entry] : of_tag.actors) visit(tag, actor);
    }
  }

  // The part of a followers collection on one server (partial.hpp). Takes the same time whatever its size.
  [[nodiscard]] Partial partial(const PartialKey& key) const;
  // How many people follow the node's own actor. Nodes, which follow hashtags there, and LitePub relays are
  // no followers to them.
  [[nodiscard]] std::size_t own_people() const { return own_people_; }
  // Its ids, in any order: exactly those whose digest partial() is.
  [[nodiscard]] std::vector<std::string> members(const PartialKey& key) const;
  // visit(partial) for each of at least that many followers.
  template <class Visit>
  void visit_partials(std::size_t least, Visit visit) const {
    const auto show = [&](const Partial& partial) {
      if (partial.count >= least) visit(partial);
    };
    for (const auto& [authority, node] : nodes_) show(node.partial);
    for (const auto& [tag, of_tag] : tags_) {
      if (of_tag.actors.size() < least) continue;
      for (const auto& [authority, partial] : of_tag.partials) show(partial);
    }
  }

 private:
  struct Entry {
    std::string inbox;
    Via via;
  };
  struct OfTag {
    std::map<std::string, Entry> actors;
    std::map<std::string, Target> targets;
    std::unordered_map<std::string, Partial> partials;  // by authority
  };
  // The followers of the node's own actor at one authority.
  struct OfNode {
    Partial partial;
    std::set<std::string> ids;
  };
  bool count_own(const PartialKey& key, const std::string& id, bool enters);
  void count(const Tag& tag, const std::string& actor, Via via, bool enters);
  void charge(const std::string& actor, Via via, bool enters);

  budget::Manager* budget_;
  std::map<Tag, OfTag> tags_;
  std::unordered_map<std::string, std::set<std::string_view>> tags_of_;  // by actor; of keys of tags_
  std::unordered_map<std::string, std::size_t> tags_at_;                 // by inbox
  std::unordered_map<std::string, OfNode> nodes_;
  std::size_t own_people_ = 0;
  // Ids that do not begin with their authority as we write it, such as https://EXAMPLE.org/u: so the others
  // of a server stand together in OfTag::actors.
  std::map<PartialKey, std::set<std::string>> odd_;
  std::size_t size_ = 0;
  std::uint64_t asked_ = 0;  // how often somebody was added
};

}  // namespace tagring::delivery
