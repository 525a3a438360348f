// Components that one member brings to a live federation.
#ifndef TACET_MEMBER_MEMBER_PARTS_H_
#define TACET_MEMBER_MEMBER_PARTS_H_

#include <cstdint>

#include "absl/status/status.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/pair_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/member/member_state.h"
#include "tacet/member/node_log.h"
#include "tacet/member/remote_server.h"
#include "tacet/member/seat_anchor.h"
#include "tacet/member/shared_checkpoints.h"
#include "tacet/policy/permission.h"
#include "tacet/secagg/digest_key.h"
#include "tacet/trainer/update_source.h"

namespace tacet::member {

// All must outlive the objects that are given them.
struct MemberParts {
  const agreement::SignedManifest& manifest;
  uint64_t member = 0;
  const crypto::SigningKey& signing_key;
  const agreement::ExchangeKeys& exchange_keys;
  const crypto::SecretBytes& epoch_key;
  const RemoteServer& server;
  MemberState& state;
  trainer::UpdateSource& updates;
  NodeLog& log;
  ledger::PrivacyLedger& ledger;
  policy::Permission permission;  // for this manifest
  crypto::Entropy& entropy;  // noise, keys of seals, coins: the operating system's in a real run
  ledger::ChargingRule rule = ledger::ChargingRule::kAnnouncedAttempts;  // of this federation
  base::UnixClock clock = base::SystemUnixSeconds;
  std::span<const agreement::EpochLink> earlier = {};  // epochs before the manifest's
  // For a seat; null: nobody can put `state` back, or make a copy of it.
  SeatAnchor* anchor = nullptr;
  SharedCheckpoints* checkpoints = nullptr;  // of this process's sessions; null: a copy of its own

  secagg::DigestKey digest_key() const {
    return secagg::DigestKey::OfEpoch(epoch_key, manifest.manifest().spec().scheme,
                                      manifest.manifest().hash(), manifest.epoch());
  }
  agreement::PairSecrets pair_secrets() const {
    return {.exchange_key = exchange_keys.exchange,
            .kem_key = exchange_keys.kem,
            .epoch_key = epoch_key,
            .epoch = manifest.epoch()};
  }
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_PARTS_H_
