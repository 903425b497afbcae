// What relays of one hashtag say to each other, and how each makes sure that the other is one (paper §7.1;
// docs/protocol.md, "Relay sets"): signed questions from one place of the set, the number that the relays at
// rest keep, and tokens of those that are overloaded.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "federation/authenticator.hpp"
#include "federation/signed_client.hpp"
#include "http/message.hpp"
#include "redundancy/overload_token.hpp"
#include "relay/relay_places.hpp"
#include "ring/contact.hpp"

namespace tagring::relay {

class RelayCalls {
 public:
  static constexpr std::string_view kPath = "/tagring/v1/relays";

  RelayCalls(std::string network, RelayPlaces& places, federation::SignedClient& client,
             federation::Authenticator& authenticator, Clock& clock)
      : network_(std::move(network)),
        places_(places),
        client_(client),
        authenticator_(authenticator),
        identity_(client.identity()),
        clock_(clock) {}

  // Asks a node, as one of so many relays of the tag. kNotOwner if this node is none of these.
  [[nodiscard]] Task<Result<json::object>> ask(std::string origin, Tag tag, unsigned of, json::object body);

  // What a relay says of the number of relays.
  struct Count {
    unsigned relays = 0;
    unsigned lately = 0;  // the most in the last minutes
  };
  // Of the relays first, first + step, … of so many, each, but for this node.
  [[nodiscard]] Task<std::vector<Result<Count>>> ask_counts(Tag tag, unsigned relays, unsigned first,
                                                            unsigned step);

  // This node's word that it has too much to do with the tag as one of so many relays.
  [[nodiscard]] redundancy::OverloadToken sign(const Tag& tag, unsigned relays) const;
  // kDenied or kNotOwner unless it was signed lately by one of the relays of the smaller set.
  [[nodiscard]] Task<Result<void>> check_token(redundancy::OverloadToken token);

  // A signed question, read: whose node asks what. Or the answer that it gets instead.
  struct Question {
    std::string origin;
    json::object body;
  };
  [[nodiscard]] Task<std::expected<Question, HttpResponse>> read(HttpRequest request);

 private:
  Task<Result<Count>> ask_count(ring::Contact owner, Tag tag);

  std::string network_;
  RelayPlaces& places_;
  federation::SignedClient& client_;
  federation::Authenticator& authenticator_;
  const federation::Identity& identity_;
  Clock& clock_;
};

}  // namespace tagring::relay
