#include "tacet/simulation/update_path.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/partial_sum.h"
#include "tacet/secagg/result_collector.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/upload.h"

namespace tacet::simulation {
namespace {

std::string SealLabel(const secagg::Attempt& attempt, uint64_t participant) {
  return fmt::format("seal/{}/{}/{}/{}", attempt.number.epoch, attempt.number.round,
                     attempt.number.attempt, participant);
}

// Clipping and noise of one participant, the part that all paths share.
struct Draws {
  crypto::Random noise;
  crypto::Random quantise;
};
Draws DrawsFor(const secagg::Attempt& attempt, uint64_t participant, std::span<const float> update,
               const EntropyFactory& entropy) {
  const std::unique_ptr<crypto::Entropy> source = entropy(SealLabel(attempt, participant));
  const crypto::SecretBytes key = secagg::DrawSealKey(attempt, update, *source);
  return {.noise = secagg::SealRandom(key, "noise"),
          .quantise = secagg::SealRandom(key, "quantise")};
}

class EncryptedPath final : public UpdatePath {
 public:
  EncryptedPath(const EncryptedPathParts& parts, const secagg::Attempt& attempt,
                secagg::AttemptKeys keys, std::unique_ptr<secagg::Sealer> sealer)
      : parts_(parts),
        attempt_(attempt),
        keys_(std::move(keys)),
        sealer_(std::move(sealer)),
        aggregator_(parts.manifest.terms().aggregation(), attempt,
                    parts.manifest.terms().min_participants()) {}

  absl::Status Contribute(uint32_t place, uint64_t participant,
                          std::span<const float> update) override {
    base::Stopwatch watch;
    const std::unique_ptr<crypto::Entropy> entropy =
        parts_.entropy(SealLabel(attempt_, participant));
    TACET_ASSIGN_OR_RETURN(secagg::SealedUpload sealed, sealer_->Seal(update, *entropy));
    if (!sealed.clip.finite) {
      parts_.log(participant,
                 "the update held a value that is not a number or infinite: zeros were sealed");
    }
    seal_.Add(watch.Restart());
    TACET_RETURN_IF_ERROR(parts_.channel.Carry(MessageKind::kUpload, participant, sealed.bytes));
    const base::MutexLock lock(mutex_);
    watch.Restart();
    const absl::Status submitted = aggregator_.Submit(place, sealed.bytes);
    add_.Add(watch.Seconds());
    return submitted;
  }

  absl::StatusOr<base::Bytes> TakePartial() override {
    const base::MutexLock lock(mutex_);
    return aggregator_.ClosePartial();
  }

  absl::Status Merge(std::span<const uint8_t> partial) override {
    const base::MutexLock lock(mutex_);
    const base::Stopwatch watch;
    const absl::Status merged = aggregator_.Merge(partial);
    add_.Add(watch.Seconds());
    return merged;
  }

  size_t MaxPartialBytes() const override {
    return secagg::MaxPartialSumBytes(parts_.manifest.terms().aggregation());
  }

  absl::StatusOr<Average> Finish() override {
    const base::Stopwatch watch;
    const agreement::Manifest& manifest = parts_.manifest;
    base::MutexLock lock(mutex_);
    TACET_ASSIGN_OR_RETURN(const base::Bytes closed_round, aggregator_.Close());
    lock.Unlock();
    const std::vector<secagg::OpenerIdentity> openers = ChooseOpeners();
    TACET_ASSIGN_OR_RETURN(const std::vector<SeatedOpener> seats, SeatOpeners(openers));
    secagg::ResultCollector collector(manifest.terms().aggregation(), attempt_, openers,
                                      keys_.result_key);
    TACET_ASSIGN_OR_RETURN(const Opening opening,
                           RunOpening(closed_round, seats, parts_.channel, collector, parts_.log));
    Average average{.participants = opening.sum.participants,
                    .mean = std::vector<double>(manifest.spec().dimension),
                    .upload_bytes = secagg::UploadBytes(manifest.terms().aggregation()),
                    .sum_bytes = opening.message_bytes};
    dp::Mechanism(manifest.terms().mechanism())
        .DecodeMean(opening.sum.sums, opening.sum.participants, average.mean);
    open_.Add(watch.Seconds());
    return average;
  }

