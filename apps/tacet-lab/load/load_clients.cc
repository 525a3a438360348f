#include "apps/tacet-lab/load/load_clients.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "tacet/agreement/opened_average.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/crypto/random.h"
#include "tacet/member/attestors.h"
#include "tacet/member/member_parts.h"
#include "tacet/member/remote_server.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/result_collector.h"
#include "tacet/secagg/sealer.h"
#include "tacet/transport/grpc/grpc_wire.h"

namespace tacet::app::load {
namespace {

using protocol::Announcement;
using protocol::AttemptPhase;
using Clock = std::chrono::steady_clock;

// Members that seal or send at one time: their uploads are in this process's memory.
constexpr ptrdiff_t kSending = 64;

std::chrono::duration<double> SomeTime() {
  thread_local std::minstd_rand random{std::random_device()()};
  return std::chrono::duration<double>(std::uniform_real_distribution<>(0.1, 1)(random));
}

}  // namespace

struct LoadClients::Shared {
  Shared(const LoadFederation& load, std::string address,
         std::function<void(const LoadRound&)> told)
      : federation(load),
        server(std::move(address)),
        on_round(std::move(told)),
        sealing(std::max<ptrdiff_t>(1, std::thread::hardware_concurrency())),
        model(load.manifest->manifest().spec().dimension) {}

  const agreement::Manifest& manifest() const { return federation.manifest->manifest(); }
  secagg::AttemptKeys KeysOf(const secagg::Attempt& attempt) const {
    return secagg::DeriveAttemptKeys(federation.epoch_key, manifest().spec().scheme, attempt);
  }

  // One for all members of an attempt: it expands the round's public polynomials.
  absl::StatusOr<std::shared_ptr<secagg::Sealer>> SealerOf(const secagg::Attempt& attempt) {
    const base::MutexLock lock(mutex);
    if (sealer != nullptr && sealer_attempt == attempt) return sealer;
    TACET_ASSIGN_OR_RETURN(std::unique_ptr<secagg::Sealer> made,
                           secagg::Sealer::Create(manifest().terms(), attempt, KeysOf(attempt)));
    sealer = std::move(made);
    sealer_attempt = attempt;
    return sealer;
  }

  void Saw(const secagg::Attempt& attempt) {
    const base::MutexLock lock(mutex);
    begun.try_emplace(attempt.number.round, Clock::now());
  }
  void Sealed(uint32_t round, double seconds) {
    const base::MutexLock lock(mutex);
    sealing_seconds[round] += seconds;
  }
  void Uploaded(uint32_t round, double seconds, size_t bytes) {
    const base::MutexLock lock(mutex);
    ++uploads[round];
    result.upload_seconds.push_back(seconds);
    result.upload_bytes = bytes;
  }
  void Fetched(uint32_t round, double seconds) {
    const base::MutexLock lock(mutex);
    result.fetch_seconds.push_back(seconds);
    if (++have[round] < federation.sites.size()) return;
    const double cores = std::max(1U, std::thread::hardware_concurrency());
    result.rounds.push_back(
        {.round = round,
         .participants = uploads[round],
         .seconds = std::chrono::duration<double>(Clock::now() - begun[round]).count(),
         .sealing_seconds = sealing_seconds[round] / cores});
    on_round(result.rounds.back());
  }
  void Fail(const absl::Status& why) {
    const base::MutexLock lock(mutex);
    if (failure.ok()) failure = why;
  }
  bool Failed() {
    const base::MutexLock lock(mutex);
    return !failure.ok();
  }

  const LoadFederation& federation;
  const std::string server;
  const std::function<void(const LoadRound&)> on_round;
  std::counting_semaphore<> sending{kSending};
  std::counting_semaphore<> sealing;
  std::vector<std::unique_ptr<Member>> members;

  base::Mutex mutex;
  std::shared_ptr<secagg::Sealer> sealer ABSL_GUARDED_BY(mutex);
  secagg::Attempt sealer_attempt ABSL_GUARDED_BY(mutex);
  std::map<uint32_t, Clock::time_point> begun ABSL_GUARDED_BY(mutex);
  std::map<uint32_t, double> sealing_seconds ABSL_GUARDED_BY(mutex);
  std::map<uint32_t, uint32_t> uploads ABSL_GUARDED_BY(mutex);
  std::map<uint32_t, size_t> have ABSL_GUARDED_BY(mutex);
  LoadResult result ABSL_GUARDED_BY(mutex);
  absl::Status failure ABSL_GUARDED_BY(mutex);

