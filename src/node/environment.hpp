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
#include "budget/manager.hpp"
#include "delivery/store.hpp"
#include "fasp/fasp_store.hpp"
#include "federation/authenticator.hpp"
#include "federation/blocks.hpp"
#include "federation/letter_store.hpp"
#include "health/growth.hpp"
#include "health/machine.hpp"
#include "http/message.hpp"
#include "http/services.hpp"
#include "instances/instance_store.hpp"
#include "instances/moving.hpp"
#include "instances/tag_sources.hpp"
#include "instances/tag_tokens.hpp"
#include "replay/replay_store.hpp"
#include "reports/report_store.hpp"
#include "storage/history.hpp"

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
  health::Growth::Memory sizes = {};
  health::Machine* machine = nullptr;  // none in the simulator
  federation::DatedAhead ahead = {};
  instances::Moving::Memory move = {};       // where the node has moved to
  federation::Couriers* couriers = nullptr;  // for what the node signs; none: it makes its calls itself
};

}  // namespace tagring::node
