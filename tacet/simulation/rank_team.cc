#include "tacet/simulation/rank_team.h"

#include <bit>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/ledger/data_digest.h"

namespace tacet::simulation {
namespace {

constexpr size_t kMaxHelloBytes = 1024;

// Receives what the subtree of `from` has added.
absl::Status MergeFrom(RankGroup& ranks, uint32_t from, UpdatePath& path, RankReport& report) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes told, ranks.Receive(from, kMaxRankReportBytes));
  TACET_ASSIGN_OR_RETURN(const RankReport other, ReadRankReport(told));
  report.Add(other);
  TACET_ASSIGN_OR_RETURN(const base::Bytes partial, ranks.Receive(from, path.MaxPartialBytes()));
  return path.Merge(partial);
}

}  // namespace

absl::Status BroadcastFromRankZero(RankGroup& ranks, base::Bytes& bytes, size_t max_bytes) {
  const uint64_t rank = ranks.rank();
  if (rank != 0) {
    TACET_ASSIGN_OR_RETURN(bytes,
                           ranks.Receive(static_cast<uint32_t>(rank & (rank - 1)), max_bytes));
  }
  for (uint64_t step = std::bit_floor(ranks.size()); step > 0; step /= 2) {
    const uint64_t child = rank + step;
    if (rank % (2 * step) != 0 || child >= ranks.size()) continue;
    TACET_RETURN_IF_ERROR(ranks.Send(static_cast<uint32_t>(child), bytes));
  }
  return absl::OkStatus();
}

absl::Status MergeAtRankZero(RankGroup& ranks, UpdatePath& path, RankReport& report) {
  const uint32_t rank = ranks.rank();
  for (uint64_t step = 1; step < ranks.size(); step *= 2) {
    if ((rank & step) != 0) {
      const auto parent = static_cast<uint32_t>(rank - step);
      const PrivacySeconds spent = path.seconds();
      report.seal_seconds += spent.seal;
      report.add_seconds += spent.add;
      TACET_ASSIGN_OR_RETURN(const base::Bytes partial, path.TakePartial());
      TACET_RETURN_IF_ERROR(ranks.Send(parent, WriteRankReport(report)));
      return ranks.Send(parent, partial);
    }
    if (rank + step >= ranks.size()) continue;
    const auto child = static_cast<uint32_t>(rank + step);
    TACET_RETURN_IF_ERROR(base::Annotate(MergeFrom(ranks, child, path, report),
                                         fmt::format("the partial sum of rank {}", child)));
  }
  return absl::OkStatus();
}

absl::Status RankLeader::Greet(const crypto::Digest& agreement, const crypto::Digest& data) {
  crypto::SystemEntropy entropy;
  for (uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ranks_.Receive(rank, kMaxHelloBytes));
    TACET_ASSIGN_OR_RETURN(const RankHello hello, ReadRankHello(bytes));
    const crypto::SecretBytes challenge = entropy.Draw(ledger::kDataKeyBytes);
    TACET_ASSIGN_OR_RETURN(const base::Bytes sealed,
                           crypto::SealFor(hello.key, challenge.Expose()));
    TACET_RETURN_IF_ERROR(ranks_.Send(rank, sealed));
    TACET_ASSIGN_OR_RETURN(const base::Bytes proof, ranks_.Receive(rank, crypto::Digest().size()));
    if (!crypto::ConstantTimeEqual(proof,
                                   ledger::KeyedDataDigest(challenge, ledger::kRankDigest, data))) {
      return base::FailedPrecondition(
          "rank {} reads other data than rank 0: the same files must be found on every machine",
          rank);
    }
    if (hello.agreement != agreement) {
      return base::FailedPrecondition(
          "rank {} came to another agreement than rank 0: all ranks must run the same program with "
          "the same settings, on processors of one kind",
          rank);
    }
    keys_.push_back(hello.key);
  }
  return absl::OkStatus();
}

absl::Status RankLeader::Begin(const secagg::Attempt& attempt, std::span<const float> model,
                               const SharedSecrets& secrets, std::span<const CohortShare> shares) {
  if (ranks_.size() == 1) return absl::OkStatus();
  {
    base::Bytes bytes = WriteRankJob(attempt, model);
    TACET_RETURN_IF_ERROR(BroadcastFromRankZero(ranks_, bytes, bytes.size()));
  }
  for (uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    const RankTask task{.secrets = secrets.Copy(), .share = shares[rank]};
    TACET_ASSIGN_OR_RETURN(const base::Bytes sealed, EncryptRankTask(task, keys_[rank - 1]));
    TACET_RETURN_IF_ERROR(ranks_.Send(rank, sealed));
  }
  return absl::OkStatus();
}

absl::Status RankLeader::End() {
  base::Bytes bytes = WriteRankEnd();
  return BroadcastFromRankZero(ranks_, bytes, bytes.size());
}

RankMember::RankMember(RankGroup& ranks)
    : ranks_(ranks), key_([] {
        crypto::SystemEntropy entropy;
        return crypto::SealingKey::Generate(entropy);
      }()) {}

absl::Status RankMember::Greet(const crypto::Digest& agreement, const crypto::Digest& data) {
  const RankHello hello{.agreement = agreement, .key = key_.public_key()};
  TACET_RETURN_IF_ERROR(ranks_.Send(0, WriteRankHello(hello)));
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes sealed,
      ranks_.Receive(0, crypto::kSealedBoxOverheadBytes + ledger::kDataKeyBytes));
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes challenge, key_.Open(sealed));
  if (challenge.size() != ledger::kDataKeyBytes) {
    return base::DataLoss("rank 0 sent a secret of {} bytes, expected {}", challenge.size(),
                          ledger::kDataKeyBytes);
  }
  return ranks_.Send(0, ledger::KeyedDataDigest(challenge, ledger::kRankDigest, data));
}

absl::StatusOr<std::optional<RankMember::Work>> RankMember::Next(uint64_t dimension,
                                                                 uint64_t clients) {
  std::optional<RankJob> job;
  {
    base::Bytes bytes;
    TACET_RETURN_IF_ERROR(BroadcastFromRankZero(ranks_, bytes, MaxRankJobBytes(dimension)));
    TACET_ASSIGN_OR_RETURN(job, ReadRankJob(bytes, dimension));
  }
  if (!job.has_value()) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const base::Bytes sealed, ranks_.Receive(0, MaxRankTaskBytes(clients)));
  TACET_ASSIGN_OR_RETURN(RankTask task, DecryptRankTask(sealed, key_, clients));
  return Work{.job = *std::move(job), .task = std::move(task)};
}

}  // namespace tacet::simulation
