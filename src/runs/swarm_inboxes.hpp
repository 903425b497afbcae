// What nodes have said to subscribers of posts (docs/protocol.md, 7.3), whatever became of it there: a
// subscriber passes over what it knows, and refuses what it cannot believe.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "http/message.hpp"

namespace tagring::runs {

class Inboxes {
 public:
  struct Told {
    std::size_t node = 0;
    std::string by;  // origin
    std::string tag;
    std::string uri;
    bool removed = false;
    std::string author;
    std::string published;

    friend auto operator<=>(const Told&, const Told&) = default;
  };

  // Of a request that has reached the node: an Announce of another node, or its Undo. Others are passed over.
  void note(std::size_t node, const HttpRequest& request);
  // And how often.
  [[nodiscard]] const std::map<Told, unsigned>& told() const { return told_; }

 private:
  std::map<Told, unsigned> told_;
};

}  // namespace tagring::runs
