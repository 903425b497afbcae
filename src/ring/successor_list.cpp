#include "ring/successor_list.hpp"

#include <set>

#include "base/assert.hpp"

namespace tagring::ring {

void SuccessorList::assign(std::span<const Contact> contacts, std::size_t length) {
  std::vector<Contact> list;
  std::set<Prefix64> prefixes;
  RingId reached = self_;
  for (const Contact& contact : contacts) {
    if (list.size() >= length && (prefixes.size() >= kPrefixesMin || list.size() >= 4 * length)) break;
    if (!in_open(reached, contact.id, self_)) break;
    reached = contact.id;
    prefixes.insert(contact.address.prefix64());
    list.push_back(contact);
  }
  contacts_ = std::move(list);
}

void SuccessorList::pop() {
  TR_ASSERT(!contacts_.empty());
  contacts_.erase(contacts_.begin());
}

double estimate_size(const SuccessorList& list, std::size_t length) {
  const auto contacts = list.contacts();
  const auto count = static_cast<double>(contacts.size());
  if (contacts.size() < length) return count + 1;
  const double span = clockwise_distance(list.self(), contacts.back().id).fraction();
  return span > 0 ? count / span : count + 1;
}

}  // namespace tagring::ring
