// Change of a federation by one call of its coordinator: the next training, a query, a removal, an
// addition, another server, renewed certificates. The sites' part passes through the mailbox
// (docs/design/mailbox.md).
#ifndef TACET_COORDINATOR_EPOCH_CHANGE_H_
#define TACET_COORDINATOR_EPOCH_CHANGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/federation_steps.h"
#include "tacet/coordinator/server_steps.h"
#include "tacet/crypto/hash.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::coordinator {

struct EpochChangeSpec {
  // By this text a later call knows its work again. It names files by their content.
  std::string asked;
  // Begins another epoch where the last one was begun by a call with the same text and every site
  // has joined it. Without this flag the call has been done: nobody pays twice by mistake.
  bool again = false;
  // Begins a training or query although the present one has not ended, and drops the rest of it.
  bool gives_up = false;
  NextEpochSpec next = {};      // its terms follow from `terms`
  std::string kit_server = {};  // HOST:PORT in the sites' kits, where it is the server's
  // Called before an epoch begins, again after a call that was interrupted: enrols newcomers.
  std::function<absl::Status()> enrol = nullptr;
  // Terms of the training that begins; none: the folder's training continues.
  std::function<absl::StatusOr<storage::file::TrainingTerms>()> terms = nullptr;
};

struct SiteAnswer {
  std::string name;
  bool joined = false;
  // Keys of its policy, and other fields, for which a person at the site is needed. Empty with
  // `joined` false: the site has not answered.
  std::vector<std::string> fields = {};
};

struct ChangeEnd {
  agreement::SignedManifest manifest;
  std::vector<SiteAnswer> sites;   // of members that were members before
  std::vector<HandedOut> by_file;  // whose invitations go as files: newcomers, a server
  bool is_resumed = false;         // what an earlier call had begun
  // SHA-256 of the letters that this call has left, by site.
  std::map<std::string, crypto::Digest> letters = {};

  bool all_joined() const;
  bool needs_person() const;  // at a site
};

// Steps, each of which a later call with the same text continues: what other terms would end comes
// to its end, sites' keys for the epoch are taken, the epoch begins, its invitations are written,
// the server continues to it, letters are left, and the sites' answers are awaited. Errors of
// AwaitEnd and BeginNextEpoch; Unavailable where the server is not reached, or does not continue,
// in `most_seconds`. The end names sites that do not answer.
absl::StatusOr<ChangeEnd> ChangeEpoch(const EpochChangeSpec& spec, const CoordinatorParts& parts,
                                      const ChangeHooks& hooks);

// Issues all parties of the present epoch certificates for `days`, and leaves them as letters. A
// later call issues them again.
absl::StatusOr<ChangeEnd> RenewCertificates(uint64_t days, const CoordinatorParts& parts,
                                            const ChangeHooks& hooks);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_EPOCH_CHANGE_H_
