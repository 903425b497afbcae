// What somebody has let go of, and the node keeps for a while, since people come back. For as long it counts
// as theirs: else whoever takes and lets go in turns makes the node keep any number of things.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "budget/manager.hpp"

namespace tagring::budget {

class Lingering {
 public:
  struct Options {
    Resource resource;
    Duration after{0};  // it was let go of
    Duration every{0};  // what is due within that time goes together
  };
  // `drop` is done with them for good; what it fails with lingers once more.
  using Drop = std::function<Task<Result<void>>(std::vector<std::string> names)>;
  Lingering(Options options, Manager& manager, Drop drop, const Runtime& runtime)
      : options_(options),
        manager_(manager),
        drop_(std::move(drop)),
        clock_(runtime.clock),
        tasks_(runtime.executor) {}
  [[nodiscard]] Task<void> stop();

  // `host` empty: it counts as nobody's.
  void let_go(const std::string& name, const std::string& host);
  // Somebody has it again.
  void take_up(const std::string& name);
  [[nodiscard]] bool is_of(const std::string& name, const std::string& host) const;

 private:
  struct Left {
    Instant until;
    std::string host;
  };
  Task<void> drop_due();

  Options options_;
  Manager& manager_;
  const Drop drop_;
  Clock& clock_;
  std::map<std::string, Left> left_;  // by name
  bool watching_ = false;
  TaskGroup tasks_;
};

}  // namespace tagring::budget
