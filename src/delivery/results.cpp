#include "delivery/results.hpp"

#include <algorithm>

#include "http/http_error.hpp"
#include "ring/codec.hpp"

namespace tagring::delivery {
namespace {

constexpr std::size_t kApartMax = 64;  // requests

}  // namespace

HttpResponse results_response(std::size_t asked, const std::vector<Refusal>& refusals, json::object more) {
  json::array refused;
  for (const Refusal& refusal : refusals) {
    refused.push_back(json::object{{"uri", refusal.uri},
                                   {"tag", refusal.tag.canonical()},
                                   {"error", to_string(refusal.error.code)},
                                   {"message", refusal.error.message}});
  }
  more["accepted"] = asked - refusals.size();
  more["refused"] = std::move(refused);
  return json_response(more);
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

bool is_unreadable(const Error& error) {
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kTooLarge;
}

Task<Result<std::vector<Refusal>>> send_apart(Part batch, Error whole, const SendPart& send, Rng& rng) {
  if (batch.size() < 2) co_return std::unexpected(std::move(whole));
  std::swap(batch[rng.below(batch.size())], batch.back());
  Result<std::vector<Refusal>> drawn = co_await send({batch.back()});
  if (!drawn) co_return std::unexpected(std::move(whole));
  batch.pop_back();
  std::vector<Refusal> refusals = *std::move(drawn);
  std::vector<Part> parts = {std::move(batch)};
  for (std::size_t requests = 0; !parts.empty(); ++requests) {
    const Part part = std::move(parts.back());
    parts.pop_back();
    Result<std::vector<Refusal>> sent = fail(ErrorCode::kBusy, "it cannot read much of what it is sent");
    if (requests < kApartMax) sent = co_await send(part);
    if (sent) {
      std::ranges::move(*sent, std::back_inserter(refusals));
    } else if (is_unreadable(sent.error()) && part.size() > 1) {
      const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
      parts.emplace_back(middle, part.end());
      parts.emplace_back(part.begin(), middle);
    } else {
      const ErrorCode code = is_unreadable(sent.error()) ? sent.error().code : ErrorCode::kBusy;
      for (const belief::TagEvent* event : part)
        refusals.push_back({event->uri, event->tag, {code, sent.error().message}});
    }
  }
  co_return refusals;
}

}  // namespace tagring::delivery
