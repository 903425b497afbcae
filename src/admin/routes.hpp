// Requests of the administrator, as JSON in and out, and who answers each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "administrators/administrator.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "base/task.hpp"
#include "hashtag/tag.hpp"

namespace tagring::admin {

using administrators::Role;

struct Request {
  std::string query;  // of a GET: what stands behind '?'
  json::object body;  // of a POST
  administrators::Administrator who;
};
using Reply = Result<json::object>;

// By method and path, each once.
class Routes {
 public:
  using Handler = std::function<Task<Reply>(Request)>;
  // Whether what is asked for only looks.
  using IsLook = bool (*)(const json::object& body);
  struct Route {
    Handler handler;
    Role least;              // what who asks must have
    IsLook looks = nullptr;  // null: never
    bool is_long = false;    // may take minutes or hours
  };

  // Sees something, and changes nothing.
  void get(std::string path, Handler handler) {
    add("GET", std::move(path), {std::move(handler), Role::kLook});
  }
  // Changes something, unless `looks` says that it does not.
  void post(std::string path, Handler handler, Role least = Role::kAll, IsLook looks = nullptr) {
    add("POST", std::move(path), {std::move(handler), least, looks});
  }
  // The same of what may take so long that others ask meanwhile who began it.
  void post_long(std::string path, Handler handler) {
    add("POST", std::move(path), {std::move(handler), Role::kAll, nullptr, true});
  }
  // Nothing if nobody answers it.
  [[nodiscard]] const Route* find(const std::string& method, const std::string& path) const;

 private:
  void add(std::string method, std::string path, Route route);

  std::map<std::pair<std::string, std::string>, Route> routes_;
};

// Whoever answers the requests about one subject. Outlives the routes.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void add_routes(Routes& routes) = 0;
};

// A reply that is known at once.
Task<Reply> replied(Reply reply);

// --- what replies say ----------------------------------------------------------------------------------

// Lists are shown with so many of their items.
inline constexpr std::size_t kListMax = 500;

std::uint64_t number_at(const json::value& item, std::string_view key);

// The greatest first, by `rank` of each item; only kListMax.
template <class Rank>
json::array head_of(json::array items, Rank rank) {
  std::ranges::sort(items, std::greater<>(), rank);
  if (items.size() > kListMax) items.resize(kListMax);
  return items;
}

// --- what requests say ---------------------------------------------------------------------------------

// `otherwise` if it is missing; kInvalid if it is no number.
Result<std::uint64_t> number_in(std::string_view query, std::string_view name, std::uint64_t otherwise);
// Empty if it is missing or no text.
std::string text_in(const json::object& body, std::string_view key);
// kInvalid unless it names a hashtag.
Result<Tag> tag_in(const json::object& body);
Result<Tag> tag_in(std::string_view query);
// "tags": 1 to 200000, in canonical form, each once. kInvalid otherwise.
Result<std::vector<Tag>> tags_in(const json::object& body);

}  // namespace tagring::admin
