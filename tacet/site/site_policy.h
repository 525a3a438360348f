// Policy of a site on disk: the officer's file, its signature, and the permission that follows.
#ifndef TACET_SITE_SITE_POLICY_H_
#define TACET_SITE_SITE_POLICY_H_

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/policy/site_policy.h"

namespace tacet::site {

// A policy whose signature was checked.
struct SignedPolicy {
  policy::SitePolicy policy;
  crypto::Digest digest{};  // of the file
  std::string source;       // its path
};

// PATH.sig
std::filesystem::path SignaturePath(const std::filesystem::path& path);

// Where a site's policy is: `given`, or HOME/policy.toml.
std::filesystem::path PolicyPath(const std::filesystem::path& home,
                                 const std::optional<std::string>& given);

// PermissionDenied when it is not signed by `officer`; NotFound names the file that is missing;
// InvalidArgument names the key that is wrong.
absl::StatusOr<SignedPolicy> LoadPolicy(const std::filesystem::path& path,
                                        const crypto::PublicKey& officer);

// The policy of a site whose identity pins `officer`; none where it pins nobody. FailedPrecondition
// when there is a policy that nobody signs for.
absl::StatusOr<std::optional<SignedPolicy>> LoadSitePolicy(
    const std::filesystem::path& path, const std::optional<crypto::PublicKey>& officer);

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_POLICY_H_
