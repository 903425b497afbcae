// Receipts (docs/audit.md): as a sender this node checks and keeps what owners sign, and shows it to who
// audits a hashtag. Nothing that is acknowledged depends on them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "audit/notary.hpp"
#include "audit/receipt_store.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/runtime.hpp"
#include "crypto/key.hpp"
#include "delivery/owner_queue.hpp"
#include "federation/remote_keys.hpp"
#include "storage/history.hpp"
#include "storage/kept_partitions.hpp"

namespace tagring::audit {

class Receipts {
 public:
  struct Options {
    Duration kept = std::chrono::days(90);
    std::uint64_t bytes = std::uint64_t{256} << 20U;
  };
  Receipts(Options options, ReceiptStore& store, const storage::KeptPartitions& redundancy,
           const Notary& notary, federation::RemoteKeys& keys, const Runtime& runtime);
  [[nodiscard]] Task<void> stop();

  static constexpr std::string_view kPath = "/tagring/v1/receipts";

  // The answer of an owner to a batch. Keeps its receipt in the background.
  void note(const std::string& origin, Ring ring, const std::vector<delivery::TagEvent>& events,
            const std::vector<delivery::Refusal>& refusals, const std::string& answer);
  // Answers GET kPath?tag=…[&after=…]: what storage owners have signed to this node.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request);

  // An item of a receipt, and whom it was shown by.
  struct Held {
    storage::ItemReceipt receipt;
    std::string key;     // PEM: what it was checked with; empty if nobody can be asked for it
    std::string holder;  // origin
  };
  // Those of the tag that this node keeps, of both rings.
  [[nodiscard]] Task<Result<std::vector<Held>>> held(Tag tag);
  // Of these posts those of which owners have signed that this node had them taken out of that hashtag.
  [[nodiscard]] Task<Result<std::set<std::string>>> taken_out(Tag tag, std::set<std::string> uris);

  // Keys that actors were seen to have, PEM: one of whom receipts are kept may be away by now.
  using KnownKeys = std::map<std::string, std::set<std::string>>;
  // Another node that shows receipts. Bounded each for itself, so that none leaves less room to others.
  struct Source {
    std::string holder;                // origin
    std::uint64_t after = 0;           // where to go on; 0: at its end
    std::size_t items = 0;             // read
    std::set<std::string> asked = {};  // actors whose keys were asked for
    std::set<std::string> away = {};   // actors whose keys were not to be had
    bool is_cut = false;               // it has more than is looked at
  };
  // What storage owners have signed of the tag by its answer: with the key that the owner's own server shows;
  // and, without a key, what is said to be of owners that cannot be asked. All else is left out. `known` and
  // `source` outlive the task.
  [[nodiscard]] Task<std::vector<Held>> read(json::object body, Tag tag, const KnownKeys* known,
                                             Source* source);

  struct Counters {
    std::uint64_t kept = 0;
    std::uint64_t absent = 0;     // owners that gave none
    std::uint64_t bad = 0;        // not what was sent, or not signed by the owner
    std::uint64_t unchecked = 0;  // the owner's key could not be fetched, so they are not kept
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  using Items = std::vector<storage::TakenItem>;
  // Whose signature it is.
  struct Signer {
    bool is_named = false;     // the actor's that the receipt names
    std::string key = {};      // PEM: its own, if that was to be had
    std::string unknown = {};  // why not
  };
  Task<Signer> signer_of(storage::Receipt receipt);
  Task<bool> is_signed_with(crypto::PublicKey key, const storage::Receipt& receipt);
  Task<std::optional<std::string>> key_of(storage::Receipt batch, const KnownKeys* known, Source* source);
  Task<void> keep(std::string origin, KeptReceipt receipt);
  void correct(Items* items, const json::object& answer) const;

  Options options_;
  ReceiptStore& store_;
  const storage::KeptPartitions& redundancy_;
  const Notary& notary_;
  federation::RemoteKeys& keys_;
  const Clock& clock_;
  Workers& workers_;
  Log& log_;
  Counters counters_;
  std::size_t checking_ = 0;
  TaskGroup tasks_;
};

}  // namespace tagring::audit
