// What is made of the documents of authors.
#include "posts/account.hpp"

#include <gtest/gtest.h>

namespace tagring::posts {
namespace {

TEST(PageOf, IsOfTheServerThatSaysSo) {
  const auto page = [](const std::string& url, const std::string& id) {
    return page_of(json::object{{"url", url}}, id);
  };
  const std::string id = "https://example.org/users/a";
  for (const char* own : {"https://example.org/@a", "https://social.example.org/@a"})
    EXPECT_EQ(page(own, id), own);
  EXPECT_EQ(page("https://example.org/@a", "https://social.example.org/a"), "https://example.org/@a");
  for (const char* other :
       {"https://bank.example/@a", "https://notexample.org/@a", "javascript:alert(1)", ""})
    EXPECT_EQ(page(other, id), id);
  EXPECT_EQ(page("https://b.hoster.example/@b", "https://a.hoster.example/a"), "https://a.hoster.example/a");
  EXPECT_EQ(page_of({}, id), id);
}

// It is shown with each of its author's posts.
TEST(ReadAccount, IsShortHoweverLongTheProfileIs) {
  const std::string uri = "https://example.org/users/a";
  json::array fields;
  for (int i = 0; i < 20; ++i)
    fields.push_back(json::object{
        {"type", "PropertyValue"}, {"name", "Name"}, {"value", "<b>" + std::string(20'000, '"') + "</b>"}});
  const json::object actor = {{"id", uri},
                              {"type", "Person"},
                              {"indexable", true},
                              {"summary", "<p>" + std::string(60'000, 'x') + "</p>"},
                              {"attachment", fields}};
  const Result<json::object> account =
      read_account(json::serialize(actor), uri, {"https://tags.example.org"});
  ASSERT_TRUE(account);
  EXPECT_EQ(account->at("fields").as_array().size(), 16U);
  EXPECT_LE(json::serialize(*account).size(), 50'000U);
}

}  // namespace
}  // namespace tagring::posts
