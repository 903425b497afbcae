#include "base/result.hpp"

namespace tagring {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kTooLarge:
      return "too_large";
    case ErrorCode::kNotOwner:
      return "not_owner";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kTimedOut:
      return "timed_out";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kSuperseded:
      return "superseded";
    case ErrorCode::kCorrupt:
      return "corrupt";
  }
  return "unknown";
}

}  // namespace tagring
