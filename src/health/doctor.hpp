// Is all well with this node? Looks at the machine, the rings, the way in from outside, the clock, the
// database and the instances, when it is asked, after the start, and every hour, or every five minutes while
// something is not well; and says what to do about it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.hpp"
#include "config/config.hpp"
#include "delivery/announcer.hpp"
#include "delivery/owner_queue.hpp"
#include "federation/blocks.hpp"
#include "health/check.hpp"
#include "health/growth.hpp"
#include "health/instance_checks.hpp"
#include "health/machine.hpp"
#include "health/reach.hpp"
#include "health/seen_posts.hpp"
#include "instances/instances.hpp"
#include "instances/moving.hpp"
#include "overlay/ring_service.hpp"

namespace tagring::health {

class Doctor {
 public:
  // What of the node is looked at.
  struct Patient {
    const config::Config& config;
    overlay::RingService& rings;
    const instances::Instances& instances;
    const instances::Moving& moving;
    const federation::Blocks& blocks;
    const delivery::OwnerQueue& owners;
    const delivery::Announcer& announcer;
    const Growth& growth;
    const SeenPosts& seen;
  };
  // `machine` null: only the network is looked at.
  Doctor(Patient patient, Machine* machine, Reach& reach, const Runtime& runtime)
      : patient_(patient),
        machine_(machine),
        reach_(reach),
        clock_(runtime.clock),
        log_(runtime.log),
        instances_({patient.config, patient.instances, patient.blocks, patient.owners, patient.announcer,
                    patient.seen},
                   runtime.clock),
        tasks_(runtime.executor) {}

  // Looks by itself from now on if there is a machine. What is not well goes to the log, once a day.
  void start() {
    if (machine_ != nullptr) tasks_.spawn("doctor", look_for_ever());
  }
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] Task<Checks> look();
  // What was not well when it was looked last.
  [[nodiscard]] const Checks& problems() const { return problems_; }
  [[nodiscard]] bool has_looked() const { return has_looked_; }
  // A request may have come over a proxy that is not trusted, as the header says that only proxies write; or
  // over one that is, and does not say whose it is; but for probes, which are the proxy's own.
  void note_request(const HttpRequest& request, bool is_probe);
  // Or over one that writes another Host, if of a day's requests that are signed none has come with the right
  // one: anybody may write a wrong one.
  void note_host(const HttpRequest& request);
  // Member of both rings, or gone from them because it has moved; others reach it, and it can write.
  // {"ready", and what is not: "because"}
  [[nodiscard]] json::object readiness() const;

 private:
  struct OtherNodes {
    std::vector<std::string> origins;
    bool are_known = false;  // members of the ring; else those of the configuration
  };
  Task<void> look_for_ever();
  [[nodiscard]] OtherNodes others() const;
  [[nodiscard]] Check look_at_rings() const;
  [[nodiscard]] Check look_at_what_left(const std::string& rings) const;
  Task<Checks> look_at_machine(OtherNodes others);
  Task<Check> look_from_outside(OtherNodes others);
  // By the origin of who says it.
  using Said = std::map<std::string, Reach::Seen>;
  Task<Said> ask(OtherNodes others);
  [[nodiscard]] static Check judge_clock(const Said& said);
  [[nodiscard]] Check judge_source(const Said& said) const;
  [[nodiscard]] Check look_at_proxy();
  Task<Check> look_at_database();

  const Patient patient_;
  Machine* machine_;
  Reach& reach_;
  Clock& clock_;
  Log& log_;
  Checks problems_;
  bool has_looked_ = false;
  IpAddress seen_calling_;                  // who the last node that called back came from, as seen here
  std::optional<IpAddress> unknown_proxy_;  // who brought a request last and was not trusted
  Instant unknown_seen_;                    // when
  std::optional<Instant> silent_seen_;      // when a trusted one brought what nobody is named for
  std::uint64_t named_since_ = 0;           // requests since then for which somebody was
  std::string foreign_host_;                // with which one came that was signed
  std::optional<Instant> foreign_seen_;     // when
  std::optional<Instant> own_host_seen_;    // when one that was signed came with the node's own
  InstanceChecks instances_;
  TaskGroup tasks_;
};

}  // namespace tagring::health
