#include "apps/tacet/program/start.h"

#include "fmt/core.h"
#include <malloc.h>

#include "tacet/audit/commit.h"
#include "tacet/audit/software.h"
#include "tacet/base/cpu.h"

namespace tacet::app::program {

absl::Status Start() {
  // Buffers of megabytes come and go with every update. Returning them to the system, which clears
  // them each time, took as long as encrypting.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  return base::CheckSimdEnvironment();
}

std::string FullVersion() {
  return fmt::format("{} (commit {})", audit::SoftwareVersion(), audit::BuildCommit());
}

}  // namespace tacet::app::program
