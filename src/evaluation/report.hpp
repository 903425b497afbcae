// A report that a person reads without the code: one self-contained HTML page with plots as vector graphics.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tagring::evaluation {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by ascending x
};

struct Plot {
  std::string title;
  std::string x;  // with the unit
  std::string y;
  std::vector<Series> series;  // at most six
  // Axes by powers of ten; points that are not above 0 are left out.
  bool log_x = false;
  bool log_y = false;
  bool dots = false;  // points instead of lines
};

class Report {
 public:
  explicit Report(std::string_view title);
  void heading(std::string_view text);
  void paragraph(std::string_view text);
  void table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
  void plot(const Plot& plot);
  [[nodiscard]] std::string html() const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace tagring::evaluation
