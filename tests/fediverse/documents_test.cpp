#include "fediverse/documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/url.hpp"

namespace tagring::fediverse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const NodeUrls kUrls("https://tags.example.org");

std::string text_at(const json::object& o, std::string_view key) {
  return json::get_string(o, key).value_or("(none)");
}

TEST(Documents, NodeActorHasTheInboxThatIsEnteredAsRelay) {
  const json::object actor = make_node_actor(kUrls, "PEM");
  EXPECT_EQ(text_at(actor, "id"), "https://tags.example.org/actor");
  EXPECT_EQ(text_at(actor, "type"), "Application");
  EXPECT_EQ(text_at(actor, "inbox"), "https://tags.example.org/inbox");
  EXPECT_EQ(text_at(actor, "preferredUsername"), "tags.example.org");
}

TEST(Documents, TheNodesActorIsNamedAsNoHashtagIs) {
  for (const char* origin : {"https://tags.example.org", "https://tags.example.org:8443", "https://localhost",
                             "https://[2001:db8::1]"}) {
    const std::string name = node_actor_name(NodeUrls(origin));
    EXPECT_EQ(name.find_first_of(":[]"), std::string::npos) << origin;
    const Result<Tag> tag = Tag::from_actor_name(name);
    EXPECT_FALSE(tag && tag->actor_name() == name) << origin << ": a hashtag has the name of the node";
    const auto found =
        parse_webfinger_resource("acct:" + name + "@" + NodeUrls(origin).authority(), NodeUrls(origin));
    ASSERT_TRUE(found) << origin;
    EXPECT_EQ(found->actor, origin + std::string("/actor"));
  }
}

TEST(Documents, ActorsSayWhenTheyCameToBeIfThatIsKnown) {
  const WallTime since = from_rfc3339("2026-03-01T12:00:00Z").value();
  const Tag tag = Tag::parse("caturday").value();
  EXPECT_EQ(text_at(make_node_actor(kUrls, "PEM", since), "published"), to_rfc3339(since));
  EXPECT_EQ(text_at(make_tag_actor(kUrls, tag, "PEM", since), "published"), to_rfc3339(since));
  EXPECT_FALSE(make_tag_actor(kUrls, tag, "PEM").contains("published"));
}

TEST(Documents, TagActorHasEveryFieldThatSomeServerNeeds) {
  const json::object actor = make_tag_actor(kUrls, Tag::parse("CatUrday").value(), "PEM");
  const std::string id = "https://tags.example.org/tag/caturday";
  EXPECT_EQ(text_at(actor, "id"), id);
  EXPECT_EQ(text_at(actor, "type"), "Service");
  EXPECT_EQ(text_at(actor, "preferredUsername"), "caturday");
  EXPECT_EQ(text_at(actor, "name"), "#caturday");
  EXPECT_THAT(text_at(actor, "summary"), HasSubstr("#<span>caturday</span>"));
  EXPECT_EQ(text_at(actor, "url"), id);
  EXPECT_EQ(text_at(actor, "inbox"), id + "/inbox");
  EXPECT_EQ(text_at(actor, "outbox"), id + "/outbox");
  EXPECT_EQ(text_at(actor, "followers"), id + "/followers");
  EXPECT_EQ(text_at(actor, "following"), id + "/following");
  EXPECT_EQ(actor.at("endpoints").at("sharedInbox"), "https://tags.example.org/inbox");
  EXPECT_EQ(actor.at("manuallyApprovesFollowers"), false);
  EXPECT_EQ(actor.at("discoverable"), false) << "it would head every directory of people";
  for (const auto& [member, file] : {std::pair("icon", "/icon.png"), std::pair("image", "/header.png")}) {
    EXPECT_EQ(actor.at(member).at("mediaType"), "image/png");
    EXPECT_EQ(actor.at(member).at("url"), json::value(id + file));
  }
  EXPECT_EQ(text_at(actor, "featured"), id + "/featured");
  const std::string page = "https://tags.example.org/tags/caturday";
  EXPECT_EQ(actor.at("attachment").at(0).at("type"), "PropertyValue");
  EXPECT_THAT(std::string(actor.at("attachment").at(0).at("value").as_string()),
              HasSubstr("href=\"" + page + "\" rel=\"me "));
  EXPECT_EQ(actor.at("attachment").as_array().size(), 3U);
  // What a card shows of it says what it is.
  EXPECT_THAT(text_at(actor, "summary"),
              ::testing::StartsWith("<p>Every public post under <a href=\"" + page));
  EXPECT_EQ(actor.at("indexable"), false);
  EXPECT_EQ(actor.at("publicKey").at("id"), json::value(id + "#main-key"));
  EXPECT_EQ(actor.at("publicKey").at("owner"), json::value(id));
  EXPECT_EQ(actor.at("publicKey").at("publicKeyPem"), "PEM");
  EXPECT_EQ(actor.at("@context").at(0), "https://www.w3.org/ns/activitystreams");
}

