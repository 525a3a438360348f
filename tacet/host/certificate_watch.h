// Watch over a server's certificate: warnings before it expires, and its replacement while the
// server runs.
#ifndef TACET_HOST_CERTIFICATE_WATCH_H_
#define TACET_HOST_CERTIFICATE_WATCH_H_

#include <cstdint>
#include <filesystem>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/unix_clock.h"
#include "tacet/host/server_log.h"
#include "tacet/host/server_metrics.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::host {

// Not thread-safe.
class CertificateWatch {
 public:
  static constexpr uint64_t kAgainSeconds = base::kSecondsADay;  // between two warnings

  // `joined` is what `folder` holds now. `log` and `metrics` must outlive it. DataLoss when the
  // certificate cannot be read.
  static absl::StatusOr<CertificateWatch> Create(storage::file::SiteFolder folder,
                                                 const storage::file::Membership& joined,
                                                 ServerLog& log, ServerMetrics& metrics,
                                                 base::UnixClock clock);

  // Looks whether an invitation was accepted since, and returns its certificate when that is
  // another one. An invitation to another epoch is logged: that needs a restart, or a server that
  // follows.
  std::optional<base::Bytes> Renewed();
  // The server continues to the epoch by itself. To be called before the first look.
  void Follow() { follows_ = true; }
  bool has_new_epoch() const { return new_epoch_; }
  // Epoch of that invitation, where it is a later one of the same federation.
  std::optional<uint32_t> prepared() const { return prepared_; }
  // The server uses it now.
  void Adopt(const base::Bytes& certificate);

  // Logs when the certificate is about to end or has ended, at most once a day.
  void WarnOfEnd();

 private:
  CertificateWatch(storage::file::SiteFolder folder, ServerLog& log, ServerMetrics& metrics,
                   base::UnixClock clock);

  storage::file::SiteFolder folder_;
  ServerLog* log_;
  ServerMetrics* metrics_;
  base::UnixClock clock_;
  struct Epoch {
    crypto::Digest manifest_hash{};
    crypto::Digest federation{};
    uint32_t number = 0;
  };
  Epoch running_;
  std::optional<uint32_t> prepared_;
  std::filesystem::file_time_type read_;  // the invitation as it was when it was read last
  base::Bytes certificate_;
  bool follows_ = false, new_epoch_ = false;
  uint64_t not_after_ = 0;
  uint64_t warned_ = 0;  // when; 0: never
};

}  // namespace tacet::host

#endif  // TACET_HOST_CERTIFICATE_WATCH_H_
