#include "followers/throttle.hpp"

#include <optional>
#include <utility>

#include "followers/authority.hpp"

namespace tagring::followers {

bool Throttle::start(const std::string& actor, std::chrono::milliseconds now, std::string group) {
  cool_down(now);
  const std::optional<Authority> server = Authority::of(actor);
  if (!server || senders_.contains(actor)) return false;
  if (running_ >= limits_.concurrent_max || senders_.size() >= limits_.senders_max) return false;
  if (group.empty()) group = server->text();
  if (const auto it = servers_.find(group); it != servers_.end()) {
    if (it->second.senders >= limits_.per_server || it->second.running >= limits_.per_server_running)
      return false;
  }
  Server& counts = servers_[group];
  ++counts.senders;
  ++counts.running;
  ++running_;
  senders_.emplace(actor, Sender{std::move(group)});
  cooling_.emplace_back(now, actor);
  return true;
}

void Throttle::finish(const std::string& actor) {
  const auto sender = senders_.find(actor);
  if (sender == senders_.end() || !sender->second.is_running) return;
  sender->second.is_running = false;
  --running_;
  --servers_.at(sender->second.server).running;
  forget(sender);
}

void Throttle::cool_down(std::chrono::milliseconds now) {
  while (!cooling_.empty() && now - cooling_.front().first >= limits_.cooldown) {
    const auto sender = senders_.find(cooling_.front().second);
    cooling_.pop_front();
    sender->second.is_cooling = false;
    forget(sender);
  }
}

void Throttle::forget(std::map<std::string, Sender>::iterator sender) {
  if (sender->second.is_running || sender->second.is_cooling) return;
  const auto server = servers_.find(sender->second.server);
  if (--server->second.senders == 0) servers_.erase(server);
  senders_.erase(sender);
}

}  // namespace tagring::followers
