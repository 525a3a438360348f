// Attestations of the model with which a training begins, and key packets: a server needs both
// before round 0.
#ifndef TACET_SERVER_INITIAL_ATTESTATIONS_FOR_TEST_H_
#define TACET_SERVER_INITIAL_ATTESTATIONS_FOR_TEST_H_

#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/server/round_server.h"
#include "tacet/server/whole_parts_for_test.h"

namespace tacet::server::testing {

// Only members can compute the real one.
inline constexpr crypto::Digest kInitialModel{0xd1, 0x9e};

// All seats attest it. A server that is further, or whose epoch is not opened, does not take it.
inline void AttestInitialModel(RoundServer& server,
                               const protocol::testing::SmallFederation& members) {
  for (const secagg::CommitteeSeat& seat : members.committee()) {
    (void)server.Take(seat.member, protocol::PutAttestationRequest{
                                       members.Attestation(seat.member, 0, kInitialModel)});
  }
}

inline absl::Status GivePacket(RoundServer& server, uint64_t member,
                               const agreement::SignedManifest& manifest,
                               const base::Bytes& packet) {
  const secagg::Attempt attempt =
      protocol::PacketAttempt(manifest.manifest().hash(), manifest.epoch());
  return TakePart(server, member,
                  {.name = {.kind = protocol::BulkKind::kKeyPacket, .attempt = attempt},
                   .total = packet.size(),
                   .digest = crypto::Sha256(packet),
                   .part = packet})
      .status();
}

// For all members. The same again changes nothing.
inline void GivePackets(RoundServer& server, protocol::testing::SmallFederation& members) {
  for (uint64_t member = 0; member < members.manifest().members().size(); ++member) {
    const absl::Status given =
        GivePacket(server, member, members.manifest(), members.KeysWithSeats(member).packet);
    EXPECT_TRUE(given.ok()) << given;
  }
}

}  // namespace tacet::server::testing

#endif  // TACET_SERVER_INITIAL_ATTESTATIONS_FOR_TEST_H_
