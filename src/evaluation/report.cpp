#include "evaluation/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tagring::evaluation {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 380;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 16;
constexpr double kBottom = 52;
constexpr int kTicks = 6;
// Told apart by people who do not see all colours (Okabe and Ito).
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --grid: #ddd; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #181818; --grid: #444; } }
body { font: 16px/1.5 sans-serif; color: var(--ink); background: var(--paper); max-width: 760px; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 14px; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--grid); padding: .3em .7em; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5em 0; } figcaption { font-weight: bold; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px sans-serif; }
.grid { stroke: var(--grid); } .axis { stroke: var(--ink); }
)";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// From values to places on the drawing.
class Axis {
 public:
  Axis(bool logarithmic, double from, double to) : logarithmic_(logarithmic), from_(from), to_(to) {}

  void include(double value) {
    if (logarithmic_ && value <= 0) return;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  void close() {
    if (least_ > most_) least_ = logarithmic_ ? 1 : 0, most_ = 10;
    if (logarithmic_) {
      least_ = std::pow(10, std::floor(std::log10(least_)));
      most_ = std::pow(10, std::ceil(std::log10(most_)));
      if (least_ == most_) most_ *= 10;
    } else {
      if (least_ > 0 && least_ < most_ / 2) least_ = 0;
      if (least_ == most_) most_ += 1;
    }
  }
  [[nodiscard]] bool shows(double value) const { return !logarithmic_ || value > 0; }
  [[nodiscard]] double place(double value) const {
    const double share = logarithmic_ ? std::log10(value / least_) / std::log10(most_ / least_)
                                      : (value - least_) / (most_ - least_);
    return from_ + share * (to_ - from_);
  }
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> result;
    if (logarithmic_) {
      const double decades = std::log10(most_ / least_);
      const double step = std::pow(10, std::max(1.0, std::ceil(decades / kTicks)));
      for (double tick = least_; tick <= most_ * 1.001; tick *= step) result.push_back(tick);
      return result;
    }
    const double rough = (most_ - least_) / kTicks;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power < 1.5   ? 1
                                 : rough / power < 3.5 ? 2
                                 : rough / power < 7.5 ? 5
                                                       : 10);
    for (double tick = std::ceil(least_ / step) * step; tick <= most_ + step / 1000; tick += step)
      result.push_back(std::abs(tick) < step / 1000 ? 0 : tick);
    return result;
  }

 private:
  bool logarithmic_;
  double from_;
  double to_;
  double least_ = std::numeric_limits<double>::max();
  double most_ = std::numeric_limits<double>::lowest();
};

std::string number(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 0.001 || size >= 1e6)) return fmt::format("{:.0e}", value);
  return fmt::format("{:.4g}", value);
}

std::string line_of(const Series& series, const Axis& x, const Axis& y, std::string_view colour) {
  std::string points;
  for (const auto& [a, b] : series.points) {
    if (x.shows(a) && y.shows(b)) points += fmt::format("{:.1f},{:.1f} ", x.place(a), y.place(b));
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>\n", colour,
                     points);
}

std::string dots_of(const Series& series, const Axis& x, const Axis& y, std::string_view colour) {
  std::string dots;
  for (const auto& [a, b] : series.points) {
    if (!x.shows(a) || !y.shows(b)) continue;
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\"/>\n", x.place(a), y.place(b),
                        colour);
  }
  return dots;
}

std::string frame_of(const Plot& plot, const Axis& x, const Axis& y) {
  std::string out;
  for (const double tick : x.ticks()) {
    const double at = x.place(tick);
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        at, kTop, kHeight - kBottom, kHeight - kBottom + 16, number(tick));
  }
  for (const double tick : y.ticks()) {
    const double at = y.place(tick);
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, kWidth - kRight, at, kLeft - 6, at + 4, number(tick));
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 10, escape(plot.x));
  out += fmt::format("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (kTop + kHeight - kBottom) / 2, escape(plot.y));
  return out;
}

}  // namespace

Report::Report(std::string_view title) : title_(title) {}

void Report::heading(std::string_view text) { body_ += fmt::format("<h2>{}</h2>\n", escape(text)); }

void Report::paragraph(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", escape(text)); }

void Report::table(const std::vector<std::string>& header,
                   const std::vector<std::vector<std::string>>& rows) {
  body_ += "<table>\n<tr>";
  for (const std::string& cell : header) body_ += "<th scope=\"col\">" + escape(cell) + "</th>";
  body_ += "</tr>\n";
  for (const auto& row : rows) {
    body_ += "<tr>";
    for (const std::string& cell : row) body_ += "<td>" + escape(cell) + "</td>";
    body_ += "</tr>\n";
  }
  body_ += "</table>\n";
}

void Report::plot(const Plot& plot) {
  Axis x(plot.log_x, kLeft, kWidth - kRight);
  Axis y(plot.log_y, kHeight - kBottom, kTop);
  for (const Series& series : plot.series) {
    for (const auto& [a, b] : series.points) {
      if ((plot.log_x && a <= 0) || (plot.log_y && b <= 0)) continue;
      x.include(a);
      y.include(b);
    }
  }
  x.close();
  y.close();
  body_ += fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{0}\">\n",
      escape(plot.title), kWidth, kHeight);
  body_ += frame_of(plot, x, y);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    body_ += plot.dots ? dots_of(plot.series[i], x, y, colour) : line_of(plot.series[i], x, y, colour);
    body_ += fmt::format(
        "<rect x=\"{0}\" y=\"{1}\" width=\"12\" height=\"12\" fill=\"{2}\"/>"
        "<text x=\"{3}\" y=\"{4}\">{5}</text>\n",
        kLeft + 12, kTop + 8 + 18 * static_cast<double>(i), colour, kLeft + 30,
        kTop + 18 + 18 * static_cast<double>(i), escape(plot.series[i].name));
  }
  body_ += "</svg></figure>\n";
}

std::string Report::html() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{0}</title><style>{1}</style></head>\n"
      "<body><h1>{0}</h1>\n{2}</body></html>\n",
      escape(title_), kStyle, body_);
}

}  // namespace tagring::evaluation
