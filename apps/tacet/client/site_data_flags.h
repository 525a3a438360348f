// Flags that locate a site's data, and what the site trains from them.
#ifndef TACET_APPS_TACET_CLIENT_SITE_DATA_FLAGS_H_
#define TACET_APPS_TACET_CLIENT_SITE_DATA_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/config/run_config.h"
#include "tacet/site/site_training.h"

namespace tacet::app::client {

class SiteDataFlags {
 public:
  void Register(program::Options& options);

  // The settings that the sites agreed on, with this site's own of section [data] and precision.
  // InvalidArgument when the site's file sets a key that was agreed.
  absl::StatusOr<config::RunConfig> Config(const agreement::SignedManifest& manifest) const;
  const std::optional<uint64_t>& client() const { return client_; }
  uint64_t records() const { return records_; }
  // Section [ledger] of the site's own file.
  absl::StatusOr<config::LedgerConfig> Ledger() const;

 private:
  std::optional<std::string> config_, path_;
  bool draw_ = false;
  std::optional<uint64_t> client_;
  uint64_t records_ = 0;
};

// InvalidArgument when the data have several clients and none is chosen, or do not fit the model.
// An external model's data are not read, but for their digest: `learner` is null. `member` is this
// site's number in the manifest.
absl::StatusOr<site::SiteTraining> LoadSiteTraining(const SiteDataFlags& flags,
                                                    const agreement::SignedManifest& manifest,
                                                    uint64_t member);

}  // namespace tacet::app::client

#endif  // TACET_APPS_TACET_CLIENT_SITE_DATA_FLAGS_H_
