#include "tacet/ledger/data_digest.h"

#include "tacet/base/bytes.h"

namespace tacet::ledger {

crypto::Digest KeyedDataDigest(const crypto::SecretBytes& key, std::string_view use,
                               const crypto::Digest& data) {
  base::ByteWriter writer;
  writer.Raw("tacet/1/data digest");
  writer.U8(0);
  writer.Raw(use);
  writer.U8(0);
  writer.Raw(data);
  return crypto::HmacSha256(key, {writer.bytes()});
}

}  // namespace tacet::ledger
