#include "tacet/site/site_policy.h"

#include <system_error>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/config/policy_file.h"
#include "tacet/policy/policy_signature.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::site {

std::filesystem::path SignaturePath(const std::filesystem::path& path) {
  std::filesystem::path signature = path;
  signature += ".sig";
  return signature;
}

std::filesystem::path PolicyPath(const std::filesystem::path& home,
                                 const std::optional<std::string>& given) {
  return given.has_value() ? std::filesystem::path(*given) : home / "policy.toml";
}

absl::StatusOr<SignedPolicy> LoadPolicy(const std::filesystem::path& path,
                                        const crypto::PublicKey& officer) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes text, storage::file::ReadFile(path));
  TACET_ASSIGN_OR_RETURN(const base::Bytes signature, storage::file::ReadFile(SignaturePath(path)));
  if (const absl::Status is_signed = policy::CheckPolicySignature(text, signature, officer);
      !is_signed.ok()) {
    return base::Annotate(
        is_signed, fmt::format("{}, signed in {}", path.string(), SignaturePath(path).string()));
  }
  TACET_ASSIGN_OR_RETURN(policy::SitePolicy policy,
                         config::ParseSitePolicy(base::AsText(text), path.string()));
  return SignedPolicy{
      .policy = std::move(policy), .digest = crypto::Sha256(text), .source = path.string()};
}

absl::StatusOr<std::optional<SignedPolicy>> LoadSitePolicy(
    const std::filesystem::path& path, const std::optional<crypto::PublicKey>& officer) {
  if (officer.has_value()) {
    TACET_ASSIGN_OR_RETURN(SignedPolicy policy, LoadPolicy(path, *officer));
    return std::optional(std::move(policy));
  }
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::nullopt;
  return base::FailedPrecondition(
      "there is a policy {}, but this site's identity pins no officer: `tacet client policy pin` "
      "pins the one who signs",
      path.string());
}

}  // namespace tacet::site
