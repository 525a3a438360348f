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

class PublicKeyEncryption final : public Encryption {
 public:
  PublicKeyEncryption(const AggregationParams& params, const ring::ShoupFactor& delta,
                      const ring::Multiplier& pk0, const ring::ValueMultiplier& pk1,
                      crypto::Random random, uint8_t* next)
      : params_(params),
        delta_(delta),
        pk0_(pk0),
        pk1_(pk1),
        random_(std::move(random)),
        small_(kN),
        u_ntt_(kN),
        product_(kN),
        error_ntt_(kN),
        next_(next) {}

  void Append(std::span<const uint32_t> counts) override {
    RequireBlock(params_, polynomial_++, counts.size());
    const auto small = std::span<const int8_t>(small_.Expose());
    ring::SampleTernary(random_, small_.Expose());
    ring::ForwardOfSmall(small, ring::PaperNtt(), u_ntt_.Expose());

    pk0_.Multiply(u_ntt_.Expose(), product_.Expose());
    ring::SampleError(random_, small_.Expose());
    WriteC0(product_.Expose(), small, delta_, counts, next_);
    next_ += 8 * counts.size();

    pk1_.Multiply(u_ntt_.Expose(), product_.Expose());
    ring::SampleError(random_, small_.Expose());
    ring::ForwardOfSmall(small, ring::PaperNtt(), error_ntt_.Expose());
    ring::AddInPlace(product_.Expose(), error_ntt_.Expose(), kModulus);
    for (const uint64_t word : product_.Expose()) {
      ring::StoreWord64(word, next_);
      next_ += 8;
    }
  }

  void Finish(const Tag& tag) override {
    RequireEnd(params_, polynomial_++);
    std::ranges::copy(EncodeTag(tag), next_);
  }

 private:
  const AggregationParams& params_;
  const ring::ShoupFactor& delta_;
  const ring::Multiplier& pk0_;
  const ring::ValueMultiplier& pk1_;
  crypto::Random random_;
  crypto::SecretVector<int8_t> small_;
  crypto::SecretVector<uint64_t> u_ntt_, product_, error_ntt_;
  uint8_t* next_;
  uint64_t polynomial_ = 0;
};

class SecretKeyEncryption final : public Encryption {
 public:
  SecretKeyEncryption(const AggregationParams& params, const ring::ShoupFactor& delta,
                      const ring::Multiplier& secret, crypto::SecretBytes seed,
                      crypto::Random random, uint8_t* next)
      : params_(params),
        delta_(delta),
        secret_(secret),
        seed_(std::move(seed)),
        random_(std::move(random)),
        a_ntt_(kN),
        mask_(kN),
        error_(kN),
        next_(next) {}

  void Append(std::span<const uint32_t> counts) override {
    RequireBlock(params_, polynomial_, counts.size());
    ring::ExpandUniform(
        seed_.Expose(),
        {.use = ring::UniformUse::kCiphertext, .polynomial = static_cast<uint32_t>(polynomial_)},
        a_ntt_);
    ++polynomial_;
    secret_.Multiply(a_ntt_, mask_.Expose());
    for (uint64_t& residue : mask_.Expose()) residue = kModulus.Subtract(0, residue);
    ring::SampleError(random_, error_.Expose().first(counts.size()));
    WriteC0(mask_.Expose(), error_.Expose(), delta_, counts, next_);
    next_ += 8 * counts.size();
  }

  void Finish(const Tag& tag) override {
    RequireEnd(params_, polynomial_++);
    std::ranges::copy(seed_.Expose(), next_);  // public from here on
    std::ranges::copy(EncodeTag(tag), next_ + seed_.size());
  }

 private:
  const AggregationParams& params_;
  const ring::ShoupFactor& delta_;
  const ring::Multiplier& secret_;
  crypto::SecretBytes seed_;
  crypto::Random random_;
  std::vector<uint64_t> a_ntt_;
  crypto::SecretVector<uint64_t> mask_;
  crypto::SecretVector<int8_t> error_;
  uint8_t* next_;
  uint64_t polynomial_ = 0;
};

