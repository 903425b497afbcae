// Ring calls and replies: what is read is written as what reads the same.
#include "fuzz/target.hpp"
#include "http/http_error.hpp"
#include "ring/codec.hpp"

namespace tagring::fuzzing {
namespace {

struct IsEqual {
  template <class T, class U>
  bool operator()(const T&, const U&) const {
    return std::is_same_v<T, U>;
  }
  bool operator()(const ring::Find& a, const ring::Find& b) const { return a.key == b.key; }
  bool operator()(const ring::Notify& a, const ring::Notify& b) const { return a.candidate == b.candidate; }
  bool operator()(const ring::Nudge& a, const ring::Nudge& b) const { return a.successor == b.successor; }
  bool operator()(const ring::TakeOver& a, const ring::TakeOver& b) const {
    return a.leaver == b.leaver && a.segment == b.segment;
  }
  bool operator()(const ring::FindReply& a, const ring::FindReply& b) const {
    return a.owned == b.owned && a.closer == b.closer;
  }
  bool operator()(const ring::Neighbours& a, const ring::Neighbours& b) const {
    return a.predecessor == b.predecessor && a.successors == b.successors;
  }
};

void check_request(std::string_view text) {
  const Result<ring::Envelope> envelope = ring::decode_envelope(text);
  if (!envelope) return;
  const Result<ring::Envelope> again = ring::decode_envelope(ring::encode(*envelope));
  TR_ASSERT(again);
  TR_ASSERT(again->to == envelope->to && again->incarnation == envelope->incarnation);
  TR_ASSERT(again->network == envelope->network && again->request.ring == envelope->request.ring);
  TR_ASSERT(std::visit(IsEqual(), again->request.body, envelope->request.body));
}

void check_reply(std::string_view text) {
  const Result<ring::Reply> reply = ring::decode_reply(text);
  if (!reply) return;
  if (const auto* find = std::get_if<ring::FindReply>(&*reply))
    TR_ASSERT(find->closer.size() <= ring::kContactsMax);
  if (const auto* view = std::get_if<ring::Neighbours>(&*reply))
    TR_ASSERT(view->successors.size() <= ring::kContactsMax);
  const Result<ring::Reply> again = ring::decode_reply(ring::encode(*reply));
  TR_ASSERT(again);
  TR_ASSERT(std::visit(IsEqual(), *again, *reply));
}

void check_error(std::string_view text) {
  for (const int status : {400, 503}) {
    const Error error = decode_error(status, text);
    const Error again = decode_error(http_status(error.code), encode_error(error));
    TR_ASSERT(again.code == error.code && again.message == error.message);
  }
}

}  // namespace

void fuzz(std::string_view text) {
  check_request(text);
  check_reply(text);
  check_error(text);
}

}  // namespace tagring::fuzzing
