#include "budget/manager.hpp"

#include <algorithm>
#include <utility>

#include "base/counted.hpp"
#include "http/url.hpp"
#include "ring/contact.hpp"

namespace tagring::budget {
namespace {

constexpr std::array<std::string_view, kResources> kNames = {
    "connections", "arrivals",      "handshakes",   "begun",       "bodies",      "loop",         "database",
    "reads",       "streams",       "stream_tags",  "look_ups",    "claims",      "proofs",       "ways",
    "guesses",     "calls",         "key_fetches",  "key_hosts",   "checks",      "vain_checks",  "events",
    "names",       "ring_names",    "waiting",      "letters",     "wanted",      "node_follows", "reports",
    "links",       "author_blocks", "follow_notes", "reader_asks", "reader_hosts"};
constexpr Duration kHeldRetry = std::chrono::seconds(10);
constexpr Duration kForgetEvery = std::chrono::minutes(1);
constexpr std::size_t kKnownMax = 10'000;
constexpr std::size_t kDomainsMax = 10'000;
constexpr std::size_t kGroupBytes = 6;  // a /48

std::string key_of(const Prefix64& prefix, std::size_t bytes) {
  return std::string(bytes == kGroupBytes ? "48 " : "64 ") +
         std::string(reinterpret_cast<const char*>(prefix.data()), bytes);
}

template <class Use>
std::uint64_t amount_at(const Use& use, const Limit& limit, Instant now) {
  return limit.window > Duration::zero() && now >= use.ends ? 0 : use.amount;
}

template <class Use>
void add(Use& use, std::uint64_t amount, const Limit& limit, Instant now) {
  if (limit.window > Duration::zero() && now >= use.ends) use = {0, now + limit.window, 0};
  use.amount += amount;
}

std::uint64_t strangers_part(const Limit& limit) {
  return limit.total - limit.total * Manager::kReservedPercent / 100;
}

// What of a host, or of a domain, is counted for one asker.
std::string of_asker(const std::string& asked, const Spender& spender) {
  return asked + " for " + spender.asker;
}

}  // namespace

Spender Spender::on_behalf_of(const Spender& who) const {
  Spender host = *this;
  host.for_known = who.known;
  host.asker = who.whole();
  return host;
}

std::string_view to_string(Resource resource) { return kNames.at(static_cast<std::size_t>(resource)); }

Budgets default_budgets() {
  constexpr Duration kMinute = std::chrono::minutes(1);
  return {Limit{1'536, 256, 512, {}},                            // connections
          Limit{0, 200, 400, kMinute / 6},                       // arrivals
          Limit{128, 16, 32, {}},                                // handshakes
          Limit{10, 0, 0, std::chrono::milliseconds(20)},        // begun: strangers have 400 a second
          Limit{56U << 20U, 8U << 20U, 16U << 20U, {}},          // bodies
          Limit{12'000'000, 3'000'000, 5'000'000, kMinute / 6},  // loop: strangers have 9 s of 10
          Limit{8'000'000, 3'000'000, 5'000'000, kMinute / 6},   // database: 6 s of 10
          Limit{300'000, 300, 1'200, 5 * kMinute},               // reads; 300 is Mastodon's own limit
          Limit{1'400, 32, 128, {}},                             // streams
          Limit{280, 40, 80, {}},                                // stream_tags
          Limit{48, 8, 16, {}},                                  // look_ups
          Limit{512, 8, 16, {}},                                 // claims
          Limit{32, 8, 16, {}},                                  // proofs
          Limit{22, 4, 8, {}},                                   // ways
          Limit{100'000, 50, 100, 5 * kMinute},                  // guesses
          Limit{3'000, 60, 120, 5 * kMinute},                    // calls
          Limit{1'200, 30, 60, kMinute},                         // key_fetches
          Limit{1'200, 10, 40, kMinute, true},                   // key_hosts
          Limit{600, 4, 8, kMinute, true},                       // checks
          Limit{0, 0, 60, kMinute},                              // vain_checks
          Limit{0, 0, 40'000, 60 * kMinute},                     // events
          Limit{24, 4, 4, {}},                                   // names
          Limit{8, 2, 2, {}},                                    // ring_names
          Limit{5'000, 0, 20, {}},                               // waiting
          Limit{50'000, 0, 50, {}},                              // letters
          Limit{200'000, 0, 5'000, {}},                          // wanted
          Limit{2'000'000, 0, 20'000, {}},                       // node_follows
          Limit{1'000, 0, 20, {}},                               // reports
          Limit{20'000, 0, 400, {}},                             // links
          Limit{50'000, 0, 1'000, {}},                           // author_blocks
          Limit{64U << 20U, 0, 512U << 10U, 24 * 60 * kMinute},  // follow_notes
          Limit{600, 10, 30, kMinute},                           // reader_asks
          Limit{600, 10, 20, kMinute, true}};                    // reader_hosts
}

void Manager::use(const Budgets& budgets) {
  const std::lock_guard lock(mutex_);
  budgets_ = budgets;
}

bool Manager::is_known(const std::string& each) const {
  if (neighbours_.contains(each)) return true;
  const auto found = known_.find(each);
  return found != known_.end() && clock_.now() < found->second;
}

Spender Manager::who(const IpAddress& address) const {
  const Prefix64 prefix = address.prefix64();
  Spender spender{key_of(prefix, prefix.size()), address.is_v4() ? "" : key_of(prefix, kGroupBytes), false};
  const std::lock_guard lock(mutex_);
  spender.known = is_known(spender.each);
  return spender;
}

Spender Manager::who(std::string_view host) const {
  const std::lock_guard lock(mutex_);
  auto domain = domains_.find(host);
  if (domain == domains_.end()) {
    make_room(domains_, kDomainsMax);
    domain = domains_.emplace(host, ring::domain_of(host)).first;
  }
  Spender spender{"host " + std::string(host), "domain " + domain->second, false};
  spender.own = is_own(host);
  spender.known = spender.own || is_known(spender.each) || is_known(spender.group);
  return spender;
}

bool Manager::is_own(std::string_view host) const {
  return std::ranges::any_of(own_, [host](const std::string& own) { return is_same_or_below(host, own); });
}

bool Manager::is_reserved(Resource resource, const Spender& spender, std::uint64_t amount) const {
  const Limit& limit = budgets_.at(static_cast<std::size_t>(resource));
  const Account& account = accounts_.at(static_cast<std::size_t>(resource));
  const bool has_all =
      spender.is_many || limit.total == 0 || (spender.own && limit.window > Duration::zero());
  if (!spender.known || has_all) return spender.known;
  const Instant now = clock_.now();
  const std::uint64_t most = std::max<std::uint64_t>(1, limit.total * kReservedPercent / 100 / 2);
  const auto fits = [&](const std::map<std::string, Use>& uses, const std::string& key) {
    const auto use = uses.find(key);
    const bool is_nothing = use == uses.end() || (limit.window > Duration::zero() && now >= use->second.ends);
    return (is_nothing ? 0 : use->second.as_known()) + amount <= most;
  };
  return fits(account.each, spender.each) && (spender.group.empty() || fits(account.groups, spender.group));
}

const Manager::Use* Manager::obstacle(Resource resource, const Spender& spender, std::uint64_t amount) const {
  const Instant now = clock_.now();
  const Limit& limit = budgets_.at(static_cast<std::size_t>(resource));
  const Account& account = accounts_.at(static_cast<std::size_t>(resource));
  // Of what comes back by itself, those who are known may use up their part. But who is asked has not chosen
  // to be: it is strangers who name the node's own instances.
  const bool may_use_up = limit.window > Duration::zero() && (!limit.asked || spender.for_known);
  const bool reserved = is_reserved(resource, spender, amount);
  const std::uint64_t factor = !reserved ? 1 : may_use_up ? 0 : kKnownFactor;
  const auto exceeds = [&](const Use& use, std::uint64_t most) {
    return most != 0 && amount_at(use, limit, now) + amount > most;
  };
  const auto full = [&](const std::map<std::string, Use>& uses, const std::string& key,
                        std::uint64_t most) -> const Use* {
    const auto use = uses.find(key);
    if (use == uses.end()) return exceeds({}, most) ? &account.all : nullptr;
    const bool apart = spender.known && !reserved;
    const bool exceeded =
        exceeds(apart ? Use{use->second.as_stranger, use->second.ends, 0} : use->second, most);
    return exceeded ? &use->second : nullptr;
  };
  if (const Use* use = full(account.each, spender.each, limit.each * factor)) return use;
  const Use* of_group =
      spender.group.empty() ? nullptr : full(account.groups, spender.group, limit.group * factor);
  if (of_group != nullptr) return of_group;
  const auto full_for_asker = [&](const std::string& asked, std::uint64_t most) -> const Use* {
    if (spender.asker.empty() || asked.empty() || most == 0) return nullptr;
    const std::uint64_t part = most - most / kLeftForOthers;
    return full(account.askers, of_asker(asked, spender), part);
  };
  if (const Use* use = full_for_asker(spender.each, limit.each * factor)) return use;
  if (const Use* use = full_for_asker(spender.group, limit.group * factor)) return use;
  if (exceeds(account.all, limit.total)) return &account.all;
  if (reserved) return nullptr;
  const bool is_taken =
      exceeds(account.strangers, strangers_part(limit)) || has_had_more(resource, spender, amount);
  return is_taken ? &account.strangers : nullptr;
}

bool Manager::has_had_more(Resource resource, const Spender& spender, std::uint64_t amount) const {
  const Instant now = clock_.now();
  const Limit& limit = budgets_.at(static_cast<std::size_t>(resource));
  const Account& account = accounts_.at(static_cast<std::size_t>(resource));
  const std::uint64_t part = strangers_part(limit);
  const std::uint64_t of_all = amount_at(account.strangers, limit, now);
  if (limit.window == Duration::zero() || part == 0 || of_all + amount <= part - part / kLeftForOthers)
    return false;
  const auto own = account.groups.find(spender.whole());
  if (own == account.groups.end() || now >= own->second.ends) return false;
  return own->second.as_stranger > of_all / account.groups.size();
}

bool Manager::is_total(Resource resource, const Spender& spender, std::uint64_t amount) const {
  const std::lock_guard lock(mutex_);
  const Account& account = accounts_.at(static_cast<std::size_t>(resource));
  const Use* use = obstacle(resource, spender, amount);
  return use == &account.all || use == &account.strangers;
}

Duration Manager::take(Resource resource, const Spender& spender, std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_.now();
  const Limit& limit = budgets_.at(static_cast<std::size_t>(resource));
  Account& account = accounts_.at(static_cast<std::size_t>(resource));
  drop_old(resource);
  if (const Use* full = obstacle(resource, spender, amount)) {
    ++account.refused;
    return limit.window > Duration::zero() ? std::max(full->ends - now, Duration(1)) : kHeldRetry;
  }
  charge(resource, spender, amount, is_reserved(resource, spender, amount));
  return Duration::zero();
}

void Manager::charge(Resource resource, const Spender& spender, std::uint64_t amount, bool reserved) {
  const Instant now = clock_.now();
  const Limit& limit = budgets_.at(static_cast<std::size_t>(resource));
  Account& account = accounts_.at(static_cast<std::size_t>(resource));
  add(account.each[spender.each], amount, limit, now);
  add(account.groups[spender.whole()], amount, limit, now);
  if (!spender.asker.empty()) {
    add(account.askers[of_asker(spender.each, spender)], amount, limit, now);
    if (!spender.group.empty()) add(account.askers[of_asker(spender.group, spender)], amount, limit, now);
  }
  add(account.all, amount, limit, now);
  if (reserved) return;
  add(account.strangers, amount, limit, now);
  account.each[spender.each].as_stranger += amount;
  account.groups[spender.whole()].as_stranger += amount;
}

void Manager::count(Resource resource, const Spender& spender, std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  drop_old(resource);
  charge(resource, spender, amount, is_reserved(resource, spender, amount));
}

bool Manager::has_room(Resource resource, const Spender& spender, std::uint64_t amount) const {
  const std::lock_guard lock(mutex_);
  return obstacle(resource, spender, amount) == nullptr;
}

void Manager::give_back(Resource resource, const Spender& spender, std::uint64_t amount) {
  const std::lock_guard lock(mutex_);
  Account& account = accounts_.at(static_cast<std::size_t>(resource));
  // Whether it was a stranger when it was taken, and not whether it is one now.
  const auto own = account.each.find(spender.each);
  const std::uint64_t of_strangers =
      own == account.each.end() ? 0 : std::min(own->second.as_stranger, amount);
  const auto less = [&](std::map<std::string, Use>& uses, const std::string& key) {
    const auto use = uses.find(key);
    if (use == uses.end()) return;
    use->second.as_stranger -= std::min(use->second.as_stranger, of_strangers);
    use->second.amount -= std::min(use->second.amount, amount);
    if (use->second.amount == 0) uses.erase(use);
  };
  less(account.each, spender.each);
  less(account.groups, spender.whole());
  account.all.amount -= std::min(account.all.amount, amount);
  account.strangers.amount -= std::min(account.strangers.amount, of_strangers);
}

// There are hardly more entries than the totals allow, so this is seldom and short.
void Manager::drop_old(Resource resource) {
  const Instant now = clock_.now();
  const auto index = static_cast<std::size_t>(resource);
  if (budgets_.at(index).window > Duration::zero() && now >= accounts_.at(index).all.ends)
    drop_ended(accounts_.at(index), now);
  if (now < forgets_at_) return;
  forgets_at_ = now + kForgetEvery;
  for (std::size_t i = 0; i < kResources; ++i)
    if (budgets_.at(i).window > Duration::zero()) drop_ended(accounts_.at(i), now);
  std::erase_if(known_, [now](const auto& entry) { return now >= entry.second; });
}

void Manager::drop_ended(Account& account, Instant now) {
  for (auto* uses : {&account.each, &account.groups, &account.askers})
    std::erase_if(*uses, [now](const auto& entry) { return now >= entry.second.ends; });
}

std::uint64_t Manager::used(Resource resource) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(resource);
  return amount_at(accounts_.at(index).all, budgets_.at(index), clock_.now());
}

std::uint64_t Manager::used(Resource resource, const Spender& spender) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(resource);
  const auto use = accounts_.at(index).each.find(spender.each);
  return use == accounts_.at(index).each.end() ? 0 : amount_at(use->second, budgets_.at(index), clock_.now());
}

std::uint64_t Manager::used_by_whole(Resource resource, const Spender& spender) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(resource);
  const auto use = accounts_.at(index).groups.find(spender.whole());
  return use == accounts_.at(index).groups.end() ? 0
                                                 : amount_at(use->second, budgets_.at(index), clock_.now());
}

Manager::Standing Manager::standing(Resource resource, const Spender& spender) const {
  const std::uint64_t amount = used(resource, spender);
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(resource);
  const auto use = accounts_.at(index).each.find(spender.each);
  const bool is_new = use == accounts_.at(index).each.end() || clock_.now() >= use->second.ends;
  return {budgets_.at(index).each, amount,
          is_new ? budgets_.at(index).window : use->second.ends - clock_.now()};
}

void Manager::note(std::string each) {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_.now();
  if (known_.size() >= kKnownMax && !known_.contains(each))
    known_.erase(std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second; }));
  known_[std::move(each)] = now + kKnownFor;
}

void Manager::note_known(const IpAddress& address) {
  if (!address.is_here()) note(who(address).each);
}
void Manager::note_known(std::string_view host) {
  note(who(host).each);
  if (ring::registrable_domain(host) == std::string(host)) note("domain " + std::string(host));
}

void Manager::set_own(std::vector<std::string> hosts) {
  const std::lock_guard lock(mutex_);
  own_ = std::move(hosts);
}

void Manager::set_neighbours(const std::vector<Neighbour>& neighbours) {
  std::set<std::string> found;
  for (const Neighbour& neighbour : neighbours) {
    found.insert(who(neighbour.address).each);
    found.insert(who(neighbour.host).each);
  }
  const std::lock_guard lock(mutex_);
  neighbours_ = std::move(found);
}

json::object Manager::status() const {
  json::object all;
  for (std::size_t i = 0; i < kResources; ++i) {
    const std::uint64_t now = used(static_cast<Resource>(i));
    const std::lock_guard lock(mutex_);
    const Limit& limit = budgets_.at(i);
    json::object one = {{"used", now}, {"total", limit.total}, {"each", limit.each}};
    if (limit.group != 0) one["group"] = limit.group;
    if (limit.window != Duration::zero()) one["milliseconds"] = limit.window / std::chrono::milliseconds(1);
    one["refused"] = accounts_.at(i).refused;
    one["remembered"] = accounts_.at(i).each.size();
    all[kNames.at(i)] = std::move(one);
  }
  return all;
}

// --- Share -------------------------------------------------------------------------------------------------

Share::Share(Manager* manager, Resource resource, const Spender& spender, std::uint64_t amount)
    : manager_(manager), resource_(resource), spender_(spender), amount_(amount) {
  granted_ = manager == nullptr || manager->take(resource, spender, amount) == Duration::zero();
}

Share::Share(Share&& other) noexcept { *this = std::move(other); }

Share& Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  release();
  manager_ = other.manager_;
  resource_ = other.resource_;
  spender_ = std::move(other.spender_);
  amount_ = other.amount_;
  granted_ = std::exchange(other.granted_, false);
  return *this;
}

bool Share::grow(std::uint64_t more) {
  if (manager_ != nullptr && manager_->take(resource_, spender_, more) > Duration::zero()) return false;
  amount_ += more;
  return true;
}

void Share::release() {
  if (std::exchange(granted_, false) && manager_ != nullptr)
    manager_->give_back(resource_, spender_, amount_);
}

}  // namespace tagring::budget
