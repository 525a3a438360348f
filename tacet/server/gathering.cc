#include "tacet/server/gathering.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/agreement/cohort.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

// No cohort drawn by coins is large enough with certainty.
constexpr double kMaxWantedChance = 0.999;

// Probability that the next attempt has enough uploads, below which it does not begin: failures
// that are expected in the rounds that are left use up half of the spare attempts at most.
double WantedChance(const RoundState& state) {
  const agreement::ManifestSpec& spec = state.rules->spec();
  const auto failed = static_cast<uint64_t>(
      std::ranges::count(*state.attempts, protocol::AttemptPhase::kFailed, &AttemptRecord::phase));
  const auto spare =
      static_cast<double>(spec.spare_attempts - std::min<uint64_t>(failed, spec.spare_attempts));
  const auto rounds = static_cast<double>(spec.rounds - FinishedRounds(state));
  return std::min(kMaxWantedChance, rounds / (rounds + spare / 2));
}

// Whether the last attempt of this epoch ended because too few members can give data. The same is
// true of every later one.
bool HasEndedForGivers(const RoundState& state) {
  const AttemptRecords& begun = *state.attempts;
  return !begun.empty() && begun.back().failure == kTooFewGivers &&
         begun.back().attempt.number.epoch == state.rules->manifest().epoch();
}

std::vector<std::string> NamesOf(const RoundState& state, std::span<const uint64_t> members) {
  std::vector<std::string> names;
  for (const uint64_t member : members) {
    names.push_back(state.rules->manifest().members()[member].name);
  }
  return names;
}

// Names of the members that abstained from it.
std::vector<std::string> AbstainersOf(const RoundState& state) {
  std::vector<uint64_t> members;
  for (const Submission& abstention : Opened(state)->abstentions) {
    members.push_back(abstention.member);
  }
  return NamesOf(state, members);
}

uint64_t LeastPresence(const RoundState& state) {
  const uint64_t uploads = state.rules->min_participants();
  if (state.rules->EveryMemberUploads()) return uploads;
  const accounting::SamplingParams& sampling = state.rules->spec().sampling;
  const double wanted = WantedChance(state);
  uint64_t few = 0, enough = sampling.clients;
  while (enough - few > 1) {
    const uint64_t middle = few + (enough - few) / 2;
    const double chance = agreement::ChanceOfEnough(*sampling.method, sampling.clients,
                                                    sampling.cohort, middle, uploads);
    (chance >= wanted ? enough : few) = middle;
  }
  return enough;
}

}  // namespace

Gathering CountGathering(const RoundState& state, const Moment& moment) {
  Gathering gathering{.here = 0,
                      .needed = std::min(LeastPresence(state), MayUpload(state)),
                      .seats_here = 0,
                      .seats_needed = state.rules->VoteQuorum()};
  const Attendance& attendance = moment.attendance;
  for (uint64_t member = 0; member < attendance.members(); ++member) {
    const bool counts = attendance.IsHere(member, moment.now) && !IsLeftOut(state, member);
    gathering.here += counts ? 1 : 0;
  }
  for (const secagg::CommitteeSeat& seat : state.rules->committee()) {
    gathering.seats_here += attendance.IsHere(seat.member, moment.now) ? 1 : 0;
  }
  return gathering;
}

std::optional<Gathering> GatheringFor(const RoundState& state, const Moment& moment) {
  if (Opened(state) != nullptr && FinishedRounds(state) > 0 && !NextAttempt(state).has_value()) {
    return std::nullopt;
  }
  return CountGathering(state, moment);
}

std::optional<secagg::Attempt> NextAttempt(const RoundState& state) {
  secagg::Attempt next{.manifest_hash = state.rules->hash(), .number = Beginning(state)};
  const AttemptRecords& begun = *state.attempts;
  if (!begun.empty() && begun.back().attempt.number.epoch == next.number.epoch &&
      begun.back().phase == protocol::AttemptPhase::kFailed) {
    next.number.attempt = begun.back().attempt.number.attempt + 1;
  }
  // Nobody has to say what the model is after the last round.
  if (next.number.round >= state.rules->spec().rounds) return next;
  const std::optional<crypto::Digest> stated = StatedModel(state);
  if (!stated.has_value()) return std::nullopt;
  next.model_digest = *stated;
  return next;
}

std::string WhyStop(const RoundState& state, const secagg::Attempt& next) {
  const agreement::ManifestSpec& spec = state.rules->spec();
  if (next.number.round >= spec.rounds) return fmt::format("all {} rounds are done", spec.rounds);
  if (HasEndedForGivers(state)) {
    return fmt::format(
        "a budget or a policy of {} allows no further attempt: {} of {} members are left, and at "
        "least {} must give data",
        fmt::join(AbstainersOf(state), ", "), state.rules->members() - AbstainersOf(state).size(),
        state.rules->members(), state.rules->MinGivers());
  }
  if (next.number.attempt > spec.spare_attempts) {
    std::string why = fmt::format("round {} failed in all its {} attempts", next.number.round,
                                  next.number.attempt);
    const bool was_refused = state.attempts->back().failure == kRefusedFailure;
    if (was_refused && !state.suspects.empty()) {
      why += fmt::format(
          "; the committee refused the sum, and the check of shares suspects {}, whom no round can "
          "leave out, since min_participants is {}: a smaller one lets the rounds continue without",
          fmt::join(NamesOf(state, state.suspects), ", "), state.rules->min_participants());
    } else if (was_refused && state.rules->MostLeftOut() == 0) {
      why += fmt::format(
          "; the committee refused the sum, and no participant can be left out, since "
          "min_participants is {}: a smaller one lets the server find the participant at fault",
          state.rules->min_participants());
    }
    return why;
  }
  const size_t begun = state.attempts->size();
  if (begun >= state.rules->manifest().manifest().attempt_budget()) {
    return fmt::format("all {} attempts that the agreement allows were begun", begun);
  }
  return "";
}

}  // namespace tacet::server
