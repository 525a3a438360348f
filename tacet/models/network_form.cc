#include "tacet/models/network_form.h"

#include <algorithm>
#include <vector>

#include "tacet/base/mutex.h"

namespace tacet::models {
namespace {

struct Registry {
  base::Mutex mutex;
  std::vector<FormFinder> finders ABSL_GUARDED_BY(mutex);
};

Registry& TheRegistry() {
  static Registry* const registry = new Registry;  // also for threads that outlive main
  return *registry;
}

}  // namespace

void RegisterNetworkForms(FormFinder finder) {
  Registry& registry = TheRegistry();
  const base::MutexLock lock(registry.mutex);
  if (std::ranges::count(registry.finders, finder) == 0) registry.finders.push_back(finder);
}

std::optional<RegisteredForm> FindRegisteredForm(const Architecture& architecture,
                                                 Precision precision) {
  Registry& registry = TheRegistry();
  const base::MutexLock lock(registry.mutex);
  for (const FormFinder finder : registry.finders) {
    if (std::optional<RegisteredForm> form = finder(architecture, precision)) return form;
  }
  return std::nullopt;
}

}  // namespace tacet::models
