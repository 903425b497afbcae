// What the owners of a history say, held against each other.
#include "storage/cross_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tag_literal.hpp"

namespace tagring::storage {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

HistoryEntry entry(std::int64_t at, const std::string& uri, bool removed = false) {
  return {"cats"_tag, uri, "https://a.example/u", WallTime(Duration(at)), removed};
}
HistoryPage page(std::vector<HistoryEntry> entries, bool more = false) {
  return {std::move(entries), more, {}};
}

TEST(CrossCheck, NobodyIsAskedAboutWhatAllSay) {
  const HistoryPage all = page({entry(3, "c"), entry(2, "b", true), entry(1, "a")});
  EXPECT_THAT(disagreements({all, all, all}, {}), IsEmpty());
}

// One of them may have told the others a moment ago.
TEST(CrossCheck, APostThatHalfOfTheOwnersHaveOnlyHeardIsLookedAt) {
  HistoryEntry rumour = entry(1, "a");
  rumour.changed = kBeforeAll;
  const HistoryPage sure = page({entry(1, "a")});
  const HistoryPage heard = page({rumour});
  EXPECT_THAT(disagreements({sure, sure, heard}, {}), IsEmpty());
  EXPECT_THAT(disagreements({heard}, {}), SizeIs(1));
  const auto open = disagreements({sure, sure, heard, heard}, {});
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].shown_by, 4U) << "who cannot ask its server goes by all";
}

TEST(CrossCheck, ARemovalThatNotAllShowIsLookedAt) {
  const auto open = disagreements({page({entry(1, "a")}), page({entry(1, "a", true)})}, {});
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_FALSE(open[0].entry.removed);
  EXPECT_EQ(open[0].shown_by, 1U);
  EXPECT_EQ(open[0].asked, 2U);
}

TEST(CrossCheck, APostThatNotAllShowIsLookedAt) {
  EXPECT_THAT(disagreements({page({entry(2, "b"), entry(1, "a")}), page({entry(2, "b")})}, {}), SizeIs(1));
}

TEST(CrossCheck, WhoHasNotGotAsFarIsNotMissingIt) {
  EXPECT_THAT(disagreements({page({entry(2, "b"), entry(1, "a")}), page({entry(2, "b")}, /*more=*/true)}, {}),
              IsEmpty());
  const PageWish newer{HistoryCursor{WallTime(Duration(0)), ""}, true, 2};
  EXPECT_THAT(
      disagreements({page({entry(2, "b"), entry(1, "a")}), page({entry(1, "a")}, /*more=*/true)}, newer),
      IsEmpty());
}

TEST(CrossCheck, WhoLetItGoSaysNothingOfIt) {
  HistoryPage small = page({entry(5, "b")});
  small.kept_from = WallTime(Duration(4));
  EXPECT_THAT(disagreements({page({entry(5, "b"), entry(1, "a")}), small}, {}), IsEmpty());
  EXPECT_THAT(disagreements({page({entry(6, "c"), entry(5, "b")}), small}, {}), SizeIs(1));
}

TEST(CrossCheck, WhoSaysThatItLetGoOfWhatItShowsIsNotAskedInsteadOfAnother) {
  HistoryPage liar = page({entry(1, "never")});
  liar.kept_from = WallTime(Duration(4));
  const auto open = disagreements({liar, page({})}, {});
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].shown_by, 1U);
  EXPECT_EQ(open[0].asked, 2U);
}

TEST(CrossCheck, AnotherDateIsADisagreement) {
  EXPECT_THAT(disagreements({page({entry(1, "a")}), page({entry(9, "a")})}, {}), SizeIs(1));
}

TEST(CrossCheck, AllAuthorsThatAreNamedAreAskedAbout) {
  HistoryEntry other = entry(1, "a");
  other.author += "0";
  const auto open = disagreements({page({other}), page({entry(1, "a")}), page({entry(1, "a", true)})}, {});
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_THAT(open[0].authors, testing::UnorderedElementsAre(other.author, entry(1, "a").author));
}

