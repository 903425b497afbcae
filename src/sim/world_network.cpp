// Names, addresses, how messages travel and get lost; and who is there besides nodes: instances, which
// publish posts, and servers without nodes.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "base/json.hpp"
#include "fediverse/documents.hpp"
#include "hashtag/tag.hpp"
#include "http/ip.hpp"
#include "http/message.hpp"
#include "http/url.hpp"
#include "node/node.hpp"
#include "ring_sim/loop.hpp"
#include "signatures/signature.hpp"
#include "sim/endpoint.hpp"
#include "sim/world.hpp"
#include "sim/world_parts.hpp"

namespace tagring::sim {
namespace {
constexpr std::size_t kBodyMax = 1U << 20U;                       // bytes that a server reads, by default
constexpr Duration kSaysAgain = std::chrono::milliseconds(1500);  // a server what was not taken
}  // namespace

Task<Result<HttpResponse>> World::SimHttp::send(HttpCall call) {
  ++world_.messages;
  if (call.body.size() > kBodyMax) co_return fail(ErrorCode::kTooLarge, "more than a server reads");
  const std::size_t most = call.response_size_max;
  const auto name = world_.names_.find(call.url.host);
  if (name == world_.names_.end()) co_return fail(ErrorCode::kUnavailable, "no such host");
  const auto [target, target_kind] = name->second;
  // The certificate is of the host by construction; the address must be in the prefix asked for.
  const IpAddress address = world_.address_of(target, target_kind);
  if (call.required_prefix && *call.required_prefix != address.prefix64()) {
    co_return fail(ErrorCode::kDenied, "the host has no address in the claimed prefix");
  }
  auto box = std::make_shared<ring_sim::Box<Result<HttpResponse>>>();
  box->token = world_.loop.new_token();
  const Instant deadline = call.deadline;
  const bool twice = world_.faults.duplicates > 0 && world_.rng_.chance(world_.faults.duplicates);
  if (world_.breaks()) {
    reply(world_, target, number_, box, fail(ErrorCode::kUnavailable, "connection reset"));
  } else if (world_.passes(number_, target)) {
    HttpRequest request;
    request.method = call.method;
    request.target = call.url.target;
    request.headers = std::move(call.headers);
    request.headers.set("Host", call.url.authority());
    request.body = std::move(call.body);
    request.peer = world_.address_of(number_, kind_);
    if (twice) {
      auto unheard = std::make_shared<ring_sim::Box<Result<HttpResponse>>>();
      world_.loop.at(world_.loop.now() + world_.delay(), ring_sim::kWorld,
                     [world = &world_, from = number_, target, kind = target_kind, request,
                      unheard]() mutable { arrive(*world, from, target, kind, request, unheard); });
    }
    world_.loop.at(
        world_.loop.now() + world_.delay(), ring_sim::kWorld,
        [world = &world_, from = number_, target, kind = target_kind, request = std::move(request),
         box]() mutable { arrive(*world, from, target, kind, std::move(request), std::move(box)); });
  }
  co_await world_.loop.wait(owner_, box->token, deadline);
  if (!box->value) co_return fail(ErrorCode::kTimedOut, "no answer");
  if (*box->value && (*box->value)->body.size() > most)
    co_return fail(ErrorCode::kTooLarge, "the answer is larger than was wanted");
  co_return std::move(*box->value);
}

void World::SimHttp::arrive(World& world, std::size_t from, std::size_t target, HostKind kind,
                            HttpRequest request, Answer box) {
  if (kind == HostKind::kSubscriber) {
    return reply(world, target, from, box, world.endpoints_.at(target).answer(request, world.loop.now()));
  }
  if (kind == HostKind::kPeople)
    return reply(world, target, from, box, world.people_.at(target).answer(request));
  if (kind == HostKind::kBystander) {
    ++world.asked_of_bystander_[from];
    HttpResponse response;
    response.status = 404;
    return reply(world, target, from, box, std::move(response));
  }
  if (kind == HostKind::kInstance) {
    if (world.origin(target).gone)
      return reply(world, target, from, box, fail(ErrorCode::kUnavailable, "connection refused"));
    world.loop.spawn(ring_sim::kWorld,
                     serve(&world, target, from, world.origin_answer(target, std::move(request)), box));
    return;
  }
  const auto host = world.hosts_.find(target);
  if (host == world.hosts_.end() || !host->second->run || !host->second->run->node) {
    return reply(world, target, from, box, fail(ErrorCode::kUnavailable, "connection refused"));
  }
  if (world.options_.onlooker) world.options_.onlooker(target, request);
  if (world.options_.lie) {
    if (auto lie = world.options_.lie(target, request))
      return reply(world, target, from, box, std::move(*lie));
  }
  Host::Run& run = *host->second->run;
  world.loop.spawn(run.owner, serve(&world, target, from, run.node->answer(std::move(request)), box));
}

Task<void> World::SimHttp::serve(World* world, std::size_t host, std::size_t from, Task<HttpResponse> answer,
                                 Answer box) {
  HttpResponse response = co_await std::move(answer);
  reply(*world, host, from, std::move(box), std::move(response));
}

void World::SimHttp::reply(World& world, std::size_t from, std::size_t to, Answer box,
                           Result<HttpResponse> result) {
  if (!world.passes(from, to)) return;
  if (result && world.breaks()) result = fail(ErrorCode::kUnavailable, "connection reset");
  world.loop.at(world.loop.now() + world.delay(), ring_sim::kWorld,
                [&world, box, result = std::move(result)]() mutable {
                  if (box->value) return;
                  box->value.emplace(std::move(result));
                  world.loop.complete(box->token);
                });
}

IpAddress World::address_of(std::size_t i, HostKind kind) const {
  const std::size_t network = kind == HostKind::kNode ? std::min(i, options_.first_of_hoster) : i;
  IpAddress address;
  address.bytes = {0x20, 0x01, 0x0D, 0xB8};
  address.bytes[4] = static_cast<std::uint8_t>(static_cast<int>(kind) + 1);
  address.bytes[6] = static_cast<std::uint8_t>(network >> 8U);
  address.bytes[7] = static_cast<std::uint8_t>(network);
  address.bytes[13] = static_cast<std::uint8_t>((i - network) >> 8U);
  address.bytes[14] = static_cast<std::uint8_t>(i - network);
  address.bytes[15] = 1;
  return address;
}

Duration World::delay() {
  const auto spread = static_cast<std::uint64_t>((faults.delay_max - faults.delay_min).count()) + 1;
  return faults.delay_min + Duration(static_cast<Duration::rep>(rng_.below(spread)));
}

bool World::breaks() { return faults.resets > 0 && rng_.chance(faults.resets); }

bool World::passes(std::optional<std::size_t> from, std::optional<std::size_t> to) {
  if (from != to && !parts_.empty() && from && to && parts_[*from] != parts_[*to]) return false;
  if (from && to && cut_.first.contains(*from) && cut_.second.contains(*to)) return false;
  return faults.loss == 0 || !rng_.chance(faults.loss);
}

// --- instances ---------------------------------------------------------------------------------------------

void World::set_instance_down(std::size_t i, bool down) {
  origin(i).down = down;
  origin(i).gone = false;
}

void World::set_instance_late(std::size_t i, Duration late) { origin(i).late = late; }

void World::set_indexable(std::size_t i, bool indexable) { origin(i).indexable = indexable; }

void World::crash_instance(std::size_t i) {
  origin(i).down = true;
  origin(i).gone = true;
  ++origin(i).crashes;
}

World::Origin& World::origin(std::size_t i) {
  auto& origin = origins_[i];
  if (!origin) {
    const std::string seed = fmt::format("{:032}", 1'000'000 + i);
    origin = std::make_unique<Origin>(
        Origin{crypto::PrivateKey::ed25519_from_seed(seed),
               std::make_unique<SimHttp>(*this, i, HostKind::kInstance, ring_sim::kWorld),
               std::make_unique<ring_sim::LoopClock>(loop, ring_sim::kWorld),
               {},
               {}});
  }
  return *origin;
}

Task<HttpResponse> World::origin_answer(std::size_t i, HttpRequest request) {
  HttpResponse response;
  response.headers.add("Content-Type", "application/activity+json");
  const std::string base = "https://" + origin_host(i);
  Origin& server = origin(i);
  if (server.late > Duration::zero()) {
    const Instant then = loop.now() + server.late;
    co_await loop.wait(ring_sim::kWorld, loop.new_token(), then);
  }
  if (request.method == "GET") ++fetches_[i];
  if (server.down) {
    response.status = 503;
    co_return response;
  }
  if (request.target == "/users/alice") {
    const std::string id = base + "/users/alice";
    response.body = json::serialize(json::object{
        {"@context", "https://www.w3.org/ns/activitystreams"},
        {"id", id},
        {"type", "Person"},
        {"preferredUsername", "alice"},
        {"indexable", server.indexable},
        {"inbox", id + "/inbox"},
        {"publicKey",
         json::object{
             {"id", id + "#main-key"}, {"owner", id}, {"publicKeyPem", server.key.public_key().pem()}}}});
    co_return response;
  }
  const auto note = server.notes.find(base + request.target);
  if (note != server.notes.end() && !server.deleted.contains(note->first)) {
    response.body = note->second;
  } else {
    response.status = note == server.notes.end() ? 404 : 410;
  }
  co_return response;
}

bool World::Post::was_under(const std::string& tag) const {
  return left.contains(tag) || std::ranges::find(tags, tag) != tags.end();
}

namespace {

constexpr const char* kPublic = "https://www.w3.org/ns/activitystreams#Public";

json::object note_of(const World::Post& post) {
  json::array hashtags;
  for (const std::string& tag : post.tags)
    hashtags.push_back(json::object{{"type", "Hashtag"}, {"name", "#" + tag}});
  return {{"id", post.uri},
          {"type", "Note"},
          {"attributedTo", World::author_of(post.origin)},
          {"to", kPublic},
          {"published", to_rfc3339(post.dated)},
          {"tag", std::move(hashtags)}};
}

// `suffix` of the URI is the activity's id.
std::string activity_of(const World::Post& post, const char* type, const std::string& suffix,
                        json::object object) {
  return json::serialize(json::object{{"@context", "https://www.w3.org/ns/activitystreams"},
                                      {"id", post.uri + suffix},
                                      {"type", type},
                                      {"actor", World::author_of(post.origin)},
                                      {"to", kPublic},
                                      {"object", std::move(object)}});
}

}  // namespace

std::string World::author_of(std::size_t i) { return "https://" + origin_host(i) + "/users/alice"; }
std::string World::node_origin(std::size_t i) { return "https://" + node_host(i); }

std::size_t World::publish(std::size_t i, std::vector<std::string> tags) {
  const std::size_t number = posts_.size();
  posts_.push_back({i, fmt::format("{}/{}", author_of(i), number), std::move(tags)});
  Post& post = posts_.back();
  post.published = loop.now();
  post.dated = loop.wall_now();
  json::object note = note_of(post);
  origin(i).notes[post.uri] = json::serialize(note);
  say(number, activity_of(post, "Create", "/activity", std::move(note)));
  return number;
}

void World::edit(std::size_t number, std::vector<std::string> tags) {
  Post& post = posts_[number];
  for (const std::string& tag : post.tags) {
    if (std::ranges::find(tags, tag) == tags.end()) post.left.emplace(tag, loop.now());
  }
  for (const std::string& tag : tags) {
    if (post.left.erase(tag) > 0) post.back.insert_or_assign(tag, loop.now());
  }
  post.tags = std::move(tags);
  json::object note = note_of(post);
  note["updated"] = to_rfc3339(loop.wall_now());
  origin(post.origin).notes[post.uri] = json::serialize(note);
  say(number, activity_of(post, "Update", fmt::format("#update-{}", post.said), std::move(note)));
}

void World::remove(std::size_t number) {
  Post& post = posts_[number];
  if (post.deletion_sent) --post.said;  // said once more
  post.deletion_sent = true;
  for (const std::string& tag : post.tags) post.left.emplace(tag, loop.now());
  origin(post.origin).deleted.insert(post.uri);
  say(number, activity_of(post, "Delete", "#delete", {{"id", post.uri}, {"type", "Tombstone"}}), true);
}

void World::say(std::size_t post, std::string body, bool deletion) {
  loop.spawn(ring_sim::kWorld, deliver_post(post, posts_[post].said++, std::move(body), deletion));
}

Task<void> World::deliver_post(std::size_t number, unsigned turn, std::string body, bool deletion) {
  const std::size_t i = posts_[number].origin;
  Origin& server = origin(i);
  for (;;) {
    if (posts_[number].taken >= turn && !server.down) {
      HttpCall call("POST", *Url::parse(node_origin(i) + "/inbox"), loop.now() + std::chrono::seconds(5));
      call.headers.add("Content-Type", "application/activity+json");
      call.body = body;
      signatures::sign_call(call, server.key, author_of(i) + "#main-key", loop.wall_now());
      const unsigned crashes = server.crashes;
      const Result<HttpResponse> response = co_await server.http->send(std::move(call));
      const bool heard = server.crashes == crashes;
      if (heard && response && response->status >= 200 && response->status < 300) {
        Post& post = posts_[number];
        post.taken = std::max(post.taken, turn + 1);
        post.acknowledged = true;
        post.deleted = post.deleted || deletion;
        co_return;
      }
    }
    const Instant next = loop.now() + kSaysAgain;
    co_await server.clock->sleep_until(next);
  }
}

const crypto::PrivateKey& World::key(std::size_t i) const { return hosts_.at(i)->key; }

Task<bool> World::send_forged(std::size_t from, std::size_t to, std::string target, std::string body) {
  HttpCall call("POST", Url::parse("https://" + node_host(to) + target).value(),
                loop.now() + std::chrono::seconds(20));
  call.headers.add("Content-Type", "application/activity+json");
  call.body = std::move(body);
  signatures::sign_call(call, hosts_.at(from)->key, "https://" + node_host(from) + "/actor#main-key",
                        loop.wall_now());
  SimHttp http(*this, from, HostKind::kNode, ring_sim::kWorld);
  const Result<HttpResponse> response = co_await http.send(std::move(call));
  co_return response && response->status >= 200 && response->status < 300;
}

bool World::forge(std::size_t from, std::size_t to, std::string body) {
  return await(send_forged(from, to, "/inbox", std::move(body)), std::chrono::seconds(30)).value_or(false);
}

void World::forge_later(std::size_t from, std::size_t to, std::string target, std::string body) {
  loop.spawn(ring_sim::kWorld,
             ring_sim::store_result<bool>(send_forged(from, to, std::move(target), std::move(body)),
                                          std::make_shared<std::optional<bool>>()));
}

// --- people who follow -------------------------------------------------------------------------------------

std::size_t World::add_people(bool shares_inbox) {
  const std::size_t number = kFirstPeople + people_.size();
  const std::string host = fmt::format("people{}.example", number);
  names_[host] = {number, HostKind::kPeople};
  const std::string seed = fmt::format("{:032}", 3'000'000 + number);
  people_.emplace(number,
                  People("https://" + host, crypto::PrivateKey::ed25519_from_seed(seed), shares_inbox));
  return number;
}

void World::wish(std::size_t server, const People::Subject& subject, bool follows) {
  People& people = people_.at(server);
  const std::string actor = fediverse::actor_at(node_origin(subject.node), Tag::from_canonical(subject.tag));
  std::string body = people.say(subject, actor, follows);
  loop.spawn(ring_sim::kWorld,
             deliver_wish(server, subject, people.wishes().at(subject).said - 1, std::move(body)));
}

void World::forge_to_people(std::size_t server, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/inbox";
  request.body = std::move(body);
  (void)people_.at(server).answer(request);
}

Task<void> World::deliver_wish(std::size_t server, People::Subject subject, unsigned turn, std::string body) {
  People& people = people_.at(server);
  SimHttp http(*this, server, HostKind::kPeople, ring_sim::kWorld);
  const std::string actor = fediverse::actor_at(node_origin(subject.node), Tag::from_canonical(subject.tag));
  for (;;) {
    if (people.wishes().at(subject).taken >= turn && !people.is_down()) {
      HttpCall call = people.deliver(subject, actor, body, loop.now(), loop.wall_now());
      const Result<HttpResponse> response = co_await http.send(std::move(call));
      if (response && response->status >= 200 && response->status < 300) {
        people.note_taken(subject, turn, loop.now());
        co_return;
      }
    }
    const Instant next = loop.now() + kSaysAgain;
    co_await loop.wait(ring_sim::kWorld, loop.new_token(), next);
  }
}

// --- servers without nodes ---------------------------------------------------------------------------------

std::string World::add_bystander() {
  const std::string host = "bystander.example";
  names_[host] = {kBystander, HostKind::kBystander};
  return host;
}

std::size_t World::add_endpoint() {
  const std::size_t number = kFirstEndpoint + endpoints_.size();
  const std::string host = fmt::format("tags.s{}.example", number);
  names_[host] = {number, HostKind::kSubscriber};
  const std::string seed = fmt::format("{:032}", 2'000'000 + number);
  endpoints_.emplace(number, Endpoint("https://" + host, crypto::PrivateKey::ed25519_from_seed(seed)));
  return number;
}

Task<bool> World::follow(std::size_t endpoint, std::size_t owner, std::string tag) {
  Endpoint& subscriber = endpoints_.at(endpoint);
  SimHttp http(*this, endpoint, HostKind::kSubscriber, ring_sim::kWorld);
  HttpCall call = subscriber.follow("https://" + node_host(owner), tag, loop.now(), loop.wall_now());
  const Result<HttpResponse> response = co_await http.send(std::move(call));
  co_return response && response->status == 200 && response->body.contains("\"refused\":[]");
}

}  // namespace tagring::sim
