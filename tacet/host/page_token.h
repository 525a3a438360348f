// Token that a reader of a server's page must present.
#ifndef TACET_HOST_PAGE_TOKEN_H_
#define TACET_HOST_PAGE_TOKEN_H_

#include <filesystem>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::host {

class PageToken {
 public:
  static constexpr size_t kMinCharacters = 16;

  // A new one, 64 hexadecimal digits, written to `path` with mode 0600 in place of an older one.
  static absl::StatusOr<PageToken> Make(const std::filesystem::path& path,
                                        crypto::Entropy& entropy);
  // The first line of a file that only its owner may read. InvalidArgument when it has fewer than
  // kMinCharacters.
  static absl::StatusOr<PageToken> Read(const std::filesystem::path& path);

  // Whether an Authorization header says "Bearer " and this token; takes the same time wherever the
  // two differ.
  bool Admits(std::string_view authorization) const;

 private:
  explicit PageToken(crypto::SecretBytes token) : token_(std::move(token)) {}

  crypto::SecretBytes token_;
};

}  // namespace tacet::host

#endif  // TACET_HOST_PAGE_TOKEN_H_
