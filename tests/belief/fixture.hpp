// A node that asks the servers of others, on the simulator's clock.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "base/log.hpp"
#include "base/rng.hpp"
#include "base/runtime.hpp"
#include "belief/servers.hpp"
#include "budget/manager.hpp"
#include "crypto/key.hpp"
#include "federation/identity.hpp"
#include "federation/signed_client.hpp"
#include "ring_sim/loop.hpp"

namespace tagring::belief {

class BeliefTest : public testing::Test {
 protected:
  static constexpr ring_sim::OwnerId kOwner = 1;
  ring_sim::Loop loop{3};
  ring_sim::LoopClock clock{loop, kOwner};
  Workers workers;
  Log log{[](LogLevel, const std::string&) {}};
  const Runtime runtime{clock, loop.executor(kOwner), workers, log, Rng(1)};
  Servers servers;
  federation::Identity identity{"https://tags.own.example",
                                crypto::PrivateKey::ed25519_from_seed(std::string(32, 'n'))};
  federation::SignedClient client{identity, servers, runtime};
  budget::Manager budget{budget::default_budgets(), clock};
};

}  // namespace tagring::belief
