// The one way to report that the world is wrong: a value the caller must look at.
//
//   Result<Actor> parse_actor(std::string_view body);
//   TRY(const Actor actor, parse_actor(body));                    // in a function that returns Result
//   CO_TRY(const std::string body, co_await http.get(url));       // in a coroutine: Task<Result<T>>
//
// TRY and CO_TRY are several statements: never the body of an unbraced `if`.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace tagring {

// What the caller can do about it. Add a code only when some caller branches on it.
enum class ErrorCode : std::uint8_t {
  kInvalid,      // The input is malformed or forbidden. Do not retry.
  kNotFound,     // No such key, actor, tag or peer.
  kConflict,     // Somebody else changed it first, or it was already seen. Re-read and decide again.
  kDenied,       // Bad signature, blocked peer, missing right.
  kTooLarge,     // Over a limit.
  kNotOwner,     // The peer is not, or not yet, responsible for this key. Look up again.
  kBusy,         // The peer is in the middle of a state change. Ask again soon.
  kTimedOut,     // No answer before the deadline; the other side may still have acted.
  kUnavailable,  // Could not be reached. Retry later.
  kSuperseded,   // Another process is the node. End.
  kCorrupt,      // Stored data failed its checks. Operator attention.
};

// "invalid", "not_found", … as used in logs and in JSON error bodies.
const char* to_string(ErrorCode code);

struct [[nodiscard]] Error {
  Error(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}

  ErrorCode code;
  std::string message;  // One clause, says what to do next where that is not obvious.
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error(code, std::move(message)));
}

}  // namespace tagring

#define TR_CONCAT_INNER(a, b) a##b
#define TR_CONCAT(a, b) TR_CONCAT_INNER(a, b)
#define TR_TRY_INNER(declaration, expression, name, leave)   \
  auto name = (expression);                                  \
  if (!name) leave std::unexpected(std::move(name).error()); \
  declaration = *std::move(name)
#define TR_CHECK_INNER(expression, name, leave) \
  auto name = (expression);                     \
  if (!name) leave std::unexpected(std::move(name).error())
// Declares a variable from the value, or returns the error.
#define TRY(declaration, expression) TR_TRY_INNER(declaration, expression, TR_CONCAT(try_, __LINE__), return)
#define CO_TRY(declaration, expression) \
  TR_TRY_INNER(declaration, expression, TR_CONCAT(try_, __LINE__), co_return)
// The same for Result<void>.
#define TRY_VOID(expression) TR_CHECK_INNER(expression, TR_CONCAT(try_, __LINE__), return)
#define CO_TRY_VOID(expression) TR_CHECK_INNER(expression, TR_CONCAT(try_, __LINE__), co_return)