  std::vector<float> model;  // of the member that applies
};

class LoadClients::Member {
 public:
  static absl::StatusOr<std::unique_ptr<Member>> Create(Shared& shared, uint64_t number) {
    const LoadFederation& load = shared.federation;
    TACET_ASSIGN_OR_RETURN(
        std::unique_ptr<transport::grpc::GrpcWire> wire,
        transport::grpc::GrpcWire::Create({.server = shared.server,
                                           .proxy = "",
                                           .authority = load.manifest->authority(),
                                           .certificate = load.certificates[number],
                                           .own_connection = true},
                                          load.sites[number].tls));
    return std::unique_ptr<Member>(new Member(shared, number, std::move(wire)));
  }

  void Live() {
    while (!shared_.Failed()) {
      const absl::StatusOr<bool> goes_on = Step();
      if (goes_on.ok() && !*goes_on) return;
      if (goes_on.ok()) continue;
      if (!protocol::IsRetryable(goes_on.status())) {
        return shared_.Fail(base::Annotate(goes_on.status(), fmt::format("client-{}", number_)));
      }
      std::this_thread::sleep_for(SomeTime());
    }
  }

 private:
  Member(Shared& shared, uint64_t number, std::unique_ptr<transport::grpc::GrpcWire> wire)
      : shared_(shared),
        number_(number),
        wire_(std::move(wire)),
        server_(*shared.federation.manifest, number, key(), *wire_) {}

  const crypto::SigningKey& key() const { return shared_.federation.sites[number_].signing; }

  // False when no attempt will follow.
  absl::StatusOr<bool> Step() {
    TACET_ASSIGN_OR_RETURN(
        const Announcement now,
        server_.Await({.known_revision = revision_, .listed_from = 0, .opening = opens_}));
    opens_ = false;
    for (const secagg::Attempt& published : now.kept) {
      if (published.number.round >= next_round_) TACET_RETURN_IF_ERROR(Fetch(published));
    }
    if (now.current.has_value()) TACET_RETURN_IF_ERROR(Act(*now.current));
    revision_ = now.revision;  // what failed is done again
    return !now.stopped;
  }

