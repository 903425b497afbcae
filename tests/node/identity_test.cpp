// verify_node_id (paper §5.2) with real TLS on loopback addresses: a node that lies about its domain,
// address, vserver or ID gets into no table of an honest one.
//
// A ring of two: the victim at 127.0.0.1 (a.test) and an honest member at 127.0.0.2 (b.test). Liars are at
// 127.0.0.3, which the names of both resolve to as well.
#include <cstdlib>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/fixture.hpp"
#include "overlay/ring_service.hpp"
#include "overlay/silent_observer.hpp"

namespace tagring::node {
namespace {

using ::testing::ElementsAre;

IpAddress loopback(std::uint8_t last) { return IpAddress::from_v4({127, 0, 0, last}); }

ring::Contact contact_of(const std::string& host, const IpAddress& address, std::uint16_t port,
                         std::uint8_t vserver = 0) {
  ring::Contact contact;
  contact.host = host;
  contact.port = port;
  contact.address = address;
  contact.vserver = vserver;
  contact.incarnation = 1;
  contact.id = ring::make_node_id(ring::IdScheme::kSpread, address.prefix64(), host, vserver);
  return contact;
}

// The client that nodes use, and what became of each call.
class WatchedClient final : public HttpClient {
 public:
  struct Outcome {
    std::string origin;
    std::string result;  // the status or the error
  };
  explicit WatchedClient(HttpClient& client) : client_(client) {}
  Task<Result<HttpResponse>> send(HttpCall call) override {
    const std::string origin = call.url.origin();
    Result<HttpResponse> response = co_await client_.send(std::move(call));
    outcomes.push_back(
        {origin, response ? std::to_string(response->status) : to_string(response.error().code)});
    co_return response;
  }
  [[nodiscard]] std::vector<std::string> results_of(const std::string& origin) const {
    std::vector<std::string> results;
    for (const Outcome& outcome : outcomes) {
      if (outcome.origin == origin) results.push_back(outcome.result);
    }
    return results;
  }
  std::vector<Outcome> outcomes;

 private:
  HttpClient& client_;
};

class Identity : public testing::Test {
 protected:
  struct Member {
    std::unique_ptr<server::HttpServer> server;
    std::unique_ptr<overlay::RingService> rings;
    ring::Contact contact;
    ring::Vserver& vserver() const { return *rings->of(Ring::kRelay).vservers().front(); }
  };

  Identity();
  ~Identity() override;

  std::unique_ptr<server::HttpServer> serve(const IpAddress& address, const std::string& certificate,
                                            HttpHandler handler);
  void open(Member& member, const std::string& host, const IpAddress& address);
  // A liar's server; `answer` says what it replies to each call, if it comes to that.
  std::uint16_t serve_liar(const std::string& certificate);
  HttpResponse answer_as_liar(const HttpRequest& request);

  Task<bool> pause(Duration duration);
  template <class Done>
  bool wait_for(Done done);
  Task<bool> join_and_start();
  Task<bool> stop_all();
  // A vserver that would stand right before the victim: only such candidates are called.
  ring::Contact closer_contact(const std::string& host, const IpAddress& address, std::uint16_t port) const;
  // Tells the victim that `candidate` may precede it.
  HttpResponse notify(const ring::Contact& candidate);
  // All that the victim believes.
  std::string view();
  void expect_not_believed(const ring::Contact& liar, const std::string& result);

