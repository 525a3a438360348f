// Many members of one federation in one process.
#ifndef TACET_LAB_LOAD_LOAD_CLIENTS_H_
#define TACET_LAB_LOAD_LOAD_CLIENTS_H_

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

#include "lab/load/load_federation.h"
#include "lab/load/load_meter.h"

namespace tacet::app::load {

struct LoadClientsSpec {
  std::string server;                              // HOST:PORT
  std::filesystem::path folder;                    // of the members' files; empty: all is in memory
  std::function<void(const LoadRound&)> on_round;  // of every round that all have; one at a time
};

// Every member is a member::MemberSession in a thread of its own. Until the server stops, or until
// the first error of any member that is not retryable.
absl::StatusOr<LoadResult> RunLoadClients(const LoadFederation& federation,
                                          const LoadClientsSpec& spec);

}  // namespace tacet::app::load

#endif  // TACET_LAB_LOAD_LOAD_CLIENTS_H_
