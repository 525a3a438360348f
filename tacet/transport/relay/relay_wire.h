// Connection to a federation's server inside of another framework's messages: calls wait here until
// somebody takes their requests away and delivers the answers.
#ifndef TACET_TRANSPORT_RELAY_RELAY_WIRE_H_
#define TACET_TRANSPORT_RELAY_RELAY_WIRE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/wire.h"

namespace tacet::transport::relay {

// Thread-safe. The messenger is not trusted: it can delay, repeat, reorder and invent answers, as a
// lying server can.
class RelayWire final : public protocol::Wire {
 public:
  // `on_call`, which may be empty, is told of every request that can be taken.
  explicit RelayWire(std::function<void()> on_call = {}) : on_call_(std::move(on_call)) {}

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request,
                                   uint32_t most_seconds) override;
  std::vector<absl::StatusOr<base::Bytes>> CallTogether(std::span<const Request> requests,
                                                        uint32_t most_seconds) override;
  void Stop() override;

  // Answers for calls in progress; others are dropped. Empty, or no bundle at all: there are none.
  // Requests that are not answered by then may be lost: they can be taken again. Answers that were
  // pushed serve one call each, until the next bundle.
  void Deliver(std::span<const uint8_t> bundle);
  // The requests that were not taken since the last delivery, as a bundle; nothing without any.
  std::optional<base::Bytes> Take();

 private:
  struct Waiting {
    base::Bytes request;
    crypto::Digest digest{};
    bool taken = false;
    std::optional<absl::StatusOr<base::Bytes>> answer = std::nullopt;
  };

  std::list<Waiting>::iterator Park(base::Bytes request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<base::Bytes> AwaitAnswer(std::list<Waiting>::iterator call,
                                          std::chrono::steady_clock::time_point end);

  const std::function<void()> on_call_;
  base::Mutex mutex_;
  base::CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Waiting> calls_ ABSL_GUARDED_BY(mutex_);                      // in progress
  std::map<crypto::Digest, base::Bytes> pushed_ ABSL_GUARDED_BY(mutex_);  // by question
};

}  // namespace tacet::transport::relay

#endif  // TACET_TRANSPORT_RELAY_RELAY_WIRE_H_
