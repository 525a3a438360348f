// Rules of a federation's rounds: what the agreement and the server's options say about them.
#ifndef TACET_SERVER_ROUND_RULES_H_
#define TACET_SERVER_ROUND_RULES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/unix_clock.h"
#include "tacet/protocol/abstention.h"
#include "tacet/protocol/announcement.h"
#include "tacet/secagg/committee.h"

namespace tacet::server {

struct RoundServerOptions {
  uint64_t collecting_seconds = 600;  // until an attempt closes with what has arrived; > 0
  // Until the committee must have confirmed the aggregate; > 0. As long as seats are absent, it is
  // extended by as many seconds again,
  uint64_t unmasking_seconds = 300;
  // but not beyond so many seconds after the beginning of the attempt.
  uint64_t abandon_seconds = 7 * base::kSecondsADay;
  uint32_t kept_rounds = 3;  // published rounds that can still be fetched; > 0
  // The time that members that were not here have to come, once enough are: before an attempt
  // begins, and before it closes without them.
  uint64_t grace_seconds = 60;
  // Pause after an attempt with too few uploads. It doubles from one to the next, up to an hour.
  uint64_t retry_seconds = 60;
  // Most rounds of which a participant is left out at a time, the one that named it included; > 0.
  uint64_t most_rounds_left_out = 1024;
};
// The longest that a server which continues to the next epoch stays in its own: for the open
// attempt, and then for members that are connected and have not taken its result.
constexpr uint64_t MostSecondsToLeave(const RoundServerOptions& options) {
  return options.collecting_seconds + 2 * options.unmasking_seconds;
}
// InvalidArgument names the options that must be greater than 0.
absl::Status CheckOptions(const RoundServerOptions& options);

// Immutable.
class RoundRules {
 public:
  // `manifest` must outlive it.
  RoundRules(const agreement::SignedManifest& manifest, const RoundServerOptions& options)
      : manifest_(&manifest), options_(options) {}

  const agreement::SignedManifest& manifest() const { return *manifest_; }
  const agreement::ManifestSpec& spec() const { return manifest_->manifest().spec(); }
  const crypto::Digest& hash() const { return manifest_->manifest().hash(); }
  const secagg::Committee& committee() const { return manifest_->manifest().committee(); }
  const he::AggregationParams& aggregation() const {
    return manifest_->manifest().terms().aggregation();
  }
  const RoundServerOptions& options() const { return options_; }
  uint64_t members() const { return manifest_->members().size(); }
  // K_min.
  uint64_t min_participants() const { return manifest_->manifest().terms().min_participants(); }

  uint64_t MinGivers() const { return protocol::MinGivers(manifest_->manifest()); }

  bool HasSeat(uint64_t member) const { return secagg::SeatOf(committee(), member).has_value(); }
  // PermissionDenied unless HasSeat.
  absl::Status CheckSeat(uint64_t member) const;
  // v: seats that vote for a sum, and that name the initial model.
  size_t VoteQuorum() const { return aggregation().sharing().votes(); }
  // f + 1: one of them is honest.
  size_t ConfirmationQuorum() const { return spec().committee.corrupt + size_t{1}; }
  // Attestations of one model that make a round final: a strict majority of the members, or K_min
  // of them where that is less. At most K_min - 2 members are in a coalition, so one of K_min is
  // not.
  size_t FinalQuorum() const;

  // Whether the server draws the cohorts; else members decide by coins of their own.
  bool DrawsCohorts() const { return spec().sampling.method == accounting::Sampling::kFixedSize; }
  bool EveryMemberUploads() const { return agreement::EveryMemberUploads(spec()); }
  // Most members that can be left out of one round: K_min others are in every cohort.
  uint64_t MostLeftOut() const {
    const uint64_t drawn = DrawsCohorts() ? spec().sampling.cohort : members();
    return drawn - std::min(drawn, min_participants());
  }
  // The longest that a phase lasts before its deadline is moved.
  uint64_t SecondsOf(protocol::AttemptPhase phase) const {
    return phase == protocol::AttemptPhase::kCollecting ? options_.collecting_seconds
                                                        : options_.unmasking_seconds;
  }

 private:
  const agreement::SignedManifest* manifest_;
  RoundServerOptions options_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_RULES_H_
