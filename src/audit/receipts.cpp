#include "audit/receipts.hpp"

#include <algorithm>
#include <charconv>

#include "audit/receipt_issuer.hpp"
#include "crypto/merkle.hpp"
#include "delivery/results.hpp"
#include "fediverse/documents.hpp"
#include "hashtag/tag.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "redundancy/asked_tag.hpp"
#include "redundancy/partition.hpp"

namespace tagring::audit {
namespace {

constexpr Duration kSkewMax = std::chrono::minutes(5);  // of clocks of others
constexpr std::size_t kCheckingMax = 256;               // receipts being checked; more are not kept
constexpr std::size_t kItemsMax = 10'000;               // of a batch
constexpr std::size_t kBatchesPerPage = 20;
constexpr std::size_t kPageBytes = 500'000;  // about
constexpr std::size_t kHeldMax = 20'000;     // items of one tag that are looked at, of one node
// Actors of one node's receipts whose keys are asked for, and who may be away, which costs time.
constexpr std::size_t kAskedMax = 256;
constexpr std::size_t kAwayMax = 8;

}  // namespace

Receipts::Receipts(Options options, ReceiptStore& store, const storage::KeptPartitions& redundancy,
                   const Notary& notary, federation::RemoteKeys& keys, const Runtime& runtime)
    : options_(options),
      store_(store),
      redundancy_(redundancy),
      notary_(notary),
      keys_(keys),
      clock_(runtime.clock),
      workers_(runtime.workers),
      log_(runtime.log),
      tasks_(runtime.executor) {}

Task<void> Receipts::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

// --- as a sender ---------------------------------------------------------------------------------------

// By what the owner says that it keeps otherwise than it was sent, or not at all.
void Receipts::correct(Items* items, const json::object& answer) const {
  json::for_each(json::find(answer, "differs"), [&](const json::value& element) {
    const json::object difference = element.is_object() ? element.get_object() : json::object();
    const std::string tag = json::text_of(difference, "tag");
    const std::string uri = json::text_of(difference, "uri");
    const auto item = std::ranges::find_if(*items, [&](const storage::TakenItem& sent) {
      return sent.partition.tag.canonical() == tag && sent.uri == uri;
    });
    if (item == items->end()) return;
    const auto published = json::get_int(difference, "published");
    if (!published) {
      items->erase(item);
      return;
    }
    item->published = WallTime(Duration(*published));
    // A partition on which the post can be: an owner of another part would never be asked for it.
    const std::int64_t partition = json::get_int(difference, "slot").value_or(0);
    const auto possible = redundancy::partitions_of_post(uri, redundancy_.copies(), redundancy_.at_rest(),
                                                         redundancy::kRelaysMax);
    if (std::ranges::find(possible, partition) != possible.end())
      item->partition.number = static_cast<unsigned>(partition);
  });
}

void Receipts::note(const std::string& origin, Ring ring, const std::vector<delivery::TagEvent>& events,
                    const std::vector<delivery::Refusal>& refusals, const std::string& answer) {
  Items items = taken_items(events, refusals);
  if (items.empty()) return;
  const Result<json::object> body = json::parse_object(answer);
  const json::object* object = body ? json::get_object(*body, "receipt") : nullptr;
  if (object == nullptr) {
    ++counters_.absent;
    return;
  }
  correct(&items, *object);
  Result<storage::Receipt> receipt = storage::receipt_from_json(*object);
  const bool fits = receipt && receipt->ring == ring && receipt->network == notary_.network() &&
                    receipt->actor == origin + "/actor" && receipt->size == items.size() &&
                    receipt->root == crypto::tree_root(leaves_of(items));
  if (!fits) {
    ++counters_.bad;
    log_.warn("bad_receipt", {{"owner", origin}, {"because", "it is not about what was sent"}});
    return;
  }
  // No head would be later, and so show what it dropped.
  if (receipt->at > clock_.wall_now() + kSkewMax) {
    ++counters_.bad;
    log_.warn("bad_receipt", {{"owner", origin}, {"because", "it is dated into the future"}});
    return;
  }
  if (checking_ >= kCheckingMax) return;
  ++checking_;
  tasks_.spawn("receipt", keep(origin, KeptReceipt{0, std::move(*receipt), {}, std::move(items)}));
}

Task<bool> Receipts::is_signed_with(crypto::PublicKey key, const storage::Receipt& receipt) {
  return workers_.run([key = std::move(key), text = receipt.signed_text(), signature = receipt.signature] {
    return key.verify(text, signature);
  });
}

// By the key that the actor's own server shows, whoever shows the receipt.
Task<Receipts::Signer> Receipts::signer_of(storage::Receipt receipt) {
  Signer signer;
  for (const bool refresh : {false, true}) {
    const Result<federation::KeyOwner> owner =
        co_await keys_.owner_of_key(fediverse::key_id_of(receipt.actor), refresh);
    signer.unknown = owner ? std::string() : owner.error().message;
    if (!owner || owner->actor.id != receipt.actor) continue;
    signer.key = owner->key.pem();
    signer.is_named = co_await is_signed_with(owner->key, receipt);
    if (signer.is_named) break;
  }
  co_return signer;
}

Task<void> Receipts::keep(std::string origin, KeptReceipt kept) {
  const Signer signer = co_await signer_of(kept.receipt);
  --checking_;
  if (!signer.is_named && signer.key.empty() && !signer.unknown.empty()) {
    ++counters_.unchecked;
    log_.debug("receipt_unchecked", {{"owner", origin}, {"because", signer.unknown}});
    co_return;
  }
  if (!signer.is_named) {
    ++counters_.bad;
    log_.warn("bad_receipt", {{"owner", origin}, {"because", "it is not signed with the owner's key"}});
    co_return;
  }
  kept.key = signer.key;
  const WallTime now = clock_.wall_now();
  const ReceiptStore::Limits limits{now - options_.kept, options_.bytes};
  const Result<void> saved = co_await store_.keep(std::move(kept), now, limits);
  if (saved) ++counters_.kept;
}

Task<Result<std::vector<Receipts::Held>>> Receipts::held(Tag tag) {
  std::vector<Held> found;
  for (std::uint64_t after = 0; found.size() < kHeldMax;) {
    CO_TRY(const std::vector<KeptReceipt> page, co_await store_.receipts(tag, after, kBatchesPerPage));
    if (page.empty()) break;
    after = page.back().id;
    for (const KeptReceipt& kept : page) {
      const crypto::HashTree tree(kept.leaves());
      for (std::size_t i = 0; i < kept.items.size(); ++i) {
        if (kept.items[i].partition.tag != tag) continue;
        found.push_back(
            {{kept.receipt, kept.items[i], i, tree.path(i)}, kept.key, origin_of(notary_.actor())});
      }
    }
  }
  co_return found;
}

// All that are kept are looked at: removals are the last.
Task<Result<std::set<std::string>>> Receipts::taken_out(Tag tag, std::set<std::string> uris) {
  std::set<std::string> found;
  for (std::uint64_t after = 0;;) {
    CO_TRY(const std::vector<KeptReceipt> page, co_await store_.receipts(tag, after, kBatchesPerPage));
    if (page.empty()) co_return found;
    after = page.back().id;
    for (const KeptReceipt& kept : page) {
      for (const storage::TakenItem& item : kept.items) {
        if (item.removal && item.partition.tag == tag && uris.contains(item.uri)) found.insert(item.uri);
      }
    }
  }
}

// --- shown to others -----------------------------------------------------------------------------------

Task<HttpResponse> Receipts::answer(HttpRequest request) {
  const std::string query(query_of(request.target));
  const Result<Tag> tag = redundancy::asked_tag(query);
  if (!tag) co_return error_response(tag.error());
  std::uint64_t after = 0;
  if (const std::string place = query_value(query, "after"); !place.empty()) {
    const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), after);
    if (error != std::errc() || end != place.data() + place.size())
      co_return error_response({ErrorCode::kInvalid, "'after' must be a number"});
  }
  const auto page = co_await store_.receipts(*tag, after, kBatchesPerPage);
  if (!page) co_return error_response(page.error());
  json::array receipts;
  std::size_t bytes = 0;
  bool more = page->size() == kBatchesPerPage;
  for (const KeptReceipt& kept : *page) {
    if (bytes > kPageBytes) {
      more = true;
      break;
    }
    after = kept.id;
    // What a relay took may be of authors who do not wish to be found.
    if (kept.receipt.ring != Ring::kStorage) continue;
    json::array items;
    json::array leaves;
    for (const crypto::Hash256& leaf : kept.leaves()) leaves.push_back(storage::to_json(leaf));
    for (std::size_t i = 0; i < kept.items.size(); ++i) {
      if (kept.items[i].partition.tag != *tag) continue;
      json::object item = storage::to_json(kept.items[i]);
      item["index"] = i;
      bytes += 250 + kept.items[i].uri.size();
      items.push_back(std::move(item));
    }
    bytes += 1000 + leaves.size() * 70;
    json::object receipt = storage::to_json(kept.receipt);
    receipt["key"] = kept.key;
    receipt["leaves"] = std::move(leaves);
    receipt["items"] = std::move(items);
    receipts.push_back(std::move(receipt));
  }
  json::object body = {{"receipts", std::move(receipts)}};
  if (more) body["after"] = after;
  co_return json_response(body);
}

