// What one member brings to a live federation.
#ifndef TACET_FEDERATION_MEMBER_PARTS_H_
#define TACET_FEDERATION_MEMBER_PARTS_H_

#include <cstdint>

#include "absl/status/status.h"

#include "tacet/base/random.h"
#include "tacet/base/secret.h"
#include "tacet/base/signing.h"
#include "tacet/federation/client_ledger.h"
#include "tacet/federation/node_log.h"
#include "tacet/federation/remote_server.h"
#include "tacet/federation/signed_manifest.h"
#include "tacet/federation/site_state.h"
#include "tacet/federation/update_source.h"

namespace tacet::federation {

// All must outlive whoever is given them.
struct MemberParts {
  const SignedManifest& manifest;
  uint64_t member = 0;
  const base::SigningKey& signing_key;
  const base::SecretBytes& epoch_key;
  const RemoteServer& server;
  SiteState& state;
  UpdateSource& updates;
  NodeLog& log;
  ClientLedger& ledger;
  base::Entropy& entropy;  // noise, keys of seals, coins: the operating system's in a real run
  UnixClock clock = SystemUnixSeconds;
};

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_MEMBER_PARTS_H_
