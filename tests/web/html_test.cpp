#include "web/html.hpp"

#include <gtest/gtest.h>

namespace tagring::web {
namespace {

TEST(Html, EscapesWhatCouldEndATextOrAnAttribute) {
  EXPECT_EQ(escape(R"(<a href="x" id='y'>&amp;)"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
  EXPECT_EQ(escape("猫 قطط"), "猫 قطط");
}

TEST(Html, TextKeepsParagraphsAndLinesAndNoElements) {
  EXPECT_EQ(text_of("<p>One<br>two</p><p>three <a href=\"https://x.example\">link</a></p>"),
            "One\ntwo\n\nthree link");
  EXPECT_EQ(text_of("<ul><li>a</li><li>b</li></ul>"), "a\nb");
  EXPECT_EQ(text_of("<script>alert(1)</script>"), "alert(1)");
}

TEST(Html, TextResolvesReferencesOnce) {
  EXPECT_EQ(text_of("&lt;b&gt; &amp;lt; &#39;&#x732B;&nbsp;"), "<b> &lt; '猫\u00A0");
}

TEST(Html, TextLeavesWhatIsNoReference) {
  EXPECT_EQ(text_of("AT&T; R&D &unknown; &#0; &#xD800; &#x110000; &#12z;"),
            "AT&T; R&D &unknown; &#0; &#xD800; &#x110000; &#12z;");
}

TEST(Html, BrokenElementsEndTheText) {
  EXPECT_EQ(text_of("before <p"), "before ");
  EXPECT_EQ(text_of("<"), "");
  EXPECT_EQ(text_of("&"), "&");
}

TEST(Html, OnlyLinksOfTheWebAreSafe) {
  EXPECT_EQ(safe_link("https://a.example/1"), "https://a.example/1");
  EXPECT_EQ(safe_link("javascript:alert(1)"), "");
  EXPECT_EQ(safe_link(" https://a.example"), "");
}

}  // namespace
}  // namespace tagring::web
