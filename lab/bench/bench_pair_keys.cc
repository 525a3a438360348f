#include "lab/bench/bench_pair_keys.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lab/bench/bench_he.h"
#include "lab/bench/bench_timing.h"
#include "tacet/base/status.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/terms.h"

namespace tacet::app::bench {
namespace {

struct Member {
  explicit Member(crypto::Entropy& entropy)
      : signing(crypto::SigningKey::Generate(entropy)),
        exchange(crypto::ExchangeKey::Generate(entropy)),
        kem(crypto::KemKey::Generate(entropy)) {}

  crypto::SigningKey signing;
  crypto::ExchangeKey exchange;
  crypto::KemKey kem;
};

class PairKeyBench {
 public:
  explicit PairKeyBench(const BenchPairKeysSpec& spec) : spec_(spec) {
    for (uint32_t i = 0; i < spec.members; ++i) members_.emplace_back(entropy_);
    // The first members are on the seats.
    for (uint32_t seat = 0; seat < spec.committee.seats; ++seat) {
      seat_keys_.push_back(members_[seat].kem.public_key());
    }
  }

  absl::StatusOr<BenchPairKeysResult> Run() {
    BenchPairKeysResult result;
    absl::Status failure;
    result.client_setup_s = MedianThreadSeconds(
        spec_.repetitions, [&] { failure.Update(MakeClient(spec_.members - 1)); });
    const crypto::SecretBytes of_client = crypto::SecretBytes::CopyOf(pair_keys_.Expose());
    for (uint32_t client = 0; client < spec_.members; ++client) {
      TACET_RETURN_IF_ERROR(MakeClient(client));
      copies_.push_back(
          secagg::CopyForSeat(secagg::WriteKeyPacket(packet_), seat_keys_.size(), kSeat));
    }
    result.seat_setup_s =
        MedianThreadSeconds(spec_.repetitions, [&] { failure.Update(ReadAll()); });
    TACET_RETURN_IF_ERROR(failure);
    if (!crypto::ConstantTimeEqual(of_client.Expose().first(secagg::kPairKeyBytes),
                                   of_seat_.Expose())) {
      return base::DataLoss("client and seat have different pair keys");
    }
    TACET_RETURN_IF_ERROR(Seal(of_client, result));
    return result;
  }

 private:
  static constexpr uint32_t kSeat = 0;

  absl::StatusOr<crypto::SecretBytes> PairKey(const crypto::ExchangeKey& own,
                                              const crypto::ExchangePublicKey& other,
                                              const crypto::SecretBytes& shared,
                                              const secagg::KeyPacket& packet,
                                              uint32_t seat) const {
    TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes agreed, own.Agree(other));
    return secagg::DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = epoch_key_},
                                 {.manifest_hash = packet.owner.manifest_hash,
                                  .epoch = packet.owner.epoch,
                                  .client = packet.owner.client,
                                  .seat = seat,
                                  .list = secagg::ListDigest(packet)});
  }

  // packet_ and pair_keys_ of a client.
  absl::Status MakeClient(uint32_t client) {
    const Member& own = members_[client];
    TACET_ASSIGN_OR_RETURN(
        secagg::MadePacket made,
        secagg::MakeKeyPacket({.manifest_hash = {1}, .epoch = 2, .client = client}, seat_keys_,
                              own.kem.seed()));
    secagg::SignKeyPacket(own.signing, made.packet);
    pair_keys_ = crypto::SecretBytes(secagg::kPairKeyBytes * seat_keys_.size());
    for (uint32_t seat = 0; seat < seat_keys_.size(); ++seat) {
      TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes key,
                             PairKey(own.exchange, members_[seat].exchange.public_key(),
                                     made.shared[seat], made.packet, seat));
      std::ranges::copy(key.Expose(),
                        pair_keys_.Expose().subspan(secagg::kPairKeyBytes * seat).begin());
    }
    packet_ = std::move(made.packet);
    return absl::OkStatus();
  }

  // of_seat_ is the pair key with the last member.
  absl::Status ReadAll() {
    const Member& own = members_[kSeat];
    for (const base::Bytes& copy : copies_) {
      TACET_ASSIGN_OR_RETURN(const secagg::KeyPacket packet,
                             secagg::ReadKeyPacket(copy, seat_keys_.size(), kSeat));
      const Member& client = members_[packet.owner.client];
      if (!secagg::IsSignedBy(packet, client.signing.public_key())) {
        return base::DataLoss("the packet is not signed");
      }
      TACET_ASSIGN_OR_RETURN(
          of_seat_, PairKey(own.exchange, client.exchange.public_key(),
                            own.kem.Decapsulate(packet.ciphertexts.front()), packet, kSeat));
    }
    return absl::OkStatus();
  }

  absl::Status Seal(const crypto::SecretBytes& pair_keys, BenchPairKeysResult& result) {
    TACET_ASSIGN_OR_RETURN(const secagg::Terms terms, ChooseTerms({.dimension = spec_.dimension,
                                                                   .participants = spec_.members,
                                                                   .committee = spec_.committee}));
    const secagg::Attempt attempt;
    TACET_ASSIGN_OR_RETURN(
        const std::unique_ptr<secagg::Sealer> sealer,
        secagg::Sealer::Create(
            terms, attempt,
            secagg::DeriveAttemptKeys(epoch_key_, terms.aggregation().scheme(), attempt)));
    // The keys of X25519 alone: as many bytes from the same derivation.
    const crypto::SecretBytes before = entropy_.Draw(pair_keys.size());
    std::vector<float> update(spec_.dimension);
    for (size_t i = 0; i < update.size(); ++i) update[i] = i % 2 == 0 ? 0.25f : -0.5f;
    absl::Status failure;
    const auto seconds_with = [&](const crypto::SecretBytes& keys) {
      const double start = ThreadSeconds();
      failure.Update(sealer->Seal(update, keys, entropy_).status());
      return ThreadSeconds() - start;
    };
    std::vector<double> seals, differences;
    for (uint32_t i = 0; i < kPairs * spec_.repetitions; ++i) {
      const bool first = i % 2 == 0;
      const double one = seconds_with(first ? pair_keys : before);
      const double other = seconds_with(first ? before : pair_keys);
      seals.push_back(first ? one : other);
      differences.push_back(first ? one - other : other - one);
    }
    result.seal_s = Median(std::move(seals));
    result.seal_more_s = Median(std::move(differences));
    return failure;
  }

  // Pairs of seals a repetition: the difference is far below one seal's deviation.
  static constexpr uint32_t kPairs = 20;

  const BenchPairKeysSpec spec_;
  crypto::SystemEntropy entropy_;
  const crypto::SecretBytes epoch_key_ = entropy_.Draw(32);
  std::vector<Member> members_;
  std::vector<crypto::KemPublicKey> seat_keys_;
  secagg::KeyPacket packet_;
  crypto::SecretBytes pair_keys_;
  std::vector<base::Bytes> copies_;  // of one seat, by member
  crypto::SecretBytes of_seat_;
};

}  // namespace

absl::StatusOr<BenchPairKeysResult> BenchPairKeys(const BenchPairKeysSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckRepetitions(spec.repetitions));
  if (spec.members < spec.committee.seats) {
    return base::InvalidArgument("{} participants cannot fill {} seats", spec.members,
                                 spec.committee.seats);
  }
  return PairKeyBench(spec).Run();
}

}  // namespace tacet::app::bench
