#include "tacet/host/operator_tokens.h"

#include <algorithm>

#include "absl/strings/ascii.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/secret.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::host {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kBearer = "Bearer ";

std::string_view WithoutBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool IsNameOfAnOperator(std::string_view name) {
  return name.size() <= OperatorTokens::kMaxNameCharacters &&
         std::ranges::all_of(name, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

absl::Status OperatorTokens::TakeLine(std::string_view line) {
  line = WithoutBlanks(line);
  if (line.empty() || line.starts_with('#')) return absl::OkStatus();
  const std::string_view name = line.substr(0, line.find_first_of(kBlanks));
  const std::string_view token = WithoutBlanks(line.substr(name.size()));
  if (!IsNameOfAnOperator(name)) {
    return base::InvalidArgument(
        "expected a name of at most {} letters, digits, '.', '_' and '-', then blanks and a token",
        kMaxNameCharacters);
  }
  // The text in the name's place may be a token, so no message repeats it.
  if (token.size() < kMinCharacters || token.find_first_of(kBlanks) != token.npos) {
    return base::InvalidArgument(
        "expected a name, blanks, and a token of at least {} characters without blanks: `openssl "
        "rand -hex 32` makes one",
        kMinCharacters);
  }
  const crypto::Digest digest = crypto::Sha256(base::AsBytes(token));
  for (const Operator& other : operators_) {
    if (other.name == name || other.token == digest) {
      return base::InvalidArgument("its name or its token is that of a line before");
    }
  }
  if (operators_.size() == kMaxOperators) {
    return base::InvalidArgument("more than {} operators", kMaxOperators);
  }
  operators_.push_back({.name = std::string(name), .token = digest});
  return absl::OkStatus();
}

absl::StatusOr<OperatorTokens> OperatorTokens::Read(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes content, storage::file::ReadSecretFile(path));
  std::string_view text = base::AsText(content.Expose());
  OperatorTokens tokens;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    TACET_RETURN_IF_ERROR(base::Annotate(tokens.TakeLine(text.substr(0, end)),
                                         fmt::format("{}, line {}", path.string(), number)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (tokens.operators_.empty()) {
    return base::InvalidArgument("{}: expected NAME TOKEN in a line, for each operator",
                                 path.string());
  }
  return tokens;
}

std::optional<std::string> OperatorTokens::NameOf(std::string_view authorization) const {
  if (!authorization.starts_with(kBearer)) return std::nullopt;
  const crypto::Digest asked = crypto::Sha256(base::AsBytes(authorization.substr(kBearer.size())));
  std::optional<std::string> name;
  for (const Operator& one : operators_) {
    if (crypto::ConstantTimeEqual(asked, one.token)) name = one.name;
  }
  return name;
}

}  // namespace tacet::host
