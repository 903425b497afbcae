// The parts of a node, by role, and how they are put together. A group uses those above it; what a part has
// to tell one below it goes through Wiring. Only node.cpp and node_wiring.cpp use this.
#pragma once

#include "activitypub/actor_documents.hpp"
#include "activitypub/announced.hpp"
#include "activitypub/inbox.hpp"
#include "activitypub/outbox.hpp"
#include "activitypub/resolver.hpp"
#include "admin/audit_control.hpp"
#include "admin/change_control.hpp"
#include "admin/fasp_control.hpp"
#include "admin/follow_control.hpp"
#include "admin/gate.hpp"
#include "admin/instance_control.hpp"
#include "admin/moderation_control.hpp"
#include "admin/node_control.hpp"
#include "admin/overview.hpp"
#include "admin/query_control.hpp"
#include "admin/queue_control.hpp"
#include "admin/replay_control.hpp"
#include "administrators/changes.hpp"
#include "administrators/logins.hpp"
#include "audit/audit.hpp"
#include "audit/receipt_issuer.hpp"
#include "audit/watch.hpp"
#include "base/runtime.hpp"
#include "belief/doubts.hpp"
#include "belief/node_actors.hpp"
#include "belief/origin_checker.hpp"
#include "budget/day_authors.hpp"
#include "budget/manager.hpp"
#include "config/config.hpp"
#include "crypto/key.hpp"
#include "delivery/announcer.hpp"
#include "delivery/followers.hpp"
#include "delivery/owner_queue.hpp"
#include "fasp/fasp.hpp"
#include "fasp/fasp_history.hpp"
#include "federation/activity_queue.hpp"
#include "federation/authenticator.hpp"
#include "federation/blocks.hpp"
#include "federation/identity.hpp"
#include "federation/remote_keys.hpp"
#include "federation/signed_client.hpp"
#include "handover/anti_entropy.hpp"
#include "handover/missed_answers.hpp"
#include "handover/reassign_queue.hpp"
#include "handover/transfer.hpp"
#include "handover/transfer_answers.hpp"
#include "health/doctor.hpp"
#include "health/growth.hpp"
#include "health/health_control.hpp"
#include "health/probes.hpp"
#include "health/reach.hpp"
#include "instances/follower_sync.hpp"
#include "instances/instances.hpp"
#include "instances/moderation.hpp"
#include "instances/moving.hpp"
#include "instances/tag_sources.hpp"
#include "mastodon_api/client_api.hpp"
#include "mastodon_api/instance.hpp"
#include "mastodon_api/search_api.hpp"
#include "mastodon_api/streams.hpp"
#include "mastodon_api/tag_api.hpp"
#include "mastodon_api/timeline.hpp"
#include "mastodon_api/timeline_api.hpp"
#include "mastodon_api/trends.hpp"
#include "node/environment.hpp"
#include "node/recollection.hpp"
#include "node/wiring.hpp"
#include "overlay/balancer.hpp"
#include "overlay/loads.hpp"
#include "overlay/ring_service.hpp"
#include "posts/post_cache.hpp"
#include "publisher/consents.hpp"
#include "publisher/fetched_posts.hpp"
#include "publisher/outboxes.hpp"
#include "publisher/publisher.hpp"
#include "publisher/put_off.hpp"
#include "publisher/signed_copies.hpp"
#include "redundancy/relay_hints.hpp"
#include "redundancy/storage_hints.hpp"
#include "relay/relay_redundancy.hpp"
#include "replay/replay.hpp"
#include "reports/reports.hpp"
#include "storage/disputes.hpp"
#include "storage/history_service.hpp"
#include "storage/retention.hpp"
#include "storage/storage_owner.hpp"
#include "storage/storage_redundancy.hpp"
#include "subscriber/catch_up.hpp"
#include "subscriber/subscriber.hpp"
#include "web/site.hpp"

