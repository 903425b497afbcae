// Which part of the node answers a request: a table of methods and paths, of which the first row that fits
// counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/http.hpp"

namespace tagring::node {

class Routes {
 public:
  enum class Methods : std::uint8_t { kAll, kPost, kGetAndPost, kReading /* GET and HEAD */ };
  using Fits = std::function<bool(std::string_view path)>;

  // Of that path.
  void add(Methods methods, std::string_view path, HttpHandler handler);
  // Of all paths that begin so.
  void add_below(Methods methods, std::string_view prefix, HttpHandler handler);
  void add_if(Methods methods, Fits fits, HttpHandler handler);

  // 405 if no row fits.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request) const;
  static Task<HttpResponse> refuse_method(HttpRequest request);

 private:
  struct Row {
    Methods methods;
    Fits fits;
    HttpHandler handler;
  };
  std::vector<Row> rows_;
};

}  // namespace tagring::node
