// What the code in docs/followers.md takes for granted of a server; enough for the compiler.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "followers/documents.hpp"
#include "followers/header.hpp"
#include "followers/listing.hpp"
#include "followers/plan.hpp"
#include "followers/throttle.hpp"

struct Server {
  using Authority = tagring::followers::Authority;
  using Digest = tagring::followers::Digest;

  Digest digest(const std::string& actor, const Authority& authority);
  void set_digest(const std::string& actor, const Authority& authority, const Digest& digest);
  std::vector<std::string> followers(const std::string& actor, const Authority& authority);
  tagring::followers::Knowledge who_follows(const std::string& actor);
  std::optional<std::string> signed_get(const std::string& url);
  void forget_follow(const std::string& follower, const std::string& actor);
  void accept_follow(const std::string& follower, const std::string& actor);
  void send_undo_follow(const std::string& follower, const std::string& actor);
  tagring::followers::TimePoint now();
  std::chrono::milliseconds uptime();

  Authority authority;
  tagring::followers::Throttle throttle;
};
