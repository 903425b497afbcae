#include "followers/documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "base/json.hpp"
#include "followers/digest.hpp"
#include "followers/listing.hpp"

namespace tagring::followers {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::string>;

const std::string kUrl = "https://example.org/actor/followers_synchronization";

// `count` ids of `bytes` bytes.
Ids make_ids(std::size_t count, std::size_t bytes) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) {
    std::string id = "https://a.test/" + std::to_string(1'000'000 + i) + '/';
    ids.push_back(id + std::string(bytes - id.size(), 'x'));
  }
  return ids;
}

// The ids that a receiver reads from the documents.
Ids read(const std::vector<Document>& documents) {
  std::map<std::string, std::string> web;
  for (const Document& document : documents) web[document.url] = document.body;
  Listing listing(kUrl);
  while (const std::string* url = listing.next()) {
    if (web.contains(*url)) {
      listing.take(web[*url]);
    } else {
      listing.fail("404");
    }
  }
  const auto items = listing.items();
  return items ? Ids(items->begin(), items->end()) : Ids{"incomplete"};
}

TEST(Documents, OfMastodonRequestSpecAreOneOrderedCollectionInOrder) {
  const auto documents = make_documents(
      kUrl, {"https://example.com/users/b", "https://example.com", "https://example.com/users/a"});
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 1U);
  EXPECT_EQ(documents->front().url, kUrl);
  EXPECT_EQ(
      documents->front().body,
      R"({"@context":"https://www.w3.org/ns/activitystreams",)"
      R"("id":"https://example.org/actor/followers_synchronization","type":"OrderedCollection",)"
      R"("orderedItems":["https://example.com","https://example.com/users/a","https://example.com/users/b"]})");
}

TEST(Documents, OfNobodyHaveAnEmptyList) {
  const auto documents = make_documents(kUrl, {});
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 1U);
  EXPECT_THAT(documents->front().body, testing::HasSubstr(R"("orderedItems":[])"));
  EXPECT_THAT(read(*documents), ElementsAre());
}

TEST(Documents, NameEachIdOnce) {
  EXPECT_THAT(read(*make_documents(kUrl, {"https://a.test/1", "https://a.test/2", "https://a.test/1"})),
              ElementsAre("https://a.test/1", "https://a.test/2"));
}

TEST(Documents, AreOneUpTo900KilobytesAndThenPages) {
  const Ids some = make_ids(16'500, 50);
  const auto one = make_documents(kUrl, some);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1U);
  EXPECT_GT(one->front().body.size(), 850'000U);

  const Ids many = make_ids(60'000, 50);
  const auto pages = make_documents(kUrl, many);
  ASSERT_TRUE(pages);
  EXPECT_EQ(pages->size(), 1U + 4U);
  EXPECT_EQ((*pages)[0].url, kUrl);
  EXPECT_EQ((*pages)[1].url, kUrl + "/1");
  for (const Document& document : *pages) EXPECT_LE(document.body.size(), 900'000U);
  EXPECT_EQ(read(*pages), many);
  EXPECT_EQ(Digest::of(read(*pages)), Digest::of(many));
}

TEST(Documents, KeepTheirSizeWithTheLongestUrls) {
  const DocumentLimits limits = {.bytes_max = 20'000, .pages_max = 100};
  std::string url = "https://example.org/";
  url.resize(2048, 'u');
  const auto documents = make_documents(url, make_ids(60, 2048), limits);
  ASSERT_TRUE(documents);
  EXPECT_GT(documents->size(), 2U);
  for (const Document& document : *documents) EXPECT_LE(document.body.size(), limits.bytes_max);
}

TEST(Documents, AreNothingOverTenPages) {
  const std::size_t each = 430;  // about 2000 ids to a page
  EXPECT_TRUE(make_documents(kUrl, make_ids(20'000, each)));
  EXPECT_FALSE(make_documents(kUrl, make_ids(21'000, each)));
}

TEST(Documents, FitWheneverTheyAreSaidToFit) {
  const DocumentLimits limits = {.bytes_max = 30'000, .pages_max = 3};
  bool fitted = false;
  bool refused = false;
  for (const std::size_t each : {50U, 400U, 2048U}) {
    for (std::size_t count = 1; count < 2000; count = count * 5 / 4 + 1) {
      const bool fits = documents_fit(count, count * each, limits);
      const auto pages = split_pages(make_ids(count, each), limits);
      if (fits) EXPECT_TRUE(pages) << count << " of " << each;
      fitted |= fits;
      refused |= !pages;
    }
  }
  EXPECT_TRUE(fitted && refused) << "the loop covers both sides";
}

TEST(Documents, OfFourThousandFollowersFitWithoutCountingThem) {
  EXPECT_TRUE(documents_fit(4'000, 4'000 * 2048));
  EXPECT_TRUE(documents_fit(100'000, 100'000 * 60));
  EXPECT_FALSE(documents_fit(1'000'000, 1'000'000 * 60));
}

}  // namespace
}  // namespace tagring::followers
