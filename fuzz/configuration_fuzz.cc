#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apps/tacet/simulate/configured_learner.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"
#include "tacet/config/site_settings.h"
#include "tacet/run/configured_simulation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = config::ParseRunConfig(text, "fuzz");
  // An accepted configuration is written in a form that is understood the same.
  if (config.ok()) {
    const std::string resolved = config::RunConfigToml(*config);
    const auto again = config::ParseRunConfig(resolved, "resolved");
    if (!again.ok() || config::RunConfigToml(*again) != resolved) std::abort();
    (void)run::SimulationSpecOf(*config);
    (void)app::simulate::LearnerSpecOf(*config);
  }
  // Settings of the sites of a rehearsal, which may have a wrong word in one of their values.
  const auto sites = config::ParseSiteSettings(text, "fuzz");
  if (!sites.ok()) return 0;
  for (const auto& [name, own] : *sites) (void)config::CsvOptionsOf(own);
  return 0;
}