// The key pair's public half, a function of the group secret and the public seed: anyone who holds
// this object needs no secret.
class PublicKeyEncryptor final : public Encryptor {
 public:
  PublicKeyEncryptor(const AggregationParams& params, std::span<const uint8_t> public_seed,
                     const crypto::SecretBytes& group_secret)
      : PublicKeyEncryptor(params, PublicKey(public_seed, group_secret)) {}

  absl::StatusOr<std::unique_ptr<Encryption>> Begin(const SealSecrets& secrets,
                                                    std::span<uint8_t> ciphertext) const override {
    TACET_RETURN_IF_ERROR(CheckEncryption(params(), secrets, ciphertext.size()));
    return std::make_unique<PublicKeyEncryption>(params(), delta_, pk0_, pk1_,
                                                 DeriveRandom(secrets.key, "public-key encryption"),
                                                 ciphertext.data());
  }

 private:
  struct PublicKey {
    PublicKey(std::span<const uint8_t> public_seed, const crypto::SecretBytes& group_secret)
        : pk0_ntt(kN), pk1_ntt(kN) {
      ring::ExpandUniform(public_seed, {.use = ring::UniformUse::kPublicKey}, pk1_ntt);
      const crypto::SecretVector<int8_t> secret = ExpandGroupSecret(group_secret, kN);
      crypto::SecretVector<uint64_t> product(kN);
      ring::ForwardOfSmall(std::span<const int8_t>(secret.Expose()), ring::PaperNtt(),
                           product.Expose());
      ring::ValueMultiplier(product.Expose(), ring::PaperNtt()).Multiply(pk1_ntt, product.Expose());
      crypto::SecretVector<int8_t> error(kN);
      crypto::Random random = DeriveRandom(group_secret, "public key error");
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
      : Encryptor(params),
        delta_(kModulus.Shoup(PaperDelta(params.plaintext_bits()))),
        pk0_(std::span<const uint64_t>(key.pk0_ntt), ring::PaperNtt()),
        pk1_(std::span<const uint64_t>(key.pk1_ntt), ring::PaperNtt()) {}

  ring::ShoupFactor delta_;
  ring::Multiplier pk0_;
  ring::ValueMultiplier pk1_;
};

class SecretKeyEncryptor final : public Encryptor {
 public:
  SecretKeyEncryptor(const AggregationParams& params, const crypto::SecretBytes& group_secret)
      : Encryptor(params),
        delta_(kModulus.Shoup(PaperDelta(params.plaintext_bits()))),
        secret_(std::span<const int8_t>(ExpandGroupSecret(group_secret, kN).Expose()),
                ring::PaperNtt()) {}

  absl::StatusOr<std::unique_ptr<Encryption>> Begin(const SealSecrets& secrets,
                                                    std::span<uint8_t> ciphertext) const override {
    TACET_RETURN_IF_ERROR(CheckEncryption(params(), secrets, ciphertext.size()));
    return std::make_unique<SecretKeyEncryption>(
        params(), delta_, secret_, DeriveKey(secrets.key, "ciphertext seed"),
        DeriveRandom(secrets.key, "secret-key encryption"), ciphertext.data());
  }

 private:
  ring::ShoupFactor delta_;
  ring::Multiplier secret_;
};

}  // namespace

std::unique_ptr<Encryptor> MakePaperEncryptor(const AggregationParams& params,
                                              std::span<const uint8_t> public_seed,
                                              const crypto::SecretBytes& group_secret) {
  if (params.scheme() == Scheme::kPaperPublicKey) {
    return std::make_unique<PublicKeyEncryptor>(params, public_seed, group_secret);
  }
  return std::make_unique<SecretKeyEncryptor>(params, group_secret);
}

}  // namespace tacet::he
