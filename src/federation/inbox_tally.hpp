// What came into the inbox, and why it was not taken: counted by reason, and told to the log once a minute
// for each reason.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.hpp"
#include "base/log.hpp"
#include "base/time.hpp"
#include "http/message.hpp"

namespace tagring::federation {

class InboxTally {
 public:
  InboxTally(const Clock& clock, Log& log) : clock_(clock), log_(log) {}

  // The answer to an activity of that actor, who may be anybody as long as the signature was not checked.
  void count(const HttpResponse& answer, const std::string& actor);
  // {"accepted": 3, "ignored": {reason: 1}, "refused": {reason: 1}}
  [[nodiscard]] json::object to_json() const;

 private:
  struct Reason {
    std::uint64_t count = 0;
    std::uint64_t told = 0;  // of these, in the log
    Instant next{};          // not in the log before
  };
  using Reasons = std::map<std::string, Reason>;
  void note(Reasons& reasons, const char* event, std::string reason, const std::string& actor,
            const std::string& message);

  const Clock& clock_;
  Log& log_;
  std::uint64_t accepted_ = 0;
  Reasons ignored_;
  Reasons refused_;
};

}  // namespace tagring::federation