// What Mastodon makes of a field: the link, if it is all there is and its text, without tags, is its address.
std::string link_that_is_verified(std::string html) {
  constexpr std::string_view kBefore = "<a href=\"";
  if (!html.starts_with(kBefore) || html.find("</a>") != html.size() - 4) return "(not only a link)";
  const std::string href = html.substr(kBefore.size(), html.find('"', kBefore.size()) - kBefore.size());
  std::string text;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) text.push_back(c);
    if (c == '>') inside = false;
  }
  return text == href ? href : "the text is " + text;
}

TEST(Documents, MastodonVerifiesTheLinkToTheActorsOwnPage) {
  const auto of = [](const json::object& actor) {
    const std::string html(actor.at("attachment").at(0).at("value").as_string());
    EXPECT_THAT(html, HasSubstr(R"(<span class="invisible">https://</span>)"));
    return link_that_is_verified(html);
  };
  EXPECT_EQ(of(make_tag_actor(kUrls, Tag::parse("cats").value(), "PEM")),
            "https://tags.example.org/tags/cats");
  EXPECT_EQ(of(make_tag_actor(kUrls, Tag::parse("猫").value(), "PEM")),
            "https://tags.example.org/tags/%E7%8C%AB");
  EXPECT_EQ(of(make_node_actor(kUrls, "PEM")), "https://tags.example.org/");
}

TEST(Documents, ANoteOfTheActorStandsOnItsProfile) {
  const json::object note = make_about_note(kUrls, Tag::parse("猫").value());
  EXPECT_EQ(text_at(note, "id"), "https://tags.example.org/tag/xn--z7x/about");
  EXPECT_EQ(text_at(note, "attributedTo"), "https://tags.example.org/tag/xn--z7x");
  EXPECT_EQ(note.at("to").at(0), "https://www.w3.org/ns/activitystreams#Public");
  EXPECT_THAT(text_at(note, "content"), HasSubstr("https://tags.example.org/tags/%E7%8C%AB"));
  EXPECT_FALSE(note.contains("tag")) << "or it would be a post under the hashtag";
}

TEST(Documents, EveryTermOfAnActorIsDefinedByItsContext) {
  const json::object actor = make_node_actor(kUrls, "PEM");
  EXPECT_EQ(actor.at(kNodeMark), 1);
  EXPECT_TRUE(actor.at("@context").at(2).as_object().contains(kNodeMark));
}

TEST(Documents, ProfilesSayWhomToWriteTo) {
  const std::string mail = "tags@example.org";
  const json::object node = make_node_actor(kUrls, "PEM", std::nullopt, mail);
  const json::object& contact = node.at("attachment").get_array().back().get_object();
  EXPECT_EQ(text_at(contact, "name"), "Contact");
  EXPECT_THAT(text_at(contact, "value"), HasSubstr(R"(href="mailto:tags@example.org")"));
  const Tag tag = Tag::parse("cats").value();
  const std::string with = json::serialize(make_tag_actor(kUrls, tag, "PEM", std::nullopt, mail));
  EXPECT_THAT(with, HasSubstr("mailto:tags@example.org"));
  EXPECT_THAT(json::serialize(make_tag_actor(kUrls, tag, "PEM")), Not(HasSubstr("mailto:")));
  EXPECT_THAT(json::serialize(make_node_actor(kUrls, "PEM")), Not(HasSubstr("Contact")));
}

TEST(Documents, TheNodeSaysWhatAcceptingItsFollowMeans) {
  const json::object actor = make_node_actor(kUrls, "PEM");
  EXPECT_THAT(text_at(actor, "summary"), HasSubstr("accepts its follow in return"));
  EXPECT_EQ(actor.at("icon").at("url"), "https://tags.example.org/actor/icon.png");
  EXPECT_EQ(text_at(actor, "featured"), "https://tags.example.org/actor/featured");
}

