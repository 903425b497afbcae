#include "node/node.hpp"

#include "activitypub/inbox.hpp"
#include "activitypub/resolver.hpp"
#include "admin/gate.hpp"
#include "admin/node_control.hpp"
#include "audit/signed_tree_heads.hpp"
#include "base/http_error.hpp"
#include "fasp/fasp.hpp"
#include "federation/version.hpp"
#include "handover/transfer.hpp"
#include "mastodon_api/client_api.hpp"
#include "node/node_wiring.hpp"
#include "node/parts.hpp"
#include "overlay/ring_status.hpp"
#include "relay/catch_up.hpp"
#include "relay/partial_collections.hpp"
#include "relay/relay_redundancy.hpp"
#include "storage/storage_redundancy.hpp"
#include "web/site.hpp"

namespace tagring::node {

// A digest that does not fit its followers would have every server ask for the list, again and again.
Task<Result<void>> Node::check_partials() {
  CO_TRY(const relay::Store::PartialsCheck check, co_await parts_->environment.stores.relay.check_partials());
  for (const relay::PartialKey& key : check.repaired) {
    parts_->environment.log.warn("followers_digest_repaired",
                                 {{"tag", key.collection}, {"server", key.authority}});
  }
  const std::string because = parts_->config.followers_conflict.empty() && !parts_->config.followers_sync
                                  ? "followers.sync = false"
                                  : parts_->config.followers_conflict;
  parts_->environment.log.info("followers_sync",
                               {{"on", parts_->config.followers_sync ? "yes" : "no"}, {"because", because}});
  co_return Result<void>();
}

Task<Result<void>> Node::load() {
  CO_TRY_VOID(co_await check_partials());
  CO_TRY_VOID(co_await parts_->fasp.servers.load());
  CO_TRY_VOID(co_await parts_->relay.subscriptions.load());
  CO_TRY_VOID(co_await parts_->instances.instances.load());
  CO_TRY_VOID(co_await parts_->instances.moderation.load());
  CO_TRY_VOID(co_await parts_->audit.heads.load());
  CO_TRY_VOID(co_await parts_->audit.audit.load());
  std::function<void(const relay::Follower&)> note = [this](const relay::Follower& f) {
    parts_->instances.instances.note(f);
    parts_->fasp.hashtags.note(f);
  };
  CO_TRY_VOID(co_await parts_->relay.followers.load(std::move(note)));
  CO_TRY_VOID(co_await parts_->instances.replayer.load());
  CO_TRY_VOID(co_await parts_->instances.tag_sources.load());
  CO_TRY_VOID(co_await parts_->relay.announcer.load());
  CO_TRY_VOID(co_await parts_->instances.activities.load());
  CO_TRY_VOID(co_await parts_->storage.kept.load());
  CO_TRY_VOID(co_await parts_->relay.owners.load());
  CO_TRY_VOID(co_await parts_->fasp.sharing.load());
  co_return Result<void>();
}

// --- Node --------------------------------------------------------------------------------------------------

Node::Node(config::Config config, crypto::PrivateKey key, std::uint64_t incarnation, Environment environment)
    : parts_(std::make_unique<Parts>(
          std::move(config), std::move(key), incarnation, environment,
          admin::NodeControl::Actions{[this] { return status(); }, [this] { return leave(); }},
          [](Parts& parts) { return std::make_unique<NodeWiring>(parts); })),
      routes_(make_routes()) {}

Node::~Node() = default;

Task<Result<void>> Node::start() {
  CO_TRY_VOID(co_await load());
  parts_->handover.reassign.start(parts_->rings.service);
  parts_->rings.service.start();
  parts_->rings.balancer.start();
  parts_->relay.announcer.start();
  parts_->instances.replayer.start();
  parts_->instances.tag_sources.start();
  parts_->fasp.sharing.start();
  parts_->relay.subscriptions.start();
  parts_->reading.streams.start();
  parts_->handover.anti_entropy.start();
  parts_->storage.redundancy.start();
  parts_->storage.retention.start();
  co_return Result<void>();
}

Task<void> Node::stop() {
  co_await parts_->reading.streams.stop();
  co_await parts_->handover.anti_entropy.stop();
  co_await parts_->storage.retention.stop();
  co_await parts_->reading.posts.stop();
  co_await parts_->instances.replayer.stop();
  co_await parts_->instances.tag_sources.stop();
  co_await parts_->fasp.sharing.stop();
  co_await parts_->rings.balancer.stop();
  co_await parts_->rings.service.stop();
  co_await parts_->instances.sync.stop();
  co_await parts_->relay.redundancy.stop();
  co_await parts_->storage.redundancy.stop();
  co_await parts_->storage.kept.stop();
  co_await parts_->handover.transfer.stop();
  co_await parts_->relay.subscriptions.stop();
  co_await parts_->handover.reassign.stop();
  co_await parts_->relay.owners.stop();
  co_await parts_->audit.receipts.stop();
  co_await parts_->instances.consents.stop();
  co_await parts_->relay.followers.stop();
  co_await parts_->instances.activities.stop();
  co_await parts_->relay.checker.stop();
  co_await parts_->relay.announcer.stop();
}

Task<void> Node::leave() {
  co_await parts_->rings.balancer.stop();
  co_await parts_->rings.service.leave(Ring::kRelay);
  co_await parts_->rings.service.leave(Ring::kStorage);
}

namespace {

// The part answers.
template <class Part>
HttpHandler by(Part& part) {
  return [&part](HttpRequest request) { return part.answer(std::move(request)); };
}

}  // namespace

Routes Node::make_routes() {
  using enum Routes::Methods;
  Parts& p = *parts_;
  Routes routes;
  routes.add_below(kAll, admin::Gate::kPrefix, by(p.admin.gate));
  routes.add_below(kAll, fasp::Fasp::kPrefix, by(p.fasp.fasp));
  routes.add(kPost, overlay::RingService::kPath, by(p.rings.service));
  routes.add(kPost, handover::Transfer::kPath, by(p.handover.answers));
  routes.add(kGetAndPost, relay::RelayRedundancy::kPath, by(p.relay.redundancy));
  routes.add(kGetAndPost, storage::StorageRedundancy::kPath, by(p.storage.redundancy));
  routes.add(kPost, relay::CatchUp::kPath, by(p.relay.catch_up));
  routes.add_if(kAll, mastodon_api::ClientApi::is_path, by(p.reading.client_api));
  routes.add_if(kPost, activitypub::Inbox::is_path, by(p.actors.inbox));
  routes.add_if(kAll, activitypub::Inbox::is_path, Routes::refuse_method);
  routes.add_if(kReading, relay::PartialCollections::is_path, by(p.relay.partials));
  routes.add(kReading, storage::HistoryService::kDaysPath,
             [&p](HttpRequest request) { return p.storage.history.answer_days(std::move(request)); });
  routes.add(kReading, audit::SignedTreeHeads::kPath, by(p.audit.heads));
  routes.add(kReading, audit::Receipts::kPath, by(p.audit.receipts));
  routes.add(kReading, storage::HistoryService::kPath, by(p.storage.history));
  routes.add(kReading, activitypub::Resolver::kPath, by(p.actors.resolver));
  routes.add_if(kReading, web::Site::is_path, by(p.reading.site));
  routes.add_below(kReading, "", by(p.actors.documents));
  return routes;
}

Task<HttpResponse> Node::answer(HttpRequest request) { return routes_.answer(std::move(request)); }

Task<HttpResponse> Node::control(HttpRequest request) {
  return parts_->admin.control.answer(std::move(request));
}

overlay::RingService& Node::rings() { return parts_->rings.service; }
storage::HistoryService& Node::history() { return parts_->storage.history; }
relay::Subscriptions& Node::subscriber() { return parts_->relay.subscriptions; }
relay::RelayOwner& Node::relay_owner() { return parts_->relay.owner; }
storage::StorageOwner& Node::storage_owner() { return parts_->storage.owner; }
audit::Receipts& Node::receipts() { return parts_->audit.receipts; }

bool Node::is_idle() const {
  return parts_->relay.owners.size() == 0 && parts_->relay.announcer.idle() &&
         parts_->instances.activities.idle() && parts_->fasp.sharing.idle();
}

json::object Node::status() const {
  const activitypub::Inbox::Counters& inbox = parts_->actors.inbox.counters();
  return {
      {"version", federation::kVersion},
      {"origin", parts_->speech.identity.origin()},
      {"rings", overlay::rings_status(parts_->rings.service, parts_->rings.balancer)},
      {"bootstrap_failed", parts_->rings.service.dead_ends()},
      {"published", parts_->relay.owners.published()},
      {"relayed", parts_->relay.owner.relayed()},
      {"archived", parts_->storage.owner.archived()},
      {"received", parts_->relay.subscriber.received()},
      {"checked", parts_->relay.checker.checked()},
      {"inbox",
       json::object{{"accepted", inbox.accepted}, {"ignored", inbox.ignored}, {"refused", inbox.refused}}},
      {"followers", parts_->speech.followers.size()},
      {"followers_sync", parts_->instances.sync.counters().to_json()},
      {"wanted", parts_->relay.subscriptions.wanted().size()},
      {"subscriptions", parts_->relay.subscriptions.subscriptions()},
      {"subscriptions_settled", parts_->relay.subscriptions.is_settled()},
      {"subscription_messages", parts_->relay.subscriptions.messages()},
      {"relay_sets", parts_->relay.redundancy.status()},
      {"storage_sets", parts_->storage.redundancy.status()},
      {"owed", parts_->relay.owners.size()},
      {"announcing", parts_->relay.announcer.waiting()},
      {"announced", parts_->relay.announcer.delivered()},
      {"replaying", parts_->instances.replayer.active()},
      {"fasp", json::object{{"servers", parts_->fasp.servers.all().size()},
                            {"waiting", parts_->fasp.sharing.waiting()}}},
      {"retention", json::object{{"posts", parts_->storage.retention.state().posts},
                                 {"octets_max", parts_->storage.retention.options().octets_max},
                                 {"keep_days", parts_->config.keep_days},
                                 {"let_go", parts_->storage.retention.state().let_go},
                                 {"let_go_early", parts_->storage.retention.state().too_early}}},
      {"receipts", json::object{{"issued", parts_->audit.issuer.issued()},
                                {"kept", parts_->audit.receipts.counters().kept},
                                {"absent", parts_->audit.receipts.counters().absent},
                                {"bad", parts_->audit.receipts.counters().bad}}},
      {"transferred", parts_->handover.transfer.fetched()},
      {"reconciled", json::object{{"rounds", parts_->handover.anti_entropy.counters().rounds},
                                  {"questions", parts_->handover.anti_entropy.counters().questions},
                                  {"posts", parts_->handover.anti_entropy.counters().entries}}},
      {"idle", is_idle()}};
}

}  // namespace tagring::node
