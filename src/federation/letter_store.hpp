// Single activities that must arrive, such as the answer to a Follow, on disk until they have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/task.hpp"
#include "base/time.hpp"

namespace tagring::federation {

struct Letter {
  std::uint64_t seq = 0;
  std::string actor;  // ours
  std::string inbox;
  std::string body;  // JSON
  WallTime written;
};

class LetterStore {
 public:
  virtual ~LetterStore() = default;
  // Keeps a letter until it is dropped. Returns it with its seq and the time.
  virtual Task<Result<Letter>> write_letter(Letter letter) = 0;
  // Letters with a greater seq, oldest first.
  virtual Task<Result<std::vector<Letter>>> letters(std::uint64_t after, std::size_t limit) = 0;
  virtual Task<Result<void>> drop_letter(std::uint64_t seq) = 0;
};

}  // namespace tagring::federation