// Which counts where its server cannot be asked.
TEST(CrossCheck, OfSeveralDatesAndAuthorsThoseOfTheMostAreTaken) {
  HistoryEntry other = entry(9, "a");
  other.author += "0";
  const HistoryPage removed = page({entry(1, "a", true)});
  const HistoryPage honest = page({entry(1, "a")});
  for (const std::vector<HistoryPage>& owners :
       {std::vector{page({other}), removed, honest, honest}, std::vector{honest, page({other}), honest}}) {
    const auto open = disagreements(owners, {});
    ASSERT_THAT(open, SizeIs(1));
    EXPECT_EQ(open[0].entry, entry(1, "a"));
    EXPECT_THAT(open[0].authors, testing::ElementsAre(entry(1, "a").author, other.author));
    EXPECT_EQ(open[0].shown_by, 3U);
    EXPECT_EQ(open[0].asked, owners.size());
  }
}

TEST(CrossCheck, WhatNobodyShowsAsLivingIsNoMatterForItsServer) {
  EXPECT_THAT(disagreements({page({entry(1, "a", true)}), page({})}, {}), IsEmpty());
}

HistoryPage shown(std::vector<HistoryPage> owners, const Verdicts& verdicts) {
  apply(verdicts, {}, &owners);
  return merge_pages(owners, 10, /*keep_removed=*/false);
}

TEST(CrossCheck, WhatIsThereIsShownWhoeverSaysThatItWasRemoved) {
  const auto merged = shown({page({entry(1, "a")}), page({entry(1, "a", true)})}, {{"a", {entry(1, "a")}}});
  EXPECT_THAT(merged.entries, testing::ElementsAre(entry(1, "a")));
}

TEST(CrossCheck, WhatNeverWasIsShownByNobody) {
  const auto merged = shown({page({entry(2, "x"), entry(1, "a")}), page({entry(1, "a")})}, {{"x", {}}});
  EXPECT_THAT(merged.entries, testing::ElementsAre(entry(1, "a")));
}

TEST(CrossCheck, APostStandsAtItsOwnDateAndOnce) {
  const auto merged = shown({page({entry(9, "a"), entry(5, "b")}), page({entry(5, "b"), entry(1, "a")})},
                            {{"a", {entry(1, "a")}}});
  EXPECT_THAT(merged.entries, testing::ElementsAre(entry(5, "b"), entry(1, "a")));
}

TEST(CrossCheck, APostThatAllDatedWronglyIsShownWhereItBelongs) {
  const auto merged = shown({page({entry(9, "a"), entry(5, "b")}), page({entry(7, "a"), entry(5, "b")})},
                            {{"a", {entry(1, "a")}}});
  EXPECT_THAT(merged.entries, testing::ElementsAre(entry(5, "b"), entry(1, "a")));
}

// One part of a history after another, as readers put them together.
HistoryPage together(const HistoryPage& part, std::vector<HistoryPage> other, const Verdicts& verdicts = {}) {
  pass_over_lone_removals({}, &other);
  apply(verdicts, {}, &other);
  other.push_back(part);
  return merge_pages(other, 10, /*keep_removed=*/false);
}

TEST(CrossCheck, OneOwnerRemovesNothingOfAnotherPart) {
  const HistoryPage part = page({entry(1, "a")});
  const HistoryPage liar = page({entry(1, "a", true)});
  EXPECT_THAT(together(part, {page({}), liar}).entries, SizeIs(1));
  EXPECT_THAT(together(part, {page({}), liar, liar, page({})}).entries, SizeIs(1));
  EXPECT_THAT(together(part, {page({}), liar, liar}).entries, IsEmpty());  // or they have heard it first
}

// One that lacks the post keeps so what one of them says, while the post's server is silent.
TEST(CrossCheck, WhoHasOnlyHeardOfARemovalDoesNotSayThatThereWasOne) {
  HistoryEntry removal = entry(1, "a", true);
  const HistoryPage liar = page({removal});
  removal.changed = kBeforeAll;
  const HistoryPage heard = page({removal});
  const HistoryPage part = page({entry(1, "a")});
  EXPECT_THAT(together(part, {page({}), liar, heard, heard}).entries, SizeIs(1));
  EXPECT_THAT(together(part, {liar, liar, liar, heard}).entries, IsEmpty());
}

TEST(CrossCheck, WhatMostOfAPartDoNotShowMayStandInAnother) {
  const HistoryPage part = page({entry(1, "a")});
  const Verdict unknown{std::nullopt, /*is_certain=*/false};
  EXPECT_THAT(together(part, {part, page({}), page({})}, {{"a", unknown}}).entries, SizeIs(1));
  const Verdict gone{std::nullopt};
  EXPECT_THAT(together(part, {part, page({}), page({})}, {{"a", gone}}).entries, IsEmpty());
}

