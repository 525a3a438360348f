// Checksum against accidental damage in transit (the MAC and the signature detect manipulation).
#ifndef TACET_SECAGG_CHECKSUM_H_
#define TACET_SECAGG_CHECKSUM_H_

#include <array>
#include <cstdint>
#include <span>

namespace tacet::secagg {

// Over the message as n little-endian u32 words w_0, ..., w_{n-1} (the last padded with zeros):
//   first = n + Σ w_i,  second = Σ (n - i) w_i,  both mod 2^64.
// Any change confined to one word, any exchange of two different words and any cut-off word but
// zeros changes it. Two sums because they cost nothing during the adding of the same words.
std::array<uint64_t, 2> Checksum(std::span<const uint8_t> bytes);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_CHECKSUM_H_
