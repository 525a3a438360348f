#include <memory>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/truncated_planes.h"

namespace tacet::he {
namespace {

class CompactAdder final : public Adder {
 public:
  CompactAdder(const AggregationParams& params, const KeyEnvelope& envelope)
      : params_(params), envelope_(envelope.NewAdder()) {
    payload_.reserve(params.polynomials());
    for (uint64_t j = 0; j < params.polynomials(); ++j) {
      payload_.emplace_back(UsedCoefficients(params, j));
    }
  }

  absl::Status Add(std::span<const uint8_t> ciphertext) override {
    TACET_RETURN_IF_ERROR(CheckCiphertextLength(params_, ciphertext.size()));
    TACET_RETURN_IF_ERROR(CheckRoomInSum(params_, uint64_t{count_} + 1));
    const auto envelope = ciphertext.last(params_.envelope_bytes());
    TACET_RETURN_IF_ERROR(envelope_->Check(envelope));
    // Checked and added a polynomial at a time, while its bytes are in the cache; taken back when
    // a later one is found wrong.
    for (uint64_t j = 0; j < payload_.size(); ++j) {
      const auto planes = PlanesOf(ciphertext, j);
      if (const auto bad = FindNonCanonical(planes); bad.has_value()) {
        for (uint64_t i = 0; i < j; ++i) payload_[i].Subtract(PlanesOf(ciphertext, i));
        return base::DataLoss(
            "ciphertext: field `payload` is not canonical: coefficient {} of polynomial {} is not "
            "below Q / 2^{}",
            *bad, j, kDropBits);
      }
      payload_[j].Add(planes);
    }
    envelope_->Add(envelope);
    ++count_;
    return absl::OkStatus();
  }

  absl::Status Merge(const Adder& other) override {
    const auto* that = dynamic_cast<const CompactAdder*>(&other);
    TACET_RETURN_IF_ERROR(CheckMerge(params_, that == nullptr ? nullptr : &that->params_));
    TACET_RETURN_IF_ERROR(CheckRoomInSum(params_, uint64_t{count_} + that->count_));
    for (uint64_t j = 0; j < payload_.size(); ++j) payload_[j].Merge(that->payload_[j]);
    envelope_->Merge(*that->envelope_);
    count_ += that->count_;
    return absl::OkStatus();
  }

  uint32_t count() const override { return count_; }

  base::Bytes Close() const override {
    base::Bytes sum(params_.closed_sum_bytes());
    std::span<uint8_t> rest(sum);
    for (const PlaneSums& polynomial : payload_) {
      polynomial.WriteResidues(rest.first(16 * polynomial.count()));
      rest = rest.subspan(16 * polynomial.count());
    }
    envelope_->Close(rest);
    return sum;
  }

 private:
  std::span<const uint8_t> PlanesOf(std::span<const uint8_t> ciphertext, uint64_t j) const {
    return ciphertext.subspan(kPlaneBytes * params_.ring_degree() * j,
                              kPlaneBytes * payload_[j].count());
  }

  AggregationParams params_;
  std::vector<PlaneSums> payload_;
  std::unique_ptr<EnvelopeAdder> envelope_;
  uint32_t count_ = 0;
};

}  // namespace

std::unique_ptr<Adder> NewCompactAdder(const AggregationParams& params,
                                       const KeyEnvelope& envelope) {
  return std::make_unique<CompactAdder>(params, envelope);
}

}  // namespace tacet::he
