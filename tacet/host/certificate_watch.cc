#include "tacet/host/certificate_watch.h"

#include <system_error>
#include <utility>

#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/certificates.h"
#include "tacet/storage/file/membership.h"

namespace tacet::host {

using base::JsonValue;
using storage::file::Membership;
using storage::file::SiteFolder;

namespace {

std::filesystem::file_time_type LastWritten(const SiteFolder& folder) {
  std::error_code error;
  return std::filesystem::last_write_time(folder.invitation_path(), error);
}

}  // namespace

CertificateWatch::CertificateWatch(SiteFolder folder, ServerLog& log, ServerMetrics& metrics,
                                   base::UnixClock clock)
    : folder_(std::move(folder)), log_(&log), metrics_(&metrics), clock_(std::move(clock)) {}

absl::StatusOr<CertificateWatch> CertificateWatch::Create(SiteFolder folder,
                                                          const Membership& joined, ServerLog& log,
                                                          ServerMetrics& metrics,
                                                          base::UnixClock clock) {
  TACET_RETURN_IF_ERROR(crypto::ReadCertificate(joined.certificate).status());
  CertificateWatch watch(std::move(folder), log, metrics, std::move(clock));
  watch.running_.manifest_hash = joined.manifest.manifest().hash();
  watch.running_.federation = joined.manifest.manifest().federation();
  watch.running_.number = joined.manifest.epoch();
  watch.read_ = LastWritten(watch.folder_);
  watch.Adopt(joined.certificate);
  return watch;
}

std::optional<base::Bytes> CertificateWatch::Renewed() {
  const auto written = LastWritten(folder_);
  if (written == read_) return std::nullopt;
  read_ = written;
  prepared_.reset();  // an operator who starts what cannot be read would only end this server
  const absl::StatusOr<Membership> joined = folder_.Joined();
  if (!joined.ok()) {
    log_->Write(LogLevel::kError, "invitation-unreadable",
                JsonValue::MakeObject().Set("message", base::Message(joined.status())));
    return std::nullopt;
  }
  if (joined->manifest.manifest().federation() == running_.federation &&
      joined->manifest.epoch() > running_.number) {
    prepared_ = joined->manifest.epoch();
  }
  // An epoch of the same members has the same manifest.
  if (joined->manifest.manifest().hash() != running_.manifest_hash ||
      joined->manifest.epoch() != running_.number) {
    new_epoch_ = true;
    log_->Write(follows_ ? LogLevel::kInfo : LogLevel::kWarning, "new-epoch",
                JsonValue::MakeObject()
                    .Set("epoch", joined->manifest.epoch())
                    .Set("message", follows_ ? "this server continues in it when no attempt is open"
                                             : "this server continues in the epoch that it was "
                                               "started in: start the new one on the "
                                               "page, or restart it"));
  }
  if (joined->certificate == certificate_) return std::nullopt;
  return joined->certificate;
}

void CertificateWatch::Adopt(const base::Bytes& certificate) {
  const absl::StatusOr<crypto::CertificateFacts> facts = crypto::ReadCertificate(certificate);
  if (!facts.ok()) return;
  certificate_ = certificate;
  not_after_ = facts->not_after;
  warned_ = 0;
  metrics_->SetCertificateEnd(not_after_);
}

void CertificateWatch::WarnOfEnd() {
  const uint64_t now = clock_();
  const bool ended = now >= not_after_;
  if (!ended && not_after_ - now > storage::file::kCertificateWarningSeconds) return;
  if (warned_ != 0 && now < warned_ + kAgainSeconds) return;
  warned_ = now;
  JsonValue fields = JsonValue::MakeObject().Set("not_after", not_after_);
  if (ended) {
    log_->Write(LogLevel::kError, "certificate-ended", std::move(fields));
  } else {
    log_->Write(LogLevel::kWarning, "certificate-ends",
                fields.Set("days", (not_after_ - now) / base::kSecondsADay));
  }
}

}  // namespace tacet::host
