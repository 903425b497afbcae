// Which form of signature each server reads. Nothing tells beforehand, so a request that is refused is made
// again in the next form ("double knocking"), and what was accepted is tried first from then on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "signatures/signature.hpp"

namespace tagring::federation {

class SignatureFormCache {
 public:
  explicit SignatureFormCache(Clock& clock) : clock_(clock) {}

  // The forms to try, in order. No two of them give the same request.
  [[nodiscard]] std::vector<signatures::SignatureForm> forms(const std::string& origin, bool has_query) const;
  void accepted(const std::string& origin, signatures::SignatureForm form);

  // Then it starts with the common form again, for servers change.
  static constexpr Duration kLifetime = std::chrono::hours(24);
  static constexpr std::size_t kSizeMax = 10'000;

 private:
  struct Entry {
    signatures::SignatureForm form;
    Instant learned;
  };
  [[nodiscard]] signatures::SignatureForm first_form(const std::string& origin) const;

  Clock& clock_;
  std::map<std::string, Entry> entries_;  // by origin; only servers that do not read the common form
};

// An answer that may be about the signature: 400, or 401.
constexpr bool may_dislike_signature(int status) { return status == 400 || status == 401; }

}  // namespace tagring::federation
