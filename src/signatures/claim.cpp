#include "signatures/claim.hpp"

#include <algorithm>

namespace tagring::signatures {

bool SignatureClaim::covers(std::string_view name) const {
  return std::ranges::find(covered, name) != covered.end();
}

}  // namespace tagring::signatures
