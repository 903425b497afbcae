#include "audit/owner_questions.hpp"

#include <fmt/format.h>

#include "audit/signed_tree_heads.hpp"
#include "base/bytes.hpp"
#include "fediverse/documents.hpp"
#include "http/url.hpp"
#include "storage/statements.hpp"

namespace tagring::audit {

bool OwnerQuestions::is_self(const ring::Contact& owner) const {
  return owner.origin() == origin_of(notary_.actor());
}

Task<Result<AuditedOwner>> OwnerQuestions::meet(ring::Contact contact, bool fresh,
                                                std::optional<IpAddress> asker) {
  const std::string actor = contact.origin() + "/actor";
  const WallTime now = clock_.wall_now();
  CO_TRY(const federation::KeyOwner owner,
         co_await keys_.owner_of_key(fediverse::key_id_of(actor), fresh, asker));
  if (owner.actor.id != actor) co_return fail(ErrorCode::kInvalid, "its actor is another's");
  co_return AuditedOwner{std::move(contact), owner.key.pem(), now, owner.key};
}

Task<Result<OwnerAnswer>> OwnerQuestions::ask(AuditedOwner owner, Tag tag, unsigned partition,
                                              std::int64_t hour, std::vector<std::string> uris) {
  std::string ids;
  for (const std::string& uri : uris) {
    if (!ids.empty()) ids += ',';
    ids += to_hex(storage::post_id(uri));
  }
  std::string target = fmt::format("{}?tag={}&slot={}&hour={}&id={}", SignedTreeHeads::kPath,
                                   percent_encode(tag.canonical()), partition, hour, ids);
  CO_TRY(const json::object body,
         co_await rings_.ask_owner(owner.contact, std::move(target), clock_.now() + kAuditTimeout));
  hints_.read_answer(body, {tag}, owner.contact.origin());
  const json::object* said = json::get_object(body, "head");
  CO_TRY(storage::Head head, storage::head_from_json(said == nullptr ? json::object() : *said));
  OwnerAnswer answer{std::move(head)};
  const bool fits = answer.head.network == notary_.network() && answer.head.partition.tag == tag &&
                    answer.head.partition.number == partition && answer.head.hour == hour &&
                    answer.head.actor == owner.contact.origin() + "/actor" &&
                    owner.public_key.verify(answer.head.signed_text(), answer.head.signature);
  if (!fits) co_return fail(ErrorCode::kInvalid, "its head is not about what was asked, or not signed by it");
  const json::value* proofs = json::find(body, "proofs");
  if (proofs == nullptr || !proofs->is_array() || proofs->get_array().size() != uris.size())
    co_return fail(ErrorCode::kInvalid, "it does not prove what it was asked to");
  for (std::size_t i = 0; i < uris.size(); ++i) {
    const json::value& element = proofs->get_array()[i];
    CO_TRY(answer.proofs.emplace_back(),
           storage::proof_from_json(element.is_object() ? element.get_object() : json::object()));
    CO_TRY(answer.states.emplace_back(), answer.proofs.back().state(answer.head, storage::post_id(uris[i])));
  }
  json::for_each(json::find(body, "taken_down"), [&](const json::value& element) {
    if (!element.is_object()) return;
    Result<storage::TakeDown> notice = storage::take_down_from_json(element.get_object());
    const bool genuine = notice && notice->actor == answer.head.actor && notice->tag == tag &&
                         owner.public_key.verify(notice->signed_text(), notice->signature);
    if (genuine) answer.notices.emplace(notice->uri, std::move(*notice));
  });
  co_return answer;
}

}  // namespace tagring::audit
