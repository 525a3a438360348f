// Bundles of calls: requests of one member on their way to the server, and answers on their way
// back, inside of messages of another framework (docs/formats/frameworks.md).
#ifndef TACET_TRANSPORT_RELAY_BUNDLE_H_
#define TACET_TRANSPORT_RELAY_BUNDLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"

namespace tacet::transport::relay {

// Calls in a bundle, bytes of an answer and of the text of an error, and bytes of a bundle: a
// reader accepts no more.
inline constexpr size_t kMaxCalls = 64;
inline constexpr size_t kMaxAnswerBytes = size_t{8} << 20;
inline constexpr size_t kMaxErrorBytes = 4096;
inline constexpr size_t kMaxBundleBytes = size_t{1} << 30;

// An answer, or the server's error. It names its request by the SHA-256 of the request's bytes, so
// that an answer that is late, repeated or somebody else's is for no call in progress.
struct RelayedAnswer {
  crypto::Digest request{};
  absl::StatusOr<base::Bytes> answer;
};

// An answer to what the member asks next, as far as the server can tell. It names the question
// (protocol::QuestionOf), since there is no request yet.
struct PushedAnswer {
  crypto::Digest question{};
  base::Bytes answer;
};

struct AnswerBundle {
  std::vector<RelayedAnswer> answers;
  std::vector<PushedAnswer> pushed;
};

// Whole signed requests, at most kMaxCalls.
base::Bytes WriteRequests(std::span<const base::Bytes> requests);
// DataLoss for anything that WriteRequests does not write. The spans point into `bundle`.
absl::StatusOr<std::vector<std::span<const uint8_t>>> ReadRequests(std::span<const uint8_t> bundle);

// At most kMaxCalls of both. Texts of errors are cut to kMaxErrorBytes.
base::Bytes WriteAnswers(std::span<const RelayedAnswer> answers,
                         std::span<const PushedAnswer> pushed = {});
// DataLoss for anything that WriteAnswers does not write. An error's code is the server's;
// UNAUTHENTICATED, which only a wire makes, is read as PermissionDenied.
absl::StatusOr<AnswerBundle> ReadAnswers(std::span<const uint8_t> bundle);

}  // namespace tacet::transport::relay

#endif  // TACET_TRANSPORT_RELAY_BUNDLE_H_
