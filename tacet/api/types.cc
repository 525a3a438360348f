#include "tacet/types.h"

#include "tacet/base/float_bytes.h"
#include "tacet/crypto/hash.h"

namespace tacet {

Digest ModelDigest(std::span<const float> model) { return crypto::Sha256(base::FloatBytes(model)); }

}  // namespace tacet