  boost::asio::thread_pool io{2};
  boost::asio::io_context loop{1};
  Log log = Log::off();
  Workers workers;
  overlay::SilentObserver observer;
  net::SystemClock clock{loop.get_executor()};
  std::unique_ptr<net::Resolver> resolver;
  std::unique_ptr<net::BeastHttpClient> client;
  std::unique_ptr<WatchedClient> watched;
  Member victim;
  Member honest;
  std::unique_ptr<server::HttpServer> liar;
  ring::Contact liar_contact;
  ring::Neighbours liar_neighbours;
  ring::FindReply liar_find;
  int liar_answered = 0;
};

Identity::Identity() {
  net::ResolverOptions names;
  names.hosts = {{"a.test", {loopback(1), loopback(3)}}, {"b.test", {loopback(2), loopback(3)}}};
  resolver = std::make_unique<net::Resolver>(std::move(names));
  net::HttpClientOptions options;
  options.ca_file = net::certificates() / "ca.pem";
  options.allow_private_addresses = true;
  auto made = net::BeastHttpClient::make(std::move(options), io.get_executor(), *resolver);
  EXPECT_TRUE(made);
  client = std::move(*made);
  watched = std::make_unique<WatchedClient>(*client);
  open(victim, "a.test", loopback(1));
  open(honest, "b.test", loopback(2));
  EXPECT_TRUE(net::run(loop, join_and_start()));
  EXPECT_TRUE(wait_for([this] {
    return victim.vserver().predecessor() == honest.contact &&
           honest.vserver().predecessor() == victim.contact && !victim.vserver().successors().empty();
  }));
}

Identity::~Identity() {
  net::run(loop, stop_all());
  liar.reset();
  honest.server.reset();
  victim.server.reset();
  client.reset();
  io.join();
}

std::unique_ptr<server::HttpServer> Identity::serve(const IpAddress& address, const std::string& certificate,
                                                    HttpHandler handler) {
  server::HttpServerOptions options;
  options.bind_address = address;
  options.certificate_file = net::certificates() / (certificate + ".pem");
  options.key_file = net::certificates() / (certificate + ".key");
  auto started = server::HttpServer::start(std::move(options), io.get_executor(), loop.get_executor(),
                                           std::move(handler));
  EXPECT_TRUE(started) << started.error().message;
  return std::move(*started);
}

void Identity::open(Member& member, const std::string& host, const IpAddress& address) {
  member.server = serve(address, host,
                        [&member](HttpRequest request) { return member.rings->answer(std::move(request)); });
  member.contact = contact_of(host, address, member.server->port());
  overlay::RingService::Options options;
  options.network = "test";
  options.tuning.successors = 2;
  options.tuning.stabilise_every = Duration(100);
  options.tuning.fix_finger_every = Duration(20);
  options.tuning.retry_when_busy = Duration(20);
  options.contacts = {member.contact};
  member.rings = std::make_unique<overlay::RingService>(
      std::move(options), *watched, observer, Runtime{clock, loop.get_executor(), workers, log, Rng(5)});
}

std::uint16_t Identity::serve_liar(const std::string& certificate) {
  liar = serve(loopback(3), certificate,
               [this](HttpRequest request) -> Task<HttpResponse> { co_return answer_as_liar(request); });
  return liar->port();
}

HttpResponse Identity::answer_as_liar(const HttpRequest& request) {
  ++liar_answered;
  const ring::Envelope envelope = ring::decode_envelope(request.body).value();
  ring::Reply reply = ring::Done{};
  if (std::holds_alternative<ring::GetNeighbours>(envelope.request.body)) reply = liar_neighbours;
  if (std::holds_alternative<ring::Find>(envelope.request.body)) reply = liar_find;
  return {.status = 200, .headers = {{"Content-Type", "application/json"}}, .body = ring::encode(reply)};
}

Task<bool> Identity::pause(Duration duration) {
  const Instant end = clock.now() + duration;
  co_await clock.sleep_until(end);
  co_return true;
}

template <class Done>
bool Identity::wait_for(Done done) {
  const Instant end = clock.now() + std::chrono::seconds(60);
  while (!done() && clock.now() < end) net::run(loop, pause(Duration(10)));
  return done();
}

Task<bool> Identity::join_and_start() {
  victim.vserver().create();
  victim.vserver().start();
  const Result<void> joined = co_await honest.vserver().join({victim.contact});
  honest.vserver().start();
  co_return joined.has_value();
}

Task<bool> Identity::stop_all() {
  co_await victim.rings->stop();
  co_await honest.rings->stop();
  co_await victim.server->stop(Duration(0));
  co_await honest.server->stop(Duration(0));
  if (liar) co_await liar->stop(Duration(0));
  co_return true;
}

ring::Contact Identity::closer_contact(const std::string& host, const IpAddress& address,
                                       std::uint16_t port) const {
  for (unsigned vserver = 10; vserver < 256; ++vserver) {
    ring::Contact contact = contact_of(host, address, port, static_cast<std::uint8_t>(vserver));
    if (in_open(honest.contact.id, contact.id, victim.contact.id)) return contact;
  }
  ADD_FAILURE() << "no vserver stands there";
  return {};
}

HttpResponse Identity::notify(const ring::Contact& candidate) {
  ring::Envelope envelope;
  envelope.network = "test";
  envelope.to = victim.contact.id;
  envelope.incarnation = victim.contact.incarnation;
  envelope.request.body = ring::Notify{candidate};
  HttpRequest request;
  request.method = "POST";
  request.target = std::string(overlay::RingService::kPath);
  request.body = encode(envelope);
  return net::run(loop, victim.rings->answer(std::move(request)));
}

std::string Identity::view() {
  const ring::Vserver& vserver = victim.vserver();
  std::string all = "predecessor " + (vserver.predecessor() ? vserver.predecessor()->origin() : "none");
  for (const ring::Contact& contact : vserver.successors().contacts())
    all += "\nsuccessor " + contact.origin();
  for (const auto& [bit, contact] : vserver.fingers()) all += "\nfinger " + contact.origin();
  for (unsigned bit = 240; bit < 256; ++bit) {
    const RingId key = RingId::power_of_two(bit);
    const Result<ring::Owner> owner = net::run(loop, victim.rings->of(Ring::kRelay).find_owner(key));
    all += "\nowner " + (owner ? owner->contact.origin() : "unknown");
  }
  return all + "\n" + json::serialize(victim.rings->announcement());
}

// The liar is called, fails with `result`, and nothing has changed after some rounds of upkeep.
void Identity::expect_not_believed(const ring::Contact& candidate, const std::string& result) {
  const std::string before = view();
  // The candidate may stand at a host that the victim's upkeep calls too: what counts is how often this
  // answer was given.
  const auto times = [&] { return std::ranges::count(watched->results_of(candidate.origin()), result); };
  const auto before_it = times();
  EXPECT_EQ(notify(candidate).status, 200);  // a hint, checked afterwards
  EXPECT_TRUE(wait_for([&] { return times() > before_it; })) << "the candidate was not called, or believed";
  net::run(loop, pause(Duration(300)));
  EXPECT_EQ(view(), before);
}

// --- lies in a notify --------------------------------------------------------------------------------------

TEST_F(Identity, AnHonestNewcomerIsTakenIn) {
  // Without this, every refusal below could have another reason.
  liar_contact = closer_contact("a.test", loopback(3), serve_liar("a.test"));
  liar_neighbours = {honest.contact, {honest.contact, victim.contact}};
  EXPECT_EQ(notify(liar_contact).status, 200);
  EXPECT_TRUE(wait_for([this] { return victim.vserver().predecessor() == liar_contact; }));
  EXPECT_GT(liar_answered, 0);
}

TEST_F(Identity, ADomainThatIsNotThatOfTheCertificateIsNotBelieved) {
  const std::uint16_t port = serve_liar("a.test");
  expect_not_believed(closer_contact("b.test", loopback(3), port), "denied");
  EXPECT_EQ(liar_answered, 0);
}

TEST_F(Identity, AnAddressThatTheNameDoesNotHaveIsNotBelieved) {
  const std::uint16_t port = serve_liar("a.test");
  expect_not_believed(closer_contact("a.test", loopback(99), port), "denied");
  EXPECT_EQ(liar_answered, 0);
}

TEST_F(Identity, AnAddressOfAnotherFamilyThanTheNameHasIsNotBelieved) {
  const std::uint16_t port = serve_liar("a.test");
  expect_not_believed(closer_contact("a.test", *IpAddress::parse("2001:db8::1"), port), "denied");
  EXPECT_EQ(liar_answered, 0);
}

TEST_F(Identity, AnExpiredCertificateIsNotBelieved) {
  expect_not_believed(closer_contact("a.test", loopback(3), serve_liar("old.test")), "denied");
  EXPECT_EQ(liar_answered, 0);
}

TEST_F(Identity, ACertificateOfAnUnknownAuthorityIsNotBelieved) {
  expect_not_believed(closer_contact("a.test", loopback(3), serve_liar("rogue.test")), "denied");
  EXPECT_EQ(liar_answered, 0);
}

TEST_F(Identity, ASelfSignedCertificateIsNotBelieved) {
  const std::string command = fmt::format(
      "cd {} && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "
      "/CN=a.test "
      "-addext subjectAltName=DNS:a.test -keyout self.key -out self.pem 2>/dev/null",
      net::certificates().string());
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT: no input from outside
  expect_not_believed(closer_contact("a.test", loopback(3), serve_liar("self")), "denied");
  EXPECT_EQ(liar_answered, 0);
}

TEST_F(Identity, AVserverThatItsNodeDoesNotHaveIsNotBelieved) {
  expect_not_believed(closer_contact("b.test", loopback(2), honest.contact.port), "404");
}

TEST_F(Identity, AnotherIncarnationDoesNotReplaceAMemberThatAnswers) {
  ring::Contact other = honest.contact;
  other.incarnation = 2;
  const std::string before = view();
  EXPECT_EQ(notify(other).status, 200);
  net::run(loop, pause(Duration(400)));
  EXPECT_EQ(view(), before);
}

TEST_F(Identity, AnIdOrVserverThatDoesNotFollowFromTheRestIsRefusedAtOnce) {
  const std::uint16_t port = serve_liar("a.test");
  const std::string before = view();
  ring::Contact made_up = contact_of("a.test", loopback(3), port);
  made_up.id = victim.contact.id - RingId::power_of_two(0);
  ring::Contact other_vserver = contact_of("a.test", loopback(3), port);
  other_vserver.vserver = 1;
  ring::Contact other_domain = contact_of("a.test", loopback(3), port);
  other_domain.host = "b.test";
  ring::Contact other_address = contact_of("a.test", loopback(3), port);
  other_address.address = loopback(4);
  for (const ring::Contact& liar_claim : {made_up, other_vserver, other_domain, other_address}) {
    const HttpResponse response = notify(liar_claim);
    EXPECT_EQ(response.status, 400);
    EXPECT_THAT(response.body, testing::HasSubstr("does not follow from its address, domain and vserver"));
  }
  net::run(loop, pause(Duration(300)));
  EXPECT_EQ(view(), before);
  EXPECT_EQ(liar_answered, 0);
}

// --- lies of a member --------------------------------------------------------------------------------------

// A real member answers with contacts that are not what they claim to be.
TEST_F(Identity, LyingContactsInAnswersGetIntoNoTable) {
  const std::uint16_t port = serve_liar("a.test");
  // A member whose place is after the victim: try vservers until one stands between it and the honest one.
  for (unsigned vserver = 0; vserver < 256; ++vserver) {
    liar_contact = contact_of("a.test", loopback(3), port, static_cast<std::uint8_t>(vserver));
    if (in_open(victim.contact.id, liar_contact.id, honest.contact.id)) break;
  }
  ASSERT_TRUE(in_open(victim.contact.id, liar_contact.id, honest.contact.id));
  std::vector<ring::Contact> lies;
  for (unsigned vserver = 0; vserver < 3; ++vserver) {
    const auto number = static_cast<std::uint8_t>(vserver);
    lies.push_back(contact_of("b.test", loopback(3), port, number));   // another certificate
    lies.push_back(contact_of("a.test", loopback(77), port, number));  // another address
    lies.push_back(
        contact_of("b.test", loopback(2), honest.contact.port, static_cast<std::uint8_t>(vserver + 50)));
  }
  ring::Contact made_up = liar_contact;
  made_up.id = liar_contact.id + RingId::power_of_two(0);
  lies.push_back(made_up);
  std::ranges::sort(lies, {}, [&](const ring::Contact& contact) {
    return clockwise_distance(liar_contact.id, contact.id);
  });
  liar_neighbours = {victim.contact, lies};
  liar_find.closer = lies;

  // The honest member says that the liar precedes it; so the victim finds it when it stabilises.
  ring::Envelope envelope;
  envelope.network = "test";
  envelope.to = honest.contact.id;
  envelope.incarnation = 1;
  envelope.request.body = ring::Notify{liar_contact};
  HttpRequest request;
  request.body = encode(envelope);
  EXPECT_EQ(net::run(loop, honest.rings->answer(std::move(request))).status, 200);
  EXPECT_TRUE(wait_for([this] {
    return !victim.vserver().successors().empty() && victim.vserver().successors().front() == liar_contact;
  }));
  net::run(loop, pause(std::chrono::seconds(1)));

  const auto is_real = [&](const ring::Contact& contact) {
    return contact == liar_contact || contact == honest.contact || contact == victim.contact;
  };
  for (const Member* member : {&victim, &honest}) {
    const ring::Vserver& vserver = member->vserver();
    EXPECT_TRUE(std::ranges::all_of(vserver.successors().contacts(), is_real));
    for (const auto& [bit, contact] : vserver.fingers()) EXPECT_TRUE(is_real(contact)) << contact.origin();
    EXPECT_TRUE(!vserver.predecessor() || is_real(*vserver.predecessor()));
  }
  for (const ring::Contact& lie : lies) {
    const Result<ring::Owner> owner = net::run(loop, victim.rings->of(Ring::kRelay).find_owner(lie.id));
    EXPECT_TRUE(!owner || is_real(owner->contact));
  }
}

}  // namespace
}  // namespace tagring::node