namespace {

// The items of one batch of such an answer that are what was signed, if it was.
std::vector<Receipts::Held> read_batch(const json::object& object, const storage::Receipt& batch,
                                       const Tag& tag, const std::string& holder) {
  std::vector<Receipts::Held> found;
  const auto leaves = storage::hashes_from_json(json::find(object, "leaves"), kItemsMax);
  if (!leaves || leaves->size() != batch.size) return found;
  const crypto::HashTree tree(*leaves);
  if (tree.root() != batch.root) return found;
  json::for_each(json::find(object, "items"), [&](const json::value& element) {
    if (!element.is_object() || found.size() >= leaves->size()) return;
    const Result<storage::TakenItem> item = storage::item_from_json(element.get_object());
    const std::int64_t index = json::get_int(element.get_object(), "index").value_or(-1);
    const bool there = item && item->partition.tag == tag && index >= 0 &&
                       static_cast<std::size_t>(index) < leaves->size() &&
                       (*leaves)[static_cast<std::size_t>(index)] == item->leaf();
    if (!there) return;
    const auto place = static_cast<std::size_t>(index);
    found.push_back({{batch, *item, place, tree.path(place)}, {}, holder});
  });
  return found;
}

}  // namespace

// PEM; empty if the actor cannot be asked, nothing if it has not signed that.
Task<std::optional<std::string>> Receipts::key_of(storage::Receipt batch, const KnownKeys* known,
                                                  Source* source) {
  const std::string& actor = batch.actor;
  if (const auto former = known->find(actor); former != known->end()) {
    for (const std::string& pem : former->second) {
      Result<crypto::PublicKey> key = crypto::PublicKey::from_pem(pem);
      if (!key) continue;
      const bool genuine = co_await is_signed_with(std::move(*key), batch);
      if (genuine) co_return pem;
    }
  }
  if (source->away.contains(actor)) co_return std::string();
  const bool is_full = source->asked.size() >= kAskedMax || source->away.size() >= kAwayMax;
  if (is_full && !source->asked.contains(actor)) co_return std::string();
  source->asked.insert(actor);
  const Signer signer = co_await signer_of(batch);
  if (signer.is_named) co_return signer.key;
  if (!signer.key.empty() || signer.unknown.empty()) co_return std::nullopt;
  source->away.insert(actor);
  co_return std::string();
}

