#include "node/node.hpp"

#include <algorithm>

#include "activitypub/announced.hpp"
#include "activitypub/follows.hpp"
#include "activitypub/inbox.hpp"
#include "activitypub/resolver.hpp"
#include "admin/gate.hpp"
#include "admin/node_control.hpp"
#include "admin/settings.hpp"
#include "administrators/administrator.hpp"
#include "audit/signed_tree_heads.hpp"
#include "delivery/followers.hpp"
#include "delivery/partial_collections.hpp"
#include "delivery/store.hpp"
#include "fasp/fasp.hpp"
#include "federation/version.hpp"
#include "fediverse/documents.hpp"
#include "fediverse/negotiation.hpp"
#include "handover/transfer.hpp"
#include "health/check.hpp"
#include "health/probes.hpp"
#include "health/reach.hpp"
#include "http/http_error.hpp"
#include "mastodon_api/client_api.hpp"
#include "node/node_wiring.hpp"
#include "node/part_options.hpp"
#include "node/parts.hpp"
#include "node/revalidation.hpp"
#include "overlay/ring_status.hpp"
#include "publisher/signed_copies.hpp"
#include "relay/relay_redundancy.hpp"
#include "storage/storage_redundancy.hpp"
#include "subscriber/catch_up.hpp"
#include "web/site.hpp"