  PrivacySeconds seconds() const override {
    return {.seal = seal_.Total(), .add = add_.Total(), .open = open_.Total()};
  }

 private:
  std::vector<secagg::OpenerIdentity> ChooseOpeners() const {
    const agreement::ManifestSpec& spec = parts_.manifest.spec();
    std::vector<secagg::OpenerIdentity> openers;
    for (const uint64_t member : secagg::ChooseOpeners(parts_.keys.epoch_key, spec.scheme, attempt_,
                                                       spec.sampling.clients, spec.openers)) {
      openers.push_back(parts_.manifest.Identity(member));
    }
    return openers;
  }

  absl::StatusOr<std::vector<SeatedOpener>> SeatOpeners(
      const std::vector<secagg::OpenerIdentity>& openers) {
    opener_entropy_ = parts_.entropy(fmt::format("open/{}/{}/{}", attempt_.number.epoch,
                                                 attempt_.number.round, attempt_.number.attempt));
    std::vector<SeatedOpener> seats;
    for (const secagg::OpenerIdentity& identity : openers) {
      // Keys live in this process alone, so a journal that ends with it protects as well as a file.
      SeatedOpener seat{.member = identity.member,
                        .journal = std::make_unique<secagg::MemoryJournal>(),
                        .opener = nullptr};
      TACET_ASSIGN_OR_RETURN(
          seat.opener, secagg::Opener::Create(
                           parts_.manifest.terms(), attempt_,
                           secagg::DeriveAttemptKeys(parts_.keys.epoch_key,
                                                     parts_.manifest.spec().scheme, attempt_),
                           openers, identity.member, parts_.keys.signing_keys[identity.member],
                           *seat.journal, *opener_entropy_));
      seats.push_back(std::move(seat));
    }
    return seats;
  }

  EncryptedPathParts parts_;
  secagg::Attempt attempt_;
  secagg::AttemptKeys keys_;
  std::unique_ptr<secagg::Sealer> sealer_;
  base::Mutex mutex_;
  secagg::Aggregator aggregator_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<crypto::Entropy> opener_entropy_;
  base::SharedSeconds seal_, add_, open_;
};

// Clips, protects and adds in the clear; what is added, and what the sum means, is the subclass's.
class ClearPath : public UpdatePath {
 public:
  ClearPath(const agreement::Manifest& manifest, const secagg::Attempt& attempt,
            const EntropyFactory& entropy)
      : mechanism_(manifest.terms().mechanism()),
        attempt_(attempt),
        entropy_(entropy),
        dimension_(manifest.spec().dimension),
        sums_(dimension_) {}

  absl::Status Contribute(uint32_t, uint64_t participant, std::span<const float> update) override {
    base::Stopwatch watch;
    Draws draws = DrawsFor(attempt_, participant, update, entropy_);
    std::vector<float> clipped(update.size());
    mechanism_.Clip(update, clipped);
    std::vector<uint64_t> terms(update.size());
    Protect(clipped, draws, terms);
    seal_.Add(watch.Seconds());
    const base::MutexLock lock(mutex_);
    watch.Restart();
    for (size_t i = 0; i < terms.size(); ++i) sums_[i] += terms[i];
    ++participants_;
    add_.Add(watch.Seconds());
    return absl::OkStatus();
  }

  // participants u32 ‖ d sums u64
  absl::StatusOr<base::Bytes> TakePartial() override {
    const base::MutexLock lock(mutex_);
    base::ByteWriter writer;
    writer.Reserve(MaxPartialBytes());
    writer.U32(participants_);
    for (const uint64_t sum : sums_) writer.U64(sum);
    return writer.Take();
  }

  absl::Status Merge(std::span<const uint8_t> partial) override {
    const base::MutexLock lock(mutex_);
    base::ByteReader reader(partial, "partial sum");
    TACET_ASSIGN_OR_RETURN(const uint32_t participants, reader.ReadU32("participants"));
    TACET_ASSIGN_OR_RETURN(const auto words, reader.ReadBytes(8 * sums_.size(), "sums"));
    TACET_RETURN_IF_ERROR(reader.ExpectEnd());
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += base::LoadU64(words.data() + 8 * i);
    participants_ += participants;
    return absl::OkStatus();
  }

