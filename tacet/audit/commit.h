// Commit that this program was built from.
#ifndef TACET_AUDIT_COMMIT_H_
#define TACET_AUDIT_COMMIT_H_

#include <string_view>

namespace tacet::audit {

// Twelve hexadecimal digits, "-dirty" behind them when tracked files had been changed; "unknown"
// when it was not built in a git repository. cmake/WriteCommit.cmake writes the definition.
std::string_view BuildCommit();

}  // namespace tacet::audit

#endif  // TACET_AUDIT_COMMIT_H_
