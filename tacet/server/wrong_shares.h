// Check of the shares in all uploads of a closed round, with the rows that seats give after a
// refused sum.
#ifndef TACET_SERVER_WRONG_SHARES_H_
#define TACET_SERVER_WRONG_SHARES_H_

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/round_protocol.h"

namespace tacet::server {

// Participants whose shares the rows show to be wrong, or where there are none, those in dispute.
// Nobody where an object is damaged: the attempt ends as if there were no check. Unavailable when
// the blob store failed.
absl::StatusOr<SharesChecked> FindWrongShares(const agreement::Manifest& manifest, BlobStore& blobs,
                                              const CheckShares& check);

}  // namespace tacet::server

#endif  // TACET_SERVER_WRONG_SHARES_H_
