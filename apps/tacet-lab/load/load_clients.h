// Many members of one federation in one process. Each has its own connections, uploads, openings
// and fetches; all share one model.
#ifndef TACET_APPS_TACET_LAB_LOAD_LOAD_CLIENTS_H_
#define TACET_APPS_TACET_LAB_LOAD_LOAD_CLIENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "apps/tacet-lab/load/load_federation.h"
#include "tacet/protocol/announcement.h"

namespace tacet::app::load {

struct LoadRound {
  uint32_t round = 0;
  uint32_t participants = 0;
  double seconds = 0;          // from the first announcement to the last member that has the sum
  double sealing_seconds = 0;  // of all members, processor time spread over the cores
};

struct LoadResult {
  std::vector<LoadRound> rounds;
  std::vector<double> upload_seconds;  // of every upload, from the first byte to its acceptance
  std::vector<double> fetch_seconds;   // of the sums of every round, by every member
  uint64_t upload_bytes = 0;           // of one
};

// Every member has a connection of its own, waits for announcements, seals an update (zeros: what a
// server sees does not depend on it), sends it, opens when it is an opener, fetches a majority of
// the opened sums. One of them checks, decrypts and applies the sum; the others only count its
// bytes.
class LoadClients {
 public:
  // `federation` must outlive it. `on_round` hears of every round that all have; one call at a
  // time.
  LoadClients(const LoadFederation& federation, std::string server,
              std::function<void(const LoadRound&)> on_round);
  ~LoadClients();

  // Until the server stops. The first error of any member that is not retryable.
  absl::StatusOr<LoadResult> Run();

 private:
  class Member;
  struct Shared;

  std::unique_ptr<Shared> shared_;
};

}  // namespace tacet::app::load

#endif  // TACET_APPS_TACET_LAB_LOAD_LOAD_CLIENTS_H_
