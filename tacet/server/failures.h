// Words of failed attempts, as records keep them.
#ifndef TACET_SERVER_FAILURES_H_
#define TACET_SERVER_FAILURES_H_

#include <string_view>

namespace tacet::server {

// Enough seats refused the sum, and none of its participants is named.
inline constexpr std::string_view kRefusedFailure = "refused";
inline constexpr std::string_view kTooFewUploads = "too-few-uploads";
inline constexpr std::string_view kNotDecrypted = "not-decrypted";
inline constexpr std::string_view kWrongShares = "wrong-shares";
// The same where a participant's shares and seats' rows contradict each other.
inline constexpr std::string_view kDisputedShares = "disputed-shares";
// The server lost an object of the attempt, and nobody gave it back.
inline constexpr std::string_view kObjectLost = "object-lost";
// So many members abstained that the others are too few. No attempt of the epoch follows.
inline constexpr std::string_view kTooFewGivers = "too-few-givers";

}  // namespace tacet::server

#endif  // TACET_SERVER_FAILURES_H_
