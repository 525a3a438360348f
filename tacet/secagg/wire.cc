#include "tacet/secagg/wire.h"

namespace tacet::secagg {

void WritePreamble(std::string_view magic, base::ByteWriter& writer) {
  writer.Raw(magic);
  writer.U16(kFormatVersion);
}

absl::Status ReadPreamble(std::string_view magic, base::ByteReader& reader) {
  TACET_RETURN_IF_ERROR(reader.Expect(base::AsBytes(magic), "magic"));
  TACET_ASSIGN_OR_RETURN(const uint16_t version, reader.ReadU16("version"));
  if (version != kFormatVersion) {
    return base::DataLoss("field `version` is {}, this program reads version {}", version,
                          kFormatVersion);
  }
  return absl::OkStatus();
}

void WriteTag(const he::Tag& tag, base::ByteWriter& writer) { writer.Raw(he::EncodeTag(tag)); }

absl::StatusOr<he::Tag> ReadTag(base::ByteReader& reader, std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(he::kTagBytes, field));
  absl::StatusOr<he::Tag> tag = he::DecodeTag(bytes);
  if (!tag.ok()) return base::Annotate(tag.status(), fmt::format("field `{}`", field));
  return *tag;
}

}  // namespace tacet::secagg
