#include "node/node.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "crypto/hash.hpp"
#include "node/anti_entropy.hpp"
#include "node/audit.hpp"
#include "node/balancer.hpp"
#include "node/catch_up.hpp"
#include "node/client_api.hpp"
#include "node/control.hpp"
#include "node/fasp.hpp"
#include "node/hand_out.hpp"
#include "node/pages.hpp"
#include "node/part_options.hpp"
#include "node/proxy.hpp"
#include "node/results.hpp"
#include "node/ring_status.hpp"
#include "node/version.hpp"
#include "web/site.hpp"

namespace tagring::node {
namespace {

constexpr std::string_view kAdminPath = "/admin/";

}  // namespace

struct Node::Parts {
  Parts(Config node_config, crypto::PrivateKey key, std::uint64_t incarnation, Environment world)
      : config(std::move(node_config)),
        environment(world),
        rng(world.seed),
        identity(config.origin(), std::move(key)),
        courier(identity, world.http, world.clock, world.workers),
        actors(courier, world.clock, world.workers),
        authenticator(signature_policy(identity), actors, world.clock, world.workers),
        rings(ring_options(config, incarnation, world), world.http, world.clock, world.executor,
              rng.fork("rings"), world.log),
        counts(config.relay_replicas, world.clock),
        stores(storage_options(config), world.stores.history, rings, courier, authenticator, identity,
               world.http, world.clock, world.executor, world.log),
        roles({config.relay_replicas}, world.stores.relay, world.stores.history, rings, stores, blocks,
              courier, identity, world.clock, world.log, world.executor, rng.fork("roles")),
        outbox({lane_options()}, world.stores.relay, rings, counts, stores, courier, identity, world.clock,
               world.executor, rng.fork("outbox"),
               [this](Ring ring, std::vector<relay::TagEvent> events) {
                 return apply_here(ring, std::move(events));
               }),
        hand_out(world.stores.relay, world.stores.history, outbox, config.relay_replicas, world.clock,
                 world.executor),
        partials({config.followers_sync, {}}, followers, identity, authenticator, world.clock, world.workers),
        announcer(lane_options(), world.stores.relay, followers, partials, courier, blocks, identity,
                  world.clock, world.executor, rng.fork("announcer")),
        sets({.network = config.network,
              .capacity = static_cast<double>(config.deliveries_per_second),
              .cooldown = std::chrono::seconds(config.cooldown_seconds)},
             counts, world.stores.relay, followers, rings, announcer, courier, actors, authenticator,
             identity, world.http, world.clock, world.executor, world.log),
        catch_up(world.stores.relay, followers, courier, authenticator, roles, world.clock),
        subscriber({config.stabilise * 6}, world.stores.relay, rings, counts, courier, catch_up, identity,
                   world.clock, world.executor, rng.fork("subscriber")),
        hashtag_followers(world.stores.relay, followers, subscriber, world.clock, world.executor),
        mailbox(world.stores.relay, courier, world.clock, world.executor, rng.fork("mailbox")),
        instances({config.instances, config.open, config.people, config.tags_per_instance},
                  world.stores.instances, hashtag_followers, mailbox, identity, world.clock, world.log),
        moderation({config.hashtags_of_a_post, config.posts_an_hour}, world.stores.blocks, blocks,
                   hashtag_followers, instances, world.clock),
        publisher({config.archive_all}, instances, moderation, roles, outbox, world.stores.relay, courier,
                  world.clock, world.executor),
        sync({config.followers_sync,
              config.followers_require_coverage,
              std::chrono::minutes(config.followers_grace_minutes),
              {}},
             subscriber, instances, courier, identity, world.clock, world.workers, world.log, world.executor,
             rng.fork("followers sync")),
        notary(config.network, identity, world.clock, world.workers),
        receipts({}, world.stores.receipts, world.stores.history, stores, notary, actors, world.clock,
                 world.workers, world.log, world.executor),
        heads(world.stores.history, stores, notary, world.workers),
        inbox(authenticator, publisher, roles, hashtag_followers, instances, blocks, sync, sets, counts,
              stores, mailbox, receipts, identity, world.clock),
        transfer({config.network, config.ids, config.relay_replicas}, world.stores.relay,
                 world.stores.history, rings, stores, courier, authenticator, followers, announcer,
                 world.clock, world.executor),
        anti_entropy({config.reconcile, {}}, world.stores.history, rings, stores, transfer, world.clock,
                     world.executor, rng.fork("anti-entropy"), world.log),
        retention(retention_options(config), world.stores.history, world.clock, world.executor, world.log),
        loads({config.relay_replicas, stores.copies()}, world.stores.history, world.clock),
        balancer(balancer_options(config), saved_places(config, world), world.save_places, rings, loads,
                 world.clock, world.executor, rng.fork("balancer"), world.log),
        history(world.stores.history, rings, stores, world.http, world.clock, config.relay_replicas),
        audit(receipts, history, stores, world.stores.relay, actors, world.http, notary,
              world.stores.receipts, world.clock),
        replayer({std::chrono::days(config.replay_max_age_days), config.replay_max_posts},
                 world.stores.replays, instances, history, courier, blocks, identity, world.clock,
                 world.executor, rng.fork("replay"), world.log),
        tag_sources(tag_options(config, world), world.stores.instances, instances, blocks, world.http,
                    world.workers, world.clock, world.executor, rng.fork("tag sources"), world.log),
        proxy(identity, history, blocks),
        fasp_servers(signature_policy(identity), world.stores.fasp, blocks, identity, world.http, world.clock,
                     world.workers),
        fasp_sharing(fasp_servers, world.stores.fasp, publisher, instances, blocks, world.clock,
                     world.executor, rng.fork("fasp sharing"), world.log),
        fasp_hashtags(config.tags_per_instance, fasp_servers, hashtag_followers, history, instances, blocks,
                      world.clock),
        fasp(fasp_provider(config), fasp_servers, fasp_sharing, fasp_hashtags, blocks, world.log),
        fasp_control(fasp_servers, fasp_sharing, fasp_hashtags),
        posts({}, courier, home::Site{identity.origin()}, world.clock, world.workers, world.executor),
        timeline({}, history, posts, world.clock),
        trends({}, world.clock),
        streams({}, posts, subscriber, blocks, world.clock, world.executor),
        oauth({}, config.admin_token, home::Site{identity.origin()}, rng.fork("oauth").next(), world.clock),
        client_api({}, identity, history, world.stores.history, posts, timeline, trends, streams, oauth,
                   subscriber, blocks, world.clock),
        pages(identity, rings, history, followers, blocks),
        site(
            {identity.authority(), identity.origin()},
            [this](HttpRequest request) { return client_api.answer(std::move(request)); }, world.http,
            world.clock),
        overview(config, world.stores.relay, world.stores.history, world.stores.receipts, followers,
                 subscriber, outbox, announcer, mailbox, fasp_sharing, world.clock),
        logins(world.clock),
        control(rings, history, subscriber, instances, moderation, sync, tag_sources, replayer, fasp_control,
                audit, heads, overview, logins, world.stores.relay, identity, world.log),
        tasks(world.executor) {}

