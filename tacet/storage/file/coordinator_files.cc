#include "tacet/storage/file/coordinator_files.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using namespace coordinator_file;

absl::StatusOr<EnrolledSite> ParseEnrolled(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "enrolled site");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kEnrolledSite, reader));
  TACET_ASSIGN_OR_RETURN(const auto request, reader.ReadBlob(bytes.size(), "request"));
  TACET_ASSIGN_OR_RETURN(const auto certificate, reader.ReadBlob(bytes.size(), "certificate"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  TACET_ASSIGN_OR_RETURN(agreement::EnrolmentRequest read,
                         agreement::ReadEnrolmentRequest(request));
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(certificate));
  if (facts.common_name != read.name || facts.public_key != read.tls_key) {
    return base::DataLoss("the certificate is not for the request of {}", read.name);
  }
  return EnrolledSite{.request = std::move(read),
                      .certificate = base::Bytes(certificate.begin(), certificate.end()),
                      .request_bytes = base::Bytes(request.begin(), request.end())};
}

// A person may have put the file there, under a wrong name.
bool IsInvitationTo(uint32_t epoch, const fs::path& file) {
  const absl::StatusOr<base::Bytes> bytes = ReadFile(file);
  if (!bytes.ok()) return false;
  const absl::StatusOr<agreement::Invitation> invitation = agreement::ReadInvitation(*bytes);
  if (!invitation.ok()) return false;
  const absl::StatusOr<agreement::EpochLink> link = agreement::ReadEpochLink(invitation->manifest);
  return link.ok() && link->epoch == epoch;
}

}  // namespace

std::optional<uint32_t> EpochOf(const fs::path& file, std::string_view prefix,
                                std::string_view ending) {
  const std::string stem = file.stem().string();
  const size_t at = prefix.empty() ? 0 : stem.rfind(prefix);
  if (at == std::string::npos || file.extension() != ending) return std::nullopt;
  const char* const begin = stem.data() + at + prefix.size();
  const char* const end = stem.data() + stem.size();
  uint32_t epoch = 0;
  const auto [stopped, failure] = std::from_chars(begin, end, epoch);
  if (failure != std::errc() || stopped != end) return std::nullopt;
  return epoch;
}

fs::path EpochFile(const fs::path& folder, uint32_t epoch, std::string_view ending) {
  return folder / kEpochs / fmt::format("{:010}{}", epoch, ending);
}

fs::path EnrolledPath(const fs::path& folder, std::string_view name) {
  return folder / kSites / fmt::format("{}{}", name, kEnrolledEnding);
}

fs::path InvitationPath(const fs::path& folder, uint32_t epoch, std::string_view name) {
  return folder / kInvitations / fmt::format("{}{}{}{}", name, kOfEpoch, epoch, kInvitationEnding);
}

absl::StatusOr<std::optional<uint32_t>> LastEpochIn(const fs::path& folder) {
  std::optional<uint32_t> last;
  const auto note = [&last](const std::optional<uint32_t>& epoch) {
    if (epoch.has_value()) last = std::max(last.value_or(0), *epoch);
  };
  std::vector<fs::path> files;
  for (const std::string_view part : {kEpochs, kInvitations}) {
    std::error_code error;
    for (fs::directory_iterator entry(folder / part, error), end; !error && entry != end;
         entry.increment(error)) {
      files.push_back(entry->path());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return base::Unavailable("cannot read {}: {}", (folder / part).string(), error.message());
    }
  }
  for (const fs::path& file : files) {
    note(EpochOf(file, "", kKeyEnding));
    const std::optional<uint32_t> epoch = EpochOf(file, "", kManifestEnding);
    std::error_code ignored;
    if (epoch.has_value() && !fs::exists(EpochFile(folder, *epoch, kRemovalEnding), ignored)) {
      note(epoch);
    }
  }
  for (const fs::path& file : files) {
    const std::optional<uint32_t> epoch = EpochOf(file, kOfEpoch, kInvitationEnding);
    if (epoch.has_value() && epoch > last && IsInvitationTo(*epoch, file)) note(epoch);
  }
  return last;
}

base::Bytes WriteEnrolled(std::span<const uint8_t> request, std::span<const uint8_t> certificate) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kEnrolledSite, writer);
  writer.Blob(request);
  writer.Blob(certificate);
  return writer.Take();
}

absl::StatusOr<EnrolledSite> ReadEnrolled(const fs::path& path) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadFile(path));
  absl::StatusOr<EnrolledSite> site = ParseEnrolled(bytes);
  if (site.ok()) return site;
  return base::DataLoss(
      "{} is damaged ({}): `tacet federation enrol {} --request FILE` writes it again from the "
      "request in that party's folder",
      path.string(), base::Message(site.status()), path.stem().string());
}

absl::StatusOr<std::optional<agreement::EnrolmentRequest>> RequestOf(const fs::path& folder,
                                                                     std::string_view name) {
  absl::StatusOr<EnrolledSite> site = ReadEnrolled(EnrolledPath(folder, name));
  if (site.status().code() == absl::StatusCode::kNotFound ||
      site.status().code() == absl::StatusCode::kDataLoss) {
    return std::nullopt;
  }
  TACET_RETURN_IF_ERROR(site.status());
  return std::move(site->request);
}

}  // namespace tacet::storage::file
