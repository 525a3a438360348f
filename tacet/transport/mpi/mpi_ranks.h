// Ranks that mpirun (or srun) started: federation::RankGroup over MPI.
#ifndef TACET_TRANSPORT_MPI_MPI_RANKS_H_
#define TACET_TRANSPORT_MPI_MPI_RANKS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "tacet/simulation/rank_group.h"

namespace tacet::transport::mpi {

// All processes of the MPI job. One object a process: MPI starts and ends with it. While it waits
// for a message it leaves the processor to others.
class MpiRanks final : public simulation::RankGroup {
 public:
  // Waits for all processes of the job. FailedPrecondition when MPI does not start, or was started
  // before.
  static absl::StatusOr<std::unique_ptr<MpiRanks>> Start();
  // Waits until every rank has come here; a rank that cannot continue calls Abort() instead.
  ~MpiRanks() override;
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return size_; }
  // Ranks on this machine, this one among them.
  uint32_t local_size() const { return local_size_; }

  absl::Status Send(uint32_t to, std::span<const uint8_t> bytes) override;
  absl::StatusOr<base::Bytes> Receive(uint32_t from, size_t max_bytes) override;

  // Ends all processes of the job, this one too, with exit code 1.
  [[noreturn]] void Abort();

 private:
  MpiRanks() = default;

  uint32_t rank_ = 0;
  uint32_t size_ = 1;
  uint32_t local_size_ = 1;
};

}  // namespace tacet::transport::mpi

#endif  // TACET_TRANSPORT_MPI_MPI_RANKS_H_