namespace tagring::node {

// Who the node is, and how it speaks to others.
struct Speech {
  Speech(const config::Config& config, crypto::PrivateKey key, const Environment& world);

  Runtime runtime;
  budget::Manager own_budget;  // if it is not the world's
  budget::Manager& budget;
  federation::Identity identity;
  delivery::Followers followers;
  federation::Blocks blocks;
  federation::SignedClient client;
  federation::RemoteKeys keys;
  federation::Authenticator authenticator;
};

// Where it stands on the rings, and what it knows of how many owners hashtags have.
struct Rings {
  Rings(const config::Config& config, std::uint64_t incarnation, const Environment& world, Wiring& wiring,
        const Speech& speech);

  overlay::RingService service;
  redundancy::RelayHints relays;
  redundancy::StorageHints storage;
  overlay::Loads loads;
  overlay::Balancer balancer;
};

struct RelayRole {
  RelayRole(const config::Config& config, const Environment& world, Wiring& wiring, Speech& speech,
            Rings& rings);

  relay::RelayPlaces places;
  delivery::OwnerQueue owners;
  delivery::PartialCollections partials;
  delivery::AnnouncementSender sender;
  delivery::Announcer announcer;
  relay::RelayCalls calls;
  belief::NodeActors node_actors;
  relay::FollowerLists lists;
  relay::RelayRedundancy redundancy;
  subscriber::CatchUp catch_up;
  subscriber::Subscriptions subscriptions;
  subscriber::HashtagFollowers followers;
  belief::OriginChecker origins;
  belief::PostChecker checker;
  belief::Doubts doubts;
  delivery::Feed feed;
  relay::RelayOwner owner;
  subscriber::Subscriber subscriber;
};

struct StorageRole {
  StorageRole(const config::Config& config, const Environment& world, Wiring& wiring, Speech& speech,
              Rings& rings, RelayRole& relay);

  storage::Disputes disputes;
  storage::KeptPartitions kept;
  storage::StorageCalls calls;
  storage::StorageRedundancy redundancy;
  storage::StorageOwner owner;
  storage::Retention retention;
  storage::HistoryService history;
};

// What owners sign, and whether they keep to it.
struct Auditing {
  Auditing(const Environment& world, Wiring& wiring, Speech& speech, Rings& rings, RelayRole& relay,
           StorageRole& storage);

  audit::Notary notary;
  audit::ReceiptIssuer issuer;
  audit::Receipts receipts;
  audit::SignedTreeHeads heads;
  audit::ReceiptGatherer gatherer;
  audit::OwnerQuestions questions;
  audit::Judge judge;
  audit::Questioning questioning;
  audit::Concerned concerned;
  audit::Offences offences;
  audit::Audit audit;
  audit::Samples samples;
  audit::Watch watch;
};

// What moves when owners change.
struct Handover {
  Handover(const config::Config& config, const Environment& world, Speech& speech, Rings& rings,
           RelayRole& relay, StorageRole& storage);

  handover::ReadSegments reads;
  handover::ReassignQueue reassign;
  handover::FollowersKind followers;
  handover::FeedKind feed;
  handover::SetsKind sets;
  handover::HistoryKind history;
  handover::PartitionKind partitions;
  handover::HoursKind hours;
  handover::LeavingKind leaving_relay;
  handover::LeavingKind leaving_storage;
  handover::Transfer transfer;
  handover::TransferAnswers answers;
  handover::MissedAnswers missed;
  handover::AntiEntropy anti_entropy;
};

// The publisher role, and what instances get.
struct InstanceRole {
  InstanceRole(const config::Config& config, const Environment& world, Wiring& wiring, Speech& speech,
               RelayRole& relay, StorageRole& storage);

