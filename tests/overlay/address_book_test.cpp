#include "overlay/address_book.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tagring::overlay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr WallTime kNow{std::chrono::days(20'000)};

// Each on a /48 and a domain of its own.
ring::Contact node(std::size_t i) {
  ring::Contact contact;
  contact.host = fmt::format("tags.n{}.example", i);
  contact.address = *IpAddress::parse(fmt::format("2001:db8:{:x}::1", i));
  return contact;
}

std::vector<std::string> all_of(const AddressBook& book) {
  Rng rng(1);
  return book.origins(AddressBook::kNodesMax, rng);
}

TEST(AddressBook, KnowsAfterARestartWhomItMetBefore) {
  AddressBook before("", kNow);
  EXPECT_TRUE(before.empty());
  before.note(Ring::kRelay, node(1), kNow);
  before.note(Ring::kStorage, node(2), kNow);
  const AddressBook after(before.text(), kNow + std::chrono::days(300));
  EXPECT_THAT(all_of(after), UnorderedElementsAre("https://tags.n1.example", "https://tags.n2.example"));
  EXPECT_TRUE(after.has("https://tags.n1.example"));
  EXPECT_FALSE(after.has("https://tags.n3.example"));
  Rng rng(1);
  EXPECT_THAT(after.contacts(Ring::kRelay, 10, rng), IsEmpty()) << "who has not answered since the start";
}

TEST(AddressBook, GivesContactsOfTheRingThatTheyAnsweredOn) {
  AddressBook book("", kNow);
  book.note(Ring::kRelay, node(1), kNow);
  book.note(Ring::kStorage, node(2), kNow);
  Rng rng(1);
  EXPECT_THAT(book.contacts(Ring::kStorage, 10, rng), ElementsAre(node(2)));
}

TEST(AddressBook, GivesEveryoneATurn) {
  AddressBook book("", kNow);
  for (std::size_t i = 0; i < 40; ++i) book.note(Ring::kRelay, node(i), kNow);
  std::set<std::string> seen;
  Rng rng(7);
  for (int n = 0; n < 400; ++n) seen.merge(std::set<std::string>{book.origins(1, rng).at(0)});
  EXPECT_THAT(seen, SizeIs(40));
}

TEST(AddressBook, ForgetsWhoHasNotAnsweredForAYearWhileOthersDid) {
  AddressBook book("", kNow);
  book.note(Ring::kRelay, node(1), kNow);
  const WallTime later = kNow + std::chrono::days(366);
  EXPECT_THAT(all_of(AddressBook(book.text(), later)), SizeIs(1)) << "this node may have been off";
  book.note(Ring::kRelay, node(2), later);
  EXPECT_THAT(all_of(AddressBook(book.text(), later)), ElementsAre("https://tags.n2.example"));
}

