// Two servers in one process that have lost sight of who follows whom, and find out by FEP-8fcf.
//
// Olga lives on origin.example, and people of home.example follow her: Ann does. Ben does too, but a restored
// backup of origin.example has forgotten it. Cat's Follow was accepted, but the Accept was lost. Dan has
// unfollowed, but his Undo was lost.
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "followers/documents.hpp"
#include "followers/header.hpp"
#include "followers/listing.hpp"
#include "followers/plan.hpp"
#include "followers/throttle.hpp"

using namespace tagring::followers;

namespace {

const std::string kOlga = "https://origin.example/users/olga";
std::string at_home(const std::string& name) { return "https://home.example/users/" + name; }

// The server that is followed.
struct Origin {
  std::set<std::string> followers;
  std::map<Authority, Digest> digests;  // of Olga's followers, by server

  // Where a Follow is accepted and where it is undone; a real server does both in one transaction.
  void add(const std::string& follower) {
    if (followers.insert(follower).second) digests[*Authority::of(follower)].add(follower);
  }
  void remove(const std::string& follower) {
    if (followers.erase(follower) != 0) digests[*Authority::of(follower)].remove(follower);
  }

  // For a delivery to an inbox, made when it is sent and not when it is queued. An authority without
  // followers has the digest of the empty set: that server, too, must learn that nobody there follows.
  Header header_for(const std::string& inbox) {
    return {kOlga + "/followers", kOlga + "/followers_synchronization", digests[*Authority::of(inbox)]};
  }

  // GET /users/olga/followers_synchronization and its pages. `signer` is the actor whose signature was
  // verified; without one, the answer is 401.
  std::string get(const std::string& url, const std::string& signer) {
    std::vector<std::string> theirs;
    for (const std::string& id : followers) {
      if (Authority::of(signer)->covers(id)) theirs.push_back(id);
    }
    const auto documents = make_documents(kOlga + "/followers_synchronization", theirs);
    for (const Document& document : documents.value_or(std::vector<Document>())) {
      if (document.url == url) return document.body;
    }
    return "404";
  }
};

// The server whose people follow.
struct Home {
  const Authority own = *Authority::of("https://home.example");
  Knowledge olga;  // who of ours follows her
  Throttle throttle;

  // For each delivery whose signature is good. What comes of it never changes the answer to the delivery.
  void receive(const std::string& header_value, const Delivery& delivery, TimePoint now, Origin& origin) {
    const auto header = parse_header(header_value);
    if (!header || !check_header(*header, delivery, own)) return;
    if (olga.digest() == header->digest) {
      std::cout << "home: we agree about " << olga.accepted.size() << " followers\n";
      return;
    }
    const std::string sender(delivery.actor);
    if (!throttle.start(sender, now.time_since_epoch())) return;
    Listing listing(header->url);
    while (const std::string* url = listing.next()) {
      std::cout << "home: GET " << *url << '\n';
      listing.take(origin.get(*url, "https://home.example/actor"));  // or listing.fail("no answer")
    }
    apply(make_plan(olga, listing.items(), header->digest, own, now), now, origin);
    throttle.finish(sender);
  }

  void apply(const Plan& plan, TimePoint now, Origin& origin) {
    if (plan.doubt) std::cout << "home: nobody is removed: " << to_string(*plan.doubt) << '\n';
    for (const std::string& id : plan.remove) {
      std::cout << "home: " << id << " does not follow any more\n";
      std::erase_if(olga.accepted, [&](const auto& follow) { return follow.follower == id; });
    }
    for (const std::string& id : plan.accept) {
      std::cout << "home: " << id << " is accepted\n";
      std::erase(olga.pending, id);
      olga.accepted.push_back({id, now});
    }
    for (const std::string& id : plan.undo) {
      std::cout << "home: " << id << " sends Undo Follow\n";
      origin.remove(id);
    }
  }
};

}  // namespace

int main() {
  const TimePoint now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 21);
  const TimePoint last_year = now - std::chrono::days(365);
  Origin origin;
  for (const char* name : {"ann", "cat", "dan"}) origin.add(at_home(name));
  origin.add("https://elsewhere.example/users/eve");
  Home home;
  home.olga = {{{at_home("ann"), last_year}, {at_home("ben"), last_year}}, {at_home("cat")}};

  Header header;
  for (const int post : {1, 2}) {
    header = origin.header_for("https://home.example/inbox");
    const std::string value = format_header(header).value();
    std::cout << "origin: post " << post << "\n  " << kHeaderName << ": " << value << '\n';
    home.receive(value, {kOlga, kOlga + "/followers", /*covers_header=*/true}, now, origin);
  }
  return header.digest == Digest::of(std::vector{at_home("ann"), at_home("cat")}) ? 0 : 1;
}
