#include <algorithm>
#include <array>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kCompactDegree;

class CompactEncryptor final : public Encryptor {
 public:
  CompactEncryptor(const AggregationParams& params, std::span<const uint8_t> public_seed,
                   std::unique_ptr<EnvelopeSealer> envelope)
      : params_(params),
        a_ntt_(ExpandPayloadA(public_seed, params.polynomials())),
        envelope_(std::move(envelope)) {}

  absl::Status Encrypt(std::span<const uint32_t> counts, const base::SecretBytes& seal_key,
                       base::Bytes& ciphertext) const override {
    TACET_RETURN_IF_ERROR(CheckSealInput(params_, counts.size(), seal_key.size()));
    ciphertext.resize(params_.ciphertext_bytes());

    base::SecretVector<int8_t> key(kN);
    base::Random key_random = DeriveRandom(seal_key, "payload key");
    ring::SampleTernary(key_random, key.Expose());
    envelope_->Seal(key.Expose(), seal_key, std::span(ciphertext).last(params_.envelope_bytes()));

    const ModQMultiplier key_factors{std::span<const int8_t>(key.Expose())};
    base::Random error_random = DeriveRandom(seal_key, "payload error");
    base::SecretVector<uint64_t> error_words(kN);
    base::SecretVector<uint64_t> scratch(ring::ScratchWords(kN));
    const ring::Kernels& kernels = ring::ActiveKernels();
    uint8_t* planes = ciphertext.data();
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      const size_t used = UsedCoefficients(params_, j);
      error_random.FillU64(error_words.Expose().first(used));
      kernels.seal({.product = key_factors.Times(PayloadA(a_ntt_, j), scratch.Expose()),
                    .error_words = error_words.Expose().data(),
                    .counts = ValuesOf(params_, j, counts),
                    .layout = LanesOf(params_),
                    .shift = 0,
                    .used = used,
                    .planes = planes});
      planes += kPlaneBytes * used;
    }
    return absl::OkStatus();
  }

 private:
  AggregationParams params_;
  ring::AlignedWords a_ntt_;
  std::unique_ptr<EnvelopeSealer> envelope_;
};

}  // namespace

std::unique_ptr<Encryptor> NewCompactEncryptor(const AggregationParams& params,
                                               std::span<const uint8_t> public_seed,
                                               std::unique_ptr<EnvelopeSealer> envelope) {
  return std::make_unique<CompactEncryptor>(params, public_seed, std::move(envelope));
}

}  // namespace tacet::he
