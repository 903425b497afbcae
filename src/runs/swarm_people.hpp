// People in a world that a seed draws, on servers without nodes: they follow hashtag actors of nodes, and
// cease to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "sim/people.hpp"
#include "sim/world.hpp"

namespace tagring::runs {

class SwarmPeople {
 public:
  // At the first `nodes` nodes.
  SwarmPeople(sim::World& world, std::vector<std::string> tags, std::size_t nodes, Rng rng)
      : world_(world), tags_(std::move(tags)), nodes_(nodes), rng_(rng) {}

  void come(std::size_t servers);
  // What happens in one step.
  void act(bool servers_fail);
  void heal();
  // The instances of some nodes publish under two hashtags each.
  void publish();
  // Another number whenever somebody has begun or ceased to follow at the node, or it has taken that.
  [[nodiscard]] unsigned changes(std::size_t node) const;

 private:
  struct Person {
    std::size_t server = 0;
    std::size_t number = 0;
    std::size_t node = 0;  // where this one follows, mostly
  };
  void toggle(const Person& person);

  sim::World& world_;
  std::vector<std::string> tags_;
  std::size_t nodes_;
  Rng rng_;
  std::vector<std::size_t> servers_;
  std::vector<Person> people_;
};

}  // namespace tagring::runs
