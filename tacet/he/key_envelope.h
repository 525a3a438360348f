// Key envelope: transport of the one-time key of a compact payload, such that only the sum of the
// keys is opened.
//
// Three roles, one interface each; an implementation (shared_key_envelope.h: every opener holds the
// group secret) provides all three. Ring, modulus and payload do not depend on it.
#ifndef TACET_HE_KEY_ENVELOPE_H_
#define TACET_HE_KEY_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"

namespace tacet::he {

// A participant's role. Immutable and thread-safe; the time does not depend on secrets.
class EnvelopeSealer {
 public:
  virtual ~EnvelopeSealer() = default;
  // Encrypts `key` (N coefficients in [-128, 127]) into `sealed`, KeyEnvelope::sealed_bytes() long.
  // All randomness comes from `seal_key` (32 fresh bytes) by HKDF under labels of its own.
  virtual void Seal(std::span<const int8_t> key, const crypto::SecretBytes& seal_key,
                    std::span<uint8_t> sealed) const = 0;
};

// The server's role: no key.
class EnvelopeAdder {
 public:
  virtual ~EnvelopeAdder() = default;
  // DataLoss when `sealed` (sealed_bytes() long) is not canonical.
  virtual absl::Status Check(std::span<const uint8_t> sealed) const = 0;
  // Adds an envelope that passed Check.
  virtual void Add(std::span<const uint8_t> sealed) = 0;
  // `other` was made by an equal KeyEnvelope.
  virtual void Merge(const EnvelopeAdder& other) = 0;
  // Writes the sum's canonical form, KeyEnvelope::sum_bytes() long.
  virtual void Close(std::span<uint8_t> sum) const = 0;
};

// An opener's role. Immutable and thread-safe; the time does not depend on secrets.
class EnvelopeOpener {
 public:
  virtual ~EnvelopeOpener() = default;
  // The sum of the `participants` one-time keys, N coefficients: exact when the envelopes were
  // honest, but for a probability below 2^-79 a coefficient. DataLoss when `sum` is not canonical.
  virtual absl::StatusOr<crypto::SecretVector<int32_t>> Open(std::span<const uint8_t> sum,
                                                             uint32_t participants) const = 0;
};

// The part of an envelope that everybody knows.
class KeyEnvelope {
 public:
  virtual ~KeyEnvelope() = default;
  virtual size_t sealed_bytes() const = 0;
  virtual size_t sum_bytes() const = 0;
  virtual std::unique_ptr<EnvelopeAdder> NewAdder() const = 0;
};

}  // namespace tacet::he

#endif  // TACET_HE_KEY_ENVELOPE_H_
