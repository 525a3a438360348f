#include "tacet/base/format_ids.h"

#include "tacet/base/status.h"

namespace tacet::base {

void WritePreamble(const FormatId& id, ByteWriter& writer) {
  writer.Raw(id.magic);
  writer.U16(id.version);
}

absl::Status ReadPreamble(const FormatId& id, ByteReader& reader) {
  TACET_RETURN_IF_ERROR(reader.Expect(AsBytes(id.magic), "magic"));
  TACET_ASSIGN_OR_RETURN(const uint16_t version, reader.ReadU16("version"));
  if (version != id.version) {
    return DataLoss("{}: field `version` is {}, this program reads version {}", reader.what(),
                    version, id.version);
  }
  return absl::OkStatus();
}

}  // namespace tacet::base
