// The signatures of src/fediverse as a filter, so that other implementations can be held against them: one
// JSON object a line on stdin, one on stdout. Times are seconds since 1970.
//
//   {"op": "sign", "form": "cavage" | "path only" | "message", "method", "url", "headers": {}, "body", "key":
//   PEM,
//    "key_id", "now"}                     -> {"headers": {}}, Host among them
//   {"op": "verify", "method", "target", "headers": {}, "body", "key": PEM or multibase, "authority", "now"}
//                                         -> {"result": "genuine" | "not genuine" | why it is refused}
//
// The same between a FASP and a server, keys as PEM: "fasp sign" and "fasp verify" a request, and an answer,
// which has a "status" in the place of method and URL.
#include <iostream>
#include <stdexcept>

#include "base/json.hpp"
#include "fediverse/actor.hpp"
#include "signatures/fasp_signature.hpp"
#include "signatures/signature.hpp"

namespace tagring::fediverse {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

std::string text(const json::object& o, std::string_view key) {
  const std::optional<std::string> value = json::get_string(o, key);
  if (!value) throw std::runtime_error("no text " + std::string(key));
  return *value;
}

WallTime now(const json::object& o) {
  return WallTime(std::chrono::seconds(json::get_int(o, "now").value()));
}

Headers headers_of(const json::object& o) {
  Headers headers;
  for (const auto& [name, value] : *json::get_object(o, "headers"))
    headers.add(std::string(name), std::string(value.as_string()));
  return headers;
}

signatures::SignatureForm form_of(const std::string& name) {
  if (name == "cavage") return signatures::SignatureForm::kCavage;
  if (name == "path only") return signatures::SignatureForm::kCavagePathOnly;
  if (name == "message") return signatures::SignatureForm::kMessage;
  throw std::runtime_error("no such form");
}

json::object sign(const json::object& o) {
  HttpCall call(text(o, "method"), must(Url::parse(text(o, "url"))), Instant());
  call.headers = headers_of(o);
  call.body = text(o, "body");
  signatures::sign_call(call, must(crypto::PrivateKey::from_pem(text(o, "key"))), text(o, "key_id"), now(o),
                        form_of(text(o, "form")));
  json::object headers = {{"Host", call.url.authority()}};
  for (const auto& [name, value] : call.headers) headers[name] = value;
  return {{"headers", headers}};
}

json::object verify(const json::object& o) {
  HttpRequest request;
  request.method = text(o, "method");
  request.target = text(o, "target");
  request.headers = headers_of(o);
  request.body = text(o, "body");
  signatures::SignaturePolicy policy;
  policy.authorities = {text(o, "authority")};
  const std::string material = text(o, "key");
  KeyDocument document;
  (material.starts_with('-') ? document.pem : document.multibase) = material;
  const crypto::PublicKey key = must(read_key(document));
  const Result<std::vector<signatures::SignatureClaim>> claims =
      signatures::read_signatures(request, now(o), policy);
  if (!claims) return {{"result", claims.error().message}};
  for (const signatures::SignatureClaim& claim : *claims) {
    if (signatures::verify(claim, key)) return {{"result", "genuine"}};
  }
  return {{"result", "not genuine"}};
}

json::object headers_to_json(const Headers& headers) {
  json::object o;
  for (const auto& [name, value] : headers) o[name] = value;
  return o;
}

json::object fasp_sign(const json::object& o) {
  const crypto::PrivateKey key = must(crypto::PrivateKey::from_pem(text(o, "key")));
  if (const auto status = json::get_int(o, "status")) {
    HttpResponse response;
    response.status = static_cast<int>(*status);
    response.body = text(o, "body");
    signatures::sign_fasp_response(response, key, text(o, "key_id"), now(o));
    return {{"headers", headers_to_json(response.headers)}};
  }
  HttpCall call(text(o, "method"), must(Url::parse(text(o, "url"))), Instant());
  call.body = text(o, "body");
  signatures::sign_fasp_call(call, key, text(o, "key_id"), now(o));
  call.headers.set("Host", call.url.authority());
  return {{"headers", headers_to_json(call.headers)}};
}

json::object fasp_verify(const json::object& o) {
  const crypto::PublicKey key = must(crypto::PublicKey::from_pem(text(o, "key")));
  if (const auto status = json::get_int(o, "status")) {
    HttpResponse response;
    response.status = static_cast<int>(*status);
    response.headers = headers_of(o);
    response.body = text(o, "body");
    const auto genuine = signatures::check_fasp_response(response, key, now(o), std::chrono::minutes(5));
    return {{"result", genuine ? "genuine" : genuine.error().message}};
  }
  HttpRequest request;
  request.method = text(o, "method");
  request.target = text(o, "target");
  request.headers = headers_of(o);
  request.body = text(o, "body");
  signatures::SignaturePolicy policy;
  policy.authorities = {text(o, "authority")};
  const Result<signatures::SignatureClaim> claim = signatures::read_fasp_signature(request, now(o), policy);
  if (!claim) return {{"result", claim.error().message}};
  return {{"result", signatures::verify(*claim, key) ? "genuine" : "not genuine"}};
}

json::object answer(const std::string& line) {
  const json::object o = must(json::parse_object(line));
  const std::string op = text(o, "op");
  if (op == "sign") return sign(o);
  if (op == "verify") return verify(o);
  if (op == "fasp sign") return fasp_sign(o);
  if (op == "fasp verify") return fasp_verify(o);
  throw std::runtime_error("no such op");
}

}  // namespace
}  // namespace tagring::fediverse

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    tagring::json::object result;
    try {
      result = tagring::fediverse::answer(line);
    } catch (const std::exception& error) {
      result = {{"error", error.what()}};
    }
    std::cout << tagring::json::serialize(result) << std::endl;
  }
}
