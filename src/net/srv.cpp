#include "net/srv.hpp"

#include <algorithm>
#include <arpa/nameser.h>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <tuple>

#include "base/bytes.hpp"
#include "http/url.hpp"

namespace tagring::net {
namespace {

constexpr std::size_t kAnswerSizeMax = 65'535;  // what TCP can carry
constexpr int kRecordsMax = 1'000;              // looked at
constexpr int kTries = 2;
constexpr std::chrono::seconds kLifetimeMax = std::chrono::hours(1);
constexpr std::size_t kFixedSize = 6;  // priority, weight and port

struct Record {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  ServiceHost target;

  // Equal ones in an order that every answer of the same records gives.
  [[nodiscard]] auto rank() const { return std::tuple(priority, -weight, target.host, target.port); }
};

// `record` is of type SRV, in a message that was checked as a whole.
std::optional<Record> read_record(const ns_msg& message, const ns_rr& record) {
  const std::uint8_t* data = ns_rr_rdata(record);
  if (ns_rr_rdlen(record) <= kFixedSize) return std::nullopt;
  std::array<char, NS_MAXDNAME> name{};
  if (ns_name_uncompress(ns_msg_base(message), ns_msg_end(message), data + kFixedSize, name.data(),
                         name.size()) < 0) {
    return std::nullopt;
  }
  Record found;
  found.priority = static_cast<std::uint16_t>(ns_get16(data));
  found.weight = static_cast<std::uint16_t>(ns_get16(data + 2));
  found.target.port = static_cast<std::uint16_t>(ns_get16(data + 4));
  // Bytes that are not of host names come out as "\123", which is none.
  found.target.host = ascii_lower(name.data());
  if (found.target.port == 0 || !is_host_name(found.target.host)) return std::nullopt;
  return found;
}

// The configuration of the system's resolver, on its own for each question.
class State {
 public:
  State(const std::optional<NameServer>& server, int tries) {
    ok_ = res_ninit(&state_) == 0;
    if (!ok_) return;
    state_.retrans = tries;  // seconds, doubled at the second try
    state_.retry = tries;
    if (!server) return;
    const auto v4 = server->address.bytes;
    state_.nscount = 1;
    sockaddr_in& address = state_.nsaddr_list[0];
    address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server->port);
    std::memcpy(&address.sin_addr, v4.data() + v4.size() - sizeof(in_addr), sizeof(in_addr));
  }
  ~State() {
    if (ok_) res_nclose(&state_);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }
  res_state get() { return &state_; }

 private:
  struct __res_state state_{};
  bool ok_ = false;
};

}  // namespace

Result<std::vector<ServiceHost>> parse_srv(std::string_view message) {
  ns_msg parsed;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(message.data());
  if (message.size() > kAnswerSizeMax ||
      ns_initparse(bytes, static_cast<int>(message.size()), &parsed) != 0) {
    return fail(ErrorCode::kInvalid, "not a DNS message");
  }
  std::vector<Record> records;
  for (int i = 0; i < std::min<int>(ns_msg_count(parsed, ns_s_an), kRecordsMax); ++i) {
    ns_rr record;
    if (ns_parserr(&parsed, ns_s_an, i, &record) != 0) return fail(ErrorCode::kInvalid, "not a DNS message");
    if (ns_rr_type(record) != ns_t_srv || ns_rr_class(record) != ns_c_in) continue;
    if (auto found = read_record(parsed, record)) records.push_back(std::move(*found));
  }
  std::ranges::sort(records, {}, &Record::rank);
  std::vector<ServiceHost> hosts;
  for (Record& record : records) {
    if (hosts.size() == ServiceFinder::kHostsMax) break;
    if (std::ranges::find(hosts, record.target) == hosts.end()) hosts.push_back(std::move(record.target));
  }
  if (hosts.empty()) return fail(ErrorCode::kNotFound, "no usable SRV record");
  return hosts;
}

namespace {

// The message that answers a question.
Result<std::string> ask(const std::string& name, ns_type type, const std::optional<NameServer>& server,
                        int tries) {
  State state(server, tries);
  if (!state.ok()) return fail(ErrorCode::kUnavailable, "the system's resolver is not configured");
  std::string answer(kAnswerSizeMax, '\0');
  const int size =
      res_nquery(state.get(), name.c_str(), ns_c_in, type, reinterpret_cast<std::uint8_t*>(answer.data()),
                 static_cast<int>(answer.size()));
  if (size < 0) {
    const int error = state.get()->res_h_errno;
    const bool absent = error == HOST_NOT_FOUND || error == NO_DATA;
    return fail(absent ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                fmt::format("{}: {}", name, hstrerror(error)));
  }
  answer.resize(std::min(static_cast<std::size_t>(size), answer.size()));
  return answer;
}

// Adds the addresses of a message. CNAMEs on the way count for the lifetime too.
void add_addresses(const std::string& message, HostAddresses* found) {
  ns_msg parsed;
  if (ns_initparse(reinterpret_cast<const std::uint8_t*>(message.data()), static_cast<int>(message.size()),
                   &parsed) != 0)
    return;
  for (int i = 0; i < std::min<int>(ns_msg_count(parsed, ns_s_an), kRecordsMax); ++i) {
    ns_rr record;
    if (ns_parserr(&parsed, ns_s_an, i, &record) != 0) return;
    if (ns_rr_class(record) != ns_c_in) continue;
    found->lifetime = std::min(found->lifetime, std::chrono::seconds(ns_rr_ttl(record)));
    IpAddress address;
    if (ns_rr_type(record) == ns_t_aaaa && ns_rr_rdlen(record) == address.bytes.size()) {
      std::memcpy(address.bytes.data(), ns_rr_rdata(record), address.bytes.size());
    } else if (ns_rr_type(record) == ns_t_a && ns_rr_rdlen(record) == 4) {
      std::array<std::uint8_t, 4> v4{};
      std::memcpy(v4.data(), ns_rr_rdata(record), v4.size());
      address = IpAddress::from_v4(v4);
    } else {
      continue;
    }
    if (found->addresses.size() < kAddressesMax) found->addresses.push_back(address);
  }
}

}  // namespace

Result<std::vector<ServiceHost>> ask_srv(const std::string& name, const std::optional<NameServer>& server) {
  TRY(const std::string message, ask(name, ns_t_srv, server, kTries));
  return parse_srv(message);
}

Result<HostAddresses> ask_addresses(const std::string& host, const std::optional<NameServer>& server) {
  // Where the system has answered already, its name server has too.
  const int tries = server ? kTries : 1;
  HostAddresses found{{}, kLifetimeMax};
  Result<std::string> answer = ask(host, ns_t_aaaa, server, tries);
  if (!answer && answer.error().code != ErrorCode::kNotFound) return std::unexpected(answer.error());
  if (answer) add_addresses(*answer, &found);
  answer = ask(host, ns_t_a, server, tries);
  if (answer) add_addresses(*answer, &found);
  if (!found.addresses.empty()) return found;
  if (!answer) return std::unexpected(answer.error());
  return fail(ErrorCode::kNotFound, host + ": no address");
}

}  // namespace tagring::net
