// Documents of ActivityStreams are JSON-LD, which has several spellings for the same thing.
#pragma once

#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"

namespace tagring::fediverse {

// A stranger's document, as nearly everybody spells it and everything below reads it: "id" and "type" for the
// keywords "@id" and "@type", terms without their vocabulary ("as:to", the whole IRI), values and lists
// without what JSON-LD's expanded form puts around them. A plain member counts before another spelling of it.
// Contexts are not read: terms that mean something else there than in ActivityStreams are not noticed.
Result<json::object> parse_document(std::string_view body);

}  // namespace tagring::fediverse
