#include "ring/successor_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/fixture.hpp"

namespace tagring::ring {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Where the members of a list stand.
std::vector<int> places(const SuccessorList& list) {
  std::vector<int> result;
  for (const Contact& contact : list.contacts()) result.push_back(contact.id.bytes()[0]);
  return result;
}

std::vector<Contact> contacts_at(std::initializer_list<std::uint8_t> where) {
  std::vector<Contact> result;
  for (const std::uint8_t n : where) result.push_back(contact_at(n));
  return result;
}

SuccessorList list_of(std::uint8_t self, std::initializer_list<std::uint8_t> where, std::size_t length) {
  SuccessorList list(place(self));
  list.assign(contacts_at(where), length);
  return list;
}

TEST(SuccessorList, BeginsEmpty) {
  const SuccessorList list(place(10));
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.self(), place(10));
}

TEST(SuccessorList, KeepsTheNearestFirst) {
  const SuccessorList list = list_of(10, {20, 30, 40}, 4);
  EXPECT_THAT(places(list), ElementsAre(20, 30, 40));
  EXPECT_EQ(list.front().id, place(20));
}

TEST(SuccessorList, ReachesOverTheEndOfTheRing) {
  EXPECT_THAT(places(list_of(200, {250, 0, 100}, 4)), ElementsAre(250, 0, 100));
}

TEST(SuccessorList, EndsWhereItsOwnerStands) {
  EXPECT_THAT(places(list_of(10, {20, 30, 10, 20}, 8)), ElementsAre(20, 30));
}

TEST(SuccessorList, EndsBeforeItWouldPassItsOwner) {
  EXPECT_THAT(places(list_of(200, {250, 100, 220, 230}, 8)), ElementsAre(250, 100));
}

TEST(SuccessorList, EndsAtTheFirstEntryOutOfOrder) {
  EXPECT_THAT(places(list_of(10, {20, 40, 30, 50}, 8)), ElementsAre(20, 40));
}

TEST(SuccessorList, EndsAtARepeatedEntry) {
  EXPECT_THAT(places(list_of(10, {20, 30, 30, 40}, 8)), ElementsAre(20, 30));
}

TEST(SuccessorList, EndsAtARestartedCopyOfAnEntry) {
  std::vector<Contact> contacts = contacts_at({20, 20, 30});
  ++contacts[1].incarnation;
  SuccessorList list(place(10));
  list.assign(contacts, 8);
  EXPECT_THAT(places(list), ElementsAre(20));
  EXPECT_EQ(list.front().incarnation, contacts[0].incarnation);
}

TEST(SuccessorList, ItsOwnerFirstMakesItEmpty) { EXPECT_TRUE(list_of(10, {10, 20}, 8).empty()); }

TEST(SuccessorList, IsNoLongerThanAskedFor) {
  EXPECT_THAT(places(list_of(10, {20, 30, 40, 50, 60}, 4)), ElementsAre(20, 30, 40, 50));
}

TEST(SuccessorList, GoesOnWhileItStandsInTooFewSubnets) {
  std::vector<Contact> contacts;
  for (const std::uint8_t n : {20, 30, 40, 50}) contacts.push_back(contact_at(n, 1));
  for (const std::uint8_t n : {60, 70}) contacts.push_back(contact_at(n, 2));
  for (const std::uint8_t n : {80, 90}) contacts.push_back(contact_at(n, 3));
  SuccessorList list(place(10));
  list.assign(contacts, 4);
  EXPECT_THAT(places(list), ElementsAre(20, 30, 40, 50, 60, 70, 80)) << "the third subnet is in, so it ends";
}

TEST(SuccessorList, IsNoLongerThanFourTimesAskedForWhateverTheSubnets) {
  std::vector<Contact> contacts;
  for (std::uint8_t n = 20; n < 120; ++n) contacts.push_back(contact_at(n, 1));
  SuccessorList list(place(10));
  list.assign(contacts, 4);
  EXPECT_EQ(list.contacts().size(), 16U);
}

TEST(SuccessorList, AddressesOfOneSubnetAreOne) {
  std::vector<Contact> contacts = contacts_at({20, 30, 40, 50});
  for (std::size_t i = 0; i < 3; ++i) {
    contacts[i] = contact_at(static_cast<std::uint8_t>(20 + 10 * i), 1);
    contacts[i].address.bytes[15] = static_cast<std::uint8_t>(i);
  }
  SuccessorList list(place(10));
  list.assign(contacts, 3);
  EXPECT_THAT(places(list), ElementsAre(20, 30, 40, 50));
}

TEST(SuccessorList, AnAssignmentReplacesWhatWasThere) {
  SuccessorList list = list_of(10, {20, 30, 40}, 4);
  list.assign(contacts_at({25}), 4);
  EXPECT_THAT(places(list), ElementsAre(25));
  list.assign({}, 4);
  EXPECT_THAT(places(list), IsEmpty());
}

TEST(SuccessorList, PopsTheNearest) {
  SuccessorList list = list_of(10, {20, 30}, 4);
  list.pop();
  EXPECT_THAT(places(list), ElementsAre(30));
  list.pop();
  EXPECT_TRUE(list.empty());
  EXPECT_DEATH(list.pop(), "");
}

TEST(EstimateSize, CountsARingThatTheListGoesAllRound) {
  EXPECT_EQ(estimate_size(list_of(10, {}, 4), 4), 1);
  EXPECT_EQ(estimate_size(list_of(10, {20, 30, 40}, 4), 4), 4);
}

TEST(EstimateSize, ExtrapolatesAFullList) {
  // Four in a sixteenth of the ring, also across its end.
  EXPECT_DOUBLE_EQ(estimate_size(list_of(10, {14, 18, 22, 26}, 4), 4), 64);
  EXPECT_DOUBLE_EQ(estimate_size(list_of(248, {252, 0, 4, 8}, 4), 4), 64);
}

}  // namespace
}  // namespace tagring::ring
