#include "lab/bench/bench_pair_keys.h"

#include <vector>

#include "lab/bench/bench_timing.h"
#include "tacet/base/status.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/pair_masks.h"

namespace tacet::app::bench {
namespace {

constexpr secagg::PacketOwner kOwner{.manifest_hash = {1}, .epoch = 2, .client = 3};

struct Member {
  explicit Member(crypto::Entropy& entropy)
      : signing(crypto::SigningKey::Generate(entropy)),
        exchange(crypto::ExchangeKey::Generate(entropy)),
        kem(crypto::KemKey::Generate(entropy)) {}

  crypto::SigningKey signing;
  crypto::ExchangeKey exchange;
  crypto::KemKey kem;
};

absl::StatusOr<crypto::SecretBytes> PairKey(const crypto::ExchangeKey& own,
                                            const crypto::ExchangePublicKey& other,
                                            const crypto::SecretBytes& shared,
                                            const crypto::SecretBytes& epoch_key,
                                            const secagg::KeyPacket& packet, uint32_t seat) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes agreed, own.Agree(other));
  return secagg::DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = epoch_key},
                               {.manifest_hash = packet.owner.manifest_hash,
                                .epoch = packet.owner.epoch,
                                .client = packet.owner.client,
                                .seat = seat,
                                .list = secagg::ListDigest(packet)});
}

}  // namespace

absl::StatusOr<PairKeyTimes> BenchPairKeys(uint32_t seats, uint32_t repetitions,
                                           crypto::Entropy& entropy) {
  const Member client(entropy);
  std::vector<Member> committee;
  std::vector<crypto::KemPublicKey> seat_keys;
  for (uint32_t seat = 0; seat < seats; ++seat) {
    seat_keys.push_back(committee.emplace_back(entropy).kem.public_key());
  }
  const crypto::SecretBytes epoch_key = entropy.Draw(32);
  crypto::SecretBytes of_client, of_seat;  // with seat 0
  base::Bytes copy;
  const auto make = [&]() -> absl::Status {
    TACET_ASSIGN_OR_RETURN(secagg::MadePacket made,
                           secagg::MakeKeyPacket(kOwner, seat_keys, client.kem.seed()));
    secagg::SignKeyPacket(client.signing, made.packet);
    for (uint32_t seat = 0; seat < seats; ++seat) {
      TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key,
                             PairKey(client.exchange, committee[seat].exchange.public_key(),
                                     made.shared[seat], epoch_key, made.packet, seat));
      if (seat == 0) of_client = std::move(key);
    }
    copy = secagg::CopyForSeat(secagg::WriteKeyPacket(made.packet), seats, 0);
    return absl::OkStatus();
  };
  const auto read = [&]() -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const secagg::KeyPacket packet, secagg::ReadKeyPacket(copy, seats, 0));
    if (!secagg::IsSignedBy(packet, client.signing.public_key())) {
      return base::DataLoss("the packet is not signed");
    }
    TACET_ASSIGN_OR_RETURN(
        of_seat,
        PairKey(committee[0].exchange, client.exchange.public_key(),
                committee[0].kem.Decapsulate(packet.ciphertexts.front()), epoch_key, packet, 0));
    return absl::OkStatus();
  };
  absl::Status failure;
  PairKeyTimes times;
  times.client_s = MedianThreadSeconds(repetitions, [&] { failure.Update(make()); });
  times.seat_s = MedianThreadSeconds(repetitions, [&] { failure.Update(read()); });
  TACET_RETURN_IF_ERROR(failure);
  if (!crypto::ConstantTimeEqual(of_client.Expose(), of_seat.Expose())) {
    return base::DataLoss("client and seat have different pair keys");
  }
  return times;
}

}  // namespace tacet::app::bench
