// Which part of the node answers a request: a table of paths, of which the first row that fits counts, and of
// the methods that are allowed there.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "http/message.hpp"

namespace tagring::node {

class Routes {
 public:
  // kAll: the part answers all methods itself, OPTIONS included.
  enum class Methods : std::uint8_t { kAll, kPost, kGetAndPost, kReading /* GET and HEAD */ };
  // kAnyPage: scripts of other sites may read the answers (CORS).
  enum class Readers : std::uint8_t { kServers, kAnyPage };
  using Fits = std::function<bool(std::string_view path)>;

  // Of that path.
  void add(Methods methods, std::string_view path, HttpHandler handler, Readers readers = Readers::kServers);
  // Of all paths that begin so.
  void add_below(Methods methods, std::string_view prefix, HttpHandler handler,
                 Readers readers = Readers::kServers);
  void add_if(Methods methods, Fits fits, HttpHandler handler, Readers readers = Readers::kServers);

  // 404 if no row fits; 405, or 501 for a method that is in no standard, with what is allowed instead.
  [[nodiscard]] Task<HttpResponse> answer(HttpRequest request) const;

 private:
  struct Row {
    Methods methods;
    Fits fits;
    HttpHandler handler;
    Readers readers;
  };
  std::vector<Row> rows_;
};

}  // namespace tagring::node
