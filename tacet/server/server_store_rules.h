// Decisions and formats that every ServerStore shares, independent of its database.
#ifndef TACET_SERVER_SERVER_STORE_RULES_H_
#define TACET_SERVER_SERVER_STORE_RULES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/server_store.h"

namespace tacet::server {

// The remedy for a store of another version, and for a damaged one.
inline constexpr std::string_view kOtherStoreRemedy =
    "Give this server another database (--state), or move the old one away, and begin an epoch "
    "(`tacet federation rotate`): it continues from the members' states";

// No value of a store is longer: a cohort of two million members, or a key packet for 10,000 seats.
// A longer one is damage, and is not read.
inline constexpr int kMostStoredBytes = 1 << 24;

inline bool HasEnded(protocol::AttemptPhase phase) {
  return phase == protocol::AttemptPhase::kPublished || phase == protocol::AttemptPhase::kFailed;
}

// The error of a store that holds what no server wrote, with the remedy.
absl::Status DamagedStore(std::string_view what);

// Reads what a store holds; DamagedStore for a number that is none, or another length.
absl::StatusOr<protocol::AttemptPhase> AttemptPhaseFrom(int64_t number);
absl::StatusOr<ItemKind> ItemKindFrom(int64_t number);
absl::StatusOr<crypto::Digest> DigestFrom(std::span<const uint8_t> bytes);

// A cohort as one value: u64 after u64.
base::Bytes CohortBytes(std::span<const uint64_t> cohort);
absl::StatusOr<std::vector<uint64_t>> CohortFrom(std::span<const uint8_t> bytes);

// The errors of Begin, Update and Finish. `last` is the last attempt that was begun, `begun_before`
// whether one with the number of `record` was. Begin and Update also refuse, as InvalidArgument, a
// phase that ends an attempt, Finish any other. An attempt that has ended is not updated; it may be
// finished once more with the very same record.
absl::Status CheckBegin(const AttemptRecord& record, const std::optional<AttemptRecord>& last,
                        bool begun_before);
absl::Status CheckUpdate(const AttemptRecord& record, const std::optional<AttemptRecord>& last);
absl::Status CheckFinish(const AttemptRecord& record, const std::optional<AttemptRecord>& last);

// The error when a store that is `owner`'s is claimed by another federation.
absl::Status CheckOwner(const crypto::Digest& owner, const crypto::Digest& federation);

// The error when `item` is put where `kept` is, of the same kind and member.
absl::Status CheckSameItem(const Item& item, std::span<const uint8_t> kept);

// kind u8, attempt, member u64: what a name of the object in a blob store may be made from.
base::Bytes BlobKeyBytes(const BlobKey& key);

}  // namespace tacet::server

#endif  // TACET_SERVER_SERVER_STORE_RULES_H_
