#include "tacet/member/announcement_checks.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/cohort.h"
#include "tacet/base/status.h"

namespace tacet::member {
namespace {

template <typename... Args>
std::optional<Suspicion> Suspect(std::string_view violation, fmt::format_string<Args...> format,
                                 Args&&... args) {
  return Suspicion{violation, fmt::format(format, std::forward<Args>(args)...)};
}

// For this manifest and epoch, within its rounds and attempts.
std::optional<Suspicion> CheckPlace(const secagg::Attempt& attempt,
                                    const agreement::SignedManifest& manifest) {
  const agreement::ManifestSpec& spec = manifest.manifest().spec();
  if (attempt.manifest_hash != manifest.manifest().hash() ||
      attempt.number.epoch != manifest.epoch()) {
    return Suspect(violations::kOtherFederation, "an attempt of another manifest or epoch");
  }
  if (attempt.number.round < spec.rounds && attempt.number.attempt <= spec.spare_attempts) {
    return std::nullopt;
  }
  return Suspect(violations::kImpossible,
                 "round {} attempt {}: the manifest has {} rounds and {} spare attempts",
                 attempt.number.round, attempt.number.attempt, spec.rounds, spec.spare_attempts);
}

std::optional<Suspicion> CheckInvitation(protocol::Invited invited,
                                         const agreement::ManifestSpec& spec) {
  const bool coins = spec.sampling.method != accounting::Sampling::kFixedSize;
  if (coins == (invited == protocol::Invited::kOwnCoin)) return std::nullopt;
  return Suspect(violations::kImpossible, "{}",
                 coins ? "the server chooses participants, the manifest says that they do by coins"
                       : "the server asks for coins, the manifest says that it chooses");
}

std::optional<Suspicion> CheckCurrent(const protocol::AnnouncedAttempt& current,
                                      const protocol::Announcement& announcement,
                                      const agreement::SignedManifest& manifest) {
  if (auto place = CheckPlace(current.attempt, manifest)) return place;
  if (auto invited = CheckInvitation(current.invited, manifest.manifest().spec())) return invited;
  const uint32_t finished =
      current.attempt.number.round + (current.phase == protocol::AttemptPhase::kPublished ? 1 : 0);
  if (announcement.finished != finished) {
    return Suspect(violations::kImpossible, "round {} is {}, yet {} rounds are finished",
                   current.attempt.number.round, protocol::AttemptPhaseName(current.phase),
                   announcement.finished);
  }
  const secagg::Terms& terms = manifest.manifest().terms();
  const bool closed = current.phase == protocol::AttemptPhase::kUnmasking ||
                      current.phase == protocol::AttemptPhase::kPublished;
  if (closed && (current.participants < terms.min_participants() ||
                 current.participants > terms.max_participants())) {
    return Suspect(violations::kParticipants, "closed with {} participants, {} to {} are allowed",
                   current.participants, terms.min_participants(), terms.max_participants());
  }
  return std::nullopt;
}

std::optional<Suspicion> CheckListed(const protocol::Announcement& announcement,
                                     const agreement::SignedManifest& manifest,
                                     uint64_t listed_from) {
  if (announcement.first_listed < listed_from) {
    return Suspect(violations::kRollback, "{} attempts were announced in this epoch, {} before",
                   announcement.first_listed, listed_from);
  }
  const uint64_t budget = manifest.manifest().attempt_budget();
  if (announcement.first_listed > listed_from ||
      announcement.listed.size() > budget - std::min(budget, listed_from)) {
    return Suspect(violations::kImpossible,
                   "attempts {} to {} are listed, asked from {} on; the manifest allows {}",
                   announcement.first_listed,
                   announcement.first_listed + announcement.listed.size(), listed_from, budget);
  }
  for (const secagg::AttemptNumber& number : announcement.listed) {
    const secagg::Attempt attempt{.manifest_hash = announcement.manifest_hash, .number = number};
    if (auto place = CheckPlace(attempt, manifest)) return place;
  }
  if (announcement.listed.empty()) return std::nullopt;
  if (announcement.current.has_value() &&
      announcement.listed.back() == announcement.current->attempt.number) {
    return std::nullopt;
  }
  return Suspect(violations::kImpossible, "the last attempt listed is not the current one");
}

}  // namespace

std::optional<Suspicion> CheckAnnouncement(const protocol::Announcement& announcement,
                                           const agreement::SignedManifest& manifest,
                                           uint64_t listed_from) {
  if (announcement.manifest_hash != manifest.manifest().hash() ||
      announcement.epoch != manifest.epoch()) {
    return Suspect(violations::kOtherFederation,
                   "an announcement of epoch {}, expected epoch {} of {}", announcement.epoch,
                   manifest.epoch(), manifest.federation());
  }
  if (announcement.finished > manifest.manifest().spec().rounds) {
    return Suspect(violations::kImpossible, "{} rounds are finished, the manifest has {}",
                   announcement.finished, manifest.manifest().spec().rounds);
  }
  if (announcement.current.has_value()) {
    if (auto current = CheckCurrent(*announcement.current, announcement, manifest)) return current;
  }
  if (auto listed = CheckListed(announcement, manifest, listed_from)) return listed;
  for (const secagg::Attempt& kept : announcement.kept) {
    if (auto place = CheckPlace(kept, manifest)) return place;
    if (kept.number.round >= announcement.finished) {
      return Suspect(violations::kImpossible, "a sum of round {} is kept, {} rounds are finished",
                     kept.number.round, announcement.finished);
    }
  }
  return std::nullopt;
}

std::optional<Suspicion> CheckContinues(const protocol::Announcement& announcement,
                                        const std::optional<MemberMemory>& memory,
                                        uint32_t next_round, uint32_t training) {
  const bool has_entered = memory.has_value() && memory->attempt.number.epoch == announcement.epoch;
  if (announcement.finished < next_round && (has_entered || announcement.epoch == training)) {
    return Suspect(violations::kRollback, "{} rounds are finished, this member has applied {}",
                   announcement.finished, next_round);
  }
  if (!has_entered) return std::nullopt;
  const secagg::AttemptNumber known = memory->attempt.number;
  if (!announcement.current.has_value()) {
    return Suspect(violations::kRollback, "no attempt is announced, round {} attempt {} was before",
                   known.round, known.attempt);
  }
  const protocol::AnnouncedAttempt& current = *announcement.current;
  const secagg::AttemptNumber now = current.attempt.number;
  if (now > known) return std::nullopt;
  if (now < known) {
    return Suspect(violations::kRollback, "round {} attempt {} after round {} attempt {}",
                   now.round, now.attempt, known.round, known.attempt);
  }
  if (current.attempt.model_digest != memory->attempt.model_digest) {
    return Suspect(violations::kEquivocation, "the attempt starts from another model than before");
  }
  if (current.phase < memory->phase) {
    return Suspect(violations::kRollback, "the attempt is {}, it was {} before",
                   protocol::AttemptPhaseName(current.phase),
                   protocol::AttemptPhaseName(memory->phase));
  }
  if (memory->phase == protocol::AttemptPhase::kPublished &&
      current.phase != protocol::AttemptPhase::kPublished) {
    return Suspect(violations::kEquivocation, "the attempt is failed, it was published before");
  }
  if (memory->participants != 0 && current.participants != memory->participants) {
    return Suspect(violations::kEquivocation, "{} participants, {} before", current.participants,
                   memory->participants);
  }
  return std::nullopt;
}

std::optional<Suspicion> CheckDraw(const MemberMemory& memory,
                                   const agreement::ManifestSpec& agreed) {
  const double chance = agreement::ChanceOfInvitations(
      memory.watched_attempts, memory.invitations, agreed.sampling.clients, agreed.sampling.cohort);
  if (chance >= kMinDrawChance) return std::nullopt;
  return Suspicion{violations::kCohortBias,
                   fmt::format("the server invited this member to {} of {} attempts; a draw of {} "
                               "of {} members does so with probability {:.2g}",
                               memory.invitations, memory.watched_attempts, agreed.sampling.cohort,
                               agreed.sampling.clients, chance)};
}

}  // namespace tacet::member
