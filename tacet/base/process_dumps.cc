#include "tacet/base/process_dumps.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace tacet::base {

void ForbidDumps() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = 0;
    ::setrlimit(RLIMIT_CORE, &limit);
  }
  // The limit does not bind a program that the system hands dumps to.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace tacet::base
