// Tokens of the operators who may act at a server's page (docs/formats/server-page.md, "Actions").
#ifndef TACET_HOST_OPERATOR_TOKENS_H_
#define TACET_HOST_OPERATOR_TOKENS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"

namespace tacet::host {

// Immutable. It holds digests of the tokens.
class OperatorTokens {
 public:
  static constexpr size_t kMinCharacters = 32;
  static constexpr size_t kMaxNameCharacters = 40;
  static constexpr size_t kMaxOperators = 100;

  // A file that only its owner may read: NAME, blanks and TOKEN in each line; empty lines and lines
  // that begin with # are left out. InvalidArgument, with the line's number, for a name that is not
  // letters, digits, '.', '_' and '-', a token that is too short or has blanks, and one that two
  // lines have; and for a file without an operator.
  static absl::StatusOr<OperatorTokens> Read(const std::filesystem::path& path);

  // The owner of the token that an Authorization header has after "Bearer ". Its time does not
  // depend on what the token is.
  std::optional<std::string> NameOf(std::string_view authorization) const;

 private:
  struct Operator {
    std::string name;
    crypto::Digest token{};
  };

  absl::Status TakeLine(std::string_view line);

  std::vector<Operator> operators_;
};

}  // namespace tacet::host

#endif  // TACET_HOST_OPERATOR_TOKENS_H_
