// Common start of a training: parameters, and the salt of the digest by which members agree on
// them.
#ifndef TACET_AGREEMENT_INITIAL_MODEL_H_
#define TACET_AGREEMENT_INITIAL_MODEL_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"

namespace tacet::agreement {

// The server sees the agreement, so a salt in it would not hide the model from the server. The salt
// travels with the parameters, from the coordinating member to the members.
struct InitialModel {
  static constexpr size_t kSaltBytes = 32;

  std::array<uint8_t, kSaltBytes> salt{};
  std::vector<float> parameters;

  // With a salt from `entropy`.
  static InitialModel WithFreshSalt(std::vector<float> parameters, crypto::Entropy& entropy);

  // DigestKey::OfModel under the salt, as ManifestSpec::initial_model names it. It binds: another
  // model with this digest, under any salt, is a collision of SHA-256.
  crypto::Digest Digest() const;

  friend bool operator==(const InitialModel&, const InitialModel&) = default;
};

// Salt ‖ parameters as little-endian binary32.
base::Bytes WriteInitialModel(const InitialModel& model);
// DataLoss unless it is a salt and whole parameters.
absl::StatusOr<InitialModel> ReadInitialModel(std::span<const uint8_t> bytes);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_INITIAL_MODEL_H_
