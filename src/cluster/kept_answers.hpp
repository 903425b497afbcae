// What a front keeps of its core's answers for a second: the page of a hashtag that many read costs the core
// one answer a second, however many fronts and readers there are.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/time.hpp"
#include "http/message.hpp"
#include "queues/alarm.hpp"

namespace tagring::cluster {

// At the core: whether everybody who asks so may have that answer for a second. Not what is for whoever shows
// a token, a cookie or a signature; not what others' nodes ask; no errors.
[[nodiscard]] bool may_be_kept(const HttpRequest& request, const HttpResponse& answer);

class KeptAnswers {
 public:
  using Ask = std::function<Task<Result<HttpResponse>>()>;

  KeptAnswers(Clock& clock, Executor executor) : clock_(clock), executor_(std::move(executor)) {}

  // The answer to a request: one that is there, or that of `ask`, for which all wait who ask the same
  // meanwhile. Kept is what the core has marked so (kKeepField). `core`: where that is, since nobody waits
  // for what another one was asked, which may hang, nor for this one once it `is_lost`.
  [[nodiscard]] Task<Result<HttpResponse>> answer(std::string core, const HttpRequest& request, Ask ask,
                                                  std::function<bool()> is_lost);

 private:
  static constexpr Duration kFor{1'000};
  static constexpr std::size_t kMost = 2'000;
  static constexpr std::size_t kBytesMost = 64U << 20U;
  static constexpr Duration kWaitMost{30'000};
  static constexpr Duration kLook{500};  // whether the core is lost
  struct Entry {
    Entry(Clock& clock, const Executor& executor) : ready(clock, executor) {}
    queues::Alarm ready;
    bool is_asked = true;                        // somebody waits for the core
    Instant until;                               // after that it is asked anew
    std::shared_ptr<const HttpResponse> answer;  // null: who asks so must ask the core
  };
  struct Asking;
  void drop_old();

  Clock& clock_;
  const Executor executor_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace tagring::cluster
