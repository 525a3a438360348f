#include "tacet/simulation/update_path.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/partial_sum.h"
#include "tacet/secagg/round_decryption.h"
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
    TACET_ASSIGN_OR_RETURN(secagg::SealedUpload sealed,
                           sealer_->Seal(update, parts_.pair_keys.Of(participant).keys, *entropy));
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
    if (submitted.ok()) own_nonces_[place] = sealed.nonce;
    return submitted;
  }

  absl::StatusOr<base::Bytes> TakePartial() override {
    const base::MutexLock lock(mutex_);
    return aggregator_.ClosePartial();
  }

  absl::Status Merge(std::span<const uint8_t> partial) override {
    const base::MutexLock lock(mutex_);
    const base::Stopwatch watch;
    TACET_RETURN_IF_ERROR(aggregator_.Merge(partial));
    // The updates of the members that another rank plays.
    TACET_ASSIGN_OR_RETURN(
        const secagg::PartialSum sum,
        secagg::ReadPartialSum(partial, attempt_, parts_.manifest.terms().aggregation()));
    for (const secagg::AddedUpload& upload : sum.uploads) {
      own_nonces_[upload.participant] = upload.nonce;
    }
    add_.Add(watch.Seconds());
    return absl::OkStatus();
  }

  size_t MaxPartialBytes() const override {
    return secagg::MaxPartialSumBytes(parts_.manifest.terms().aggregation());
  }

  absl::StatusOr<Average> Finish() override {
    const base::Stopwatch watch;
    const agreement::Manifest& manifest = parts_.manifest;
    const std::unique_ptr<crypto::Entropy> entropy = parts_.entropy(fmt::format(
        "unmask/{}/{}/{}", attempt_.number.epoch, attempt_.number.round, attempt_.number.attempt));
    base::MutexLock lock(mutex_);
    TACET_ASSIGN_OR_RETURN(
        const secagg::Aggregator::Closed closed,
        aggregator_.Close(
            *entropy, [this](uint64_t member) { return parts_.pair_keys.Of(member).list; },
            [this](uint64_t place) { return parts_.participants[place]; }));
    const std::map<uint64_t, secagg::SealNonce> own_nonces = own_nonces_;
    lock.Unlock();
    const CommitteeAnswers answers = Answers(closed, own_nonces, *entropy);
    // Any member's part; one stands for all.
    base::Bytes closed_round = closed.closed_round;
    TACET_RETURN_IF_ERROR(parts_.channel.Carry(MessageKind::kClosedRound, 0, closed_round));
    absl::StatusOr<secagg::DecryptedRound> decrypted =
        secagg::DecryptRound(manifest.terms(), manifest.committee(), attempt_, keys_,
                             {.closed_round = closed_round,
                              .votes = answers.votes,
                              .unmask_shares = answers.unmask_shares});
    if (!decrypted.ok()) {
      parts_.log(0, base::Message(decrypted.status()));
      return secagg::RefusedForServer();
    }
    for (const uint32_t seat : decrypted->wrong_seats) {
      parts_.log(0, fmt::format("the unmask share of committee member {} does not fit and was "
                                "corrected: it is wrong, or a participant's share for it is",
                                manifest.committee()[seat].member));
    }
    const secagg::Aggregate& aggregate = decrypted->aggregate;
    Average average{.participants = aggregate.participants,
                    .mean = std::vector<double>(manifest.spec().dimension),
                    .upload_bytes = secagg::UploadBytes(manifest.terms().aggregation()),
                    .sum_bytes = closed_round.size()};
    dp::Mechanism(manifest.terms().mechanism())
        .DecodeMean(aggregate.sums, aggregate.participants, average.mean);
    open_.Add(watch.Seconds());
    return average;
  }

  PrivacySeconds seconds() const override {
    return {.seal = seal_.Total(), .add = add_.Total(), .open = open_.Total()};
  }

 private:
  // For all seats. Keys live in this process alone, so journals that end with it protect as well as
  // files.
  CommitteeAnswers Answers(const secagg::Aggregator::Closed& closed,
                           const std::map<uint64_t, secagg::SealNonce>& own_nonces,
                           crypto::Entropy& entropy) {
    const agreement::Manifest& manifest = parts_.manifest;
    const secagg::Committee& committee = manifest.committee();
    std::vector<secagg::MemoryJournal> journals(committee.size());
    std::vector<secagg::PairKeyOf> pair_keys;
    std::vector<secagg::CommitteeMember> members;
    for (uint32_t seat = 0; seat < committee.size(); ++seat) {
      pair_keys.push_back([this, seat](uint64_t client) -> absl::StatusOr<secagg::ListedPairKey> {
        const PairKeys::OfClient& all = parts_.pair_keys.Of(client);
        return secagg::ListedPairKey{all.list,
                                     crypto::SecretBytes::CopyOf(all.keys.Expose().subspan(
                                         secagg::kPairKeyBytes * seat, secagg::kPairKeyBytes))};
      });
    }
    for (uint32_t seat = 0; seat < committee.size(); ++seat) {
      const uint64_t member = committee[seat].member;
      std::optional<secagg::SealNonce> own;
      for (const auto& [place, nonce] : own_nonces) {
        if (parts_.participants[place] == member) own = nonce;
      }
      members.emplace_back(
          secagg::CommitteeMemberParts{.terms = manifest.terms(),
                                       .committee = committee,
                                       .signing_key = parts_.keys.signing_keys[member],
                                       .result_key = keys_.result_key,
                                       .pair_key_of = pair_keys[seat],
                                       .journal = journals[seat],
                                       .entropy = entropy},
          attempt_, seat, manifest.spec().sampling.clients,
          secagg::OwnUpload{.nonce = own, .acknowledged = own.has_value()});
    }
    std::vector<SeatedMember> seats;
    for (uint32_t seat = 0; seat < committee.size(); ++seat) {
      seats.push_back({.member = committee[seat].member, .seat = &members[seat]});
    }
    return AskCommittee(closed, seats, parts_.channel, parts_.log);
  }

  EncryptedPathParts parts_;
  secagg::Attempt attempt_;
  secagg::AttemptKeys keys_;
  std::unique_ptr<secagg::Sealer> sealer_;
  base::Mutex mutex_;
  secagg::Aggregator aggregator_ ABSL_GUARDED_BY(mutex_);
  // By place, of the uploads in the sum.
  std::map<uint64_t, secagg::SealNonce> own_nonces_ ABSL_GUARDED_BY(mutex_);
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
  secagg::AttemptKeys keys =
      secagg::DeriveAttemptKeys(parts.keys.shared.epoch_key, spec.scheme, attempt);
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
