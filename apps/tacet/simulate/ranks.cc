#include "apps/tacet/simulate/ranks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "fmt/core.h"

#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#ifdef TACET_WITH_MPI
#include "tacet/transport/mpi/mpi_ranks.h"
#endif

namespace tacet::app::simulate {
namespace {

class OneRank final : public Ranks {
 public:
  simulation::RankGroup& group() override { return simulation::OneProcess(); }
  size_t processors() const override { return base::Processors(); }
  void EndAll(const absl::Status&) override {}
};

// Process managers set these for those they start: Open MPI's mpirun, PMIx and PMI (srun).
bool StartedByMpi() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

#ifdef TACET_WITH_MPI
class ManyRanks final : public Ranks {
 public:
  explicit ManyRanks(std::unique_ptr<transport::mpi::MpiRanks> ranks) : ranks_(std::move(ranks)) {}

  simulation::RankGroup& group() override { return *ranks_; }
  size_t processors() const override {
    return std::max<size_t>(1, base::Processors() / ranks_->local_size());
  }
  void EndAll(const absl::Status& why) override {
    if (ranks_->size() == 1) return;
    fmt::print(stderr, "tacet: rank {} of {}: {}\n", ranks_->rank(), ranks_->size(),
               base::Message(why));
    std::fflush(nullptr);
    ranks_->Abort();
  }

 private:
  std::unique_ptr<transport::mpi::MpiRanks> ranks_;
};
#endif

}  // namespace

absl::StatusOr<std::unique_ptr<Ranks>> JoinRanks() {
  if (!StartedByMpi()) return std::make_unique<OneRank>();
#ifdef TACET_WITH_MPI
  TACET_ASSIGN_OR_RETURN(auto ranks, transport::mpi::MpiRanks::Start());
  return std::make_unique<ManyRanks>(std::move(ranks));
#else
  return base::FailedPrecondition(
      "this program was built without MPI and cannot share a run with others: install "
      "libopenmpi-dev and build again");
#endif
}

}  // namespace tacet::app::simulate
