// Fixed state of a tiny federation, encrypted for members that were absent. The checkpoint fuzzer
// decrypts against it, and its seeds are made from it.
#ifndef TACET_FUZZ_FUZZ_CHECKPOINT_H_
#define TACET_FUZZ_FUZZ_CHECKPOINT_H_

#include "fuzz/fuzz_federation.h"
#include "tacet/protocol/encrypted_checkpoint.h"

namespace tacet::fuzz {

struct FuzzCheckpoint {
  static agreement::ManifestSpec Agreement() {
    agreement::ManifestSpec spec = FuzzFederation::Agreement();
    spec.optimizer.momentum = 0.5;
    return spec;
  }

  agreement::Manifest manifest = ValueOrDie(agreement::Manifest::Create(Agreement()));
  protocol::Checkpoint state{.federation = manifest.federation(),
                             .next_round = 2,
                             .model = {1, 2, 3, 4},
                             .velocity = {0.5f, 0, -1, 2}};
  crypto::SecretBytes epoch_key = crypto::InsecureSeededEntropy(1, "fuzz checkpoint").Draw(32);
  secagg::DigestKey key =
      secagg::DigestKey::OfEpoch(epoch_key, manifest.spec().scheme, manifest.hash(), 1);
  secagg::Attempt start =
      protocol::RoundStart(manifest, 1, state.next_round, key.OfModel(state.model));

  base::Bytes Seal(const protocol::Checkpoint& checkpoint) const {
    return protocol::SealCheckpoint(checkpoint, key.OfModel(checkpoint.model), manifest,
                                    start.number.epoch, 1, epoch_key);
  }
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_FUZZ_CHECKPOINT_H_
