#include "overlay/address_book.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/json.hpp"
#include "http/url.hpp"

namespace tagring::overlay {
namespace {

constexpr Duration kFresh = std::chrono::hours(1);  // an age is not written down more exactly

// Up to `count` of them, each as likely as any other.
template <class T>
std::vector<T> sample(std::vector<T> all, std::size_t count, Rng& rng) {
  count = std::min(count, all.size());
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + rng.below(all.size() - i)]);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
  return all;
}

std::string domain_of(const std::string& host) { return ring::registrable_domain(host).value_or(host); }

}  // namespace

AddressBook::AddressBook(std::string_view saved, WallTime now) {
  const auto list = json::parse(saved);
  if (!list) return;
  json::for_each(&*list, [&](const json::value& element) {
    if (!element.is_object() || nodes_.size() >= kNodesMax) return;
    const json::object& item = element.get_object();
    const std::string origin(json::text_of(item, "origin"));
    const auto address = IpAddress::parse(json::text_of(item, "address"));
    const WallTime answered{std::chrono::seconds(json::get_int(item, "answered").value_or(0))};
    const auto url = Url::parse(origin);
    if (!url || !address || now - answered > kRemembered) return;
    nodes_[origin] = Node{url->host, *address, std::min(answered, now), {}};
  });
}

void AddressBook::note(Ring ring, const ring::Contact& contact, WallTime now) {
  auto known = nodes_.find(contact.origin());
  if (known == nodes_.end()) {
    Node node{contact.host, contact.address, now, {}};
    make_room(node);
    known = nodes_.emplace(contact.origin(), std::move(node)).first;
    changed_ = true;
  }
  Node& node = known->second;
  if (now - node.answered >= kFresh || node.address != contact.address) {
    node.answered = now;
    node.address = contact.address;
    changed_ = true;
  }
  node.contacts.insert_or_assign(ring, contact);
}

// The one that has not answered for longest goes: of the newcomer's neighbours if these are many, else of
// all.
void AddressBook::make_room(const Node& for_whom) {
  const std::string domain = domain_of(for_whom.host);
  const auto leave_one_out = [&](std::size_t max, const auto& counts) {
    auto oldest = nodes_.end();
    std::size_t count = 0;
    for (auto node = nodes_.begin(); node != nodes_.end(); ++node) {
      if (!counts(node->second)) continue;
      ++count;
      if (oldest == nodes_.end() || node->second.answered < oldest->second.answered) oldest = node;
    }
    if (count >= max) nodes_.erase(oldest);
  };
  const Prefix64 prefix = for_whom.address.prefix64();
  leave_one_out(kNeighboursMax, [&](const Node& node) {
    return std::ranges::equal(node.address.prefix64() | std::views::take(6), prefix | std::views::take(6));
  });
  leave_one_out(kNeighboursMax, [&](const Node& node) { return domain_of(node.host) == domain; });
  leave_one_out(kNodesMax, [](const Node&) { return true; });
}

std::vector<ring::Contact> AddressBook::contacts(Ring ring, std::size_t count, Rng& rng) const {
  std::vector<ring::Contact> all;
  for (const auto& [origin, node] : nodes_) {
    const auto contact = node.contacts.find(ring);
    if (contact != node.contacts.end()) all.push_back(contact->second);
  }
  return sample(std::move(all), count, rng);
}

std::vector<std::string> AddressBook::origins(std::size_t count, Rng& rng) const {
  std::vector<std::string> all;
  for (const auto& [origin, node] : nodes_) all.push_back(origin);
  return sample(std::move(all), count, rng);
}

std::string AddressBook::text() const {
  json::array list;
  for (const auto& [origin, node] : nodes_) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(node.answered.time_since_epoch());
    list.push_back(json::object{
        {"origin", origin}, {"address", node.address.text()}, {"answered", std::int64_t{seconds.count()}}});
  }
  return json::serialize(list);
}

bool AddressBook::take_changed() { return std::exchange(changed_, false); }

}  // namespace tagring::overlay
