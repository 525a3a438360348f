// Training of a site of a live federation: the agreed settings, and its own data.
#ifndef TACET_APPS_TACET_CLIENT_SITE_TRAINING_H_
#define TACET_APPS_TACET_CLIENT_SITE_TRAINING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "apps/tacet/run/agreed_query.h"
#include "apps/tacet/run/run_config.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/simulation/simulation.h"
#include "tacet/trainer/learner.h"

namespace tacet::app::client {

// Flags that locate a site's data.
class SiteDataFlags {
 public:
  void Register(program::Options& options);

  // The settings that the sites agreed on, with this site's own of section [data] and precision.
  // InvalidArgument when the site's file sets a key that was agreed.
  absl::StatusOr<run::RunConfig> Config(const agreement::SignedManifest& manifest) const;
  const std::optional<uint64_t>& client() const { return client_; }
  uint64_t records() const { return records_; }
  // Section [ledger] of the site's own file.
  absl::StatusOr<run::LedgerConfig> Ledger() const;

 private:
  std::optional<std::string> config_, path_;
  bool draw_ = false;
  std::optional<uint64_t> client_;
  uint64_t records_ = 0;
};

// A learner whose only client is this site.
struct SiteTraining {
  run::RunConfig config;
  simulation::SimulatedData data;
  double most_frequent_class = 0;  // accuracy of always answering it
  run::LedgerConfig ledger;        // what is asked of the site's ledger
  uint64_t records = 0;
  std::optional<run::LoadedQuery> query;  // where the agreement is about one
  std::unique_ptr<trainer::Learner> learner;
};
// InvalidArgument when the data have several clients and none is chosen, or do not fit the model.
// An external model's data are not read, but for their digest: `learner` is null. `member` is this
// site's number in the manifest.
absl::StatusOr<SiteTraining> LoadSiteTraining(const SiteDataFlags& flags,
                                              const agreement::SignedManifest& manifest,
                                              uint64_t member);

}  // namespace tacet::app::client

#endif  // TACET_APPS_TACET_CLIENT_SITE_TRAINING_H_
