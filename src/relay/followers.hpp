// Who gets announcements of which tag: the followers of this node's hashtag actors, in memory, indexed for
// fan-out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "relay/store.hpp"

namespace tagring::relay {

class Followers {
 public:
  // Adds or replaces by (tag, actor).
  void add(const Follower& follower);
  // Unknown pairs are ignored.
  void remove(const std::string& tag, const std::string& actor);

  struct Target {
    std::string inbox;
    bool is_node = false;
    std::uint64_t since = 0;
  };
  // By actor. Null if nobody follows the tag. Valid until the next change.
  [[nodiscard]] const std::map<std::string, Target>* of(const std::string& tag) const;
  // Somebody follows the tag who is not a node: a reason for this node to subscribe to it.
  [[nodiscard]] bool has_people(const std::string& tag) const;
  [[nodiscard]] std::vector<std::string> tags_of(const std::string& actor) const;
  [[nodiscard]] bool uses_inbox(const std::string& inbox) const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::map<std::string, std::map<std::string, Target>> by_tag_;
  std::map<std::string, std::size_t> inboxes_;
  std::size_t size_ = 0;
};

}  // namespace tagring::relay
