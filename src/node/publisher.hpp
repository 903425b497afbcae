// The publisher role (paper §5.5): posts of instances that use this node, checked and handed to the relay
// owners of their hashtags.
#pragma once

#include <string>
#include <vector>

#include "fediverse/note.hpp"
#include "node/instances.hpp"
#include "node/roles.hpp"

namespace tagring::node {

class Publisher {
 public:
  Publisher(Instances& instances, Roles& roles, relay::Store& store, Courier& courier, Clock& clock)
      : instances_(instances), roles_(roles), store_(store), courier_(courier), clock_(clock) {}

  // What became of a post: empty if it was taken, and is on disk; else why it is of no concern here.
  using Outcome = Result<std::string>;

  // From its author, whose signature was checked. kDenied if posts of that author are not taken, kInvalid if
  // a new one is not public.
  [[nodiscard]] Task<Outcome> post(fediverse::Note note, bool is_update);
  // The author, or somebody on his server, deleted it.
  [[nodiscard]] Task<Outcome> deletion(std::string uri, std::string actor);
  // By its URI alone (a LitePub relay announces the posts of its people): fetched from its server.
  [[nodiscard]] Task<Outcome> announced(std::string uri);

 private:
  Instances& instances_;
  Roles& roles_;
  relay::Store& store_;
  Courier& courier_;
  Clock& clock_;
};

}  // namespace tagring::node