Task<std::vector<Receipts::Held>> Receipts::read(json::object body, Tag tag, const KnownKeys* known,
                                                 Source* source) {
  std::vector<Held> found;
  const json::value* list = json::find(body, "receipts");
  const json::array receipts = list != nullptr && list->is_array() ? list->get_array() : json::array();
  source->is_cut = source->is_cut || receipts.size() > kBatchesPerPage;
  for (std::size_t i = 0; i < std::min(receipts.size(), kBatchesPerPage); ++i) {
    if (!receipts[i].is_object()) continue;
    const json::object& object = receipts[i].get_object();
    const Result<storage::Receipt> batch = storage::receipt_from_json(object);
    const bool ours = batch && batch->ring == Ring::kStorage && batch->network == notary_.network() &&
                      batch->actor == origin_of(batch->actor) + "/actor";
    if (!ours) continue;
    std::vector<Held> items = read_batch(object, *batch, tag, source->holder);
    if (items.empty()) continue;
    const std::optional<std::string> key = co_await key_of(*batch, known, source);
    if (!key) continue;
    for (Held& held : items) {
      held.key = *key;
      found.push_back(std::move(held));
    }
  }
  source->items += found.size();
  const std::int64_t next = json::get_int(body, "after").value_or(0);
  const bool more = next > 0 && static_cast<std::uint64_t>(next) > source->after;
  source->is_cut = source->is_cut || (more && source->items >= kHeldMax);
  source->after = more && !source->is_cut ? static_cast<std::uint64_t>(next) : 0;
  co_return found;
}

}  // namespace tagring::audit
