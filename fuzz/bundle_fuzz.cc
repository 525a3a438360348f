// Bundles of calls as another framework delivers them: of requests at the server, of answers at a
// member.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "tacet/protocol/member_request.h"
#include "tacet/transport/relay/bundle.h"
#include "tacet/transport/relay/relay_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  namespace relay = transport::relay;
  const std::span<const uint8_t> bytes(data, size);
  if (const auto requests = relay::ReadRequests(bytes); requests.ok()) {
    if (requests->size() > relay::kMaxCalls) std::abort();
    std::vector<base::Bytes> copies;
    for (const auto& request : *requests) {
      if (request.size() > protocol::kMaxRequestBytes) std::abort();
      copies.emplace_back(request.begin(), request.end());
    }
    if (!std::ranges::equal(relay::WriteRequests(copies), bytes)) std::abort();
  }
  const auto answers = relay::ReadAnswers(bytes);
  if (answers.ok()) {
    if (answers->answers.size() > relay::kMaxCalls) std::abort();
    if (answers->pushed.size() > relay::kMaxCalls) std::abort();
    // An error's text and code become harmless, and stay so.
    const base::Bytes again = relay::WriteAnswers(answers->answers, answers->pushed);
    const auto twice = relay::ReadAnswers(again);
    if (!twice.ok() || relay::WriteAnswers(twice->answers, twice->pushed) != again) std::abort();
    for (const relay::RelayedAnswer& answer : answers->answers) {
      if (answer.answer.status().code() == absl::StatusCode::kUnauthenticated) std::abort();
    }
  }
  relay::RelayWire wire;
  wire.Deliver(bytes);
  if (wire.Take().has_value()) std::abort();
  return 0;
}
