// A history of which owners tell lies, read while the server of the posts cannot be asked, or has nothing.

#include <fmt/format.h>

#include "http/url.hpp"
#include "sim/lies.hpp"
#include "tests/sim/fixture.hpp"

namespace tagring::sim {
namespace {

using storage::HistoryEntry;
using storage::HistoryService;

constexpr const char* kCats = "caturday";
constexpr std::size_t kMachines = 10;
constexpr std::size_t kPosts = 6;

// What an owner that answers so says of the posts.
using Lie = std::function<std::vector<HistoryEntry>(std::vector<HistoryEntry>)>;

std::vector<HistoryEntry> with_other_dates_and_authors(std::vector<HistoryEntry> entries) {
  for (HistoryEntry& entry : entries) {
    entry.published -= std::chrono::hours(2);
    entry.author += "0";
  }
  return entries;
}

// Each as often as if all owners said so.
std::vector<HistoryEntry> with_inventions(std::vector<HistoryEntry> entries) {
  const std::vector<HistoryEntry> known = entries;
  for (int n = 0; n < 4; ++n) {
    for (HistoryEntry entry : known) {
      entry.uri += "0";
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

std::vector<HistoryEntry> with_inventions_once(std::vector<HistoryEntry> entries) {
  const std::vector<HistoryEntry> known = entries;
  for (HistoryEntry entry : known) {
    entry.uri += "0";
    entries.push_back(std::move(entry));
  }
  return entries;
}

// So many that never were, all of one author.
std::vector<HistoryEntry> inventions_of(const std::string& author, std::size_t count) {
  std::vector<HistoryEntry> entries;
  for (std::size_t n = 0; n < count; ++n)
    entries.push_back({Tag::from_canonical(kCats), fmt::format("{}/never{}", author, n), author,
                       WallTime(std::chrono::seconds(n + 1))});
  return entries;
}

std::vector<HistoryEntry> with_each_removed_thrice(std::vector<HistoryEntry> entries) {
  for (HistoryEntry& entry : entries) entry.removed = true;
  const std::vector<HistoryEntry> known = entries;
  for (int n = 0; n < 2; ++n) entries.insert(entries.end(), known.begin(), known.end());
  return entries;
}

class Reading : public testing::Test {
 protected:
  Reading() {
    WorldOptions options;
    options.lie = [this](std::size_t i, const HttpRequest& request) { return answer(i, request); };
    world.emplace(11, options);
    for (std::size_t i = 0; i < kMachines; ++i) world->start_node(i);
    EXPECT_TRUE(world->run_until(std::chrono::minutes(2), [&] { return world->is_settled(); }));
    for (std::size_t n = 0; n < kPosts; ++n) world->publish(kPublisher, {kCats});
    EXPECT_TRUE(world->run_until(std::chrono::minutes(1), [&] { return world->is_quiet(); }))
        << world->unrest();
    world->set_instance_down(kPublisher, true);
    world->loop.run_for(std::chrono::minutes(10));  // what anybody remembers of it is forgotten
    truth = *world->history(kPublisher, kCats, 40);
  }

  std::optional<HttpResponse> answer(std::size_t node, const HttpRequest& request) {
    if (!liars.contains(node) || path_of(request.target) != HistoryService::kPath) return std::nullopt;
    ++told;
    std::vector<HistoryEntry> entries = lie(truth);
    std::ranges::sort(entries, storage::newer);
    HttpResponse response;
    response.headers.add("Content-Type", "application/json");
    response.body =
        json::serialize(json::object{{"entries", storage::to_json(entries, false)}, {"more", false}});
    return response;
  }

  // Each owner in turn lies to each other node.
  void expect_that_nobody_believes(Lie what) {
    lie = std::move(what);
    for (std::size_t i = 0; i < kMachines; ++i) {
      liars = {i};
      for (std::size_t reader = 0; reader < kMachines; ++reader) {
        if (reader == i) continue;
        const auto read = world->history(reader, kCats, 40);
        ASSERT_TRUE(read);
        EXPECT_EQ(*read, truth) << "node " << i << " lies to node " << reader;
      }
    }
    EXPECT_GT(told, kMachines);
  }

  static constexpr std::size_t kPublisher = 3;
  std::optional<World> world;
  std::vector<HistoryEntry> truth;
  std::set<std::size_t> liars;
  Lie lie;
  std::size_t told = 0;
};

TEST_F(Reading, OneOwnersDatesAndAuthorsAreNotTaken) {
  expect_that_nobody_believes(with_other_dates_and_authors);
}

TEST_F(Reading, OneOwnerCountsOnceHoweverOftenItSaysSomething) {
  expect_that_nobody_believes(with_inventions);
  expect_that_nobody_believes(with_each_removed_thrice);
}

// Each post that one owner invents is looked for there, one after the other.
TEST_F(Reading, AServerThatAnswersLateKeepsNoReaderWaitingForAllOfItsPosts) {
  world->set_instance_down(kPublisher, false);
  world->set_instance_late(kPublisher, std::chrono::seconds(9));
  lie = with_inventions_once;
  for (std::size_t i = 0; i < kMachines; ++i) {
    liars = {i};
    const auto read = world->history((i + 1) % kMachines, kCats, 40);
    ASSERT_TRUE(read) << "node " << i << " lies";
    EXPECT_EQ(*read, truth) << "node " << i << " lies";
  }
  EXPECT_GE(told, 2U);
}

// The first of them is looked for, and then that server is left alone.
TEST_F(Reading, WhatMostOwnersInventWhereNothingIsIsNotShown) {
  const std::string author = "https://" + world->add_bystander() + "/users/alice";
  liars = sim::owners_of(*world, {kCats}).at(kCats).stores;
  ASSERT_GE(liars.size(), 3U);
  liars.erase(liars.begin());
  lie = [&](std::vector<HistoryEntry> entries) {
    std::ranges::move(inventions_of(author, 8), std::back_inserter(entries));
    return entries;
  };
  for (std::size_t reader = 0; reader < kMachines; ++reader) {
    if (liars.contains(reader)) continue;
    for (int i = 0; i < 2; ++i) {
      const auto read = world->history(reader, kCats, 40);
      ASSERT_TRUE(read);
      EXPECT_EQ(*read, truth) << "node " << reader << " reads";
    }
  }
  EXPECT_GT(told, kMachines);
  for (const auto& [reader, requests] : world->asked_of_bystander())
    EXPECT_LE(requests, 2U) << "of node " << reader << ": for a post and its author";
}

// It is looked for before the others, where no reader has seen anything yet, and left out what is there.
TEST_F(Reading, WhatOneOwnerInventsHidesNothingThatIsAtTheSameServer) {
  world->set_instance_down(kPublisher, false);
  const std::string server = "https://" + host_of(truth.front().uri);
  lie = [&](std::vector<HistoryEntry> entries) {
    entries.erase(entries.begin(), entries.begin() + kPosts / 2);
    std::ranges::move(inventions_of(server + "/a", 1), std::back_inserter(entries));
    return entries;
  };
  const auto fetches = [&] {
    const auto known = world->fetches().find(kPublisher);
    return known == world->fetches().end() ? 0 : known->second;
  };
  const std::uint64_t fetched = fetches();
  const std::set<std::size_t> stores = sim::owners_of(*world, {kCats}).at(kCats).stores;
  for (const std::size_t i : stores) {
    liars = {i};
    for (std::size_t reader = 0; reader < kMachines; ++reader) {
      const auto read = world->history(reader, kCats, 40);
      ASSERT_TRUE(read);
      if (!liars.contains(reader)) {
        EXPECT_EQ(uris_of(*read), uris_of(truth)) << "node " << i << " lies to node " << reader;
      }
    }
  }
  EXPECT_GT(fetches(), fetched + kMachines / 2);
}

}  // namespace
}  // namespace tagring::sim