TEST(CrossCheck, AFalseAuthorHidesNothingOfAnotherPart) {
  HistoryEntry false_author = entry(1, "a");
  false_author.author += "0";
  const HistoryPage liar = page({false_author});
  const Verdict by_another{std::nullopt, /*is_certain=*/true, /*is_everywhere=*/false};
  EXPECT_THAT(together(page({entry(1, "a")}), {liar, page({}), page({})}, {{"a", by_another}}).entries,
              testing::ElementsAre(entry(1, "a")));
  EXPECT_THAT(together(page({}), {liar, page({}), page({})}, {{"a", by_another}}).entries, IsEmpty());
}

TEST(CrossCheck, OfAPostThatIsBySomebodyElseNobodyIsRightThatItWasRemoved) {
  const HistoryPage living = page({entry(1, "a")});
  const HistoryPage removed = page({entry(1, "a", true)});
  const Verdict by_another{std::nullopt, /*is_certain=*/true, /*is_everywhere=*/false};
  EXPECT_EQ(is_right(living, "a", by_another), std::optional(false));
  EXPECT_EQ(is_right(removed, "a", by_another), std::nullopt);
  EXPECT_EQ(is_right(removed, "a", Verdict{std::nullopt}), std::optional(true));
  EXPECT_EQ(is_right(removed, "a", Verdict{entry(1, "a")}), std::optional(false));
  EXPECT_EQ(is_right(living, "a", Verdict{std::nullopt, /*is_certain=*/false}), std::nullopt);
}

HistoryPage read(std::vector<HistoryPage> owners, std::size_t limit) {
  pass_over_early_ends(limit, &owners);
  return merge_pages(owners, limit, /*keep_removed=*/false);
}

TEST(CrossCheck, WhoEndsEarlyKeepsNobodyFromWhatIsOlder) {
  const HistoryPage honest =
      page({entry(4, "d"), entry(3, "c"), entry(2, "b"), entry(1, "a")}, /*more=*/true);
  const HistoryPage few = page({entry(4, "d")}, /*more=*/true);
  const HistoryPage inventions = page(
      {entry(9, "w", true), entry(8, "x", true), entry(7, "y", true), entry(6, "z", true)}, /*more=*/true);
  for (const HistoryPage& liar : {few, inventions, page({}, /*more=*/true)}) {
    const HistoryPage merged = read({liar, honest}, 4);
    EXPECT_THAT(merged.entries, testing::ElementsAreArray(honest.entries));
    EXPECT_TRUE(merged.more);
    EXPECT_EQ(merged.next->uri, "a");
    const HistoryPage end = read({liar, page({entry(4, "d"), entry(1, "a")})}, 4);
    EXPECT_THAT(end.entries, testing::ElementsAre(entry(4, "d"), entry(1, "a")));
    EXPECT_FALSE(end.more) << "nor does it promise for ever that there is more";
  }
}

TEST(CrossCheck, WhoIsAFewPostsAheadOrAloneDecidesHowFarOneGets) {
  const HistoryPage ahead = page({entry(5, "e", true), entry(4, "d"), entry(3, "c"), entry(2, "b")}, true);
  const HistoryPage other = page({entry(4, "d"), entry(3, "c"), entry(2, "b"), entry(1, "a")}, true);
  EXPECT_THAT(read({ahead, other}, 4).entries,
              testing::ElementsAre(entry(4, "d"), entry(3, "c"), entry(2, "b")));
  EXPECT_TRUE(read({page({entry(4, "d")}, true)}, 4).more);
  EXPECT_TRUE(read({page({entry(4, "d")}, true), page({entry(3, "c")}, true)}, 4).more);
}

TEST(CrossCheck, NobodyIsLeftOutWhereASingleOwnerWouldBeLeft) {
  EXPECT_TRUE(may_leave_out(4, 2));
  EXPECT_FALSE(may_leave_out(4, 3));
  EXPECT_FALSE(may_leave_out(2, 1));
  EXPECT_FALSE(may_leave_out(1, 1));
}

}  // namespace
}  // namespace tagring::storage