TEST(Documents, TagActorOfANonAsciiTagHasAnAsciiName) {
  const json::object actor = make_tag_actor(kUrls, Tag::parse("日本").value(), "PEM");
  EXPECT_EQ(text_at(actor, "preferredUsername"), "xn--wgv71a");
  EXPECT_EQ(text_at(actor, "id"), "https://tags.example.org/tag/xn--wgv71a");
  EXPECT_EQ(text_at(actor, "name"), "#日本");
}

TEST(Documents, UrlsLeadBackToTags) {
  EXPECT_EQ(kUrls.tag_of_actor("https://tags.example.org/tag/caturday"), Tag::parse("caturday").value());
  EXPECT_EQ(kUrls.tag_of_actor("https://tags.example.org/tag/xn--wgv71a"), Tag::parse("日本").value());
  EXPECT_EQ(kUrls.tag_of_actor("https://tags.example.org/tag/%E6%97%A5%E6%9C%AC"),
            Tag::parse("日本").value());
  for (const char* other : {"https://other.example/tag/caturday", "https://tags.example.org/tag/",
                            "https://tags.example.org/tag/caturday/inbox", "https://tags.example.org/actor",
                            "https://tags.example.org/tag/a%2Fb", "https://tags.example.org/tag/%zz"}) {
    EXPECT_FALSE(kUrls.tag_of_actor(other)) << other;
  }
}

TEST(Webfinger, FindsTagsHoweverTheyAreSpelled) {
  for (const char* resource :
       {"acct:caturday@tags.example.org", "acct:Caturday@TAGS.example.org", "acct:@caturday@tags.example.org",
        "https://tags.example.org/tag/caturday", "https://tags.example.org/tags/caturday",
        "ACCT:caturday@tags.example.org", "HTTPS://TAGS.example.org:443/tag/caturday",
        "https://tags.example.org/tag/caturday#main-key"}) {
    const Result<WebfingerTarget> target = parse_webfinger_resource(resource, kUrls);
    ASSERT_TRUE(target) << resource;
    EXPECT_EQ(target->tag, Tag::parse("caturday").value());
    EXPECT_EQ(target->subject, "acct:caturday@tags.example.org");
    EXPECT_EQ(target->actor, "https://tags.example.org/tag/caturday");
  }
  for (const char* resource :
       {"acct:日本@tags.example.org", "acct:%E6%97%A5%E6%9C%AC@tags.example.org",
        "acct:xn--wgv71a@tags.example.org", "https://tags.example.org/tag/%E6%97%A5%E6%9C%AC",
        "https://tags.example.org/tags/%E6%97%A5%E6%9C%AC"}) {
    const Result<WebfingerTarget> target = parse_webfinger_resource(resource, kUrls);
    ASSERT_TRUE(target) << resource;
    EXPECT_EQ(target->subject, "acct:xn--wgv71a@tags.example.org");
  }
  for (const char* resource : {"acct:caf\u00e9@tags.example.org", "acct:cafe\u0301@tags.example.org"}) {
    const Result<WebfingerTarget> target = parse_webfinger_resource(resource, kUrls);
    ASSERT_TRUE(target) << resource;
    EXPECT_EQ(target->subject, "acct:cafe@tags.example.org");
  }
}

TEST(Webfinger, FindsTheNode) {
  for (const char* resource :
       {"acct:tags.example.org@tags.example.org", "https://tags.example.org/actor",
        "https://tags.example.org/", "https://tags.example.org", "acct:node.actor@tags.example.org"}) {
    const Result<WebfingerTarget> target = parse_webfinger_resource(resource, kUrls);
    ASSERT_TRUE(target) << resource;
    EXPECT_FALSE(target->tag);
    EXPECT_EQ(target->subject, "acct:tags.example.org@tags.example.org");
    EXPECT_EQ(target->actor, "https://tags.example.org/actor");
  }
}

