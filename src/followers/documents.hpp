// The partial collection as the sender serves it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tagring::followers {

// Serve the documents with this media type and "Cache-Control: private, max-age=0", only to requests with a
// valid signature, and take the authority from the id of the actor that signed.
inline constexpr std::string_view kDocumentType = "application/activity+json";

// Mastodon reads at most 1 MiB of a document, and ten pages; older ones take the first page for the whole
// list, and drop the followers that are not on it. So it is one document as long as it fits.
struct DocumentLimits {
  std::size_t bytes_max = 900'000;  // of one document
  std::size_t pages_max = 10;
};

// True if a list of `count` ids with `bytes` bytes together fits for sure. Otherwise no header may be sent:
// a receiver could not check the list. Needs only what can be counted beside the digest.
bool documents_fit(std::uint64_t count, std::uint64_t bytes, DocumentLimits limits = {});

// The ids (http(s) URLs; any order, repeated ones once) in ascending order, divided into as few pages as the
// size allows. One empty page for no ids. Nothing if the pages would be too many.
std::optional<std::vector<std::vector<std::string>>> split_pages(std::vector<std::string> ids,
                                                                 DocumentLimits limits = {});

struct Document {
  std::string url;
  std::string body;
};

// An OrderedCollection at `url`; the whole list stands in it, or it names the first of its pages, which are
// at `url`/1, `url`/2, … Nothing if the pages would be too many. `url` has at most 2048 bytes and no query:
// servers disagree about signatures of URLs with one.
std::optional<std::vector<Document>> make_documents(std::string_view url, std::vector<std::string> ids,
                                                    DocumentLimits limits = {});

}  // namespace tagring::followers
