// Privacy guarantee of a running federation, and the forecast for its attempts so far, computed in
// the background.
#ifndef TACET_HOST_GUARANTEE_WORKER_H_
#define TACET_HOST_GUARANTEE_WORKER_H_

#include <cstdint>
#include <optional>
#include <thread>

#include "tacet/agreement/manifest.h"
#include "tacet/base/json.h"
#include "tacet/base/mutex.h"

namespace tacet::host {

// Accountants take seconds: they work in a thread of their own, and only when somebody asks.
class GuaranteeWorker {
 public:
  // `manifest` must outlive it.
  explicit GuaranteeWorker(const agreement::Manifest& manifest);
  ~GuaranteeWorker();
  GuaranteeWorker(const GuaranteeWorker&) = delete;
  GuaranteeWorker& operator=(const GuaranteeWorker&) = delete;

  // ForecastJson of `attempts` attempts, {"attempts", "privacy", "statement"}; as
  // long as that is not worked out, the last one that was, and null before the first.
  // docs/formats/metrics.md has the fields.
  base::JsonValue Spent(uint64_t attempts);
  // GuaranteeJson; null as long as it is not worked out.
  base::JsonValue Whole();

 private:
  void Work();

  const agreement::Manifest& manifest_;
  base::Mutex mutex_;
  base::CondVar asked_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<uint64_t> wanted_ ABSL_GUARDED_BY(mutex_);  // attempts
  bool whole_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<uint64_t> worked_out_ ABSL_GUARDED_BY(mutex_);  // for so many attempts
  base::JsonValue spent_ ABSL_GUARDED_BY(mutex_), whole_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// {"attempts", "privacy": rows or a reason why there are none, "statement": null without rows}.
// Of so many attempts, if the training had been fixed beforehand to end with them.
base::JsonValue ForecastJson(const agreement::Manifest& manifest, uint64_t attempts);
// For all attempts that the agreement permits, and at most its budget: the guarantee, whenever the
// training ends.
base::JsonValue GuaranteeJson(const agreement::Manifest& manifest);

}  // namespace tacet::host

#endif  // TACET_HOST_GUARANTEE_WORKER_H_