  Task<Result<std::vector<Refusal>>> apply_here(Ring ring, std::vector<relay::TagEvent> events) {
    return ring == Ring::kRelay ? relay_here(std::move(events))
                                : roles.archive(std::move(events), identity.origin(), {});
  }
  Task<Result<std::vector<Refusal>>> relay_here(std::vector<relay::TagEvent> events);
  void connect();
  Task<Result<void>> check_partials();
  Task<Result<void>> load();
  Task<HttpResponse> administer(HttpRequest request);

  Config config;
  Environment environment;
  Rng rng;
  Identity identity;
  relay::Followers followers;
  relay::Blocks blocks;
  Courier courier;
  Actors actors;
  Authenticator authenticator;
  RingService rings;
  RelayCounts counts;
  StorageSets stores;
  Roles roles;
  Outbox outbox;
  HandOut hand_out;
  PartialCollections partials;
  Announcer announcer;
  RelaySets sets;
  CatchUp catch_up;
  Subscriber subscriber;
  HashtagFollowers hashtag_followers;
  Mailbox mailbox;
  Instances instances;
  Moderation moderation;
  Publisher publisher;
  FollowerSync sync;
  Notary notary;
  Receipts receipts;
  Heads heads;
  Inbox inbox;
  Transfer transfer;
  AntiEntropy anti_entropy;
  Retention retention;
  Loads loads;
  Balancer balancer;
  HistoryService history;
  Audit audit;
  Replayer replayer;
  TagSources tag_sources;
  Proxy proxy;
  FaspServers fasp_servers;
  FaspSharing fasp_sharing;
  FaspHashtags fasp_hashtags;
  Fasp fasp;
  FaspControl fasp_control;
  Posts posts;
  Timeline timeline;
  Trends trends;
  Streams streams;
  OAuth oauth;
  ClientApi client_api;
  Pages pages;
  web::Site site;
  Overview overview;
  Logins logins;
  Control control;
  TaskGroup tasks;
};

// --- wiring ------------------------------------------------------------------------------------------------

void Node::Parts::connect() {
  roles.connect(outbox, announcer, subscriber, sets);
  counts.on_more = [this](const std::string& tag) {
    if (subscriber.wants(tag)) subscriber.renew_soon();
  };
  stores.fetch_shelf = [this](std::string origin, ring::Contact requester, storage::Shelf from,
                              storage::Shelf to, std::uint64_t version) {
    return transfer.fetch_shelf(std::move(origin), std::move(requester), std::move(from), std::move(to),
                                version);
  };
  outbox.relay_claim = announcer.relay_claim = [this](const std::string& tag) { return sets.claim(tag); };
  outbox.on_answer = [this](const auto&... answered) { receipts.note(answered...); };
  history.is_shown = [this](const storage::HistoryEntry& entry) {
    return blocks.of_actor(entry.author) == nullptr && blocks.of_actor(entry.uri) == nullptr &&
           blocks.of_tag(entry.tag) == nullptr && !heads.is_taken_down(entry.tag, entry.uri);
  };
  heads.on_taken_down = [this](const storage::HistoryEntry& entry) {
    streams.note({entry.tag, relay::Op::kRemove, entry.uri, entry.author, entry.published, false});
  };
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    rings.of(ring).on_segment_change = [this, ring](ring::Vserver& vserver) {
      transfer.segment_changed(ring, vserver);
      if (ring != Ring::kRelay) return;
      hand_out.segment_changed(vserver);
      subscriber.renew_soon();
    };
    rings.of(ring).on_merged = [this, ring] { hand_out.merged(ring); };
  }
  rings.is_blocked = [this](std::string_view host) { return blocks.of_host(host) != nullptr; };
  transfer.on_handed_feed = [this](const Segment& keys) { hand_out.fetched(keys); };
  rings.take_over = [this](Ring ring, ring::Contact asked, ring::TakeOver request) {
    return transfer.take_over(ring, std::move(asked), std::move(request));
  };
  rings.load_of = [this](Ring ring, Segment segment) { return balancer.load_of(ring, segment); };
  announcer.on_relayed = [this](const std::string& tag, std::size_t octets) { loads.relayed(tag, octets); };
  balancer.on_gave_up = [this](Ring ring, const RingId& vserver, const Segment& positions) {
    if (ring == Ring::kRelay) hand_out.gave_up(vserver, positions);
  };
  partials.is_gone = [this](const std::string& tag) { return blocks.of_tag(tag) != nullptr; };
  partials.is_denied = sync.is_denied = [this](const std::string& actor) {
    return instances.is_denied(host_of(actor)) || blocks.of_actor(actor) != nullptr;
  };
  announcer.deliver_to_fasp_server = [this](std::string destination, std::string body) {
    return fasp_hashtags.deliver(std::move(destination), std::move(body));
  };
  announcer.on_entry = [this](const relay::FeedEntry& entry) {
    if (entry.event.op == relay::Op::kRemove) posts.forget(entry.event.uri);
    if (entry.event.op == relay::Op::kAdd)
      trends.note(entry.event.tag, entry.event.author, environment.clock.wall_now());
    streams.note(entry.event);
  };
  timeline.is_local = [this](const std::string& author) { return instances.may_publish(author); };
  client_api.domains = [this] { return instances.hosts().size(); };
  announcer.on_lost_follower = [this](const std::string& tag, const std::string& inbox_url) {
    hashtag_followers.lose(tag, inbox_url);
  };
}

