// Answers in JSON: what was asked for, and errors, with their status and {"error": code, "message": text}.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "http/message.hpp"

namespace tagring {

HttpResponse json_response(const json::object& body);

std::string encode_error(const Error& error);
// The error that an answer with a status other than 200 holds; by the status if the body does not say. The
// message is whoever's: it is cut, and fit for a terminal.
Error decode_error(int status, std::string_view body);
int http_status(ErrorCode code);
// Nobody answered, or with 5xx or 429: who asks again may get an answer.
bool is_unanswered(const Error& error);
HttpResponse error_response(const Error& error);
// 429: who asked has had all that it gets until then.
HttpResponse busy_response(Duration wait, std::string message);

}  // namespace tagring
