// Errors as answers over HTTP: status and {"error": code, "message": text}.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/message.hpp"

namespace tagring {

std::string encode_error(const Error& error);
// The error that an answer with a status other than 200 holds; by the status if the body does not say. The
// message is whoever's: it is cut, and fit for a terminal.
Error decode_error(int status, std::string_view body);
int http_status(ErrorCode code);
// Nobody answered, or with 5xx or 429: who asks again may get an answer.
bool is_unanswered(const Error& error);
HttpResponse error_response(const Error& error);

}  // namespace tagring
