// Differences between the manifest that a site accepted last and the next one: members, server and
// terms, and which of them weaken the guarantee.
#ifndef TACET_AGREEMENT_MANIFEST_CHANGES_H_
#define TACET_AGREEMENT_MANIFEST_CHANGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"

namespace tacet::agreement {

struct ManifestChange {
  std::string what;    // key of the configuration, or: member, committee, server, epsilon
  std::string before;  // empty: was not there
  std::string after;   // empty: is gone
  bool is_weaker = false;

  friend bool operator==(const ManifestChange&, const ManifestChange&) = default;
};

// Members by name, the committee, the server, every term of the agreement that differs, lines of
// the annex, and epsilon of the whole attempt budget; weaker ones first. Fresh exchange keys do not
// count. Errors of agreement::GuaranteesOf.
absl::StatusOr<std::vector<ManifestChange>> ManifestChanges(const agreement::SignedManifest& before,
                                                            const agreement::SignedManifest& now);

// Every signed term that differs, in the order of the bytes; those too that ManifestChanges shows
// in another way (kNotCompared), which are never weaker.
std::vector<ManifestChange> TermChanges(const ManifestSpec& before, const ManifestSpec& now);

// One line a change, "changed" or "WEAKER" first.
std::string ManifestChangesText(const std::vector<ManifestChange>& changes);

bool IsAnyWeaker(const std::vector<ManifestChange>& changes);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MANIFEST_CHANGES_H_
