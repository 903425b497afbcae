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

}  // namespace
}  // namespace tagring::posts
