#include "tacet/secagg/result_collector.h"

#include <algorithm>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/secagg/attempt_keys.h"

namespace tacet::secagg {
namespace {

crypto::Digest AnswerDigest(const OpenedSumMessage& message) {
  crypto::Sha256Hasher hasher;
  hasher.Update(message.round_hash);
  base::ByteWriter participants;
  participants.U32(message.opened.participants);
  hasher.Update(participants.bytes());
  const std::span<const uint64_t> sums = message.opened.sums;
  hasher.Update({reinterpret_cast<const uint8_t*>(sums.data()), sums.size_bytes()});
  return hasher.Finish();
}

}  // namespace

ResultCollector::ResultCollector(const he::AggregationParams& params, const Attempt& attempt,
                                 std::vector<OpenerIdentity> openers,
                                 const crypto::SecretBytes& result_key)
    : params_(params), attempt_(attempt), openers_(std::move(openers)), result_key_(result_key) {}

absl::Status ResultCollector::Offer(std::span<const uint8_t> message) {
  TACET_ASSIGN_OR_RETURN(OpenedSumMessage read,
                         ReadOpenedSum(message, attempt_, params_, openers_, result_key_));
  const crypto::Digest answer = AnswerDigest(read);
  const auto [before, is_new] = answers_.emplace(read.opener, answer);
  if (!is_new) {
    if (before->second == answer) return absl::OkStatus();
    return base::AlreadyExists("an opener gave two different sums for round {} attempt {}",
                               attempt_.number.round, attempt_.number.attempt);
  }
  const auto agreeing =
      std::ranges::count(answers_, answer, [](const auto& a) { return a.second; });
  if (!agreed_.has_value() && static_cast<size_t>(agreeing) >= Majority(openers_.size())) {
    agreed_ = std::move(read.opened);
  }
  return absl::OkStatus();
}

}  // namespace tacet::secagg