// What Inbox does for other publishers, and Outbox with the answer.
Task<Result<std::vector<Refusal>>> Node::Parts::relay_here(std::vector<relay::TagEvent> events) {
  std::set<std::string> tags;
  for (const relay::TagEvent& event : events) tags.insert(event.tag);
  std::vector<OverloadToken> tokens = counts.tokens(tags);
  co_await sets.present(std::move(tokens));
  auto refusals = co_await roles.relay(std::move(events), identity.origin());
  if (refusals) counts.read_answer(sets.news(tags, *refusals), tags);
  co_return refusals;
}

// A digest that does not fit its followers would have every server ask for the list, again and again.
Task<Result<void>> Node::Parts::check_partials() {
  CO_TRY(const relay::Store::PartialsCheck check, co_await environment.stores.relay.check_partials());
  for (const relay::PartialKey& key : check.repaired) {
    environment.log.warn("followers_digest_repaired", {{"tag", key.collection}, {"server", key.authority}});
  }
  const std::string because = config.followers_conflict.empty() && !config.followers_sync
                                  ? "followers.sync = false"
                                  : config.followers_conflict;
  environment.log.info("followers_sync",
                       {{"on", config.followers_sync ? "yes" : "no"}, {"because", because}});
  co_return Result<void>();
}

