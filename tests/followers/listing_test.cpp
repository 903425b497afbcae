#include "followers/listing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace tagring::followers {
namespace {

using testing::ElementsAre;

const std::string kRoot = "https://example.org/users/u/followers_synchronization";
const std::string kAlice = "https://cb6e6126.ngrok.io/ap/users/1";
const std::string kEve = "https://cb6e6126.ngrok.io/users/eve";
const std::string kMallory = "https://cb6e6126.ngrok.io/users/mallory";

using Web = std::map<std::string, std::string>;

std::string quoted(const std::string& text) { return '"' + text + '"'; }

// Reads `web`, where what is not there cannot be fetched.
Listing read(const Web& web, ListingLimits limits = {}, const std::string& root = kRoot) {
  Listing listing(root, limits);
  while (const std::string* url = listing.next()) {
    EXPECT_EQ(listing.items(), std::nullopt) << "not before all is read";
    const auto page = web.find(*url);
    if (page == web.end()) {
      listing.fail("404");
    } else {
      listing.take(page->second);
    }
  }
  return listing;
}
Listing read(const std::string& body) { return read(Web{{kRoot, body}}); }

std::vector<std::string> items(const Listing& listing) {
  const auto all = listing.items();
  if (!all) return {"incomplete: " + std::string(listing.problem())};
  return {all->begin(), all->end()};
}

// The three shapes of Mastodon's services/synchronize_followers_service_spec.

TEST(Listing, OfMastodonServiceSpecMayBeACollectionOrAnOrderedCollection) {
  const std::string list = '[' + quoted(kAlice) + ',' + quoted(kEve) + ',' + quoted(kMallory) + ']';
  EXPECT_THAT(
      items(read(
          R"({"@context":"https://www.w3.org/ns/activitystreams","type":"Collection","id":"x","items":)" +
          list + '}')),
      ElementsAre(kAlice, kEve, kMallory));
  EXPECT_THAT(items(read(R"({"type":"OrderedCollection","orderedItems":)" + list + '}')),
              ElementsAre(kAlice, kEve, kMallory));
}

TEST(Listing, OfMastodonServiceSpecMayHaveItsFirstPageInIt) {
  EXPECT_THAT(items(read(R"({"type":"Collection","first":{"type":"CollectionPage","items":[)" +
                         quoted(kAlice) + ',' + quoted(kEve) + "]}}")),
              ElementsAre(kAlice, kEve));
}

TEST(Listing, OfMastodonServiceSpecMayHaveTwoPagesTheSecondWithABareString) {
  EXPECT_THAT(
      items(read(
          {{kRoot, R"({"type":"Collection","first":"https://example.org/p1"})"},
           {"https://example.org/p1",
            R"({"type":"CollectionPage","next":"https://example.org/p2","items":[)" + quoted(kAlice) + "]}"},
           {"https://example.org/p2", R"({"type":"CollectionPage","items":)" + quoted(kEve) + '}'}})),
      ElementsAre(kAlice, kEve));
}

TEST(Listing, OfMastodonServiceSpecIsNothingIfASecondPageIsMissing) {
  EXPECT_THAT(
      items(read(
          {{kRoot, R"({"type":"Collection","first":"https://example.org/p1"})"},
           {"https://example.org/p1",
            R"({"type":"CollectionPage","next":"https://example.org/p2","items":["https://a.test/1"]})"}})),
      ElementsAre("incomplete: 404"));
}

TEST(Listing, OfMastodonServiceSpecIsNothingIfItHasMorePagesThanTheMost) {
  const Web web = {
      {kRoot, R"({"type":"Collection","first":"https://example.org/p1"})"},
      {"https://example.org/p1",
       R"({"type":"CollectionPage","next":"https://example.org/p2","items":["https://a.test/1"]})"},
      {"https://example.org/p2", R"({"type":"CollectionPage","items":["https://a.test/2"]})"}};
  EXPECT_THAT(items(read(web, {.pages_max = 1})), ElementsAre("incomplete: too many pages"));
  EXPECT_THAT(items(read(web, {.pages_max = 2})), ElementsAre("https://a.test/1", "https://a.test/2"));
}

TEST(Listing, OfFedifyIsEmptyWithoutAnyItems) {
  EXPECT_THAT(
      items(read(R"({"type":"OrderedCollection","id":"https://example.org/users/u/followers?base-url=x"})")),
      ElementsAre());
  EXPECT_THAT(items(read(R"({"type":"OrderedCollection","orderedItems":[]})")), ElementsAre());
  EXPECT_THAT(items(read(R"({"type":"OrderedCollection","orderedItems":null,"first":null})")), ElementsAre());
}

// [Fedify with a counter, which counts the followers of all servers, leaves out an empty list]
TEST(Listing, TellsThatItOnlySaysHowManyThereAre) {
  for (const auto& [document, only_counts] : std::map<std::string, bool>{
           {R"({"type":"OrderedCollection","totalItems":2})", true},
           {R"({"type":"OrderedCollection","totalItems":0})", false},
           {R"({"type":"OrderedCollection","totalItems":2,"orderedItems":[]})", false}}) {
    const Listing listing = read(document);
    EXPECT_THAT(items(listing), ElementsAre()) << document;
    EXPECT_EQ(listing.only_counts(), only_counts) << document;
  }
}

TEST(Listing, MayHaveALastPageWithoutAnyItems) {
  EXPECT_THAT(
      items(read({{kRoot, R"({"type":"OrderedCollection","totalItems":2,"first":"https://example.org/p1"})"},
                  {"https://example.org/p1", R"({"type":"OrderedCollectionPage","totalItems":2})"}})),
      ElementsAre());
}

TEST(Listing, OfFedifyMayHavePagesWithACursorInTheQuery) {
  EXPECT_THAT(
      items(read(
          {{kRoot, R"({"type":"OrderedCollection","first":"https://example.org/f?cursor=0&base-url=x"})"},
           {"https://example.org/f?cursor=0&base-url=x",
            R"({"type":"OrderedCollectionPage","orderedItems":["https://a.test/1"],)"
            R"("next":"https://example.org/f?cursor=1&base-url=x"})"},
           {"https://example.org/f?cursor=1&base-url=x",
            R"({"type":"OrderedCollectionPage","orderedItems":["https://a.test/2"]})"}})),
      ElementsAre("https://a.test/1", "https://a.test/2"));
}

TEST(Listing, OfTootikAndMastodonDocumentationMayHaveAnotherId) {
  EXPECT_THAT(
      items(read(R"({"type":"OrderedCollection","id":"https://example.org/followers/u?domain=a.test",)"
                 R"("orderedItems":["https://a.test/1"]})")),
      ElementsAre("https://a.test/1"));
}

TEST(Listing, OfApSidecarMayMixIdsAndObjects) {
  EXPECT_THAT(
      items(read(
          R"({"type":"Collection","items":["https://a.test/1",{"id":"https://a.test/2","type":"Person"}]})")),
      ElementsAre("https://a.test/1", "https://a.test/2"));
  EXPECT_THAT(items(read(R"({"type":"Collection","items":{"id":"https://a.test/2"}})")),
              ElementsAre("https://a.test/2"));
}

TEST(Listing, OfApSidecarIsNothingWithAnItemThatHasNoId) {
  for (const std::string bad : {"{}", "7", "\"\"", "[\"https://a.test/2\"]", "null", R"({"id":7})"}) {
    EXPECT_THAT(items(read(R"({"type":"Collection","items":["https://a.test/1",)" + bad + "]}")),
                ElementsAre("incomplete: item without a proper id"))
        << bad;
  }
}

TEST(Listing, OfApSidecarIsNothingWithAnOverlongId) {
  const std::string longest = "https://a.test/" + std::string(2048 - 15, 'a');
  EXPECT_THAT(items(read(R"({"type":"Collection","items":[")" + longest + "\"]}")), ElementsAre(longest));
  EXPECT_THAT(items(read(R"({"type":"Collection","items":[")" + longest + "a\"]}")),
              ElementsAre("incomplete: item without a proper id"));
}

TEST(Listing, OfApSidecarIsNothingOverTheLimitsOfSizeAndNumber) {
  const std::string body = R"({"type":"Collection","items":["https://a.test/1","https://a.test/2"]})";
  EXPECT_THAT(items(read({{kRoot, body}}, {.items_max = 1})), ElementsAre("incomplete: too many items"));
  EXPECT_THAT(items(read({{kRoot, body}}, {.items_max = 2})),
              ElementsAre("https://a.test/1", "https://a.test/2"));
  EXPECT_THAT(items(read({{kRoot, body}}, {.document_bytes_max = body.size() - 1})),
              ElementsAre("incomplete: document too large"));
  EXPECT_THAT(items(read({{kRoot, body}}, {.document_bytes_max = body.size()})),
              ElementsAre("https://a.test/1", "https://a.test/2"));
}

TEST(Listing, IgnoresItemsOfARootThatHasPages) {
  EXPECT_THAT(items(read(R"({"type":"Collection","items":["https://a.test/1"],)"
                         R"("first":{"type":"CollectionPage","items":["https://a.test/2"]}})")),
              ElementsAre("https://a.test/2"));
}

TEST(Listing, FollowsTheNextPageOfARootThatIsAPage) {
  EXPECT_THAT(
      items(
          read({{kRoot,
                 R"({"type":"CollectionPage","items":["https://a.test/1"],"next":"https://example.org/2"})"},
                {"https://example.org/2", R"({"type":"CollectionPage","items":["https://a.test/2"]})"}})),
      ElementsAre("https://a.test/1", "https://a.test/2"));
}

TEST(Listing, OfPixelfedDoesNotFollowAPageToAnotherServer) {
  for (const std::string page :
       {"https://evil.com/p1", "http://example.org/p1", "https://example.org:8443/p1", "/p1", ""}) {
    EXPECT_THAT(items(read(R"({"type":"Collection","first":")" + page + "\"}")),
                ElementsAre("incomplete: page on another server"))
        << page;
    EXPECT_THAT(items(read(R"({"type":"Collection","items":["https://a.test/1"],"next":")" + page + "\"}")),
                ElementsAre("incomplete: page on another server"))
        << page;
  }
}

TEST(Listing, OfPixelfedDoesNotReadAPageTwice) {
  EXPECT_THAT(items(read(R"({"type":"Collection","items":[],"next":")" + kRoot + "\"}")),
              ElementsAre("incomplete: page that was read before"));
}

TEST(Listing, IsNothingWithoutACollection) {
  EXPECT_THAT(items(read("")), ElementsAre("incomplete: not a JSON object"));
  EXPECT_THAT(items(read("[]")), ElementsAre("incomplete: not a JSON object"));
  EXPECT_THAT(items(read("{}")), ElementsAre("incomplete: not a collection"));
  EXPECT_THAT(items(read(R"({"type":"Note","items":[]})")), ElementsAre("incomplete: not a collection"));
  EXPECT_THAT(items(read(R"({"type":"Collection","first":{"items":[]}})")),
              ElementsAre("incomplete: first page is not a collection"));
  EXPECT_THAT(items(read(R"({"type":"Collection","items":[],"orderedItems":[]})")),
              ElementsAre("incomplete: two lists of items"));
  EXPECT_THAT(items(read({}, {}, "ftp://example.org/f")), ElementsAre("incomplete: not an http(s) URL"));
}

}  // namespace
}  // namespace tagring::followers
