// JSON that is well-formed, of whatever shape and size: it is taken if it is within the limits, and only
// then, and what is written of it is read as the same. Each octet of the text is a step in building it; what
// follows the first 0xFF is put into the middle of what was built, which may break it.
#include "base/json.hpp"

#include <array>
#include <fmt/format.h>
#include <vector>

#include "fuzz/target.hpp"

namespace tagring::fuzzing {
namespace {

constexpr std::size_t kTextMax = 1U << 20U;
// Those of base/json.cpp.
constexpr std::size_t kMembersMax = 1'000;
constexpr std::size_t kValuesMax = 250'000;
constexpr std::size_t kPairsMax = 5'000'000;

class Builder {
 public:
  void step(std::uint8_t octet) {
    const std::size_t argument = octet >> 3U;
    switch (octet & 7U) {
      case 0:
        return open('{');
      case 1:
        return open('[');
      case 2:
        return close();
      case 3:
        return scalar(std::to_string(static_cast<std::int64_t>(argument) - 8));
      case 4:
        return scalar(kStrings.at(argument % kStrings.size()));
      case 5:
        return scalar(kWords.at(argument % kWords.size()));
      case 6:  // many at once
        for (std::size_t i = 0; i < 64 * argument && text_.size() < kTextMax; ++i) scalar("0");
        return;
      default:
        same_names_ = argument % 2 == 1;
    }
  }
  std::string finish() {
    while (!levels_.empty()) close();
    if (text_.empty()) text_ = "null";
    return text_;
  }
  [[nodiscard]] bool is_within_limits() const {
    return deepest_ <= json::kDepthMax && most_members_ <= kMembersMax && values_ <= kValuesMax &&
           pairs_ <= kPairsMax;
  }

 private:
  struct Level {
    char end = 0;
    std::size_t values = 0;
  };
  static constexpr std::array<const char*, 7> kStrings = {
      R"("")", R"("\"")", R"("\\")", R"("{[,:]}")", R"("\u0000")", R"("\ud83d\ude00")", "\"\xC3\xA9\\/\""};
  static constexpr std::array<const char*, 6> kWords = {"true", "false", "null",
                                                        "0.5",  "-1e3",  "18446744073709551615"};

  // Makes room for a value. False at the end of the text.
  bool begin_value() {
    if (levels_.empty()) return text_.empty();
    Level& level = levels_.back();
    if (level.values++ > 0) {
      text_ += ',';
      ++values_;
    }
    if (level.end == ']') return true;
    text_ += same_names_ ? std::string("\"a\":") : fmt::format("\"{:x}\":", level.values);
    pairs_ += level.values - 1;
    most_members_ = std::max(most_members_, level.values);
    return true;
  }
  void open(char bracket) {
    if (!begin_value()) return;
    text_ += bracket;
    levels_.push_back({bracket == '{' ? '}' : ']'});
    deepest_ = std::max(deepest_, levels_.size());
    ++values_;
  }
  void close() {
    if (levels_.empty()) return;
    text_ += levels_.back().end;
    levels_.pop_back();
  }
  void scalar(std::string_view value) {
    if (begin_value()) text_ += value;
  }

  std::string text_;
  std::vector<Level> levels_;
  bool same_names_ = false;
  std::size_t deepest_ = 0;
  std::size_t most_members_ = 0;
  std::size_t values_ = 1;
  std::size_t pairs_ = 0;
};

}  // namespace

void fuzz(std::string_view text) {
  Builder builder;
  const std::string_view steps = take_until(text, '\xFF');
  for (const char octet : steps) builder.step(static_cast<std::uint8_t>(octet));
  std::string document = builder.finish();
  const auto value = json::parse(document);
  TR_ASSERT(value.has_value() == builder.is_within_limits());
  if (value) {
    const auto again = json::parse(json::serialize(*value));
    TR_ASSERT(again && *again == *value);
  }
  static_cast<void>(json::parse(document.insert(document.size() / 2, text)));
}

}  // namespace tagring::fuzzing
