// Places for requests that are under way. Who finds none stands in line for one, and keeps none beyond one
// request while others stand there. No registered domain has more than an eighth of them: else servers of one
// that answer slowly, and take what they are sent, would leave none to anybody else.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tagring::queues {

class Places {
 public:
  static constexpr std::size_t kShares = 8;  // domains that can have all places together

  explicit Places(std::size_t most);

  // Takes one for `who`, of that domain; or puts them in line, and is false.
  [[nodiscard]] bool take(const std::string& domain, std::string who);
  // One that was taken, or given by next(). To be followed by next() until that is none.
  void give_back(const std::string& domain);
  struct Next {
    std::string domain;
    std::string who;
  };
  // Whoever has stood in line longest of those for whom there is a place has it now.
  [[nodiscard]] std::optional<Next> next();

  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  struct Domain {
    std::size_t taken = 0;
    std::deque<std::pair<std::uint64_t, std::string>> line;  // who came when
  };
  [[nodiscard]] bool may_take(const Domain& domain) const { return domain.taken < share_; }
  void stand_ready(const std::string& name, const Domain& domain);

  std::size_t most_;
  std::size_t share_;
  std::size_t taken_ = 0;
  std::uint64_t last_ = 0;
  std::map<std::string, Domain> domains_;
  std::set<std::pair<std::uint64_t, std::string>>
      ready_;  // domains in line that may take one, by their first
};

}  // namespace tagring::queues