Task<Result<void>> Node::Parts::load() {
  CO_TRY_VOID(co_await check_partials());
  CO_TRY_VOID(co_await fasp_servers.load());
  CO_TRY_VOID(co_await subscriber.load());
  CO_TRY_VOID(co_await instances.load());
  CO_TRY_VOID(co_await moderation.load());
  CO_TRY_VOID(co_await heads.load());
  CO_TRY_VOID(co_await audit.load());
  std::function<void(const relay::Follower&)> note = [this](const relay::Follower& f) {
    instances.note(f);
    fasp_hashtags.note(f);
  };
  CO_TRY_VOID(co_await hashtag_followers.load(std::move(note)));
  CO_TRY_VOID(co_await replayer.load());
  CO_TRY_VOID(co_await tag_sources.load());
  CO_TRY_VOID(co_await announcer.load());
  CO_TRY_VOID(co_await mailbox.load());
  CO_TRY_VOID(co_await stores.load());
  CO_TRY_VOID(co_await outbox.load());
  CO_TRY_VOID(co_await fasp_sharing.load());
  co_return Result<void>();
}

// The control requests, from who has the token or is logged in.
Task<HttpResponse> Node::Parts::administer(HttpRequest request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string given = request.headers.find("Authorization").value_or("");
  const std::string secret = given.starts_with(kBearer) ? given.substr(kBearer.size()) : std::string();
  // Hashes, so that the time says nothing about how much of a guess is right.
  const bool has_token =
      !config.admin_token.empty() && crypto::sha256(secret) == crypto::sha256(config.admin_token);
  if (!has_token && !logins.knows(secret)) {
    HttpResponse response = error_response(
        {ErrorCode::kDenied, "a token is needed: of `tagring login`, or node.admin_token_file"});
    response.status = 401;
    response.headers.add("WWW-Authenticate", "Bearer");
    co_return response;
  }
  request.target.erase(0, kAdminPath.size() - 1);
  co_return co_await control.answer(std::move(request));
}