  federation::ActivityQueue activities;
  instances::Instances instances;
  instances::Moderation moderation;
  instances::Moving moving;
  publisher::SignedCopies copies;
  publisher::Consents consents;
  publisher::Publisher publisher;
  publisher::FetchedPosts fetched;
  publisher::PutOff put_off;
  publisher::Outboxes outboxes;
  instances::FollowerSync sync;
  replay::ReplayPages replay_pages;
  replay::ReplaySender replay_sender;
  budget::DayAuthors day_authors;
  replay::ReplayPlaces replay_places;
  replay::Replayer replayer;
  instances::TagSources tag_sources;
  reports::Reports reports;
};

struct FaspRole {
  FaspRole(const config::Config& config, const Environment& world, Speech& speech, RelayRole& relay,
           StorageRole& storage, InstanceRole& instances);

  fasp::FaspServers servers;
  fasp::FaspSharing sharing;
  fasp::FaspHistory history;
  fasp::FaspHashtags hashtags;
  fasp::Fasp fasp;
};

// The node's actors, as other servers see them.
struct ActorRole {
  ActorRole(Speech& speech, Rings& rings, RelayRole& relay, StorageRole& storage, Auditing& audit,
            InstanceRole& instances);

  activitypub::TagFollows tag_follows;
  activitypub::Follows follows;
  activitypub::Announced announced;
  activitypub::PostActivities posts;
  activitypub::OwnerBatches batches;
  activitypub::TagEvents events;
  activitypub::Inbox inbox;
  activitypub::Outbox outbox;
  activitypub::ActorDocuments documents;
  activitypub::Resolver resolver;
};

// What people and programs read.
struct Reading {
  Reading(const Environment& world, Speech& speech, RelayRole& relay, StorageRole& storage,
          InstanceRole& instances);

  posts::PostCache posts;
  mastodon_api::Timeline timeline;
  mastodon_api::Trends trends;
  mastodon_api::Streams streams;
  mastodon_api::TimelineApi timeline_api;
  mastodon_api::TagApi tag_api;
  mastodon_api::SearchApi search_api;
  mastodon_api::InstanceApi instance_api;
  mastodon_api::ClientApi client_api;
  web::Site site;
};

struct Parts;

// How the node is, for administrators and for machines.
struct Health {
  // `parts` has the other groups already.
  explicit Health(Parts& parts);

  Instant started;
  health::Growth growth;
  health::SeenPosts seen;
  health::Reach reach;
  health::Doctor doctor;
  health::HealthControl control;
};

// What the administrator asks, of all of the others.
struct Administration {
  // `parts` has the other groups already.
  Administration(admin::NodeControl::Actions actions, Parts& parts);

  administrators::Logins logins;
  administrators::Changes log;
  admin::NodeControl node;
  admin::QueryControl queries;
  admin::FollowControl follows;
  admin::InstanceControl instances;
  admin::GroupControl groups;
  admin::ReplayControl replays;
  admin::ModerationControl moderation;
  admin::FaspControl fasp;
  admin::AuditControl audit;
  admin::Overview overview;
  admin::QueueControl queues;
  admin::ChangeControl changes;
  admin::Control control;
  admin::Gate gate;
  health::Probes probes;
  json::array restart_for;  // settings that the last reload found changed, and that count after a restart
};

struct Parts {
  // `wire` makes the wiring of these parts, which are being made: it is not used before they are.
  using Wire = std::function<std::unique_ptr<Wiring>(Parts& parts)>;
  Parts(config::Config node_config, crypto::PrivateKey key, std::uint64_t incarnation, Environment world,
        admin::NodeControl::Actions actions, const Wire& wire);

  config::Config config;
  Environment environment;
  std::unique_ptr<Wiring> wiring;
  Speech speech;
  Rings rings;
  RelayRole relay;
  StorageRole storage;
  Auditing audit;
  Handover handover;
  InstanceRole instances;
  FaspRole fasp;
  ActorRole actors;
  Reading reading;
  Recollection recollection;
  Health health;
  Administration admin;
};

}  // namespace tagring::node
