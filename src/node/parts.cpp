#include "node/parts.hpp"

#include "node/part_options.hpp"

namespace tagring::node {
namespace {

posts::Site api_site(const federation::Identity& identity) { return {identity.origin()}; }

}  // namespace

Speech::Speech(const config::Config& config, crypto::PrivateKey key, const Environment& world)
    : runtime{world.clock, world.executor, world.workers, world.log, Rng(world.seed)},
      own_budget(config.budgets, world.clock),
      budget(world.budget == nullptr ? own_budget : *world.budget),
      identity(config.origin(), std::move(key), config.contact, config.moved_from),
      followers(&budget),
      client(identity, world.http, runtime, world.couriers),
      keys(budget, client, runtime),
      authenticator(signature_policy(identity), world.ahead, keys, runtime) {
  budget.set_own(own_hosts(config));
}

Rings::Rings(const config::Config& config, std::uint64_t incarnation, const Environment& world,
             Wiring& wiring, const Speech& speech)
    : service(ring_options(config, incarnation, world), world.http, wiring, speech.runtime),
      relays(config.relay_replicas, world.clock, [&wiring](const Tag& tag) { wiring.more_relays(tag); }),
      storage(config.storage_replicas, world.clock),
      loads({config.relay_replicas, storage.copies()}, world.stores.history, world.clock),
      balancer(balancer_options(config), saved_places(config, world), world.save_places, service, loads,
               speech.runtime) {}

RelayRole::RelayRole(const config::Config& config, const Environment& world, Wiring& wiring, Speech& speech,
                     Rings& rings)
    : places(rings.service, rings.relays, speech.identity.origin(), speech.budget),
      owners({queue_options(config, world.bounds)}, world.stores.relay,
             {rings.service, rings.relays, rings.storage}, speech.client, wiring, speech.runtime),
      partials({config.followers_sync, {}}, speech.followers, speech.identity, speech.authenticator, wiring,
               speech.runtime),
      sender(speech.followers, partials, speech.client, wiring, speech.runtime),
      announcer(queue_options(config, world.bounds), world.stores.relay, speech.followers, speech.blocks,
                sender, speech.runtime),
      calls(config.network, places, speech.client, speech.authenticator, world.clock),
      node_actors(speech.budget, speech.client, speech.runtime),
      lists(world.stores.relay, speech.followers, places, speech.identity, node_actors, world.clock),
      redundancy({.capacity = static_cast<double>(config.deliveries_per_second),
                  .cooldown = std::chrono::seconds(config.cooldown_seconds)},
                 places, calls, lists, announcer, speech.runtime),
      catch_up(speech.client, wiring),
      subscriptions({config.stabilise * 6}, world.stores.relay, places, speech.client, catch_up,
                    speech.runtime),
      followers(speech.budget, world.stores.relay, speech.followers, subscriptions, sender, speech.runtime),
      origins(speech.budget, speech.client, speech.runtime),
      checker({.relays = config.relay_replicas}, speech.identity, speech.blocks, origins, speech.runtime),
      doubts(checker, speech.runtime, world.bounds.doubts),
      feed(world.stores.relay, owners, announcer, wiring),
      owner(rings.service, redundancy, rings.relays, rings.storage, checker, feed),
      subscriber(subscriptions, redundancy, owner, checker, doubts, feed) {}

StorageRole::StorageRole(const config::Config& config, const Environment& world, Wiring& wiring,
                         Speech& speech, Rings& rings, RelayRole& relay)
    : disputes(world.stores.history, relay.origins, speech.runtime, world.bounds.disputes),
      kept(disputes, rings.storage, rings.service, speech.runtime, world.bounds.moved_rows),
      calls(rings.storage, rings.service, speech.client, speech.budget, world.clock),
      redundancy(storage_options(config, world.stores.history), kept, calls, speech.authenticator, wiring,
                 speech.runtime),
      owner(world.stores.history, kept, redundancy, disputes, relay.redundancy, relay.checker),
      retention(retention_options(config, world), world.stores.history, speech.runtime),
      history(config.relay_replicas, rings.service, kept, relay.origins, wiring, world.clock) {}

Auditing::Auditing(const Environment& world, Wiring& wiring, Speech& speech, Rings& rings, RelayRole& relay,
                   StorageRole& storage)
    : notary(rings.service.network(), speech.identity, storage.kept.signed_time(), speech.runtime.workers),
      issuer(world.stores.history, storage.kept, notary),
      receipts({}, world.stores.receipts, storage.kept, notary, speech.keys, speech.runtime),
      heads(world.stores.history, storage.kept, notary, speech.budget, world.workers,
            [&wiring](const storage::HistoryEntry& entry) { wiring.taken_down(entry); }),
      gatherer(receipts, world.stores.relay, storage.history, notary, world.http, world.clock),
      questions(rings.storage, speech.keys, rings.service, notary, world.clock),
      judge(rings.storage, world.stores.relay, receipts, world.http, world.clock),
      questioning(questions, judge, storage.history, rings.storage),
      concerned(storage.history, rings.service, notary, world.http, speech.budget, speech.runtime),
      offences(world.stores.receipts, questions, concerned, relay.origins.standing(), notary, speech.runtime),
      audit(gatherer, questioning, judge, offences, world.stores.receipts, world.clock),
      samples(world.stores.receipts, storage.history, rings.storage, speech.runtime),
      watch(samples, storage.history, questions, judge, audit, speech.runtime) {}

Handover::Handover(const config::Config& config, const Environment& world, Speech& speech, Rings& rings,
                   RelayRole& relay, StorageRole& storage)
    : reads(world.clock),
      reassign(world.stores.relay, storage.disputes, relay.owners,
               {{{Ring::kRelay, config.relay_replicas}, {Ring::kStorage, storage.kept.copies()}},
                world.owed.value_or(""),
                world.save_owed,
                world.bounds.owed_rows,
                host_of(config.origin()),
                [&relay] { return relay.announcer.handed_from(); }},
               reads, speech.runtime),
      followers(world.stores.relay, relay.lists, rings.service, config.relay_replicas,
                world.bounds.handed_page),
      feed(world.stores.relay, relay.feed, relay.doubts, config.relay_replicas, world.bounds.handed_page),
      sets(storage.kept, world.bounds.handed_page),
      history(storage.kept, storage.disputes, reads, world.bounds.handed_page),
      partitions(world.stores.history, storage.kept, world.bounds.handed_page),
      hours(world.stores.history, storage.kept.copies(), world.bounds.compared),
      leaving_relay(rings.service, Ring::kRelay),
      leaving_storage(rings.service, Ring::kStorage),
      transfer({.network = config.network,
                .relay_replicas = config.relay_replicas,
                .storage_replicas = storage.kept.copies(),
                .page_size = world.bounds.handed_page},
               rings.service, {followers, feed, sets, history}, storage.disputes, speech.client,
               speech.runtime),
      answers({config.network, config.ids}, rings.service, speech.authenticator,
              {&followers, &feed, &sets, &history, &partitions, &hours, &leaving_relay, &leaving_storage}),
      missed(world.stores.relay, speech.followers, speech.authenticator, world.clock,
             world.bounds.missed_page),
      anti_entropy({config.reconcile, world.bounds.compared}, rings.service, storage.kept, storage.disputes,
                   transfer, speech.runtime) {}

InstanceRole::InstanceRole(const config::Config& config, const Environment& world, Wiring& wiring,
                           Speech& speech, RelayRole& relay, StorageRole& storage)
    : activities(speech.budget, world.stores.letters, speech.client, speech.runtime),
      instances(instance_options(config, speech.budget), world.stores.instances, relay.followers, activities,
                speech.identity, speech.runtime),
      moderation(moderation_options(config, speech.budget), world.stores.blocks, speech.blocks,
                 relay.followers, instances, world.clock),
      moving({world.move, [&wiring] { return wiring.leave(); }}, speech.identity, instances, relay.followers,
             activities, speech.runtime),
      copies(activities, speech.client, relay.announcer, instances, speech.blocks, speech.runtime),
      consents({config.archive_all}, moderation, relay.owners, copies, speech.client, speech.runtime),
      publisher(instances, moderation, consents, relay.owners, copies, speech.runtime),
      fetched(publisher, consents, world.stores.relay, speech.blocks, speech.client, world.clock),
      put_off(publisher, fetched, moderation, world.stores.relay, wiring, speech.runtime),
      outboxes(instances, fetched, world.stores.relay, speech.client, speech.runtime),
      sync({config.followers_sync,
            config.followers_require_coverage,
            std::chrono::minutes(config.followers_grace_minutes),
            {}},
           relay.subscriptions, instances, speech.client, wiring, speech.runtime),
      replay_pages(storage.history, world.stores.replays),
      replay_sender(instances, speech.blocks, world.stores.relay, speech.client, wiring, world.clock),
      day_authors(world.clock),
      replay_places(day_authors, replay_sender, world.clock),
      replayer({std::chrono::days(config.replay_max_age_days), config.replay_max_posts}, world.stores.replays,
               replay_pages, replay_sender, replay_places, speech.runtime),
      tag_sources(tag_options(config, world), world.stores.instances, instances, speech.blocks, world.http,
                  speech.runtime),
      reports(speech.budget, world.stores.reports, activities, speech.client, speech.runtime) {}

FaspRole::FaspRole(const config::Config& config, const Environment& world, Speech& speech, RelayRole& relay,
                   StorageRole& storage, InstanceRole& instances)
    : servers(signature_policy(speech.identity), world.stores.fasp, speech.blocks, speech.client, world.http,
              speech.runtime),
      sharing(servers, world.stores.fasp, instances.fetched, instances.instances, speech.blocks,
              speech.runtime),
      history(storage.history, speech.blocks, world.clock),
      hashtags(config.tags_per_instance, servers, relay.followers, history, instances.instances,
               speech.blocks),
      fasp(fasp_provider(config), servers, sharing, hashtags, speech.blocks, world.log) {}

ActorRole::ActorRole(Speech& speech, Rings& rings, RelayRole& relay, StorageRole& storage, Auditing& audit,
                     InstanceRole& instances)
    : tag_follows(relay.followers, relay.owner, relay.redundancy, speech.blocks, instances.activities,
                  speech.identity),
      follows(instances.instances, tag_follows, instances.moderation, relay.announcer, speech.identity,
              speech.runtime),
      announced(speech.identity, relay.followers, speech.blocks, speech.runtime.clock),
      posts(instances.publisher, instances.fetched, instances.instances, instances.reports, announced),
      batches(relay.owner, relay.redundancy, storage.owner, storage.kept, audit.issuer),
      events(batches, relay.subscriber, rings.relays, speech.budget, speech.identity, speech.runtime.clock),
      inbox(speech.authenticator, posts, follows, events, instances.sync, speech.runtime),
      outbox(speech.identity, storage.history, announced, speech.budget, speech.runtime.clock),
      documents(speech.identity, rings.service, outbox, relay.followers, speech.blocks, speech.runtime),
      resolver(speech.identity, storage.history, speech.blocks, speech.budget) {}

Reading::Reading(const Environment& world, Speech& speech, RelayRole& relay, StorageRole& storage,
                 InstanceRole& instances)
    : posts({.may_ask_more =
                 [&budget = speech.budget](const std::string& host) {
                   return budget.take(budget::Resource::kReaderHosts, budget.who(host)) == Duration::zero();
                 }},
            speech.client, api_site(speech.identity), speech.runtime),
      timeline(
          {.is_local =
               [&instances](const std::string& author) { return instances.instances.may_publish(author); }},
          storage.history, posts, world.clock),
      trends({}, world.clock),
      streams({.is_shown = [&storage](const auto& entry) { return storage.history.is_shown(entry); }}, posts,
              relay.subscriptions, speech.blocks, speech.budget, speech.runtime),
      timeline_api(api_site(speech.identity), timeline, speech.blocks, world.clock,
                   [&identity = speech.identity] { return identity.moved_to; }),
      tag_api(api_site(speech.identity), storage.history, trends, speech.blocks, speech.runtime),
      search_api(api_site(speech.identity), speech.budget, tag_api, posts, storage.history, speech.blocks),
      instance_api({.email = speech.identity.contact,
                    .domains = [&instances] { return instances.instances.hosts().size(); }},
                   api_site(speech.identity), world.stores.history),
      client_api({api_site(speech.identity), {&timeline_api, &tag_api, &search_api, &streams, &instance_api}},
                 speech.budget, world.clock),
      site(
          {speech.identity.authority(), speech.identity.origin(), speech.identity.contact,
           [&identity = speech.identity] { return identity.moved_to; }},
          [this](HttpRequest request) { return client_api.answer(std::move(request)); }, world.http,
          world.clock, speech.budget) {}

Health::Health(Parts& parts)
    : started(parts.environment.clock.now()),
      growth({parts.config.postgres.empty() ? parts.environment.machine : nullptr,
              [&storage = parts.storage] { return storage.retention.state().bytes; },
              parts.config.room_for_history(),
              [&storage = parts.storage] { return storage.retention.state().database; }},
             parts.environment.sizes, parts.speech.runtime),
      seen(parts.environment.seen, parts.speech.runtime),
      reach(parts.config.address, parts.speech.client, parts.speech.authenticator, parts.environment.http,
            parts.speech.budget, parts.speech.runtime),
      doctor({parts.config, parts.rings.service, parts.instances.instances, parts.instances.moving,
              parts.speech.blocks, parts.relay.owners, parts.relay.announcer, growth, seen},
             parts.environment.machine, reach, parts.speech.runtime),
      control(doctor, parts.environment.machine) {}

Administration::Administration(admin::NodeControl::Actions actions, Parts& parts)
    : logins(parts.environment.clock),
      log(parts.environment.stores.changes, parts.environment.clock, parts.environment.log),
      node(actions, logins, parts.speech.client, parts.rings.service, parts.instances.moving),
      queries(parts.rings.service, parts.storage.history, parts.environment.stores.relay),
      follows(parts.relay.subscriptions, parts.speech.followers, parts.relay.partials, parts.instances.sync,
              parts.environment.stores.relay, parts.environment.clock),
      instances(parts.instances.instances, parts.instances.publisher, parts.instances.tag_sources,
                parts.speech.blocks, parts.relay.announcer, parts.speech.followers),
      groups(parts.instances.instances, parts.instances.consents, parts.speech.blocks, parts.speech.identity),
      replays(parts.instances.replayer),
      moderation(parts.instances.moderation, parts.instances.reports),
      fasp(parts.fasp.servers, parts.fasp.sharing, parts.fasp.hashtags, parts.relay.announcer),
      audit(parts.audit.audit, parts.audit.heads, parts.audit.offences),
      overview(parts.config, parts.environment.stores.history, parts.environment.stores.receipts),
      queues(parts.relay.owners, parts.relay.announcer, parts.instances.activities, parts.fasp.sharing),
      changes(log),
      control({&node, &queries, &follows, &instances, &groups, &replays, &moderation, &fasp, &audit,
               &overview, &queues, &changes, &parts.health.control},
              log),
      gate(parts.config.admin_tokens, logins, control, parts.speech.budget),
      probes(gate, parts.health.doctor, std::move(actions.status)) {}

Parts::Parts(config::Config node_config, crypto::PrivateKey key, std::uint64_t incarnation, Environment world,
             admin::NodeControl::Actions actions, const Wire& wire)
    : config(std::move(node_config)),
      environment(world),
      wiring(wire(*this)),
      speech(config, std::move(key), world),
      rings(config, incarnation, world, *wiring, speech),
      relay(config, world, *wiring, speech, rings),
      storage(config, world, *wiring, speech, rings, relay),
      audit(world, *wiring, speech, rings, relay, storage),
      handover(config, world, speech, rings, relay, storage),
      instances(config, world, *wiring, speech, relay, storage),
      fasp(config, world, speech, relay, storage, instances),
      actors(speech, rings, relay, storage, audit, instances),
      reading(world, speech, relay, storage, instances),
      recollection(world.stores.relay, instances.instances, instances.day_authors, reading.trends,
                   actors.announced),
      health(*this),
      admin(std::move(actions), *this) {}

}  // namespace tagring::node
