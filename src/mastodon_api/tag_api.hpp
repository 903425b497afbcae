// Hashtags themselves: how much each is used, and which are used most (docs/client-api.md).
//
//   GET /api/v1/tags/…
//   GET /api/v1/trends/tags, /api/v1/trends
//   GET /api/tagring/tags/…/days
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/counted.hpp"
#include "base/runtime.hpp"
#include "federation/blocks.hpp"
#include "hashtag/tag.hpp"
#include "mastodon_api/api.hpp"
#include "mastodon_api/instance.hpp"
#include "mastodon_api/trends.hpp"
#include "posts/account.hpp"
#include "queues/alarm.hpp"
#include "storage/history_service.hpp"

namespace tagring::mastodon_api {

class TagApi final : public ApiPart {
 public:
  static constexpr Duration kDaysFresh = std::chrono::seconds(60);   // how long posts per day are remembered
  static constexpr Duration kDaysFailed = std::chrono::seconds(10);  // and that they could not be had
  static constexpr Duration kDaysWait = std::chrono::seconds(6);     // for one answer; an owner has five
  static constexpr std::size_t kDaysMax = 500;                       // of so many hashtags
  static constexpr std::size_t kFoundMax = 20;                       // hashtags in one answer
  // Of what lists ask: an owner that does not answer has its other connections for what else is asked of it.
  static constexpr std::size_t kAskedMax = 8;  // hashtags at a time
  // Hashtags; of more a list says nothing. Those of the group of addresses that has most give way, and groups
  // take turns.
  static constexpr std::size_t kWaitingMax = 200;

  TagApi(posts::Site site, storage::HistoryService& history, Trends& trends, const federation::Blocks& blocks,
         const Runtime& runtime);
  [[nodiscard]] Task<void> stop();

  [[nodiscard]] Task<std::optional<HttpResponse>> answer(ApiRequest request) override;

  // The hashtag itself, which there need not have been any post under, then those that begin so. None if the
  // text is no hashtag.
  [[nodiscard]] Task<json::array> find(std::string text, std::size_t limit);

 private:
  using Days = std::vector<storage::HistoryDay>;
  // Of a hashtag, from the first day up to, not including, the second.
  using Span = std::tuple<std::string, std::chrono::sys_days, std::chrono::sys_days>;
  struct KnownDays {
    Instant since = {};
    std::optional<Result<Days>> answer = {};  // nothing: it is being asked for, or waits to be
    bool is_refused = false;  // who it was asked for has had their time, or too much; says nothing to others
  };

  Task<HttpResponse> tag(ApiRequest request, std::string name);
  Task<HttpResponse> trending(std::string query);
  Task<HttpResponse> days(std::string name, std::string query);
  // The entities Tag, with what is known of their days in time; without those of which it is known that they
  // have none, if they are to be in use.
  Task<json::array> describe(std::vector<Tag> tags, bool in_use);

  // `asker`: the executor of who asks, which says whose time it takes.
  struct Wanted {
    Span span;
    Executor asker;
  };
  // What waits, out of the line it stands in. False if it does not.
  bool take_out(const Span& span);
  // Where it waits behind more than this asker has waiting, it goes behind those: else whoever asks for much
  // would have what others ask for, too, wait behind all of it. Not for who would be refused it there.
  void move_up(const Span& span, const Executor& asker);
  // False if there is no room.
  bool stand_in_line(const Span& span, const Executor& asker);
  // Sees to it that it is known, or asked for. Null if there is no room.
  std::shared_ptr<const KnownDays> want(const Span& span, bool for_list, const Executor& asker);
  Task<void> ask(Wanted wanted);
  Task<void> read(Wanted wanted);
  Task<void> ask_waiting();
  // kUnavailable if it is not known by `deadline`; who asks then finds the answer.
  Task<Result<Days>> wait_for(Span span, std::shared_ptr<const KnownDays> known, bool for_list,
                              Instant deadline);

  posts::Site site_;
  storage::HistoryService& history_;
  Trends& trends_;
  const federation::Blocks& blocks_;
  const Clock& clock_;
  std::map<Span, std::shared_ptr<KnownDays>> known_days_;  // with answers
  std::map<Span, std::shared_ptr<KnownDays>> asked_for_;   // without; each has a task, or is in waiting_
  using Line = std::deque<Wanted>;
  Shares<Line> waiting_;  // by who asks
  std::string last_served_;
  std::size_t asked_ = 0;  // tasks that ask for what waits
  queues::Alarm alarm_;
  TaskGroup tasks_;
};

}  // namespace tagring::mastodon_api
