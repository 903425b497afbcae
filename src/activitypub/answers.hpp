// What the inbox answers to an activity that was understood.
#pragma once

#include <string>

#include "base/json.hpp"
#include "http/message.hpp"

namespace tagring::activitypub {

// What it asks for is on disk.
inline HttpResponse accepted() {
  HttpResponse response;
  response.status = 202;
  return response;
}

// It is of no concern here.
inline HttpResponse ignored(const std::string& reason) {
  HttpResponse response = accepted();
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(json::object{{"ignored", reason}});
  return response;
}

}  // namespace tagring::activitypub
