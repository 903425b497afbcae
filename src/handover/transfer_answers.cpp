#include "handover/transfer_answers.hpp"

#include <algorithm>

#include "handover/read_segments.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"

namespace tagring::handover {
namespace {

// The first vserver of another node after one of ours.
std::optional<RingId> next_node(const ring::Vserver& vserver) {
  for (const ring::Contact& contact : vserver.successors().contacts()) {
    if (contact.origin() != vserver.self().origin()) return contact.id;
  }
  return std::nullopt;
}

}  // namespace

Kind* TransferAnswers::kind_of(const Request& request) const {
  const auto kind = std::ranges::find_if(
      kinds_, [&](const Kind* one) { return one->name() == request.kind && one->ring() == request.ring; });
  return kind == kinds_.end() ? nullptr : *kind;
}

Result<Request> TransferAnswers::read(const HttpRequest& request, const std::string& sender) const {
  TRY(const json::object body, json::parse_object(request.body));
  TRY(Request result, request_from_json(body, options_.network));
  TRY_VOID(ring::check_node_id(options_.ids, result.requester));
  if (result.requester.origin() != origin_of(sender))
    return fail(ErrorCode::kDenied, "the requester is a vserver of another node than the signer");
  if (kind_of(result) == nullptr) return fail(ErrorCode::kInvalid, "'kind' does not exist on that ring");
  return result;
}

Task<HttpResponse> TransferAnswers::answer(HttpRequest request) {
  const Result<federation::Authentic> sender = co_await authenticator_.authenticate(request);
  if (!sender) co_return federation::not_authentic(sender.error());
  if (rings_.is_blocked_at(sender->actor.id))
    co_return error_response({ErrorCode::kDenied, host_of(sender->actor.id) + " is blocked here"});
  Result<Request> asked = read(request, sender->actor.id);
  if (!asked) co_return error_response(asked.error());
  for (const auto& vserver : rings_.of(asked->ring).vservers()) {
    // While we still own what it will own, more may be written here: not before we know it as our
    // predecessor.
    const std::optional<Segment> owned = vserver->owned();
    if (owned && owned->contains(asked->requester.id) && vserver->self().id != asked->requester.id) {
      vserver->nudge_for_others();
      co_return error_response({ErrorCode::kBusy, "your place in the ring is not known here yet"});
    }
  }
  Kind& kind = *kind_of(*asked);
  const Result<Kind::Place> place = kind.place(*asked);
  if (!place) co_return error_response(place.error());
  // That a vserver leaves is no secret.
  if (kind.name() != LeavingKind::kName) {
    const Result<void> allowed = co_await may_have(asked->ring, asked->requester.id, *place);
    if (!allowed) co_return error_response(allowed.error());
  }
  const Result<json::object> page = co_await kind.page(std::move(*asked));
  if (!page) co_return error_response(page.error());
  co_return json_response(*page);
}

// Followers are nobody's business but the owners'. The requester owns all of the keys at some replica, or is
// the successor of a vserver that leaves here and owns them.
Task<Result<void>> TransferAnswers::may_have(Ring ring, RingId requester, Kind::Place place) {
  for (unsigned i = 0; i < place.replicas; ++i) {
    const Segment positions{replica_key(place.from, i, place.replicas),
                            replica_key(place.key, i, place.replicas)};
    const Result<ring::Owner> owner = co_await rings_.of(ring).find_owner(positions.to);
    if (!owner) continue;
    const ring::Vserver* own = rings_.of(ring).find(owner->contact.id);
    const auto leaving = rings_.leaving(ring, owner->contact.id);
    if (own != nullptr && leaving && next_node(*own) == requester && covers(*leaving, positions))
      co_return Result<void>();
    if (owner->contact.id == requester && !is_ours_inside(ring, positions)) {
      const RingId begin = positions.from + RingId::power_of_two(0);
      const Result<ring::Owner> first = co_await rings_.of(ring).find_owner(begin);
      if (first && first->contact.id == requester) co_return Result<void>();
      rings_.of(ring).doubt_route(begin);
    }
    rings_.of(ring).doubt_route(positions.to);  // what was believed may be old: the requester will ask again
  }
  co_return fail(ErrorCode::kBusy, "as far as this node knows, you do not own that segment");
}

// Some of these positions are owned here, so that nobody else owns all of them.
bool TransferAnswers::is_ours_inside(Ring ring, const Segment& positions) const {
  return std::ranges::any_of(rings_.of(ring).vservers(), [&](const auto& vserver) {
    return vserver->owned() && in_open(positions.from, vserver->self().id, positions.to);
  });
}

}  // namespace tagring::handover
