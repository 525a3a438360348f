#include "lab/load/load_clients.h"

#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "lab/load/load_member.h"
#include "tacet/base/status.h"

namespace tacet::app::load {
namespace {

// Members that act at one time.
constexpr uint64_t kActing = 16;

}  // namespace

absl::StatusOr<LoadResult> RunLoadClients(const LoadFederation& federation,
                                          const LoadClientsSpec& spec) {
  LoadMeter meter({.members = federation.sites.size(),
                   .rounds = federation.manifest->manifest().spec().rounds,
                   .on_round = spec.on_round});
  LoadCommons commons{.federation = federation,
                      .server = spec.server,
                      .folder = spec.folder,
                      .meter = meter,
                      .turns = Turns(kActing),
                      .initial_model = InitialModelOf(federation.manifest->manifest().spec()),
                      .checkpoints = {},
                      .stored_checkpoints = {}};
  std::vector<std::unique_ptr<LoadMember>> members;
  for (uint64_t number = 0; number < federation.sites.size(); ++number) {
    TACET_ASSIGN_OR_RETURN(std::unique_ptr<LoadMember> member, LoadMember::Create(commons, number));
    members.push_back(std::move(member));
  }
  {
    // A round is measured from members that have started, as those of a federation have.
    std::latch joined(static_cast<ptrdiff_t>(members.size()));
    std::vector<std::jthread> threads;
    for (uint64_t number = 0; number < members.size(); ++number) {
      threads.emplace_back([&, number] {
        absl::Status ended = members[number]->Join();
        joined.arrive_and_wait();
        if (ended.ok()) ended = members[number]->Run();
        if (ended.ok()) return;
        meter.Fail(base::Annotate(ended, federation.manifest->members()[number].name));
        for (const auto& member : members) member->Stop();
      });
    }
  }
  return meter.Result();
}

}  // namespace tacet::app::load
