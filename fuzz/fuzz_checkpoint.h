// A fixed state of a tiny federation, sealed for those who were away: what the checkpoint fuzzer
// opens against and its seeds are made from.
#ifndef TACET_FUZZ_FUZZ_CHECKPOINT_H_
#define TACET_FUZZ_FUZZ_CHECKPOINT_H_

#include "fuzz/fuzz_federation.h"
#include "tacet/federation/sealed_checkpoint.h"

namespace tacet::fuzz {

struct FuzzCheckpoint {
  federation::Manifest manifest =
      ValueOrDie(federation::Manifest::Create(FuzzFederation::Agreement()));
  federation::Checkpoint state{.agreement = manifest.agreement(),
                               .next_round = 2,
                               .model = {1, 2, 3, 4},
                               .velocity = {0.5f, 0, -1, 2}};
  secagg::Attempt start =
      federation::RoundStart(manifest, 1, state.next_round, federation::ModelDigest(state.model));
  base::SecretBytes epoch_key = base::InsecureSeededEntropy(1, "fuzz checkpoint").Draw(32);

  base::Bytes Seal(const federation::Checkpoint& checkpoint) const {
    base::InsecureSeededEntropy entropy(1, "fuzz checkpoint nonce");
    return federation::SealCheckpoint(checkpoint, manifest, start.epoch, 1, epoch_key, entropy);
  }
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_FUZZ_CHECKPOINT_H_
