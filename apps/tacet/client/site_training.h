// What a site of a live federation trains with: the agreed settings, and its own data.
#ifndef TACET_APPS_TACET_CLIENT_SITE_TRAINING_H_
#define TACET_APPS_TACET_CLIENT_SITE_TRAINING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "apps/tacet/run/run_config.h"
#include "tacet/federation/learner.h"
#include "tacet/federation/signed_manifest.h"
#include "tacet/federation/simulation.h"

namespace tacet::app {

// Where a site's data are, as flags.
class SiteDataFlags {
 public:
  void Register(Options& options);

  // The settings that the sites agreed on, with this site's own of section [data] and precision.
  // InvalidArgument when the site's file sets a key that was agreed.
  absl::StatusOr<RunConfig> Config(const federation::SignedManifest& manifest) const;
  const std::optional<uint64_t>& owner() const { return owner_; }

 private:
  std::optional<std::string> config_, path_;
  bool draw_ = false;
  std::optional<uint64_t> owner_;
};

// A learner whose only owner is this site.
struct SiteTraining {
  RunConfig config;
  federation::SimulatedData data;
  double most_frequent_class = 0;  // accuracy of always answering it
  std::unique_ptr<federation::Learner> learner;
};
// InvalidArgument when the data have several owners and none is chosen, or do not fit the model.
absl::StatusOr<SiteTraining> LoadSiteTraining(const SiteDataFlags& flags,
                                              const federation::SignedManifest& manifest);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_CLIENT_SITE_TRAINING_H_
