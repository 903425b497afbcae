#include "audit/evidence.hpp"

#include "storage/history.hpp"

namespace tagring::audit {
namespace {
constexpr std::string_view kKind = "tagring omission";
}

Result<void> check(const Evidence& evidence) {
  const storage::Receipt& batch = evidence.receipt.batch;
  const storage::TakenItem& item = evidence.receipt.item;
  const storage::Head& head = evidence.head;
  const auto refuse = [](const char* why) { return fail(ErrorCode::kInvalid, why); };
  TRY(const crypto::PublicKey key, crypto::PublicKey::from_pem(evidence.key));
  TRY_VOID(evidence.receipt.check(key));
  if (!key.verify(head.signed_text(), head.signature)) return refuse("the head is not signed with that key");
  if (batch.network != head.network || batch.actor != head.actor)
    return refuse("receipt and head are not of one owner");
  if (batch.ring != Ring::kStorage) return refuse("the receipt is of a relay, which keeps no history");
  if (item.removal) return refuse("the receipt is about a removal");
  if (item.partition.tag != head.partition.tag || item.partition.number != head.partition.number ||
      storage::hour_of(item.published) != head.hour)
    return refuse("the head is about another hashtag, part of it, or hour");
  if (head.at <= batch.at) return refuse("the head is older than the receipt");
  if (item.published < head.kept_from) return refuse("the owner says that it let go what is so old");
  if (item.partition.number != 0 && batch.at <= head.begun)
    return refuse("the owner says that what it took then is with the owners of another part");
  TRY(const storage::PostState state, evidence.proof.state(head, storage::post_id(item.uri)));
  if (state != storage::PostState::kAbsent) return refuse("the post is in the head");
  return {};
}

json::object to_json(const Evidence& evidence) {
  return {{"kind", kKind},
          {"receipt", to_json(evidence.receipt)},
          {"head", to_json(evidence.head)},
          {"proof", to_json(evidence.proof)},
          {"key", json::object{{"pem", evidence.key},
                               {"fetched_from", evidence.key_from},
                               {"fetched_at", to_rfc3339(evidence.key_at)}}}};
}

Result<Evidence> evidence_from_json(const json::object& object) {
  const auto part = [&](std::string_view name) {
    const json::object* found = json::get_object(object, name);
    return found == nullptr ? json::object() : *found;
  };
  if (json::get_string(object, "kind") != kKind)
    return fail(ErrorCode::kInvalid, "this is no evidence of an omission");
  TRY(storage::ItemReceipt receipt, storage::item_receipt_from_json(part("receipt")));
  TRY(storage::Head head, storage::head_from_json(part("head")));
  TRY(storage::HeadProof proof, storage::proof_from_json(part("proof")));
  const json::object key = part("key");
  return Evidence{std::move(receipt),
                  std::move(head),
                  std::move(proof),
                  json::text_of(key, "pem"),
                  json::text_of(key, "fetched_from"),
                  from_rfc3339(json::text_of(key, "fetched_at")).value_or(WallTime())};
}

}  // namespace tagring::audit
