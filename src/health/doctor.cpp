#include "health/doctor.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <set>

#include "health/names.hpp"
#include "http/http_error.hpp"
#include "http/url.hpp"
#include "proxies/client_address.hpp"
#include "proxies/networks.hpp"
#include "ring/codec.hpp"

namespace tagring::health {
namespace {

constexpr Duration kSettling = std::chrono::seconds(30);  // after the start
constexpr Duration kEvery = std::chrono::days(1);
constexpr Duration kHourly = std::chrono::hours(1);
constexpr Duration kAgain = std::chrono::minutes(5);  // what was amiss may be mended
constexpr Duration kClockMost = std::chrono::minutes(1);
constexpr Duration kSlowWrite = std::chrono::seconds(5);
constexpr std::uint64_t kNamedEnough = 50;  // of several proxies, one may still be silent
constexpr std::size_t kAskedMax = 3;

// Whether the one that was asked found something else than this node at its origin, or a proxy that writes
// another Host: when it fetched the key with which the question is signed, or when it called back.
bool is_another_there(const Error& error, const std::string& origin) {
  const std::string& why = error.message;
  if (error.code == ErrorCode::kConflict) return true;
  for (const char* said : {" answered ", " is gone", " is not an ActivityPub document"})
    if (why.contains(fmt::format("{}/actor{}", origin, said))) return true;
  return is_unanswered(error) && (why.starts_with("HTTP status ") || why.starts_with("Host is not a name"));
}

}  // namespace

Task<void> Doctor::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Doctor::look_for_ever() {
  std::set<std::string> told;  // names of checks that are not well
  Instant daily;
  for (Instant next = clock_.now() + kSettling;;
       next = clock_.now() + (problems_.empty() ? kHourly : kAgain)) {
    co_await clock_.sleep_until(next);
    const Checks checks = co_await look();
    const bool is_daily = clock_.now() >= daily;
    if (is_daily) {
      told.clear();
      daily = clock_.now() + kEvery;
    }
    for (const Check& check : checks) {
      if (check.ok) {
        told.erase(check.name);
      } else if (told.insert(check.name).second) {
        log_.warn("doctor",
                  {{"check", check.name}, {"found", check.detail}, {"what_to_do", check.what_to_do}});
      }
    }
    if (is_daily) log_.info("doctor", {{"checks", checks.size()}, {"problems", problems_.size()}});
  }
}

Task<Checks> Doctor::look() {
  const OtherNodes known = others();
  Checks checks;
  if (machine_ != nullptr) checks = co_await look_at_machine(known);
  checks.push_back(look_at_rings());
  checks.push_back(co_await look_from_outside(known));
  const Said said = co_await ask(known);
  checks.push_back(judge_clock(said));
  checks.push_back(judge_source(said));
  checks.push_back(look_at_proxy());
  if (machine_ != nullptr) {
    checks.push_back(patient_.growth.check());
    checks.push_back(co_await look_at_database());
  }
  const Checks of_instances = instances_.look();
  checks.insert(checks.end(), of_instances.begin(), of_instances.end());
  has_looked_ = true;
  problems_.clear();
  for (const Check& check : checks)
    if (!check.ok) problems_.push_back(check);
  co_return checks;
}

Task<Checks> Doctor::look_at_machine(OtherNodes others) {
  Checks checks = co_await machine_->look();
  const auto dns = std::ranges::find(checks, "dns", &Check::name);
  if (dns == checks.end() || !dns->ok) co_return checks;
  std::vector<IpAddress> elsewhere = other_addresses(patient_.config, co_await machine_->addresses());
  if (elsewhere.empty()) co_return checks;
  // Where these are not well, what answers differently than it should may be this node.
  const bool is_itself = std::ranges::none_of(checks, [](const Check& check) {
    return !check.ok && (check.name == "certificate" || check.name == "way in");
  });
  if (is_itself) {
    *dns = co_await look_at_others(*dns, patient_.config.origin(), std::move(elsewhere),
                                   std::move(others.origins), &reach_);
  } else {
    dns->what_to_do = "what is at each can be seen when certificate and way in are well";
  }
  co_return checks;
}

// Neighbours on the rings; before there are any, those that the configuration names.
Doctor::OtherNodes Doctor::others() const {
  std::set<std::string> origins;
  const std::string own = patient_.config.origin();
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    for (const auto& vserver : patient_.rings.of(ring).vservers()) {
      for (const ring::Contact& contact : vserver->successors().copy())
        if (contact.origin() != own) origins.insert(contact.origin());
    }
  }
  OtherNodes others{{origins.begin(), origins.end()}, !origins.empty()};
  if (!others.are_known) others.origins = patient_.config.bootstrap;
  std::erase(others.origins, own);
  if (others.origins.size() > kAskedMax) others.origins.resize(kAskedMax);
  return others;
}

