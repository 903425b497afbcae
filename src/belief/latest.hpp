// Of what is to be told of a post under a hashtag, the last word: the author has taken it out and put it back
// while somebody was away, say. What came before need not be told, and would only be refuted by the post's
// server.
#pragma once

#include <map>
#include <string_view>
#include <utility>

#include "belief/tag_event.hpp"
#include "hashtag/tag.hpp"

namespace tagring::belief {

// Of events that outlive it.
class Latest {
 public:
  void note(const TagEvent& event) {
    if (event.is_edit()) return;
    const TagEvent*& last = events_[{event.tag, event.uri}];
    if (last == nullptr || event.version() > last->version()) last = &event;
  }
  // What is told in its place, or it itself. Only of events that were noted.
  [[nodiscard]] const TagEvent& of(const TagEvent& event) const {
    if (event.is_edit()) return event;
    const TagEvent& last = *events_.at({event.tag, event.uri});
    return event.version() < last.version() ? last : event;
  }

 private:
  std::map<std::pair<Tag, std::string_view>, const TagEvent*> events_;
};

}  // namespace tagring::belief
