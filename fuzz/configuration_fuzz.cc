#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apps/tacet/run/run_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = app::run::ParseRunConfig(text, "fuzz");
  // What was understood is written in a form that is understood the same.
  if (config.ok()) {
    const std::string resolved = app::run::RunConfigToml(*config);
    const auto again = app::run::ParseRunConfig(resolved, "resolved");
    if (!again.ok() || app::run::RunConfigToml(*again) != resolved) std::abort();
    (void)app::run::SimulationSpecOf(*config);
    (void)app::run::LearnerSpecOf(*config);
  }
  return 0;
}
