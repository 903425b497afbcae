#include "overlay/address_book.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/json.hpp"
#include "http/url.hpp"

namespace tagring::overlay {
namespace {

constexpr Duration kFresh = std::chrono::hours(1);  // an age is not written down more exactly

// Who is known longest first.
template <class Nodes>
auto by_acquaintance(Nodes& nodes) {
  std::vector<decltype(nodes.begin())> all;
  for (auto node = nodes.begin(); node != nodes.end(); ++node) all.push_back(node);
  std::ranges::sort(
      all, {}, [](const auto& node) { return std::pair(node->second.met, std::string_view(node->first)); });
  return all;
}

// Up to `count` of them, each as likely as any other.
template <class T>
std::vector<T> sample(std::vector<T> all, std::size_t count, Rng& rng) {
  count = std::min(count, all.size());
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + rng.below(all.size() - i)]);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
  return all;
}

std::int64_t to_seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

AddressBook::AddressBook(std::string_view saved, WallTime now) {
  const auto list = json::parse(saved);
  if (!list) return;
  std::vector<WallTime> answers;
  json::for_each(&*list, [&](const json::value& element) {
    if (!element.is_object() || nodes_.size() >= kNodesMax) return;
    const json::object& item = element.get_object();
    const std::string origin(json::text_of(item, "origin"));
    const auto address = IpAddress::parse(json::text_of(item, "address"));
    const WallTime answered{std::chrono::seconds(json::get_int(item, "answered").value_or(0))};
    const auto url = Url::parse(origin);
    if (!url || !address) return;
    const WallTime met{std::chrono::seconds(json::get_int(item, "met").value_or(to_seconds(answered)))};
    nodes_[origin] = Node{url->host, *address, met, answered, {}};
    answers.push_back(answered);
  });
  if (answers.empty()) return;
  // A node off for a year has not asked. A clock may be years ahead at some starts, until somebody sets it: a
  // quarter of the answers may have come under it.
  const auto late = answers.end() - 1 - std::ssize(answers) / 4;
  std::ranges::nth_element(answers, late);
  const WallTime reference = std::min(*late, now);
  std::erase_if(nodes_, [&](const auto& node) { return reference - node.second.answered > kRemembered; });
}

void AddressBook::note(Ring ring, const ring::Contact& contact, WallTime now) {
  auto known = nodes_.find(contact.origin());
  if (known == nodes_.end()) {
    Node node{contact.host, contact.address, now, now, {}};
    make_room(node);
    known = nodes_.emplace(contact.origin(), std::move(node)).first;
    changed_ = true;
  }
  Node& node = known->second;
  if (now < node.answered || now - node.answered >= kFresh || node.address != contact.address) {
    node.answered = now;
    node.address = contact.address;
    changed_ = true;
  }
  node.contacts.insert_or_assign(ring, contact);
}

// Of the newcomer's neighbours, if these are many, the one that has not answered for longest goes.
void AddressBook::make_room(const Node& for_whom) {
  const std::string domain = ring::domain_of(for_whom.host);
  const auto leave_out_neighbour = [&](const auto& counts) {
    auto oldest = nodes_.end();
    std::size_t count = 0;
    for (auto node = nodes_.begin(); node != nodes_.end(); ++node) {
      if (!counts(node->second)) continue;
      ++count;
      if (oldest == nodes_.end() || node->second.answered < oldest->second.answered) oldest = node;
    }
    if (count >= kNeighboursMax) nodes_.erase(oldest);
  };
  const Prefix64 prefix = for_whom.address.prefix64();
  leave_out_neighbour([&](const Node& node) {
    return std::ranges::equal(node.address.prefix64() | std::views::take(6), prefix | std::views::take(6));
  });
  leave_out_neighbour([&](const Node& node) { return ring::domain_of(node.host) == domain; });
  if (nodes_.size() >= kNodesMax) leave_one_out(for_whom.answered);
}

// Of all who have been silent, or else of the half that was met last, the one that has been so for longest.
void AddressBook::leave_one_out(WallTime now) {
  const auto answered = [](const Nodes::iterator& node) { return node->second.answered; };
  std::vector<Nodes::iterator> all = by_acquaintance(nodes_);
  auto out = std::ranges::min_element(all, {}, answered);
  if (now - answered(*out) < kSilent)
    out = std::ranges::min_element(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end(), {},
                                   answered);
  nodes_.erase(*out);
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
  std::vector<std::string> old;
  for (const auto& node : by_acquaintance(nodes_)) old.push_back(node->first);
  const auto middle = old.begin() + static_cast<std::ptrdiff_t>((old.size() + 1) / 2);
  std::vector<std::string> rest(middle, old.end());
  old.erase(middle, old.end());
  std::vector<std::string> chosen = sample(old, count / 2, rng);
  std::erase_if(old, [&](const std::string& one) { return std::ranges::find(chosen, one) != chosen.end(); });
  std::ranges::move(old, std::back_inserter(rest));
  std::ranges::move(sample(std::move(rest), count - chosen.size(), rng), std::back_inserter(chosen));
  return chosen;
}

std::string AddressBook::text() const {
  json::array list;
  for (const auto& [origin, node] : nodes_) {
    list.push_back(json::object{{"origin", origin},
                                {"address", node.address.text()},
                                {"met", to_seconds(node.met)},
                                {"answered", to_seconds(node.answered)}});
  }
  return json::serialize(list);
}

bool AddressBook::take_changed() { return std::exchange(changed_, false); }

}  // namespace tagring::overlay