  absl::Status Act(const protocol::AnnouncedAttempt& current) {
    switch (current.phase) {
      case AttemptPhase::kCollecting:
        shared_.Saw(current.attempt);
        return current.invited == protocol::Invited::kYes && uploaded_ != current.attempt
                   ? UnlessTooLate(Upload(current.attempt))
                   : absl::OkStatus();
      case AttemptPhase::kOpening:
        return UnlessTooLate(Open(current.attempt));
      case AttemptPhase::kPublished:
      case AttemptPhase::kFailed:
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // An attempt may go on without a member that is slow.
  static absl::Status UnlessTooLate(const absl::Status& status) {
    return status.code() == absl::StatusCode::kFailedPrecondition ? absl::OkStatus() : status;
  }

  absl::Status Upload(const secagg::Attempt& attempt) {
    shared_.sending.acquire();
    const absl::Status sent = SealAndSend(attempt);
    shared_.sending.release();
    if (sent.ok()) uploaded_ = attempt;
    return sent;
  }

  absl::Status SealAndSend(const secagg::Attempt& attempt) {
    if (sealed_for_ != attempt) {
      TACET_ASSIGN_OR_RETURN(const std::shared_ptr<secagg::Sealer> sealer,
                             shared_.SealerOf(attempt));
      shared_.sealing.acquire();
      const base::Stopwatch watch;
      absl::StatusOr<secagg::SealedUpload> sealed =
          sealer->Seal(std::vector<float>(shared_.manifest().spec().dimension), entropy_);
      shared_.Sealed(attempt.number.round, watch.Seconds());
      shared_.sealing.release();
      TACET_RETURN_IF_ERROR(sealed.status());
      sealed_ = std::move(sealed->bytes);
      sealed_for_ = attempt;
    }
    const base::Stopwatch watch;
    TACET_RETURN_IF_ERROR(server_.Put({protocol::BulkKind::kUpload, attempt}, sealed_));
    shared_.Uploaded(attempt.number.round, watch.Seconds(), sealed_.size());
    sealed_ = {};
    return absl::OkStatus();
  }

  absl::Status Open(const secagg::Attempt& attempt) {
    const std::vector<secagg::OpenerIdentity> openers =
        member::OpenersOf(*shared_.federation.manifest, shared_.federation.epoch_key, attempt);
    if (opened_ == attempt ||
        std::ranges::find(openers, number_, &secagg::OpenerIdentity::member) == openers.end()) {
      return absl::OkStatus();
    }
    if (opener_for_ != attempt) {
      TACET_ASSIGN_OR_RETURN(opener_, secagg::Opener::Create(shared_.manifest().terms(), attempt,
                                                             shared_.KeysOf(attempt), openers,
                                                             number_, key(), journal_, entropy_));
      opener_for_ = attempt;
      TACET_ASSIGN_OR_RETURN(
          const base::Bytes closed,
          server_.Fetch({protocol::BulkKind::kClosedRound, attempt}, 0, ~uint64_t{0}));
      TACET_ASSIGN_OR_RETURN(vote_, opener_->Review(closed));
    }
    TACET_RETURN_IF_ERROR(server_.PutVote(attempt, vote_));
    TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> votes, server_.FetchVotes(attempt));
    opens_ = true;  // until there are enough of them
    if (votes.size() < secagg::Majority(openers.size())) return absl::OkStatus();
    TACET_ASSIGN_OR_RETURN(const base::Bytes sum, opener_->Open(votes));
    TACET_RETURN_IF_ERROR(server_.Put({protocol::BulkKind::kOpenedSum, attempt}, sum));
    opened_ = attempt;
    opens_ = false;
    return absl::OkStatus();
  }

  absl::Status Fetch(const secagg::Attempt& attempt) {
    const base::Stopwatch watch;
    const auto openers =
        member::OpenersOf(*shared_.federation.manifest, shared_.federation.epoch_key, attempt);
    const he::AggregationParams& params = shared_.manifest().terms().aggregation();
    std::vector<base::Bytes> sums;
    for (uint32_t i = 0; i < secagg::Majority(openers.size()); ++i) {
      TACET_ASSIGN_OR_RETURN(base::Bytes sum,
                             server_.Fetch({protocol::BulkKind::kOpenedSum, attempt}, i,
                                           secagg::OpenedSumBytes(params)));
      if (number_ == 0) sums.push_back(std::move(sum));
    }
    next_round_ = attempt.number.round + 1;
    shared_.Fetched(attempt.number.round, watch.Seconds());
    return number_ == 0 ? Apply(attempt, openers, sums) : absl::OkStatus();
  }

  // Checks and applies the sum, and has enough members state what that gave.
  absl::Status Apply(const secagg::Attempt& attempt,
                     const std::vector<secagg::OpenerIdentity>& openers,
                     const std::vector<base::Bytes>& sums) {
    const agreement::ManifestSpec& spec = shared_.manifest().spec();
    const secagg::AttemptKeys keys = shared_.KeysOf(attempt);
    secagg::ResultCollector collector(shared_.manifest().terms().aggregation(), attempt, openers,
                                      keys.result_key);
    for (const base::Bytes& sum : sums) TACET_RETURN_IF_ERROR(collector.Offer(sum));
    if (!collector.agreed().has_value()) return base::DataLoss("the openers do not agree");
    const std::vector<double> mean = agreement::AverageOf(shared_.manifest(), *collector.agreed());
    TACET_ASSIGN_OR_RETURN(agreement::ServerOptimizer optimizer,
                           agreement::ServerOptimizer::Create(spec.optimizer, spec.dimension));
    optimizer.Apply(attempt.number.round, mean, shared_.model);
    const crypto::Digest digest = protocol::ModelDigest(shared_.model);
    for (uint64_t i = 0; i < secagg::Majority(openers.size()); ++i) {
      const Member& member = *shared_.members[i];
      const base::Bytes statement =
          protocol::WriteAttestation({.member = i,
                                      .round = attempt.number.round + 1,
                                      .model_digest = digest,
                                      .state_digest = {}},
                                     *shared_.federation.manifest, member.key());
      TACET_RETURN_IF_ERROR(member.server_.PutAttestation(statement));
    }
    return absl::OkStatus();
  }

  Shared& shared_;
  uint64_t number_;
  std::unique_ptr<transport::grpc::GrpcWire> wire_;
  member::RemoteServer server_;
  crypto::SystemEntropy entropy_;
  secagg::MemoryJournal journal_;
  uint64_t revision_ = 0;
  uint32_t next_round_ = 0;
  bool opens_ = false;
  std::optional<secagg::Attempt> sealed_for_, uploaded_, opener_for_, opened_;
  base::Bytes sealed_, vote_;
  std::unique_ptr<secagg::Opener> opener_;
};

LoadClients::LoadClients(const LoadFederation& federation, std::string server,
                         std::function<void(const LoadRound&)> on_round)
    : shared_(std::make_unique<Shared>(federation, std::move(server), std::move(on_round))) {}

LoadClients::~LoadClients() = default;

absl::StatusOr<LoadResult> LoadClients::Run() {
  for (uint64_t i = 0; i < shared_->federation.sites.size(); ++i) {
    TACET_ASSIGN_OR_RETURN(std::unique_ptr<Member> member, Member::Create(*shared_, i));
    shared_->members.push_back(std::move(member));
  }
  {
    std::vector<std::jthread> threads;
    for (const auto& member : shared_->members) {
      threads.emplace_back([&member] { member->Live(); });
    }
  }
  const base::MutexLock lock(shared_->mutex);
  TACET_RETURN_IF_ERROR(shared_->failure);
  return std::move(shared_->result);
}

}  // namespace tacet::app::load
