// Attestations of the model with which a training begins, which a server needs before round 0.
#ifndef TACET_SERVER_INITIAL_ATTESTATIONS_FOR_TEST_H_
#define TACET_SERVER_INITIAL_ATTESTATIONS_FOR_TEST_H_

#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/server/round_server.h"

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

}  // namespace tacet::server::testing

#endif  // TACET_SERVER_INITIAL_ATTESTATIONS_FOR_TEST_H_
