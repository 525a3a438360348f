// Exchange keys of a site at rest: those of its epoch, and those for the next one.
//
// `exchange-next.key` is made first, and enrolment publishes the public halves. The site takes it
// into use by a rename to `exchange.key`, which deletes the keys of the epoch before. So there is
// no moment at which the site has neither, and a repeated call continues after a crash.
#ifndef TACET_STORAGE_FILE_EXCHANGE_KEY_FILES_H_
#define TACET_STORAGE_FILE_EXCHANGE_KEY_FILES_H_

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/random.h"

namespace tacet::storage::file {

class ExchangeKeyFiles {
 public:
  // `folder` is the site's; it exists.
  explicit ExchangeKeyFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Next {
    agreement::ExchangePublicKeys keys{};
    bool is_new = false;
  };
  // The keys for the next epoch. They are made when there are none, so a repeated call gives the
  // same keys until TakeUp has taken them into use.
  absl::StatusOr<Next> PrepareNext(const crypto::Unlocker& unlocker,
                                   crypto::Entropy& entropy) const;

  // Overwrites the keys for the next epoch with zeros and deletes them; OK when there are none.
  // Only for keys that no epoch joined has.
  absl::Status DiscardNext() const;
  bool HasNext() const;

  // Those of the epoch and those for the next one, as far as they are there and can be read.
  // Unavailable when the disk fails.
  absl::StatusOr<std::vector<agreement::ExchangeKeys>> All(const crypto::Unlocker& unlocker) const;

  // The keys with the public exchange key `named`; NotFound when the site does not have them.
  // Errors of UnlockSecret.
  absl::StatusOr<agreement::ExchangeKeys> Find(const crypto::ExchangePublicKey& named,
                                               const crypto::Unlocker& unlocker) const;

  // The same. If they are those for the next epoch, the keys in use before are overwritten with
  // zeros and deleted.
  absl::StatusOr<agreement::ExchangeKeys> TakeUp(const crypto::ExchangePublicKey& named,
                                                 const crypto::Unlocker& unlocker) const;

 private:
  struct Found {
    agreement::ExchangeKeys keys;
    bool is_next = false;
  };
  absl::StatusOr<Found> Look(const crypto::ExchangePublicKey& named,
                             const crypto::Unlocker& unlocker) const;

  std::filesystem::path folder_;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_EXCHANGE_KEY_FILES_H_