Check Doctor::look_at_rings() const {
  std::string missing;
  for (const Ring ring : {Ring::kRelay, Ring::kStorage})
    if (patient_.rings.has_left(ring) || !patient_.rings.of(ring).is_member())
      missing += fmt::format("{}{}", missing.empty() ? "" : " and ", ring::to_string(ring));
  if (missing.empty()) return well("rings", "member of the relay ring and of the storage ring");
  if (patient_.rings.has_left(Ring::kRelay)) return look_at_what_left(missing);
  std::string reasons;
  for (const auto& [origin, reason] : patient_.rings.dead_ends())
    reasons += fmt::format("; {}: {}", std::string_view(origin), json::serialize(reason));
  if (!patient_.rings.unanswered().empty())
    reasons += fmt::format("; a member could not be called: {}", patient_.rings.unanswered());
  return bad("rings", fmt::format("not on the {} ring yet{}", missing, reasons),
             "wait a minute; then see that ring.bootstrap names nodes that run, and that this machine may "
             "connect to port 443 of their addresses, of IPv6 and of IPv4");
}

Check Doctor::look_at_what_left(const std::string& rings) const {
  const std::optional<json::object> moved = patient_.moving.status();
  if (patient_.rings.is_leaving()) {
    const std::string places = fmt::format("places still to be handed over: {}", patient_.rings.places());
    if (moved)
      return well("rings",
                  fmt::format("is leaving both rings, since it has moved to {}; {}; leave it running",
                              json::text_of(*moved, "to"), places));
    return bad("rings", fmt::format("is leaving both rings, as it was told to; {}", places),
               "leave it running: who stops it now takes from the network what these places own");
  }
  if (moved && !json::get_flag(*moved, "over"))
    return well("rings", fmt::format("left the {} ring, since it has moved to {}; leave it running until {}",
                                     rings, json::text_of(*moved, "to"), json::text_of(*moved, "until")));
  const std::string found = fmt::format("left the {} ring, as it was told to", rings);
  const std::size_t owed = patient_.owners.size();
  if (owed > 0)
    return bad("rings", fmt::format("{}; posts wait for owners to take them: {}", found, owed),
               "leave it running; stop it, and tagring.socket, when none has waited for some minutes");
  if (moved)
    return well("rings", fmt::format("left the {} ring, since it has moved to {}; it can be switched off",
                                     rings, json::text_of(*moved, "to")));
  return bad("rings", found, "stop the node, and tagring.socket; started again, it joins again");
}

Task<Check> Doctor::look_from_outside(OtherNodes others) {
  if (others.origins.empty())
    co_return well("reachable", "there is no other node in this network yet that could try");
  std::string failures;
  bool does_one_answer = false;
  bool did_one_try = false;
  bool did_one_find_another = false;
  for (const std::string& origin : others.origins) {
    const Result<IpAddress> seen = co_await reach_.ask(origin);
    if (seen) {
      seen_calling_ = *seen;
      co_return well("reachable", fmt::format("{} reached {} at {}", origin, patient_.config.origin(),
                                              patient_.config.address.text()));
    }
    failures += fmt::format("{}{}: {}", failures.empty() ? "" : "; ", origin, seen.error().message);
    const Result<Reach::Seen> clock = co_await reach_.look(origin);
    does_one_answer = does_one_answer || clock;
    did_one_try = did_one_try || (clock && is_unanswered(seen.error()));
    did_one_find_another =
        did_one_find_another || (clock && is_another_there(seen.error(), patient_.config.origin()));
  }
  if (!does_one_answer)
    co_return bad("reachable", fmt::format("no other node can be asked: {}", failures),
                  "see that this machine may connect to port 443 of others; it may be that these are down");
  // One that was answered by something has come through the firewall.
  if (did_one_find_another)
    co_return bad("reachable", failures,
                  fmt::format("what answers for {} is not the node: see that the proxy in front passes that "
                              "name on to it (docs/proxy.md), and that the DNS has {} for it",
                              patient_.config.host, patient_.config.address.text()));
  // One that could not fetch the key with which the question is signed has tried, too.
  if (!did_one_try)
    co_return bad("reachable", fmt::format("no other node would try: {}", failures),
                  "see what they have against the question: a clock that is wrong, a block, or that it was "
                  "asked too often, which passes in five minutes");
  co_return bad(
      "reachable", failures,
      fmt::format("let port {} of {} in through the firewall and any forwarder in front, and see that "
                  "the DNS has that address for {}",
                  patient_.config.port, patient_.config.address.text(), patient_.config.host));
}

