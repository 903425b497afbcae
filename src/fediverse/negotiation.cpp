#include "fediverse/negotiation.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/bytes.hpp"

namespace tagring::fediverse {
namespace {

constexpr int kWhole = 1000;  // of thousandths

// The next item of a list, taken off its front. Commas and semicolons within quotes do not divide.
std::string_view take_item(std::string_view& list, char divider) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < list.size() && (quoted || list[end] != divider); ++end) {
    if (quoted && list[end] == '\\') {
      ++end;
    } else if (list[end] == '"') {
      quoted = !quoted;
    }
  }
  end = std::min(end, list.size());
  const std::string_view item = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return trim(item);
}

// "0.25" is 250 thousandths. What is no weight counts as a whole one.
int thousandths(std::string_view text) {
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return kWhole;
  if (text[0] == '1' || text.size() < 2) return text[0] == '1' ? kWhole : 0;
  if (text[1] != '.') return kWhole;
  int value = 0;
  int unit = kWhole / 10;
  for (const char c : text.substr(2)) {
    if (c < '0' || c > '9') return kWhole;
    value += unit * (c - '0');
    unit /= 10;
  }
  return value;
}

// How much the media type is wanted, by what fits it most closely; or only by its own name.
int weight(std::string_view accept, std::string_view type, bool by_name = false) {
  const std::string group = std::string(type.substr(0, type.find('/'))) + "/*";
  int closest = by_name ? 3 : 0;
  int found = 0;
  while (!accept.empty()) {
    std::string_view item = take_item(accept, ',');
    const std::string_view range = take_item(item, ';');
    const int close = ascii_iequals(range, type)    ? 3
                      : ascii_iequals(range, group) ? 2
                      : range == "*/*"              ? 1
                                                    : 0;
    int q = kWhole;
    while (!item.empty()) {
      const std::string_view parameter = take_item(item, ';');
      if (parameter.starts_with("q=") || parameter.starts_with("Q="))
        q = thousandths(trim(parameter.substr(2)));
    }
    if (close == 0 || close < closest) continue;
    found = close == closest ? std::max(found, q) : q;
    closest = close;
  }
  return found;
}

int weight_of_html(std::string_view accept) {
  return std::max(weight(accept, "text/html"), weight(accept, "application/xhtml+xml"));
}

int weight_of_named_activities(std::string_view accept) {
  return std::max(weight(accept, "application/activity+json", /*by_name=*/true),
                  weight(accept, "application/ld+json", /*by_name=*/true));
}

}  // namespace

bool prefers_html(std::string_view accept) {
  constexpr std::array<std::string_view, 3> kActivities = {"application/activity+json", "application/ld+json",
                                                           "application/json"};
  int activities = 0;
  for (const std::string_view type : kActivities) activities = std::max(activities, weight(accept, type));
  return weight_of_html(accept) > activities;
}

bool prefers_activities(std::string_view accept) {
  return weight_of_named_activities(accept) > weight_of_html(accept);
}

bool prefers_activities_to_json(std::string_view accept) {
  const int activities = weight_of_named_activities(accept);
  const int plain = weight(accept, "application/json");
  if (activities != plain || activities == 0) return activities > plain;
  const std::string lower = ascii_lower(accept);
  return std::min(lower.find("application/activity+json"), lower.find("application/ld+json")) <
         lower.find("application/json");
}

bool prefers_json(std::string_view accept) {
  const int by_name = weight(accept, "application/json", /*by_name=*/true);
  const int html = weight_of_html(accept);
  const int html_by_name = std::max(weight(accept, "text/html", /*by_name=*/true),
                                    weight(accept, "application/xhtml+xml", /*by_name=*/true));
  return by_name > html || (by_name > 0 && by_name == html && html_by_name == 0);
}

}  // namespace tagring::fediverse
