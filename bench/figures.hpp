// What the measuring programs share: how a figure is printed, for tools/bench.py to read, and how it is
// timed.
#pragma once

#include <chrono>
#include <ctime>
#include <fmt/core.h>
#include <string>

#include "base/json.hpp"

namespace tagring::bench {

// `reference` is what `value` is held against, and `reference_is` says what that is: a measurement of the
// same run, or a goal. Without one, the figure stands by itself.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  double reference = 0;
  std::string reference_is;
};

// One line of JSON.
inline void print(const Figure& figure) {
  json::object line = {{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
  if (!figure.reference_is.empty()) {
    line["reference"] = figure.reference;
    line["reference_is"] = figure.reference_is;
  }
  fmt::print("{}\n", json::serialize(line));
  std::fflush(stdout);
}

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // Of all threads of the process: tells a busy machine from slow code.
  [[nodiscard]] double cpu_seconds() const {
    return static_cast<double>(std::clock() - cpu_start_) / CLOCKS_PER_SEC;
  }

 private:
  std::clock_t cpu_start_ = std::clock();
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tagring::bench
