#include "runs/swarm_people.hpp"

namespace tagring::runs {

void SwarmPeople::come(std::size_t servers) {
  while (servers_.size() < servers) {
    servers_.push_back(world_.add_people(/*shares_inbox=*/rng_.chance(0.6)));
    const std::size_t node = rng_.below(nodes_);
    const std::size_t count = 1 + rng_.below(3);
    for (std::size_t n = 0; n < count; ++n) {
      people_.push_back({servers_.back(), n, rng_.chance(0.7) ? node : rng_.below(nodes_)});
      for (int follows = 0; follows < 2; ++follows) toggle(people_.back());
    }
  }
}

void SwarmPeople::toggle(const Person& person) {
  const std::size_t node = rng_.chance(0.8) ? person.node : rng_.below(nodes_);
  const sim::People::Subject subject{person.number, node, tags_[rng_.below(tags_.size())]};
  const auto& wishes = world_.people().at(person.server).wishes();
  const auto known = wishes.find(subject);
  world_.wish(person.server, subject, known == wishes.end() || !known->second.follows);
}

void SwarmPeople::act(bool servers_fail) {
  if (people_.empty()) return;
  if (rng_.chance(0.1)) toggle(people_[rng_.below(people_.size())]);
  const std::size_t server = servers_[rng_.below(servers_.size())];
  if (servers_fail && rng_.chance(0.1)) world_.set_people_down(server, rng_.chance(0.5));
}

void SwarmPeople::heal() {
  for (const std::size_t server : servers_) world_.set_people_down(server, false);
}

void SwarmPeople::publish() {
  if (people_.empty()) return;
  for (std::size_t first = 0; first < tags_.size(); ++first) {
    const std::size_t second = (first + 1 + rng_.below(tags_.size() - 1)) % tags_.size();
    world_.publish(rng_.below(nodes_), {tags_[first], tags_[second]});
  }
}

unsigned SwarmPeople::changes(std::size_t node) const {
  unsigned changes = 0;
  for (const std::size_t server : servers_) {
    for (const auto& [subject, wish] : world_.people().at(server).wishes()) {
      if (subject.node == node) changes += wish.said + wish.taken;
    }
  }
  return changes;
}

}  // namespace tagring::runs