// --- Node --------------------------------------------------------------------------------------------------

Node::Node(Config config, crypto::PrivateKey key, std::uint64_t incarnation, Environment environment)
    : parts_(std::make_unique<Parts>(std::move(config), std::move(key), incarnation, environment)) {
  parts_->connect();
  parts_->control.status = [this] { return status(); };
  parts_->control.leave = [this] { return leave(); };
}

Node::~Node() = default;

Task<Result<void>> Node::start() {
  CO_TRY_VOID(co_await parts_->load());
  parts_->rings.start();
  parts_->balancer.start();
  parts_->announcer.start();
  parts_->replayer.start();
  parts_->tag_sources.start();
  parts_->fasp_sharing.start();
  parts_->subscriber.start();
  parts_->streams.start();
  parts_->anti_entropy.start();
  parts_->stores.start();
  parts_->retention.start();
  co_return Result<void>();
}

Task<void> Node::stop() {
  co_await parts_->streams.stop();
  co_await parts_->anti_entropy.stop();
  co_await parts_->retention.stop();
  co_await parts_->posts.stop();
  co_await parts_->replayer.stop();
  co_await parts_->tag_sources.stop();
  co_await parts_->fasp_sharing.stop();
  co_await parts_->balancer.stop();
  co_await parts_->rings.stop();
  co_await parts_->sync.stop();
  co_await parts_->sets.stop();
  co_await parts_->stores.stop();
  co_await parts_->transfer.stop();
  co_await parts_->subscriber.stop();
  co_await parts_->hand_out.stop();
  co_await parts_->outbox.stop();
  co_await parts_->receipts.stop();
  co_await parts_->publisher.stop();
  co_await parts_->hashtag_followers.stop();
  co_await parts_->mailbox.stop();
  co_await parts_->roles.stop();
  co_await parts_->announcer.stop();
  parts_->tasks.cancel();
  co_await parts_->tasks.join();
}

Task<void> Node::leave() {
  co_await parts_->balancer.stop();
  co_await parts_->rings.leave(Ring::kRelay);
  co_await parts_->rings.leave(Ring::kStorage);
}

Task<HttpResponse> Node::answer(HttpRequest request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (path.starts_with(kAdminPath)) co_return co_await parts_->administer(std::move(request));
  if (path.starts_with("/fasp/")) co_return co_await parts_->fasp.answer(std::move(request));
  if (request.method == "POST" && path == RingService::kPath)
    co_return co_await parts_->rings.answer(std::move(request));
  if (request.method == "POST" && path == Transfer::kPath)
    co_return co_await parts_->transfer.answer(std::move(request));
  if (path == RelaySets::kPath && (request.method == "POST" || request.method == "GET"))
    co_return co_await parts_->sets.answer(std::move(request));
  if (path == StorageSets::kPath && (request.method == "POST" || request.method == "GET"))
    co_return co_await parts_->stores.answer(std::move(request));
  if (request.method == "POST" && path == CatchUp::kPath) {
    co_return co_await parts_->catch_up.answer(std::move(request));
  }
  if (ClientApi::is_path(path)) co_return co_await parts_->client_api.answer(std::move(request));
  const bool is_inbox = path == "/inbox" || (path.starts_with("/tag/") && path.ends_with("/inbox"));
  if (request.method == "POST" && is_inbox) co_return co_await parts_->inbox.answer(std::move(request));
  if (is_inbox || (request.method != "GET" && request.method != "HEAD")) {
    HttpResponse response = error_response({ErrorCode::kInvalid, "method not allowed here"});
    response.status = 405;
    co_return response;
  }
  if (PartialCollections::is_path(path)) co_return co_await parts_->partials.answer(std::move(request));
  if (path == HistoryService::kDaysPath) co_return co_await parts_->history.answer_days(std::move(request));
  if (path == Heads::kPath) co_return co_await parts_->heads.answer(std::move(request));
  if (path == Receipts::kPath) co_return co_await parts_->receipts.answer(std::move(request));
  if (path == HistoryService::kPath) co_return co_await parts_->history.answer(std::move(request));
  if (path == Proxy::kPath) co_return co_await parts_->proxy.answer(std::move(request));
  if (web::Site::is_path(path)) co_return co_await parts_->site.answer(std::move(request));
  co_return co_await parts_->pages.answer(std::move(request));
}

