// What publishers, relays and subscribers keep at rest, and what has reached inboxes.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "base/json.hpp"
#include "delivery/store.hpp"
#include "hashtag/tag.hpp"
#include "node/node.hpp"
#include "redundancy/relay_place.hpp"
#include "ring/vserver.hpp"
#include "runs/swarm_checks.hpp"
#include "sim/world.hpp"

namespace tagring::runs {

// Each relay knows who follows, and has what was published at rest and falls to it.
std::string SwarmChecks::wrong_relays() {
  for (const std::string& tag : tags_) {
    for (const std::size_t relay : owners(Ring::kRelay, tag)) {
      std::string wrong = wrong_followers(relay, tag);
      if (wrong.empty()) wrong = wrong_relayed(relay, tag);
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

// Its place among the relays at rest to which the post goes; nothing if it has none of these.
std::optional<unsigned> SwarmChecks::place_of(std::size_t relay, const std::string& tag,
                                              const std::string& uri) const {
  const unsigned relays = options_.relay_replicas;
  const unsigned copies = redundancy::copies_of_post(relays);
  for (unsigned copy = 0; copy < copies; ++copy) {
    const unsigned index = redundancy::relay_of_post(uri, copy, copies, relays);
    const RingId position = replica_key(Tag::from_canonical(tag).key(), index, relays);
    if (world_.node(relay).rings().of(Ring::kRelay).serving(position) != nullptr) return index;
  }
  return std::nullopt;
}

// What was published before may have met a ring in pieces: who serves one place of a hashtag takes what was
// sent to it for another (docs/protocol.md, 7.2). So a relay may have a post that is gone, of which another
// one has taken both copies of the removal; who hears of it there asks the post's server.
std::string SwarmChecks::wrong_relayed(std::size_t relay, const std::string& tag) {
  const std::multiset<std::string> feed = world_.feed(relay, tag);
  for (std::size_t n = first_at_rest_; n < world_.posts().size(); ++n) {
    const sim::World::Post& post = world_.posts()[n];
    const auto place = place_of(relay, tag, post.uri);
    if (post.is_under(tag) && place && !feed.contains(post.uri))
      return fmt::format("node {}, relay {} of #{}, lacks {}", relay, *place, tag, post.uri);
  }
  return {};
}

// Those at rest count the same (docs/protocol.md, 6.1).
std::string SwarmChecks::wrong_relay_sets() {
  for (const std::string& tag : tags_) {
    std::map<unsigned, std::size_t> counted;
    for (const std::size_t relay : owners(Ring::kRelay, tag)) {
      unsigned relays = options_.relay_replicas;
      const json::object status = world_.node(relay).status();
      json::for_each(json::find(status, "relay_sets"), [&](const json::value& set) {
        if (json::text_of(set.as_object(), "tag") == tag) relays = set.at("relays").to_number<unsigned>();
      });
      counted.emplace(relays, relay);
    }
    if (counted.size() < 2) continue;
    const auto& [few, one] = *counted.begin();
    const auto& [many, other] = *counted.rbegin();
    return fmt::format("node {}, which relays #{}, counts {} relays, and node {} counts {}", one, tag, few,
                       other, many);
  }
  return {};
}

// Who has unfollowed is told to a relay once; one that goes on announcing is told again
// (docs/protocol.md, 7.4). So where it has nothing to announce, it may still count who once wanted the
// hashtag.
std::string SwarmChecks::wrong_followers(std::size_t relay, const std::string& tag) {
  std::set<std::string> followers;
  std::pair<std::optional<Tag>, std::string> last;
  for (;;) {
    const auto page =
        world_.await_on(relay, world_.relay_store(relay).followers(last.first, last.second, 1'000), kRead);
    if (!page || !*page) return fmt::format("node {} cannot read its followers", relay);
    if ((*page)->empty()) break;
    last = {(*page)->back().tag, (*page)->back().actor};
    for (const delivery::Follower& follower : **page) {
      if (follower.tag.canonical() == tag) followers.insert(follower.actor);
    }
  }
  for (const std::size_t node : world_.up()) {
    const Wanted want = wanted(node, tag);
    if (node == relay || want.may_be) continue;  // nobody follows itself
    const bool counts = followers.contains(sim::World::node_origin(node) + "/actor");
    if (want.is_certain && !counts)
      return fmt::format("node {}, which relays #{}, does not know that node {} follows", relay, tag, node);
    if (counts && !want.ever)
      return fmt::format("node {}, which relays #{}, believes that node {} follows", relay, tag, node);
  }
  for (const std::size_t node : world_.up()) followers.erase(sim::World::node_origin(node) + "/actor");
  for (const auto& [number, server] : world_.people()) {
    for (const auto& [subject, wish] : server.wishes()) {
      const bool is_counted = subject.node == relay && subject.tag == tag && wish.follows;
      if (is_counted && followers.erase(server.id_of(subject.person)) == 0)
        return fmt::format("node {}, which relays #{}, does not know that {} follows", relay, tag,
                           server.id_of(subject.person));
    }
  }
  if (!followers.empty())
    return fmt::format("node {}, which relays #{}, believes that {} follows", relay, tag, *followers.begin());
  return {};
}

// Who wants a hashtag follows its relays of today, and nobody follows anything else.
std::string SwarmChecks::wrong_subscriptions() {
  std::map<std::string, std::set<std::string>> relays;
  for (const std::string& tag : tags_) {
    for (const std::size_t relay : owners(Ring::kRelay, tag))
      relays[tag].insert(sim::World::node_origin(relay));
  }
  for (const std::size_t node : world_.up()) {
    const auto kept = world_.await_on(node, world_.relay_store(node).subscriptions(), kRead);
    if (!kept || !*kept) return fmt::format("node {} cannot read its subscriptions", node);
    std::map<std::string, std::set<std::string>> followed;
    for (const delivery::Subscription& one : **kept) {
      followed[one.tag.canonical()].insert(one.owner);
      if (!one.accepted)
        return fmt::format("node {} follows #{} at {}, and has not all that it missed there", node,
                           one.tag.canonical(), one.owner);
    }
    for (const std::string& tag : tags_) {
      const Wanted want = wanted(node, tag);
      if (want.may_be) continue;
      std::set<std::string> expected = want.is_certain ? relays[tag] : std::set<std::string>();
      expected.erase(sim::World::node_origin(node));
      const auto owners = world_.node(node).subscriber().owners_of(Tag::from_canonical(tag));
      if (followed[tag] != expected || std::set(owners.begin(), owners.end()) != expected)
        return fmt::format("node {} follows #{} at {} on its disk, at {} as it knows, instead of {}", node,
                           tag, fmt::join(followed[tag], " "), fmt::join(owners, " "),
                           fmt::join(expected, " "));
    }
  }
  return {};
}

// On the disk as in memory, and as people said.
std::string SwarmChecks::wrong_wants() {
  for (const std::size_t node : world_.up()) {
    const auto on_disk = world_.await_on(node, world_.relay_store(node).wanted(std::nullopt, 1'000), kRead);
    if (!on_disk || !*on_disk) return fmt::format("node {} cannot read what it wants", node);
    for (const std::string& name : tags_) {
      const Tag tag = Tag::from_canonical(name);
      const bool is_on_disk = std::ranges::find(**on_disk, tag) != (*on_disk)->end();
      const bool is_known = world_.node(node).subscriber().wants(tag);
      const Wanted want = wanted(node, name);
      const bool is_right = is_on_disk == is_known && (want.may_be || is_known == want.is_certain);
      if (!is_right)
        return fmt::format("node {} {} #{} on its disk, {} in memory, {} by what was said", node,
                           is_on_disk ? "wants" : "does not want", name, is_known ? "does" : "does not",
                           want.is_certain ? "does" : "does not");
    }
  }
  return {};
}

// Of each post its own node knows the hashtags, by which it would take it out of them. One that went back to
// a former disk has forgotten what came after that.
std::string SwarmChecks::wrong_published() {
  for (const sim::World::Post& post : world_.posts()) {
    const auto back = went_back_.find(post.origin);
    if (back != went_back_.end() && post.published < back->second) continue;
    const auto known =
        world_.await_on(post.origin, world_.relay_store(post.origin).find_post(post.uri), kRead);
    if (!known || !*known) return fmt::format("node {} cannot read what it published", post.origin);
    std::set<std::string> tags;
    if (**known) {
      for (const Tag& tag : (**known)->tags) tags.insert(tag.canonical());
    }
    std::set<std::string> expected;
    if (!post.deletion_sent) expected.insert(post.tags.begin(), post.tags.end());
    if (tags != expected || (post.deletion_sent && **known))
      return fmt::format("node {} knows {} under \"{}\" instead of \"{}\"{}", post.origin, post.uri,
                         fmt::join(tags, " "), fmt::join(expected, " "),
                         post.deletion_sent ? ", deleted" : "");
  }
  return {};
}

// What has been taken is owed no more, on the disk either.
std::string SwarmChecks::wrong_outboxes() {
  for (const std::size_t node : world_.up()) {
    const auto owed = world_.await_on(node, world_.relay_store(node).outbox(0, 1), kRead);
    if (!owed || !*owed) return fmt::format("node {} cannot read what it owes", node);
    if ((*owed)->empty()) continue;
    const delivery::OutboxEntry& entry = (*owed)->front();
    return fmt::format("node {} has on its disk that it owes {} of {} to owners of #{} on the {} ring", node,
                       entry.event.op == delivery::Op::kAdd ? "the Add" : "the removal", entry.event.uri,
                       entry.event.tag.canonical(), entry.ring == Ring::kRelay ? "relay" : "storage");
  }
  return {};
}

// Whoever spoke, and whatever became of it: what was said of posts was so. Of what was published at rest,
// when every answer arrives, nobody is told twice by the same node, nor who has never followed. Nodes
// that choose their places do so at rest as well, and who takes a place over tells again.
std::string SwarmChecks::wrong_inboxes() {
  if (inboxes_ == nullptr) return {};
  std::map<std::string, Posts> posts;
  for (const std::string& tag : tags_) posts.emplace(tag, posts_under(tag));
  for (const auto& [told, times] : inboxes_->told()) {
    const auto what = [&](std::string_view wrong) {
      return fmt::format("{} told node {} of {}{} under #{}, {}", told.by, told.node,
                         told.removed ? "the end of " : "", told.uri, told.tag, wrong);
    };
    const auto post = posts[told.tag].find(told.uri);
    if (post == posts[told.tag].end()) return what("which never was");
    if (told.author != sim::World::author_of(post->second->origin) ||
        from_rfc3339(told.published) != post->second->dated)
      return what("with another author or date");
    if (told.removed && !post->second->was_without(told.tag)) return what("and it is not");
    const auto number = static_cast<std::size_t>(post->second - world_.posts().data());
    if (number < first_at_rest_) continue;
    if (times > 1 && !options_.balance) return what(fmt::format("{} times", times));
    if (!wanted(told.node, told.tag).ever) return what("which it never wanted");
  }
  return {};
}

}  // namespace tagring::runs
