// Exchange keys of a site at rest: the key of its epoch, and the key for the next one.
//
// `exchange-next.key` is made first, and enrolment publishes its public half. The site takes it
// into use by a rename to `exchange.key`, which deletes the key of the epoch before. So there is no
// moment at which the site has neither, and a repeated call goes on after a crash.
#ifndef TACET_STORAGE_FILE_EXCHANGE_KEY_FILES_H_
#define TACET_STORAGE_FILE_EXCHANGE_KEY_FILES_H_

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/random.h"

namespace tacet::storage::file {

class ExchangeKeyFiles {
 public:
  // `folder` is the site's; it exists.
  explicit ExchangeKeyFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Next {
    crypto::ExchangePublicKey key{};
    bool is_new = false;
  };
  // The key for the next epoch. It is made when there is none, so a repeated call gives the same
  // key until TakeUp has taken it into use.
  absl::StatusOr<Next> PrepareNext(const crypto::Unlocker& unlocker,
                                   crypto::Entropy& entropy) const;

  // The key pair with the public half `named`; NotFound when the site does not have it. Errors of
  // UnlockSecret.
  absl::StatusOr<crypto::ExchangeKey> Find(const crypto::ExchangePublicKey& named,
                                           const crypto::Unlocker& unlocker) const;

  // The same. If it is the key for the next epoch, the key in use before is overwritten with zeros
  // and deleted.
  absl::StatusOr<crypto::ExchangeKey> TakeUp(const crypto::ExchangePublicKey& named,
                                             const crypto::Unlocker& unlocker) const;

 private:
  struct Found {
    crypto::ExchangeKey key;
    bool is_next = false;
  };
  absl::StatusOr<Found> Look(const crypto::ExchangePublicKey& named,
                             const crypto::Unlocker& unlocker) const;

  std::filesystem::path folder_;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_EXCHANGE_KEY_FILES_H_
