#include "tacet/ledger/ledger_anchor.h"

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/secagg/wire.h"

namespace tacet::ledger {

base::Bytes WriteLedgerAnchor(const LedgerAnchor& anchor) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kLedgerAnchor, writer);
  writer.Blob(anchor.population);
  writer.Raw(anchor.genesis);
  writer.U64(anchor.count);
  writer.Raw(anchor.head);
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<LedgerAnchor> ReadLedgerAnchor(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "anchor of the ledger");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kLedgerAnchor, reader));
  LedgerAnchor anchor;
  TACET_ASSIGN_OR_RETURN(anchor.population, reader.ReadString(kMaxNameBytes, "population"));
  TACET_ASSIGN_OR_RETURN(anchor.genesis, secagg::ReadArray<32>(reader, "genesis"));
  TACET_ASSIGN_OR_RETURN(anchor.count, reader.ReadU64("count"));
  TACET_ASSIGN_OR_RETURN(anchor.head, secagg::ReadArray<32>(reader, "head"));
  const crypto::Digest digest = crypto::Sha256(bytes.first(bytes.size() - reader.remaining()));
  TACET_RETURN_IF_ERROR(reader.Expect(digest, "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return anchor;
}

}  // namespace tacet::ledger
