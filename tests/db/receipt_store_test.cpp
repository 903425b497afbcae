#include "db/receipt_store.hpp"

#include <fmt/format.h>
#include <set>

#include "tests/db/fixture.hpp"
#include "tests/tag_literal.hpp"

namespace tagring::db {
namespace {

using audit::KeptReceipt;

class ReceiptStoreTest : public StoresTest {
 protected:
  static KeptReceipt receipt(int number, const std::vector<Tag>& tags) {
    KeptReceipt kept;
    kept.receipt = {"net", Ring::kStorage, "https://owner.example/actor", at(number), tags.size(),
                    {},    "signature"};
    kept.key = "a key";
    for (const Tag& tag : tags)
      kept.items.push_back({tag, fmt::format("https://a.example/{}", number), false, at(number), true});
    return kept;
  }
  std::vector<std::int64_t> numbers(const Tag& tag, std::uint64_t after = 0) {
    std::vector<std::int64_t> found;
    for (const KeptReceipt& kept : must(stores->receipts.receipts(tag, after, 1'000)))
      found.push_back(kept.receipt.at.time_since_epoch().count());
    return found;
  }
  void keep(int number, const std::vector<Tag>& tags, WallTime kept_after = {},
            std::uint64_t bytes = 1'000'000) {
    must(stores->receipts.keep(receipt(number, tags), at(number), {kept_after, bytes}));
  }
};

using Numbers = std::vector<std::int64_t>;

INSTANTIATE_TEST_SUITE_P(, ReceiptStoreTest, every_database(), name_of);

TEST_P(ReceiptStoreTest, AreFoundByEachOfTheirTagsInOrderAndSurvive) {
  keep(1, {"cats"_tag});
  keep(2, {"dogs"_tag});
  keep(3, {"cats"_tag, "dogs"_tag});
  reopen();
  EXPECT_EQ(numbers("cats"_tag), (Numbers{1, 3}));
  EXPECT_EQ(numbers("dogs"_tag), (Numbers{2, 3}));
  EXPECT_EQ(numbers("cows"_tag), Numbers{});
  const auto all = must(stores->receipts.receipts("dogs"_tag, 0, 10));
  EXPECT_EQ(all[1].items, receipt(3, {"cats"_tag, "dogs"_tag}).items);
  EXPECT_EQ(all[1].key, "a key");
  EXPECT_EQ(numbers("dogs"_tag, all[0].id), Numbers{3});
}

TEST_P(ReceiptStoreTest, EachHasAPlaceByItsSize) {
  EXPECT_FALSE(must(stores->receipts.at(0)));
  for (int number = 1; number <= 9; ++number) keep(number, {"cats"_tag});
  std::set<WallTime> found;
  for (std::uint64_t place = 0; place < 100; ++place)
    found.insert(must(stores->receipts.at(place * audit::ReceiptStore::kPlaces / 100))->receipt.at);
  EXPECT_EQ(found.size(), 9U);
  EXPECT_TRUE(must(stores->receipts.at(audit::ReceiptStore::kPlaces - 1)));
}

TEST_P(ReceiptStoreTest, OfEachOffenderTheLatestEvidenceIsKeptForATime) {
  const auto keep_offence = [this](const char* origin, int when, const char* evidence, int kept_after = 0) {
    must(stores->receipts.keep_offence({origin, at(when), evidence}, at(kept_after)));
  };
  keep_offence("https://a.example", 20, "second");
  keep_offence("https://a.example", 10, "first");
  keep_offence("https://b.example", 5, "old");
  const auto all = must(stores->receipts.offences());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].evidence, "second");
  keep_offence("https://c.example", 30, "new", 6);
  const auto left = must(stores->receipts.offences());
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[1].origin, "https://c.example");
}

TEST_P(ReceiptStoreTest, TheLatestAreReadUntilThereAreEnough) {
  keep(1, {"cats"_tag});
  keep(2, {"cats"_tag, "dogs"_tag});
  keep(3, {"dogs"_tag});
  const auto latest = must(stores->receipts.latest(2));
  ASSERT_EQ(latest.size(), 2U);
  EXPECT_EQ(latest[0].receipt.at, at(3));
  EXPECT_EQ(latest[1].items.size(), 2U);
  EXPECT_EQ(must(stores->receipts.latest(100)).size(), 3U);
}

TEST_P(ReceiptStoreTest, TheLastAuditsSurvive) {
  for (const char* report : {"one", "two", "three"}) must(stores->receipts.keep_audit(report, 2));
  reopen();
  EXPECT_EQ(must(stores->receipts.audits()), (std::vector<std::string>{"three", "two"}));
}

TEST_P(ReceiptStoreTest, OldOnesAreForgottenAndMoreThanThereIsRoomFor) {
  for (int i = 1; i <= 10; ++i) keep(i, {"cats"_tag});
  const auto totals = must(stores->receipts.totals());
  EXPECT_EQ(totals.batches, 10U);
  keep(11, {"cats"_tag}, at(5));
  EXPECT_EQ(numbers("cats"_tag), (Numbers{5, 6, 7, 8, 9, 10, 11}));
  for (int i = 12; i <= 60; ++i) keep(i, {"cats"_tag}, {}, totals.bytes / 2);
  const Numbers left = numbers("cats"_tag);
  EXPECT_GE(left.size(), 4U);
  EXPECT_LE(left.size(), 6U);
  EXPECT_EQ(left.back(), 60);
  EXPECT_LE(must(stores->receipts.totals()).bytes, totals.bytes / 2 + 600);
}

}  // namespace
}  // namespace tagring::db
