// What every running part of a node is handed: time, the loop, threads for what blocks, the log, randomness.
// Whoever builds a node, on a machine or in the simulator, makes one of these, and nothing else asks the
// system for them.
#pragma once

#include "base/log.hpp"
#include "base/rng.hpp"
#include "base/task.hpp"
#include "base/time.hpp"
#include "base/workers.hpp"

namespace tagring {

// Everything in it outlives who gets it. Copies are cheap.
struct Runtime {
  Clock& clock;
  Executor executor;
  Workers& workers;
  Log& log;
  Rng rng;  // only forked, by the name of the class that draws
};

}  // namespace tagring
