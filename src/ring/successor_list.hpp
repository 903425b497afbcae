// The next vservers clockwise from one, nearest first.
//
// Pure state. Invariants, asserted after every change:
//   - strictly ascending by clockwise distance from `self`, so no duplicates;
//   - never contains `self`: in a small ring the list ends before it would wrap.
#pragma once

#include <span>
#include <vector>

#include "ring/contact.hpp"

namespace tagring::ring {

class SuccessorList {
 public:
  explicit SuccessorList(RingId self) : self_(self) {}

  // Replaces the list by `contacts`, in order, as far as they are in ring order and before `self`. Takes
  // `length` of them; more if these stand in fewer than kPrefixesMin /64s, up to 4 · `length`: a hoster with
  // many nodes in one /64 sits on one point of the ring, and its outage must not take the whole list.
  void assign(std::span<const Contact> contacts, std::size_t length);
  // Forgets the nearest.
  void pop();

  [[nodiscard]] bool empty() const { return contacts_.empty(); }
  [[nodiscard]] const Contact& front() const { return contacts_.front(); }
  // Valid until the next change; copy before a co_await.
  [[nodiscard]] std::span<const Contact> contacts() const { return contacts_; }
  [[nodiscard]] const RingId& self() const { return self_; }
  [[nodiscard]] std::vector<Contact> copy() const { return contacts_; }

  static constexpr std::size_t kPrefixesMin = 3;

 private:
  RingId self_;
  std::vector<Contact> contacts_;
};

// Members of the ring, guessed from how densely they stand in the list; exact if the list is shorter than
// `length`, because then it reaches round the whole ring.
double estimate_size(const SuccessorList& list, std::size_t length);

}  // namespace tagring::ring
