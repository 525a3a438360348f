#include "tacet/host/page_token.h"

#include <string>
#include <system_error>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::host {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr size_t kTokenBytes = 32;

}  // namespace

absl::StatusOr<PageToken> PageToken::Make(const std::filesystem::path& path,
                                          crypto::Entropy& entropy) {
  std::string text = base::ToHex(entropy.Draw(kTokenBytes).Expose());
  crypto::SecretBytes token = crypto::SecretBytes::CopyOf(base::AsBytes(text));
  crypto::Wipe(text.data(), text.size());
  std::error_code error;
  std::filesystem::remove(path, error);
  TACET_RETURN_IF_ERROR(storage::file::WriteSecretFile(path, token.Expose()));
  return PageToken(std::move(token));
}

absl::StatusOr<PageToken> PageToken::Read(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes line, storage::file::ReadSecretLine(path));
  if (line.size() < kMinCharacters) {
    return base::InvalidArgument("{}: a token has at least {} characters, this one has {}",
                                 path.string(), kMinCharacters, line.size());
  }
  return PageToken(std::move(line));
}

bool PageToken::Admits(std::string_view authorization) const {
  if (!authorization.starts_with(kScheme)) return false;
  return crypto::ConstantTimeEqual(base::AsBytes(authorization.substr(kScheme.size())),
                                   token_.Expose());
}

}  // namespace tacet::host