  size_t MaxPartialBytes() const override { return 4 + 8 * dimension_; }

  absl::StatusOr<Average> Finish() override {
    const base::MutexLock lock(mutex_);
    if (participants_ == 0) return base::FailedPrecondition("nobody took part in the round");
    Average average{.participants = participants_, .mean = std::vector<double>(sums_.size())};
    Decode(sums_, participants_, average.mean);
    return average;
  }

  PrivacySeconds seconds() const override {
    return {.seal = seal_.Total(), .add = add_.Total(), .open = 0};
  }

 protected:
  // Integers of which only the sum mod 2^64 is used, so that it does not matter who came first.
  virtual void Protect(std::span<const float> clipped, Draws& draws,
                       std::span<uint64_t> terms) const = 0;
  virtual void Decode(std::span<const uint64_t> sums, uint32_t participants,
                      std::span<double> mean) const = 0;

  dp::Mechanism mechanism_;

 private:
  secagg::Attempt attempt_;
  const EntropyFactory& entropy_;
  const size_t dimension_;
  base::Mutex mutex_;
  std::vector<uint64_t> sums_ ABSL_GUARDED_BY(mutex_);
  uint32_t participants_ ABSL_GUARDED_BY(mutex_) = 0;
  base::SharedSeconds seal_, add_;
};

class QuantizedPath final : public ClearPath {
 public:
  using ClearPath::ClearPath;

 private:
  void Protect(std::span<const float> clipped, Draws& draws,
               std::span<uint64_t> terms) const override {
    std::vector<uint32_t> counts(clipped.size());
    mechanism_.NoiseAndQuantize(clipped, draws.noise, draws.quantise, counts);
    std::ranges::copy(counts, terms.begin());
  }

  void Decode(std::span<const uint64_t> sums, uint32_t participants,
              std::span<double> mean) const override {
    mechanism_.DecodeMean(sums, participants, mean);
  }
};

class PlainPath final : public ClearPath {
 public:
  using ClearPath::ClearPath;

 private:
  static constexpr double kUnits = 0x1p40;  // of a sum's 1; |sum| < 2^23 fits

  void Protect(std::span<const float> clipped, Draws& draws,
               std::span<uint64_t> terms) const override {
    std::vector<double> noised(clipped.size());
    mechanism_.Noise(clipped, draws.noise, noised);
    for (size_t i = 0; i < noised.size(); ++i) {
      terms[i] = static_cast<uint64_t>(std::llrint(noised[i] * kUnits));
    }
  }

  void Decode(std::span<const uint64_t> sums, uint32_t participants,
              std::span<double> mean) const override {
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto sum = static_cast<double>(static_cast<int64_t>(sums[i]));
      mean[i] = sum / kUnits / participants;
    }
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<UpdatePath>> NewEncryptedPath(const EncryptedPathParts& parts,
                                                             const secagg::Attempt& attempt) {
  const agreement::ManifestSpec& spec = parts.manifest.spec();
  secagg::AttemptKeys keys = secagg::DeriveAttemptKeys(parts.keys.epoch_key, spec.scheme, attempt);
  TACET_ASSIGN_OR_RETURN(auto sealer,
                         secagg::Sealer::Create(parts.manifest.terms(), attempt, keys));
  return std::make_unique<EncryptedPath>(parts, attempt, std::move(keys), std::move(sealer));
}

std::unique_ptr<UpdatePath> NewQuantizedPath(const agreement::Manifest& manifest,
                                             const secagg::Attempt& attempt,
                                             const EntropyFactory& entropy) {
  return std::make_unique<QuantizedPath>(manifest, attempt, entropy);
}

std::unique_ptr<UpdatePath> NewPlainPath(const agreement::Manifest& manifest,
                                         const secagg::Attempt& attempt,
                                         const EntropyFactory& entropy) {
  return std::make_unique<PlainPath>(manifest, attempt, entropy);
}

}  // namespace tacet::simulation