Task<Doctor::Said> Doctor::ask(OtherNodes others) {
  Said said;
  for (const std::string& origin : others.origins) {
    const Result<Reach::Seen> seen = co_await reach_.look(origin);
    if (seen) said.emplace(origin, *seen);
  }
  co_return said;
}

Check Doctor::judge_clock(const Said& said) {
  std::vector<Duration> ahead;
  for (const auto& [origin, seen] : said) ahead.push_back(seen.ahead);
  if (ahead.empty()) return well("clock", "there was no other node to compare with");
  std::ranges::sort(ahead);
  const Duration difference = ahead[ahead.size() / 2];
  const double seconds = static_cast<double>(std::abs(difference.count())) / 1000;
  const std::string detail = fmt::format("{:.1f} s {} those of {} other node(s)", seconds,
                                         difference.count() > 0 ? "behind" : "ahead of", ahead.size());
  if (std::abs(difference.count()) <= kClockMost.count()) return well("clock", detail);
  return bad("clock", detail,
             "set it (timedatectl set-ntp true): others refuse what is signed with a wrong time");
}

// Neighbours keep room for who comes from the address that a node has on the rings. One that sees nobody, or
// a private address, sees the forwarder in front of itself; and one that is called by the other version of IP
// cannot see that address.
Check Doctor::judge_source(const Said& said) const {
  const IpAddress& own = patient_.config.address;
  std::string elsewhere;
  std::string other_way;  // by the other version of IP, which says nothing
  for (const auto& [origin, seen] : said) {
    if (seen.you && seen.you->is_v4() != own.is_v4())
      other_way = fmt::format("{} sees it come from {}", origin, seen.you->text());
    if (!seen.you || seen.you->is_v4() != own.is_v4()) continue;
    if (seen.you->prefix64() == own.prefix64())
      return well("source", fmt::format("{} sees this node come from {}", origin, seen.you->text()));
    if (seen.you->is_here() || (proxies::is_private(*seen.you) && !proxies::is_private(own))) continue;
    elsewhere += fmt::format("{}{} sees this node come from {}", elsewhere.empty() ? "" : "; ", origin,
                             seen.you->text());
  }
  if (elsewhere.empty() && !other_way.empty())
    return well("source",
                fmt::format("{}; by the IP version of node.address nobody has been called", other_way));
  if (elsewhere.empty()) return well("source", "no other node has said from where this one comes");
  return bad("source",
             fmt::format("{}, and not from {}: neighbours take it for a stranger", elsewhere, own.text()),
             "have its connections come from node.address, or its /64: name that in network.source if this "
             "machine has it, else have the router that has it write it (docs/scaling.md); if only one of "
             "several sees it so, what stands in front of that one hides who comes");
}

// A forwarder that is not known hides who comes: then all visitors share the limits of one.
Check Doctor::look_at_proxy() {
  // Who trusts one that says nothing of visitors believes what these say themselves; and who expects a PROXY
  // header of one that writes none hears nobody.
  constexpr const char* kAdvice =
      "if it is a reverse proxy of HTTP, name it in listen.trusted_proxies; if it forwards TCP and writes a "
      "PROXY header, name it, and set listen.proxy_protocol; else, as a container's network, a tunnel or a "
      "router that rewrites the source, name nothing, and have it keep the visitor's address (docs/proxy.md)";
  // It may be trusted meanwhile, or be gone.
  if (unknown_proxy_ && (proxies::is_in(patient_.config.trusted_proxies, *unknown_proxy_) ||
                         clock_.now() - unknown_seen_ >= kEvery))
    unknown_proxy_.reset();
  if (silent_seen_ && clock_.now() - *silent_seen_ >= kEvery) silent_seen_.reset();
  if (silent_seen_)
    return bad("proxy", "a proxy that is trusted brings requests, and does not say whose they are",
               "have it add X-Forwarded-For, as docs/proxy.md shows: all visitors share the limits of one");
  const auto is_recent = [this](std::optional<Instant> seen) {
    return seen && clock_.now() - *seen < kEvery;
  };
  if (is_recent(foreign_seen_) && !is_recent(own_host_seen_))
    return bad("proxy",
               fmt::format("requests that are signed come with Host: {}, and are refused", foreign_host_),
               std::string(kKeepHost));
  if (unknown_proxy_)
    return bad("proxy",
               fmt::format("a proxy at {} brings requests, and is not trusted", unknown_proxy_->text()),
               kAdvice);
  const bool hides = seen_calling_ != IpAddress{} && proxies::is_private(seen_calling_) &&
                     !proxies::is_private(patient_.config.address);
  if (hides)
    return bad("proxy", fmt::format("connections from outside seem to come from {}", seen_calling_.text()),
               kAdvice);
  if (patient_.config.trusted_proxies.empty() && patient_.config.listen_socket.empty())
    return well("proxy", "none in front");
  return well("proxy", "those in front say who comes");
}