TEST(Webfinger, RefusesOtherHostsAndWhatIsNoAccount) {
  const auto code = [](std::string_view resource) {
    const auto target = parse_webfinger_resource(resource, kUrls);
    EXPECT_FALSE(target) << resource << " is " << target->subject;
    return target ? ErrorCode::kCorrupt : target.error().code;
  };
  for (const char* malformed : {"", "acct:caturday", "acct:%zz@tags.example.org", "caturday@tags.example.org",
                                "=acct:caturday@tags.example.org", "caturday", "://tags.example.org"})
    EXPECT_EQ(code(malformed), ErrorCode::kInvalid) << malformed;
  for (const char* unknown :
       {"acct:caturday@other.example", "acct:12345@tags.example.org", "acct:\xFF@tags.example.org",
        "https://other.example/tag/caturday", "http://tags.example.org/tag/caturday",
        "mailto:caturday@tags.example.org", "foo://tags.example.org", "acct:a+b@tags.example.org",
        "acct:no.such.account@tags.example.org", "acct:cat%20day@tags.example.org",
        "acct:cats\xF0\x9F\x8E\x89@tags.example.org", "acct:cat-day@tags.example.org",
        "acct:%23cats@tags.example.org", "acct:cats@me@tags.example.org", "https://tags.example.org/tag/a.b",
        "https://tags.example.org/tag/tags.oak.example", "https://tags.example.org/tags/caturday.rss"})
    EXPECT_EQ(code(unknown), ErrorCode::kNotFound) << unknown;
}

TEST(Webfinger, AnswerLinksTheActorInBothMediaTypesAndThePage) {
  const json::object jrd =
      make_webfinger(parse_webfinger_resource("acct:caturday@tags.example.org", kUrls).value());
  EXPECT_EQ(text_at(jrd, "subject"), "acct:caturday@tags.example.org");
  const json::array& links = jrd.at("links").as_array();
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].at("type"), "application/activity+json");
  EXPECT_EQ(links[1].at("type"), R"(application/ld+json; profile="https://www.w3.org/ns/activitystreams")");
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(links[i].at("rel"), "self");
    EXPECT_EQ(links[i].at("href"), "https://tags.example.org/tag/caturday");
  }
  EXPECT_EQ(links[2].at("rel"), "http://webfinger.net/rel/profile-page");
  EXPECT_EQ(links[2].at("href"), "https://tags.example.org/tags/caturday");
}

TEST(Documents, HostMetaAndNodeInfoPointToTheRest) {
  EXPECT_THAT(make_host_meta(kUrls),
              HasSubstr("template=\"https://tags.example.org/.well-known/webfinger?resource={uri}\""));
  const json::object links = make_nodeinfo_links(kUrls);
  EXPECT_EQ(links.at("links").at(0).at("rel"), "http://nodeinfo.diaspora.software/ns/schema/2.0");
  EXPECT_EQ(links.at("links").at(0).at("href"), "https://tags.example.org/nodeinfo/2.0");
  EXPECT_EQ(links.at("links").at(1).at("rel"), "http://nodeinfo.diaspora.software/ns/schema/2.1");
  EXPECT_EQ(links.at("links").at(1).at("href"), "https://tags.example.org/nodeinfo/2.1");
  EXPECT_EQ(links.at("links").at(2).at("href"), "https://tags.example.org/actor");
  for (const std::string version : {"2.0", "2.1"}) {
    EXPECT_EQ(json::serialize(make_nodeinfo(version, "1.2.3", {{"rings", json::array()}})),
              R"({"version":")" + version +
                  R"(","software":{"name":"tagring","version":"1.2.3"},"protocols":["activitypub"],)"
                  R"("services":{"inbound":[],"outbound":[]},"openRegistrations":false,"usage":{"users":{}},)"
                  R"("metadata":{"rings":[]}})");
  }
}

TEST(Documents, CollectionsComeWholeOrInPages) {
  const json::object page =
      make_collection_page("https://n/c?page=1", "https://n/c", {"https://n/1"}, "https://n/c?page=2");
  EXPECT_EQ(text_at(page, "partOf"), "https://n/c");
  EXPECT_EQ(text_at(page, "next"), "https://n/c?page=2");
  EXPECT_EQ(json::serialize(page.at("orderedItems")), R"(["https://n/1"])");
  EXPECT_FALSE(make_collection_page("https://n/c?page=2", "https://n/c", {}, "").contains("next"));
  EXPECT_EQ(
      json::serialize(make_whole_collection("https://n/c", {})),
      R"({"@context":"https://www.w3.org/ns/activitystreams","id":"https://n/c","type":"OrderedCollection",)"
      R"("totalItems":0,"orderedItems":[]})");
  EXPECT_EQ(json::serialize(make_whole_collection("https://n/c", {"https://a/u"}).at("orderedItems")),
            R"(["https://a/u"])");
}

}  // namespace
}  // namespace tagring::fediverse