TEST(AddressBook, AClockThatIsWrongAtOneStartCostsNobodyTheirPlace) {
  AddressBook book("", kNow);
  for (std::size_t i = 0; i < 4; ++i) book.note(Ring::kRelay, node(i), kNow + std::chrono::days(i));
  const WallTime later = kNow + std::chrono::days(5);
  const std::string before = book.text();
  for (const WallTime wrong : {WallTime{}, kNow + std::chrono::days(3'650)}) {
    AddressBook at_wrong(before, wrong);
    EXPECT_EQ(at_wrong.text(), before);
    at_wrong.note(Ring::kRelay, node(9), wrong);
    at_wrong.note(Ring::kRelay, node(9), later);  // the clock has been set
    AddressBook after(at_wrong.text(), later);
    EXPECT_THAT(all_of(after), SizeIs(5));
    EXPECT_THAT(all_of(AddressBook(after.text(), later)), SizeIs(5));
  }
}

TEST(AddressBook, AClockThatIsWrongAtTwoStartsCostsNobodyTheirPlaceEither) {
  AddressBook book("", kNow);
  for (std::size_t i = 0; i < 4; ++i) book.note(Ring::kRelay, node(i), kNow);
  const WallTime wrong = kNow + std::chrono::days(3'650);
  AddressBook first(book.text(), wrong);
  first.note(Ring::kRelay, node(0), wrong);
  const AddressBook second(first.text(), wrong);
  EXPECT_THAT(all_of(AddressBook(second.text(), kNow)), SizeIs(4));
}

TEST(AddressBook, AnAnswerUnderAClockThatWasAheadIsWrittenAnew) {
  AddressBook book("", kNow);
  book.note(Ring::kRelay, node(1), kNow + std::chrono::days(100));
  EXPECT_TRUE(book.take_changed());
  book.note(Ring::kRelay, node(1), kNow);
  EXPECT_TRUE(book.take_changed());
  EXPECT_FALSE(book.take_changed());
}

TEST(AddressBook, IsWrittenDownWhenSomebodyIsNewAndOnceAnHour) {
  AddressBook book("", kNow);
  EXPECT_FALSE(book.take_changed());
  book.note(Ring::kRelay, node(1), kNow);
  EXPECT_TRUE(book.take_changed());
  book.note(Ring::kRelay, node(1), kNow + std::chrono::minutes(59));
  EXPECT_FALSE(book.take_changed());
  book.note(Ring::kRelay, node(1), kNow + std::chrono::minutes(61));
  EXPECT_TRUE(book.take_changed());
}

TEST(AddressBook, TakesFewOfOnePrefixOrDomainAndForgetsTheOldestOfThese) {
  for (const bool one_prefix : {true, false}) {
    AddressBook book("", kNow);
    book.note(Ring::kRelay, node(1), kNow - std::chrono::days(30));  // of no such neighbourhood
    for (std::size_t i = 10; i < 30; ++i) {
      ring::Contact neighbour = node(i);
      if (one_prefix) neighbour.address = *IpAddress::parse(fmt::format("2001:db8:ffff:{:x}::1", i));
      if (!one_prefix) neighbour.host = fmt::format("n{}.hoster.example", i);
      book.note(Ring::kRelay, neighbour, kNow + std::chrono::hours(i));
    }
    const std::vector<std::string> origins = all_of(book);
    EXPECT_THAT(origins, SizeIs(1 + AddressBook::kNeighboursMax));
    EXPECT_THAT(origins, Contains("https://tags.n1.example"));
    EXPECT_THAT(origins,
                Not(Contains(one_prefix ? "https://tags.n10.example" : "https://n10.hoster.example")));
    EXPECT_THAT(origins, Contains(one_prefix ? "https://tags.n29.example" : "https://n29.hoster.example"));
  }
}

TEST(AddressBook, IsBounded) {
  AddressBook book("", kNow);
  for (std::size_t i = 0; i < 2 * AddressBook::kNodesMax; ++i)
    book.note(Ring::kRelay, node(i), kNow + std::chrono::seconds(i));
  EXPECT_THAT(all_of(book), SizeIs(AddressBook::kNodesMax));
  EXPECT_THAT(all_of(book), Not(Contains("https://tags.n300.example"))) << "of the half that was met last";
}

TEST(AddressBook, NewcomersHoweverManyDisplaceNobodyWhoIsKnownForLong) {
  AddressBook first("", kNow);
  for (std::size_t i = 0; i < 20; ++i) first.note(Ring::kRelay, node(i), kNow);
  AddressBook book(first.text(), kNow + std::chrono::days(6));
  for (std::size_t i = 100; i < 100 + 3 * AddressBook::kNodesMax; ++i)
    book.note(Ring::kRelay, node(i), kNow + std::chrono::days(6));
  for (std::size_t i = 0; i < 20; ++i) EXPECT_THAT(all_of(book), Contains("https://" + node(i).host));
  book.note(Ring::kRelay, node(1), kNow + std::chrono::days(8));
  for (std::size_t i = 5000; i < 5030; ++i) book.note(Ring::kRelay, node(i), kNow + std::chrono::days(8));
  EXPECT_THAT(all_of(book), Contains("https://" + node(1).host));
  EXPECT_THAT(all_of(book), Not(Contains("https://" + node(2).host))) << "who is silent makes room first";
}

TEST(AddressBook, AsksThoseThatAreKnownLongestAmongOthers) {
  AddressBook book("", kNow);
  for (std::size_t i = 0; i < 10; ++i) book.note(Ring::kRelay, node(i), kNow);
  for (std::size_t i = 100; i < 110; ++i) book.note(Ring::kRelay, node(i), kNow + std::chrono::days(1));
  Rng rng(3);
  for (int n = 0; n < 100; ++n) {
    const std::vector<std::string> asked = book.origins(4, rng);
    EXPECT_THAT(std::set<std::string>(asked.begin(), asked.end()), SizeIs(4));
    EXPECT_GE(std::ranges::count_if(asked, [](const std::string& one) { return one.size() == 23; }), 2);
  }
}

TEST(AddressBook, LeavesOutWhatItCannotRead) {
  EXPECT_TRUE(AddressBook("no JSON", kNow).empty());
  EXPECT_TRUE(AddressBook("{\"origin\": 1}", kNow).empty());
  const AddressBook book(
      R"([{"origin": "nonsense", "address": "::1", "answered": 1727990000}, 7,
          {"origin": "https://a.example", "address": "nowhere", "answered": 1727990000},
          {"origin": "https://b.example", "address": "2001:db8::1", "answered": 1727990000}])",
      kNow);
  EXPECT_THAT(all_of(book), ElementsAre("https://b.example"));
}

}  // namespace
}  // namespace tagring::overlay
