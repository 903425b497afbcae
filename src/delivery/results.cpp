#include "delivery/results.hpp"

#include "http/http_error.hpp"
#include "ring/codec.hpp"

namespace tagring::delivery {

HttpResponse results_response(std::size_t asked, const std::vector<Refusal>& refusals, json::object more) {
  json::array refused;
  for (const Refusal& refusal : refusals) {
    refused.push_back(json::object{{"uri", refusal.uri},
                                   {"tag", refusal.tag.canonical()},
                                   {"error", to_string(refusal.error.code)},
                                   {"message", refusal.error.message}});
  }
  HttpResponse response;
  response.headers.add("Content-Type", "application/json");
  more["accepted"] = asked - refusals.size();
  more["refused"] = std::move(refused);
  response.body = json::serialize(more);
  return response;
}

Result<std::vector<Refusal>> read_results(const Result<HttpResponse>& response) {
  if (!response) return std::unexpected(response.error());
  if (response->status != 200) return std::unexpected(decode_error(response->status, response->body));
  TRY(const json::object body, json::parse_object(response->body));
  std::vector<Refusal> refusals;
  json::for_each(json::find(body, "refused"), [&](const json::value& element) {
    if (!element.is_object()) return;
    const json::object& item = element.get_object();
    Result<Tag> tag = Tag::parse(json::text_of(item, "tag"));
    if (!tag) return;  // of nothing that was sent
    refusals.push_back(
        {json::text_of(item, "uri"), std::move(*tag), decode_error(400, json::serialize(item))});
  });
  return refusals;
}

}  // namespace tagring::delivery