namespace tagring::node {

// A digest that does not fit its followers would have every server ask for the list, again and again.
Task<Result<void>> Node::check_partials() {
  CO_TRY(const delivery::Store::PartialsCheck check,
         co_await parts_->environment.stores.relay.check_partials());
  for (const delivery::PartialKey& key : check.repaired) {
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
  CO_TRY_VOID(co_await parts_->instances.reports.load());
  CO_TRY_VOID(co_await parts_->audit.heads.load());
  CO_TRY_VOID(co_await parts_->audit.audit.load());
  CO_TRY_VOID(co_await parts_->audit.offences.load());
  std::function<void(const delivery::Follower&)> note = [this](const delivery::Follower& f) {
    parts_->fasp.hashtags.note(f);
  };
  CO_TRY_VOID(co_await parts_->relay.followers.load(std::move(note)));
  CO_TRY_VOID(co_await parts_->instances.replayer.load());
  CO_TRY_VOID(co_await parts_->instances.tag_sources.load());
  // With the Accepts, for which announcements wait.
  CO_TRY_VOID(co_await parts_->instances.activities.load());
  CO_TRY_VOID(co_await parts_->relay.announcer.load());
  CO_TRY_VOID(co_await parts_->storage.kept.load());
  CO_TRY_VOID(co_await parts_->relay.owners.load());
  CO_TRY_VOID(co_await parts_->fasp.sharing.load());
  CO_TRY_VOID(co_await parts_->storage.disputes.load());
  co_await enforce();
  co_return Result<void>();
}

// What a disk has no room for is no reason not to start: the next start tries again.
Task<void> Node::enforce() {
  Result<void> enforced = co_await parts_->instances.instances.enforce();
  if (enforced) enforced = co_await parts_->instances.moderation.enforce();
  if (!enforced)
    parts_->environment.log.warn("decisions_not_enforced", {{"because", enforced.error().message}});
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
  loaded_ = true;
  // Where it has left them for another, it would come back in that one's place.
  if (parts_->instances.moving.is_on_rings()) {
    parts_->rings.service.start();
    parts_->rings.balancer.start();
  } else {
    parts_->rings.service.stay_away();
  }
  parts_->handover.reassign.start(parts_->rings.service);  // it knows by now where it stands
  parts_->relay.announcer.start(
      [this](delivery::Announcements page) { return parts_->recollection.read(std::move(page)); });
  parts_->relay.followers.start(parts_->instances.instances.inboxes_of_followers());
  parts_->instances.consents.start();
  parts_->instances.publisher.start();
  parts_->instances.copies.start();
  parts_->instances.put_off.start();
  parts_->instances.outboxes.start(
      {[&rings = parts_->rings.service] { return rings.is_among_others(); },
       [machine = parts_->environment.machine] { return machine == nullptr || machine->can_write(); }});
  parts_->instances.moving.start();
  parts_->instances.replayer.start();
  parts_->instances.tag_sources.start();
  parts_->fasp.sharing.start();
  parts_->relay.subscriptions.start();
  parts_->instances.sync.start();
  parts_->reading.streams.start();
  parts_->handover.anti_entropy.start();
  parts_->storage.redundancy.start();
  parts_->storage.retention.start();
  parts_->audit.watch.start();
  parts_->health.growth.start();
  parts_->health.seen.start();
  parts_->health.doctor.start();
  co_return Result<void>();
}

Task<void> Node::stop() {
  co_await parts_->health.doctor.stop();
  co_await parts_->health.growth.stop();
  co_await parts_->reading.streams.stop();
  co_await parts_->handover.anti_entropy.stop();
  co_await parts_->storage.retention.stop();
  co_await parts_->reading.posts.stop();
  co_await parts_->reading.tag_api.stop();
  co_await parts_->actors.documents.stop();
  co_await parts_->instances.replayer.stop();
  co_await parts_->instances.tag_sources.stop();
  co_await parts_->fasp.sharing.stop();
  co_await parts_->instances.moving.stop();  // it may be leaving the rings
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
  co_await parts_->audit.watch.stop();
  co_await parts_->audit.offences.stop();
  co_await parts_->audit.receipts.stop();
  co_await parts_->instances.consents.stop();
  co_await parts_->instances.put_off.stop();
  co_await parts_->instances.publisher.stop();
  co_await parts_->instances.copies.stop();
  co_await parts_->instances.outboxes.stop();
  co_await parts_->relay.followers.stop();
  co_await parts_->instances.activities.stop();
  co_await parts_->storage.disputes.stop();
  co_await parts_->relay.doubts.stop();
  co_await parts_->relay.checker.stop();
  co_await parts_->relay.announcer.stop();
  co_await parts_->health.seen.stop();  // what the others have noted
}

Task<void> Node::leave() { return parts_->wiring->leave(); }

namespace {

// The part answers.
template <class Part>
HttpHandler by(Part& part) {
  return [&part](HttpRequest request) { return part.answer(std::move(request)); };
}

// Who reads with a browser is shown a page where nothing is.
Task<HttpResponse> page_if_missing(HttpHandler handler, const web::Site* site, HttpRequest request) {
  const bool is_reader = fediverse::prefers_html(request.headers.joined("Accept").value_or(""));
  HttpResponse response = co_await handler(std::move(request));
  if (response.status != 404) co_return response;
  if (is_reader) response = site->missing();
  response.headers.add_vary("Accept");
  co_return response;
}

HttpHandler for_readers(HttpHandler handler, const web::Site& site) {
  return [handler = std::move(handler), &site](HttpRequest request) {
    return page_if_missing(handler, &site, std::move(request));
  };
}

// By its name (RFC 9110, 7.4), so that no page of another name in the DNS can have browsers ask here. Who
// writes the address instead looks after the machine, as do probes.
bool is_for_this_host(const HttpRequest& request, const std::string& origin) {
  const std::string asked = host_of("https://" + request.headers.find("Host").value_or("") + "/");
  if (asked.empty() || asked == "localhost" || asked == host_of(origin)) return true;
  const bool is_address = asked.starts_with('[') || IpAddress::parse(asked).has_value();
  return is_address || health::Probes::is_path(path_of(request.target));
}

// Who does not know yet what it follows, who follows it and what is blocked would say so to others, who
// believe it.
Task<HttpResponse> not_loaded() {
  HttpResponse response =
      error_response({ErrorCode::kUnavailable, "this node is starting: ask again in a moment"});
  response.headers.set("Retry-After", "1");
  co_return response;
}

Task<HttpResponse> refuse_host() {
  HttpResponse response = error_response({ErrorCode::kDenied, "Host is not a name of this node"});
  response.status = 421;
  co_return response;
}

}  // namespace

Routes Node::make_routes() {
  using enum Routes::Methods;
  using enum Routes::Readers;
  Parts& p = *parts_;
  Routes routes;
  routes.add_below(kAll, admin::Gate::kPrefix, by(p.admin.gate));
  routes.add_below(kAll, fasp::Fasp::kPrefix, by(p.fasp.fasp));
  routes.add(kPost, overlay::RingService::kPath, by(p.rings.service));
  routes.add(kPost, handover::Transfer::kPath, by(p.handover.answers));
  routes.add(kGetAndPost, relay::RelayRedundancy::kPath, by(p.relay.redundancy));
  routes.add(kGetAndPost, storage::StorageRedundancy::kPath, by(p.storage.redundancy));
  routes.add(kPost, subscriber::CatchUp::kPath, by(p.handover.missed));
  routes.add_if(kAll, mastodon_api::ClientApi::is_path, revalidated(by(p.reading.client_api)));
  routes.add_if(kPost, fediverse::NodeUrls::is_inbox, by(p.actors.inbox));
  routes.add_if(kReading, delivery::PartialCollections::is_path, by(p.relay.partials));
  routes.add(kReading, storage::HistoryService::kDaysPath,
             [&p](HttpRequest request) { return p.storage.history.answer_days(std::move(request)); });
  routes.add(kReading, audit::SignedTreeHeads::kPath, by(p.audit.heads));
  routes.add(kReading, publisher::SignedCopies::kPath, by(p.instances.copies));
  routes.add(kReading, audit::Receipts::kPath, by(p.audit.receipts));
  routes.add(kGetAndPost, audit::Offences::kPath, by(p.audit.offences));
  routes.add(kReading, storage::HistoryService::kPath, by(p.storage.history));
  routes.add(kReading, activitypub::Resolver::kPath, by(p.actors.resolver), kAnyPage);
  routes.add(kGetAndPost, health::Reach::kPath, by(p.health.reach));
  routes.add_if(kReading, health::Probes::is_path, by(p.admin.probes));
  routes.add_if(kReading, web::Site::is_path, revalidated(by(p.reading.site)));
  routes.add_below(kReading, activitypub::Announced::kPath,
                   for_readers(by(p.actors.announced), p.reading.site), kAnyPage);
  routes.add_below(kReading, federation::ActivityQueue::kPath,
                   for_readers(by(p.instances.activities), p.reading.site), kAnyPage);
  routes.add_below(kReading, activitypub::Follows::kPath, for_readers(by(p.actors.follows), p.reading.site),
                   kAnyPage);
  routes.add_below(kReading, "", for_readers(by(p.actors.documents), p.reading.site), kAnyPage);
  return routes;
}

Task<HttpResponse> Node::answer(HttpRequest request) {
  parts_->health.doctor.note_host(request);
  if (!is_for_this_host(request, parts_->speech.identity.origin())) return refuse_host();
  const bool is_probe = health::Probes::is_path(path_of(request.target));
  if (!loaded_ && !is_probe) return not_loaded();
  parts_->health.doctor.note_request(request, is_probe);
  return routes_.answer(std::move(request));
}

Task<HttpResponse> Node::probe(HttpRequest request) {
  return parts_->admin.probes.answer_inside(std::move(request));
}

json::object Node::adopt(const config::Config& fresh) {
  config::Config& now = parts_->config;
  json::array changed;
  json::array restart;
  for (const std::string& key : admin::changed_settings(now, fresh))
    (admin::counts_at_once(key) ? changed : restart).emplace_back(key);
  if (now.admin_tokens != fresh.admin_tokens && now.admin_token_file == fresh.admin_token_file)
    changed.emplace_back("node.admin_token_file");
  now.log_level = fresh.log_level;
  now.trusted_proxies = fresh.trusted_proxies;
  now.certificate = fresh.certificate;
  now.key = fresh.key;
  now.admin_token_file = fresh.admin_token_file;
  now.admin_tokens = fresh.admin_tokens;
  now.instances = fresh.instances;
  now.open = fresh.open;
  now.people = fresh.people;
  now.tags_per_instance = fresh.tags_per_instance;
  now.hashtags_of_a_post = fresh.hashtags_of_a_post;
  now.posts_an_hour = fresh.posts_an_hour;
  now.budgets = fresh.budgets;
  parts_->speech.budget.use(now.budgets);
  parts_->speech.budget.set_own(own_hosts(now));
  parts_->instances.instances.use(instance_options(now, parts_->speech.budget));
  parts_->instances.moderation.use(moderation_options(now, parts_->speech.budget));
  parts_->instances.tag_sources.allow(now.tags_per_instance);
  parts_->fasp.hashtags.allow(now.tags_per_instance);
  parts_->admin.restart_for = restart;
  return {{"changed", std::move(changed)}, {"restart", std::move(restart)}};
}

Task<HttpResponse> Node::control(HttpRequest request) {
  const std::string user = request.headers.find(administrators::kUserField).value_or("");
  return administer(administrators::local_socket(user), std::move(request));
}

Task<HttpResponse> Node::administer(administrators::Administrator who, HttpRequest request) {
  if (!loaded_) return not_loaded();
  return parts_->admin.control.answer(std::move(request), std::move(who));
}

overlay::RingService& Node::rings() { return parts_->rings.service; }
storage::HistoryService& Node::history() { return parts_->storage.history; }
subscriber::Subscriptions& Node::subscriber() { return parts_->relay.subscriptions; }
relay::RelayOwner& Node::relay_owner() { return parts_->relay.owner; }
storage::StorageOwner& Node::storage_owner() { return parts_->storage.owner; }
audit::Receipts& Node::receipts() { return parts_->audit.receipts; }

bool Node::is_idle() const {
  return parts_->relay.owners.size() == 0 && parts_->relay.announcer.idle() &&
         parts_->relay.doubts.waiting() == 0 && parts_->instances.activities.idle() &&
         parts_->fasp.sharing.idle();
}

json::object Node::status() const {
  json::object status = {
      {"version", federation::kVersion},
      {"origin", parts_->speech.identity.origin()},
      {"rings", overlay::rings_status(parts_->rings.service, parts_->rings.balancer)},
      {"database", parts_->config.postgres.empty() ? "sqlite" : "postgresql"},
      {"bootstrap_failed", parts_->rings.service.dead_ends()},
      {"published", parts_->relay.owners.published()},
      {"put_off", parts_->instances.publisher.put_off()},
      {"signed_copies", json::object{{"put_off", parts_->instances.copies.put_off()},
                                     {"dropped", parts_->instances.copies.dropped()}}},
      {"relayed", parts_->relay.owner.relayed()},
      {"archived", parts_->storage.owner.archived()},
      {"received", parts_->relay.subscriber.received()},
      {"checked", parts_->relay.checker.checked()},
      {"inbox", parts_->actors.inbox.tally().to_json()},
      {"followers", parts_->speech.followers.size()},
      {"followers_people", parts_->speech.followers.people()},
      {"followers_sync", parts_->instances.sync.counters().to_json()},
      {"followers_unlisted", parts_->relay.partials.too_long()},
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
                                 {"octets", parts_->storage.retention.state().bytes},
                                 {"octets_max", parts_->storage.retention.options().bytes_max},
                                 {"keep_days", parts_->config.keep_days},
                                 {"let_go", parts_->storage.retention.state().let_go},
                                 {"let_go_early", parts_->storage.retention.state().too_early}}},
      {"receipts", json::object{{"issued", parts_->audit.issuer.issued()},
                                {"kept", parts_->audit.receipts.counters().kept},
                                {"absent", parts_->audit.receipts.counters().absent},
                                {"bad", parts_->audit.receipts.counters().bad},
                                {"unchecked", parts_->audit.receipts.counters().unchecked}}},
      {"audits", json::object{{"looks", parts_->audit.watch.counters().looks},
                              {"amiss", parts_->audit.watch.counters().amiss},
                              {"made", parts_->audit.watch.counters().audits},
                              {"offenders", parts_->audit.offences.offenders()},
                              {"found", parts_->audit.offences.counters().found},
                              {"told", parts_->audit.offences.counters().told},
                              {"refused", parts_->audit.offences.counters().refused},
                              {"accused", parts_->audit.offences.counters().accused}}},
      {"transferred", parts_->handover.transfer.fetched()},
      {"reconciled", json::object{{"rounds", parts_->handover.anti_entropy.counters().rounds},
                                  {"questions", parts_->handover.anti_entropy.counters().questions},
                                  {"posts", parts_->handover.anti_entropy.counters().entries}}},
      {"disputes", json::object{{"open", parts_->storage.disputes.open()},
                                {"raised", parts_->storage.disputes.counters().raised},
                                {"upheld", parts_->storage.disputes.counters().upheld},
                                {"corrected", parts_->storage.disputes.counters().corrected},
                                {"doubted", parts_->relay.doubts.waiting()},
                                {"doubtful_nodes", parts_->relay.origins.standing().doubtful()}}},
      {"budget", parts_->speech.budget.status()},
      {"idle", is_idle()}};
  if (parts_->relay.announcer.is_reading()) status["reading_feed"] = parts_->relay.announcer.reading();
  if (std::optional<json::object> moved = parts_->instances.moving.status())
    status["moved"] = std::move(*moved);
  if (const std::optional<Instant> counted = parts_->storage.retention.state().at) {
    const Duration ago = parts_->environment.clock.now() - *counted;
    status["retention"].get_object()["counted_seconds_ago"] =
        std::chrono::floor<std::chrono::seconds>(ago).count();
  }
  add_health(status);
  return status;
}

