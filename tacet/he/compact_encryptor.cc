#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/mod_q_multiplier.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/tag_polynomial.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kCompactDegree;

class CompactEncryption final : public Encryption {
 public:
  CompactEncryption(const AggregationParams& params, const PayloadPolynomials& a,
                    const TagPolynomial& a_tag, const crypto::SecretVector<int8_t>& key,
                    crypto::Random error_random, uint8_t* planes)
      : params_(params),
        a_(a),
        key_factors_(std::span<const int8_t>(key.Expose())),
        tag_products_(a_tag.Times(std::span<const int8_t>(key.Expose()))),
        error_random_(std::move(error_random)),
        error_words_(kN),
        scratch_(ring::ScratchWords(kN)),
        planes_(planes) {}

  void Append(std::span<const uint32_t> counts) override {
    RequireBlock(params_, polynomial_, counts.size());
    const size_t used = UsedCoefficients(params_, polynomial_);
    error_random_.FillU64(error_words_.Expose().first(used));
    ring::ActiveKernels().seal(
        {.product = key_factors_.Times(a_.At(polynomial_, expanded_), scratch_.Expose()),
         .error_words = error_words_.Expose().data(),
         .counts = counts,
         .layout = SlotsOf(params_),
         .shift = 0,
         .used = used,
         .planes = planes_});
    planes_ += kPlaneBytes * used;
    ++polynomial_;
  }

  void Finish(const Tag& tag) override {
    RequireEnd(params_, polynomial_++);
    EncryptTag(tag, tag_products_, error_random_, planes_);
  }

 private:
  const AggregationParams& params_;
  const PayloadPolynomials& a_;
  ring::AlignedWords expanded_;
  ModQMultiplier key_factors_;
  TagProducts tag_products_;
  crypto::Random error_random_;
  crypto::SecretVector<uint64_t> error_words_;
  crypto::SecretVector<uint64_t> scratch_;
  uint8_t* planes_;  // of the next polynomial
  uint64_t polynomial_ = 0;
};

class CompactEncryptor final : public Encryptor {
 public:
  CompactEncryptor(const AggregationParams& params, std::span<const uint8_t> public_seed)
      : Encryptor(params),
        a_(SharedPayloadPolynomials(public_seed, params.polynomials())),
        a_tag_(public_seed, params.polynomials()) {}

  absl::StatusOr<std::unique_ptr<Encryption>> Begin(const SealSecrets& secrets,
                                                    std::span<uint8_t> ciphertext) const override {
    TACET_RETURN_IF_ERROR(CheckEncryption(params(), secrets, ciphertext.size()));
    crypto::SecretVector<int8_t> key(kN);
    crypto::Random key_random = DeriveRandom(secrets.key, "payload key");
    ring::SampleError(key_random, key.Expose());  // k has the error's law: compact.h
    params().sharing().Share(key.Expose(), CheckSecrets(secrets.key).Expose(), secrets.masks,
                             ciphertext.last(params().share_bytes()));
    return std::make_unique<CompactEncryption>(
        params(), *a_, a_tag_, key, DeriveRandom(secrets.key, "payload error"), ciphertext.data());
  }

 private:
  // Uniform below p up to 2^-112, without a branch: 128 bits mod p.
  crypto::SecretVector<uint16_t> CheckSecrets(const crypto::SecretBytes& key) const {
    crypto::Random random = DeriveRandom(key, "share check");
    crypto::SecretVector<uint16_t> secrets(params().sharing().check_secrets());
    crypto::SecretVector<uint64_t> words(2 * secrets.size());
    random.FillU64(words.Expose());
    for (size_t i = 0; i < secrets.size(); ++i) {
      constexpr uint64_t kHigh = (~uint64_t{0} % kSharePrime + 1) % kSharePrime;  // 2^64 mod p
      const uint64_t high = words.Expose()[2 * i + 1] % kSharePrime;
      const uint64_t low = words.Expose()[2 * i] % kSharePrime;
      secrets.Expose()[i] = static_cast<uint16_t>((high * kHigh + low) % kSharePrime);
    }
    return secrets;
  }

  std::shared_ptr<const PayloadPolynomials> a_;
  TagPolynomial a_tag_;
};

}  // namespace

std::unique_ptr<Encryptor> MakeCompactEncryptor(const AggregationParams& params,
                                                std::span<const uint8_t> public_seed) {
  return std::make_unique<CompactEncryptor>(params, public_seed);
}

}  // namespace tacet::he
