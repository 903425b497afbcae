// What a node needs of the world: in production app/ gives it, in the simulator sim/.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "administrators/changes.hpp"
#include "audit/receipt_store.hpp"
#include "base/log.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "base/workers.hpp"
#include "belief/doubts.hpp"
#include "budget/manager.hpp"
#include "delivery/store.hpp"
#include "fasp/fasp_store.hpp"
#include "federation/authenticator.hpp"
#include "federation/blocks.hpp"
#include "federation/letter_store.hpp"
#include "handover/kinds.hpp"
#include "health/machine.hpp"
#include "health/memory.hpp"
#include "http/message.hpp"
#include "http/services.hpp"
#include "instances/instance_store.hpp"
#include "instances/moving.hpp"
#include "instances/tag_sources.hpp"
#include "instances/tag_tokens.hpp"
#include "queues/delivery_queues.hpp"
#include "replay/replay_store.hpp"
#include "reports/report_store.hpp"
#include "storage/disputes.hpp"
#include "storage/history.hpp"
#include "storage/reconcile.hpp"
#include "subscriber/catch_up.hpp"

namespace tagring::node {

// What of a node is on disk.
struct Stores {
  delivery::Store& relay;
  federation::LetterStore& letters;
  instances::InstanceStore& instances;
  federation::BlockStore& blocks;
  replay::ReplayStore& replays;
  fasp::FaspStore& fasp;
  storage::HistoryStore& history;
  audit::ReceiptStore& receipts;
  reports::ReportStore& reports;
  administrators::ChangeStore& changes;
};
// `all` has them as members of these names, as db::Stores does, and must outlive what is returned.
template <class All>
Stores stores_of(All& all) {
  return {all.relay, all.relay,   all.instances, all.blocks,  all.replays,
          all.fasp,  all.history, all.receipts,  all.reports, all.changes};
}

// How much the parts of a node take at a time, and remember at most. It is the same everywhere but in the
// simulator: with little of it a network of a few posts meets what else only a large one does.
struct Bounds {
  std::size_t handed_page = handover::kPage;             // items that new owners are handed at once
  std::size_t missed_page = subscriber::CatchUp::kPage;  // posts that a subscriber is told at once
  std::size_t owed_rows = 1'000;                         // of what a former owner owes, at once
  std::size_t moved_rows = 1'000;                        // of a partition that is merged, at once
  std::size_t batch = queues::QueueOptions().batch_max;  // items of one request
  std::size_t doubts = belief::Doubts::kMax;             // of what relays have said
  std::size_t disputes = storage::Disputes::kMax;        // between owners of a history
  storage::CompareLimits compared = {};                  // of one comparison of histories
};

// What a node needs of the world. Everything outlives the node.
struct Environment {
  Clock& clock;
  Executor executor;
  HttpClient& http;
  Workers& workers;
  Stores stores;
  Log& log;
  std::uint64_t seed = 0;
  // Where Config does not read itself: secrets, and another program's database.
  instances::ReadTagTokens read_tag_tokens = {};
  instances::ReadFollowedTags read_followed_tags = {};
  ServiceFinder* services = nullptr;  // for ring.bootstrap_srv
  budget::Manager* budget = nullptr;  // shared with the servers; without it, the node has its own
  // Where the node stands on the rings, as text: as last saved, and how it is saved. Without them the node
  // chooses anew at each start.
  std::optional<std::string> places = {};
  std::function<Task<Result<void>>(std::string places)> save_places = {};
  // What it owned on the rings and owes to those who own it now, likewise: without them that is not known
  // after a crash.
  std::optional<std::string> owed = {};
  std::function<Task<Result<void>>(std::string owed)> save_owed = {};
  // The nodes that it has met, likewise: without them a node that restarts finds the rings only through those
  // that are configured.
  std::optional<std::string> address_book = {};
  std::function<Task<Result<void>>(std::string address_book)> save_address_book = {};
  // How large disk and history were, likewise: without them there is no forecast for a week.
  health::Memory sizes = {};
  // What became of the posts of instances, likewise: without them that is known since the start only.
  health::Memory seen = {};
  health::Machine* machine = nullptr;  // none in the simulator
  federation::DatedAhead ahead = {};
  instances::Moving::Memory move = {};       // where the node has moved to
  federation::Couriers* couriers = nullptr;  // for what the node signs; none: it makes its calls itself
  Bounds bounds = {};
};

}  // namespace tagring::node
