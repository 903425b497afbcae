// What an owner was, it knows again after a restart, whatever its disk did meanwhile.
#include "handover/reassign_queue.hpp"

#include "relay/role_fixture.hpp"

namespace tagring::handover {
namespace {

class ReassignQueueTest : public RoleTest {
 protected:
  ~ReassignQueueTest() override {
    finish(queue.stop());
    finish(outbox.stop());
  }

  Task<Result<void>> save(std::string text) {
    if (full) co_return fail(ErrorCode::kUnavailable, "the disk is full");
    saved = std::move(text);
    co_return Result<void>();
  }

  bool full = false;
  std::string saved;
  redundancy::RelayHints relays{2, clock, [](const std::string&) {}};
  redundancy::StorageHints storage{4, clock};
  relay::OwnerQueue outbox{{},     stores->relay, relay::OwnerPlaces{*rings, relays, storage},
                           client, observer,      runtime};
  ReadSegments reads{clock};
  ReassignQueue queue{stores->relay,
                      stores->history,
                      outbox,
                      {.replicas = {{Ring::kRelay, 2}, {Ring::kStorage, 4}},
                       .saved = "",
                       .save = [this](std::string text) { return save(std::move(text)); }},
                      reads,
                      runtime};
};

TEST_F(ReassignQueueTest, WhatItOwnsIsWrittenDownAsSoonAsThereIsRoom) {
  full = true;
  const auto& vserver = *rings->of(Ring::kRelay).vservers().front();
  queue.segment_changed(Ring::kRelay, vserver);
  loop.run_for(std::chrono::seconds(30));
  EXPECT_EQ(saved, "");
  full = false;
  loop.run_for(std::chrono::seconds(30));
  EXPECT_THAT(saved, testing::HasSubstr(vserver.self().id.hex()));
}

}  // namespace
}  // namespace tagring::handover