Task<HttpResponse> Node::control(HttpRequest request) { return parts_->control.answer(std::move(request)); }

RingService& Node::rings() { return parts_->rings; }
HistoryService& Node::history() { return parts_->history; }
Subscriber& Node::subscriber() { return parts_->subscriber; }
Roles& Node::roles() { return parts_->roles; }
Receipts& Node::receipts() { return parts_->receipts; }

bool Node::is_idle() const {
  return parts_->outbox.size() == 0 && parts_->announcer.idle() && parts_->mailbox.idle() &&
         parts_->fasp_sharing.idle();
}

json::object Node::status() const {
  const Roles::Counters& counters = parts_->roles.counters();
  const Inbox::Counters& inbox = parts_->inbox.counters();
  return {
      {"version", kVersion},
      {"origin", parts_->identity.origin()},
      {"rings", rings_status(parts_->rings, parts_->balancer)},
      {"bootstrap_failed", parts_->rings.dead_ends()},
      {"published", counters.published},
      {"relayed", counters.relayed},
      {"archived", counters.archived},
      {"received", counters.received},
      {"checked", counters.checked},
      {"inbox",
       json::object{{"accepted", inbox.accepted}, {"ignored", inbox.ignored}, {"refused", inbox.refused}}},
      {"followers", parts_->followers.size()},
      {"followers_sync", parts_->sync.counters().to_json()},
      {"wanted", parts_->subscriber.wanted().size()},
      {"subscriptions", parts_->subscriber.subscriptions()},
      {"subscriptions_settled", parts_->subscriber.is_settled()},
      {"subscription_messages", parts_->subscriber.messages()},
      {"relay_sets", parts_->sets.status()},
      {"storage_sets", parts_->stores.status()},
      {"owed", parts_->outbox.size()},
      {"announcing", parts_->announcer.waiting()},
      {"announced", parts_->announcer.delivered()},
      {"replaying", parts_->replayer.active()},
      {"fasp", json::object{{"servers", parts_->fasp_servers.all().size()},
                            {"waiting", parts_->fasp_sharing.waiting()}}},
      {"retention", json::object{{"posts", parts_->retention.state().posts},
                                 {"octets_max", parts_->retention.options().octets_max},
                                 {"keep_days", parts_->config.keep_days},
                                 {"let_go", parts_->retention.state().let_go},
                                 {"let_go_early", parts_->retention.state().too_early}}},
      {"receipts", json::object{{"issued", parts_->receipts.counters().issued},
                                {"kept", parts_->receipts.counters().kept},
                                {"absent", parts_->receipts.counters().absent},
                                {"bad", parts_->receipts.counters().bad}}},
      {"transferred", parts_->transfer.fetched()},
      {"reconciled", json::object{{"rounds", parts_->anti_entropy.counters().rounds},
                                  {"questions", parts_->anti_entropy.counters().questions},
                                  {"posts", parts_->anti_entropy.counters().entries}}},
      {"idle", is_idle()}};
}

}  // namespace tagring::node
