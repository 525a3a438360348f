#include <algorithm>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/paper.h"
#include "tacet/he/payload_shape.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/uniform.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kPaperDegree;
constexpr const ring::Modulus& kModulus = ring::kModulus0;

// Writes mask + e0 + Delta m for the coefficients that carry values, 8 bytes each.
void WriteC0(std::span<const uint64_t> mask, std::span<const int8_t> error,
             const ring::ShoupFactor& delta, std::span<const uint32_t> values, uint8_t* bytes) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t noisy = kModulus.Add(mask[i], kModulus.FromSigned(error[i]));
    ring::StoreWord64(kModulus.Add(noisy, kModulus.Multiply(values[i], delta)), bytes + 8 * i);
  }
}

// The key pair's public half, a function of the group secret and the public seed: whoever holds
// this object needs no secret.
class PublicKeyEncryptor final : public Encryptor {
 public:
  PublicKeyEncryptor(const AggregationParams& params, std::span<const uint8_t> public_seed,
                     const base::SecretBytes& group_secret)
      : PublicKeyEncryptor(params, PublicKey(public_seed, group_secret)) {}

  absl::Status Encrypt(std::span<const uint32_t> counts, const base::SecretBytes& seal_key,
                       base::Bytes& ciphertext) const override {
    TACET_RETURN_IF_ERROR(CheckSealInput(params_, counts.size(), seal_key.size()));
    ciphertext.resize(params_.ciphertext_bytes());
    base::Random random = DeriveRandom(seal_key, "public-key encryption");
    base::SecretVector<int8_t> small(kN);
    base::SecretVector<uint64_t> u_ntt(kN);
    base::SecretVector<uint64_t> product(kN);
    base::SecretVector<uint64_t> error_ntt(kN);
    const auto small_in = std::span<const int8_t>(small.Expose());
    uint8_t* next = ciphertext.data();
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      const auto values = counts.subspan(j * kN, UsedCoefficients(params_, j));
      ring::SampleTernary(random, small.Expose());
      ring::ForwardOfSmall(small_in, ring::PaperNtt(), u_ntt.Expose());

      pk0_.Multiply(u_ntt.Expose(), product.Expose());
      ring::SampleError(random, small.Expose());
      WriteC0(product.Expose(), small_in, delta_, values, next);
      next += 8 * values.size();

      pk1_.Multiply(u_ntt.Expose(), product.Expose());
      ring::SampleError(random, small.Expose());
      ring::ForwardOfSmall(small_in, ring::PaperNtt(), error_ntt.Expose());
      ring::AddInPlace(product.Expose(), error_ntt.Expose(), kModulus);
      for (const uint64_t word : product.Expose()) {
        ring::StoreWord64(word, next);
        next += 8;
      }
    }
    return absl::OkStatus();
  }

 private:
  struct PublicKey {
    PublicKey(std::span<const uint8_t> public_seed, const base::SecretBytes& group_secret)
        : pk0_ntt(kN), pk1_ntt(kN) {
      ring::ExpandUniform(public_seed, {.use = ring::UniformUse::kPublicKey}, pk1_ntt);
      const base::SecretVector<int8_t> secret = ExpandGroupSecret(group_secret, kN);
      base::SecretVector<uint64_t> product(kN);
      ring::ForwardOfSmall(std::span<const int8_t>(secret.Expose()), ring::PaperNtt(),
                           product.Expose());
      ring::ValueMultiplier(product.Expose(), ring::PaperNtt()).Multiply(pk1_ntt, product.Expose());
      base::SecretVector<int8_t> error(kN);
      base::Random random = DeriveRandom(group_secret, "public key error");
      ring::SampleError(random, error.Expose());
      ring::ForwardOfSmall(std::span<const int8_t>(error.Expose()), ring::PaperNtt(), pk0_ntt);
      for (size_t i = 0; i < kN; ++i) {
        pk0_ntt[i] = kModulus.Subtract(pk0_ntt[i], product.Expose()[i]);
      }
    }
    std::vector<uint64_t> pk0_ntt;
    std::vector<uint64_t> pk1_ntt;
  };

  PublicKeyEncryptor(const AggregationParams& params, const PublicKey& key)
      : params_(params),
        delta_(kModulus.Shoup(PaperDelta(params.plaintext_bits()))),
        pk0_(std::span<const uint64_t>(key.pk0_ntt), ring::PaperNtt()),
        pk1_(std::span<const uint64_t>(key.pk1_ntt), ring::PaperNtt()) {}

  AggregationParams params_;
  ring::ShoupFactor delta_;
  ring::Multiplier pk0_;
  ring::ValueMultiplier pk1_;
};

class SecretKeyEncryptor final : public Encryptor {
 public:
  SecretKeyEncryptor(const AggregationParams& params, const base::SecretBytes& group_secret)
      : params_(params),
        delta_(kModulus.Shoup(PaperDelta(params.plaintext_bits()))),
        secret_(std::span<const int8_t>(ExpandGroupSecret(group_secret, kN).Expose()),
                ring::PaperNtt()) {}

  absl::Status Encrypt(std::span<const uint32_t> counts, const base::SecretBytes& seal_key,
                       base::Bytes& ciphertext) const override {
    TACET_RETURN_IF_ERROR(CheckSealInput(params_, counts.size(), seal_key.size()));
    ciphertext.resize(params_.ciphertext_bytes());
    const base::SecretBytes seed = DeriveKey(seal_key, "ciphertext seed");  // public from here on
    std::ranges::copy(seed.Expose(), std::span(ciphertext).last(ring::kSeedBytes).begin());
    base::Random random = DeriveRandom(seal_key, "secret-key encryption");
    std::vector<uint64_t> a_ntt(kN);
    base::SecretVector<uint64_t> mask(kN);
    base::SecretVector<int8_t> error(kN);
    uint8_t* next = ciphertext.data();
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      const auto values = counts.subspan(j * kN, UsedCoefficients(params_, j));
      ring::ExpandUniform(
          seed.Expose(),
          {.use = ring::UniformUse::kCiphertext, .polynomial = static_cast<uint32_t>(j)}, a_ntt);
      secret_.Multiply(a_ntt, mask.Expose());
      for (uint64_t& residue : mask.Expose()) residue = kModulus.Subtract(0, residue);
      ring::SampleError(random, error.Expose().first(values.size()));
      WriteC0(mask.Expose(), error.Expose(), delta_, values, next);
      next += 8 * values.size();
    }
    return absl::OkStatus();
  }

 private:
  AggregationParams params_;
  ring::ShoupFactor delta_;
  ring::Multiplier secret_;
};

}  // namespace

std::unique_ptr<Encryptor> NewPaperEncryptor(const AggregationParams& params,
                                             std::span<const uint8_t> public_seed,
                                             const base::SecretBytes& group_secret) {
  if (params.scheme() == Scheme::kPaperPublicKey) {
    return std::make_unique<PublicKeyEncryptor>(params, public_seed, group_secret);
  }
  return std::make_unique<SecretKeyEncryptor>(params, group_secret);
}

}  // namespace tacet::he
