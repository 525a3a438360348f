// First steps of every program of the project.
#ifndef TACET_APPS_TACET_PROGRAM_START_H_
#define TACET_APPS_TACET_PROGRAM_START_H_

#include <string>

#include "absl/status/status.h"

namespace tacet::app::program {

// Keeps freed buffers of megabytes with the process, and checks TACET_SIMD. Called once, first.
absl::Status Start();

// "VERSION (commit COMMIT)".
std::string FullVersion();

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_START_H_
