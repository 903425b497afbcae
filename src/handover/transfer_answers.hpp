// Gives others what they own now (paper §5.3, §5.6; docs/protocol.md, "Transfer"): answers a request of one
// of their vservers, once it is known to own, or to be about to own, the keys that it asks for.
#pragma once

#include <string>
#include <vector>

#include "federation/authenticator.hpp"
#include "handover/kinds.hpp"
#include "handover/transfer.hpp"
#include "http/message.hpp"
#include "overlay/ring_service.hpp"
#include "ring/messages.hpp"

namespace tagring::handover {

class TransferAnswers {
 public:
  struct Options {
    std::string network;
    ring::IdRules ids;
  };
  // `kinds`: all that can be asked for.
  TransferAnswers(Options options, overlay::RingService& rings, federation::Authenticator& authenticator,
                  std::vector<Kind*> kinds)
      : options_(std::move(options)),
        rings_(rings),
        authenticator_(authenticator),
        kinds_(std::move(kinds)) {}

  // Answers POST Transfer::kPath: 401 unsigned, 403 for another's vserver or a blocked node, 503 as long as
  // the vserver is not known for an owner here.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

 private:
  Result<Request> read(const HttpRequest& request, const std::string& sender) const;
  [[nodiscard]] Kind* kind_of(const Request& request) const;
  [[nodiscard]] bool is_ours_inside(Ring ring, const Segment& positions) const;
  Task<Result<void>> may_have(Ring ring, RingId requester, Kind::Place place);

  Options options_;
  overlay::RingService& rings_;
  federation::Authenticator& authenticator_;
  std::vector<Kind*> kinds_;
};

}  // namespace tagring::handover
