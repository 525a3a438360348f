#include "tacet/federation/data_digest.h"

#include "tacet/base/bytes.h"

namespace tacet::federation {

base::Digest KeyedDataDigest(const base::SecretBytes& key, std::string_view use,
                             const base::Digest& data) {
  base::ByteWriter writer;
  writer.Raw("tacet/1/data digest");
  writer.U8(0);
  writer.Raw(use);
  writer.U8(0);
  writer.Raw(data);
  return base::HmacSha256(key, writer.bytes());
}

}  // namespace tacet::federation
