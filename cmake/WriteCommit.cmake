# Run as a script at every build with SOURCE, OUTPUT and GIT: writes a source that says which commit
# the tree SOURCE is at, touching it only when that has changed. "-dirty" when tracked files differ
# from the commit; "unknown" outside of a git repository of its own.
set(commit "unknown")
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  file(REAL_PATH ${SOURCE} source)
  if(NOT failed AND top STREQUAL source)
    execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD
                    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                    RESULT_VARIABLE failed)
    execute_process(COMMAND ${GIT} -C ${SOURCE} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET RESULT_VARIABLE failed_status)
    if(NOT failed AND NOT failed_status)
      set(commit "${head}")
      if(NOT changes STREQUAL "")
        string(APPEND commit "-dirty")
      endif()
    endif()
  endif()
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "tacet/audit/commit.h"

namespace tacet::audit {

std::string_view BuildCommit() { return "@commit@"; }

}  // namespace tacet::audit
]])
