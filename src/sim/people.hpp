// A server of people who follow hashtag actors, as instances have them: with one inbox for all of them
// (Mastodon), or with one for each alone, of which one is told for all (GoToSocial). It keeps what they wish,
// and what it was told; whether that was right is for others to judge.
#pragma once

#include <compare>
#include <map>
#include <string>

#include "base/time.hpp"
#include "crypto/key.hpp"
#include "http/message.hpp"

namespace tagring::sim {

class People {
 public:
  // One of them, and a hashtag at a node.
  struct Subject {
    std::size_t person = 0;
    std::size_t node = 0;
    std::string tag;

    friend auto operator<=>(const Subject&, const Subject&) = default;
  };
  struct Wish {
    bool follows = false;   // or does not any more
    std::string id;         // of the last Follow
    bool accepted = false;  // that one
    // What was said of it all, and how much of that the node has taken, in order, since when.
    unsigned said = 0;
    unsigned taken = 0;
    Instant since{};

    [[nodiscard]] bool is_taken() const { return taken == said; }
  };
  // A post, by one actor.
  struct Boost {
    std::string actor;
    std::string uri;
    unsigned announced = 0;  // times
    unsigned undone = 0;

    // Who undoes first is believed, too.
    [[nodiscard]] bool is_shown() const { return announced > 0 && undone == 0; }
  };

  People(std::string origin, crypto::PrivateKey key, bool shares_inbox)
      : origin_(std::move(origin)), key_(std::move(key)), shares_inbox_(shares_inbox) {}

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] std::string id_of(std::size_t person) const;
  [[nodiscard]] HttpResponse answer(const HttpRequest& request);
  // The activity by which somebody begins or ceases to follow from now on, as JSON text.
  [[nodiscard]] std::string say(const Subject& subject, const std::string& actor, bool follows);
  // The call, signed, that brings it there.
  [[nodiscard]] HttpCall deliver(const Subject& subject, const std::string& actor, std::string body,
                                 Instant now, WallTime wall_now) const;
  void note_taken(const Subject& subject, unsigned turn, Instant now);
  [[nodiscard]] const std::map<Subject, Wish>& wishes() const { return wishes_; }
  // By id of the Announce.
  [[nodiscard]] const std::map<std::string, Boost>& boosts() const { return boosts_; }
  // It answers 503, and says nothing.
  void set_down(bool down) { is_down_ = down; }
  [[nodiscard]] bool is_down() const { return is_down_; }

 private:
  [[nodiscard]] std::string document_of(const std::string& id) const;
  void take(const std::string& body);

  std::string origin_;
  crypto::PrivateKey key_;
  bool shares_inbox_;
  bool is_down_ = false;
  unsigned ids_ = 0;
  std::map<Subject, Wish> wishes_;
  std::map<std::string, Boost> boosts_;
};

}  // namespace tagring::sim
