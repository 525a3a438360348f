// Byte strings and digests of the public interface.
#ifndef TACET_TYPES_H_
#define TACET_TYPES_H_

#include <array>
#include <cstdint>
#include <vector>

namespace tacet {

// A message in the form in which it travels (docs/formats of the source tree gives each byte).
using Bytes = std::vector<uint8_t>;

// A SHA-256 or HMAC-SHA256 digest.
using Digest = std::array<uint8_t, 32>;

}  // namespace tacet

#endif  // TACET_TYPES_H_