void Node::add_health(json::object& status) const {
  const Health& health = parts_->health;
  const json::object readiness = health.doctor.readiness();
  status.insert(readiness.begin(), readiness.end());
  if (const std::optional<WallTime> oldest = parts_->instances.reports.oldest())
    status["reports_oldest"] = std::chrono::floor<std::chrono::seconds>(*oldest).time_since_epoch().count();
  status["restart_for"] = parts_->admin.restart_for;
  status["looked"] = health.doctor.has_looked();
  status["problems"] = health::to_json(health.doctor.problems()).at("checks");
  status["uptime_seconds"] =
      std::chrono::floor<std::chrono::seconds>(parts_->environment.clock.now() - health.started).count();
  if (parts_->environment.machine == nullptr) return;
  if (const std::optional<WallTime> until = parts_->environment.machine->certificate_until())
    status["certificate_until"] = std::chrono::floor<std::chrono::seconds>(*until).time_since_epoch().count();
  if (const std::optional<WallTime> late = parts_->environment.machine->certificate_late_from())
    status["certificate_late_from"] =
        std::chrono::floor<std::chrono::seconds>(*late).time_since_epoch().count();
  if (std::optional<json::array> fronts = parts_->environment.machine->fronts())
    status["fronts"] = *std::move(fronts);
  json::object& refused = status.at("inbox").as_object().at("refused").as_object();
  for (const auto& [reason, times] : parts_->environment.machine->inbox_refused_by_fronts())
    refused[reason] = json::get_int(refused, reason).value_or(0) + times;
  if (const std::optional<health::Disk> disk = parts_->environment.machine->disk())
    status["disk"] = json::object{{"size", disk->size}, {"free", disk->free}, {"used", disk->used}};
  if (std::optional<json::object> forecast = health.growth.status())
    status["forecast"] = std::move(*forecast);
}

}  // namespace tagring::node
