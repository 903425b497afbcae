// What servers of people have been told at rest, by the actors of hashtags that somebody follows there.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "fediverse/documents.hpp"
#include "hashtag/tag.hpp"
#include "runs/swarm_checks.hpp"
#include "sim/people.hpp"
#include "sim/world.hpp"

namespace tagring::runs {
namespace {

std::string tag_actor_of(std::size_t node, const std::string& tag) {
  return fediverse::actor_at(sim::World::node_origin(node), Tag::from_canonical(tag));
}

}  // namespace

// A node whose disk is that of some time ago does not make up for what came before that.
Instant SwarmChecks::follows_since(const sim::People::Subject& subject, const sim::People::Wish& wish) const {
  const auto back = went_back_.find(subject.node);
  return back == went_back_.end() ? wish.since : std::max(wish.since, back->second);
}

std::string SwarmChecks::wrong_people() {
  for (const auto& [number, server] : world_.people()) {
    if (std::string wrong = wrong_server(server); !wrong.empty())
      return fmt::format("{} {}", server.origin(), wrong);
  }
  return {};
}

std::string SwarmChecks::wrong_server(const sim::People& server) {
  std::set<std::string> asked;  // actors
  std::set<std::pair<std::size_t, std::string>> subjects;
  std::set<std::pair<std::size_t, std::size_t>> people;  // and nodes
  for (const auto& [subject, wish] : server.wishes()) {
    asked.insert(tag_actor_of(subject.node, subject.tag));
    subjects.emplace(subject.node, subject.tag);
    if (wish.follows) people.emplace(subject.person, subject.node);
    if (wish.follows && !wish.accepted) return fmt::format("has no Accept of {}", wish.id);
  }
  for (const auto& [id, boost] : server.boosts()) {
    if (!asked.contains(boost.actor))
      return fmt::format("was told of {} by {}, whom nobody follows there", boost.uri, boost.actor);
  }
  for (const auto& [node, tag] : subjects) {
    if (std::string wrong = wrong_boosts(server, node, tag); !wrong.empty())
      return fmt::format("was told by {} of {}", tag_actor_of(node, tag), wrong);
  }
  for (const auto& [person, node] : people) {
    if (std::string wrong = wrong_shown(server, person, node); !wrong.empty())
      return fmt::format("shows p{}, of what is followed at node {}, {}", person, node, wrong);
  }
  return {};
}

// By one actor: nothing that never was so; and nobody is told twice of what was published at rest, or who has
// ceased to follow before.
std::string SwarmChecks::wrong_boosts(const sim::People& server, std::size_t node, const std::string& tag) {
  const std::string actor = tag_actor_of(node, tag);
  const Posts posts = posts_under(tag);
  const bool is_followed = std::ranges::any_of(server.wishes(), [&](const auto& entry) {
    return entry.first.node == node && entry.first.tag == tag && entry.second.follows;
  });
  for (const auto& [id, boost] : server.boosts()) {
    if (boost.actor != actor) continue;
    const auto found = posts.find(boost.uri);
    if (found == posts.end()) return fmt::format("{}, which never was", boost.uri);
    const sim::World::Post& post = *found->second;
    if (boost.undone > 0 && !post.was_without(tag))
      return fmt::format("the end of {}, which is there", boost.uri);
    if (std::string wrong = wrong_undone(server, node, tag, post, boost); !wrong.empty()) return wrong;
    const auto number = static_cast<std::size_t>(&post - world_.posts().data());
    if (number < first_at_rest_) continue;
    if (!is_followed) return fmt::format("{}, after everybody there had ceased to follow", boost.uri);
    if (boost.announced > 1 && !options_.balance)
      return fmt::format("{}, {} times", boost.uri, boost.announced);
  }
  return {};
}

// What was announced for somebody who follows still is undone when the post has left the hashtag.
std::string SwarmChecks::wrong_undone(const sim::People& server, std::size_t node, const std::string& tag,
                                      const sim::World::Post& post, const sim::People::Boost& boost) const {
  if (!boost.is_shown() || post.is_under(tag)) return {};
  const bool is_due = std::ranges::any_of(server.wishes(), [&](const auto& entry) {
    const auto& [subject, wish] = entry;
    return subject.node == node && subject.tag == tag && wish.follows &&
           follows_since(subject, wish) <= post.published;
  });
  return is_due ? fmt::format("{}, and not of its end", post.uri) : std::string();
}

// Each post under any hashtag that this person follows there, by one of these actors; of those that were
// published at rest each once, if nobody else follows from there.
std::string SwarmChecks::wrong_shown(const sim::People& server, std::size_t person, std::size_t node) const {
  std::map<std::string, Instant> follows;  // since when, by hashtag
  std::set<std::string> actors;            // whom this person ever followed there
  bool is_alone = true;
  for (const auto& [subject, wish] : server.wishes()) {
    if (subject.node != node) continue;
    is_alone &= subject.person == person;
    if (subject.person != person) continue;
    actors.insert(tag_actor_of(node, subject.tag));
    if (wish.follows) follows.emplace(subject.tag, follows_since(subject, wish));
  }
  std::map<std::string, unsigned> shown;  // how often, by URI
  for (const auto& [id, boost] : server.boosts()) {
    if (boost.is_shown() && actors.contains(boost.actor)) ++shown[boost.uri];
  }
  for (std::size_t n = 0; n < world_.posts().size(); ++n) {
    const sim::World::Post& post = world_.posts()[n];
    const unsigned times = shown[post.uri];
    if (is_alone && n >= first_at_rest_ && times > 1) return fmt::format("{} {} times", post.uri, times);
    for (const auto& [tag, since] : follows) {
      const auto back = post.back.find(tag);
      const Instant came = back == post.back.end() ? post.published : back->second;
      if (post.is_under(tag) && came >= since && times == 0)
        return fmt::format("nothing of {}, which is under #{}", post.uri, tag);
    }
  }
  return {};
}

}  // namespace tagring::runs