Task<Check> Doctor::look_at_database() {
  const Instant before = clock_.now();
  const Result<void> written = co_await machine_->try_to_write();
  const Duration took = clock_.now() - before;
  if (!written)
    co_return bad("database", written.error().message,
                  patient_.config.postgres.empty()
                      ? "make room on the disk, or see what the system says of it (dmesg)"
                      : "see that PostgreSQL runs, takes connections and has room; its log says more");
  if (took > kSlowWrite)
    co_return bad("database", fmt::format("a write took {} ms", took.count()),
                  patient_.config.postgres.empty()
                      ? "the disk is too slow or overloaded: posts wait for it"
                      : "PostgreSQL, or the way to it, is too slow or overloaded: posts wait for it");
  co_return well("database", fmt::format("a write took {} ms", took.count()));
}

void Doctor::note_host(const HttpRequest& request) {
  if (!patient_.config.is_plain() || !request.headers.find("Signature")) return;
  const std::string host = request.headers.find("Host").value_or("");
  const bool is_own = is_own_host(patient_.config, host);
  (is_own ? own_host_seen_ : foreign_seen_) = clock_.now();
  if (!is_own) foreign_host_ = host;
}

void Doctor::note_request(const HttpRequest& request, bool is_probe) {
  const proxies::Networks& trusted = patient_.config.trusted_proxies;
  const bool by_socket = request.peer == IpAddress{} && !patient_.config.listen_socket.empty();
  if (by_socket || proxies::is_in(trusted, request.peer)) {
    // Whoever is named may be in a network that is trusted, too, as a neighbour in the proxy's own.
    const bool is_named = patient_.config.proxy_protocol ||
                          proxies::client_of(IpAddress{}, request.headers, trusted) != IpAddress{};
    if (!is_probe && (by_socket || !is_named)) {
      silent_seen_ = clock_.now();
      named_since_ = 0;
    }
    return;
  }
  if (!request.headers.find("X-Forwarded-For")) return;
  // A visitor of a network behind the same proxy: the header was believed already.
  if (proxies::client_of(IpAddress{}, request.headers, trusted) == request.peer) {
    if (++named_since_ >= kNamedEnough) silent_seen_.reset();
    return;
  }
  if (!proxies::is_private(request.peer)) return;
  unknown_proxy_ = request.peer;
  unknown_seen_ = clock_.now();
}

json::object Doctor::readiness() const {
  json::array because;
  const bool has_moved = patient_.moving.status().has_value();
  for (const Ring ring : {Ring::kRelay, Ring::kStorage}) {
    const bool has_left = patient_.rings.has_left(ring);
    // Who leaves is to be reached, by those who copy what it owns.
    if (has_left && patient_.rings.is_leaving()) continue;
    if (has_left ? !has_moved : !patient_.rings.of(ring).is_member())
      because.emplace_back(
          fmt::format("{} the {} ring", has_left ? "has left" : "not on", ring::to_string(ring)));
  }
  if (!patient_.rings.is_reached()) because.emplace_back("no other node has reached this one lately");
  if (machine_ != nullptr && !machine_->can_write())
    because.emplace_back(patient_.config.postgres.empty() ? "cannot write to the disk"
                                                          : "cannot write to PostgreSQL");
  return {{"ready", because.empty()}, {"because", std::move(because)}};
}

}  // namespace tagring::health
