#include "tacet/host/problems.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/base/unix_clock.h"
#include "tacet/server/failures.h"
#include "tacet/storage/file/membership.h"

namespace tacet::host {
namespace {

using protocol::AttemptPhase;
using tacet::server::Absence;
using tacet::server::kHereSeconds;
using tacet::server::RefusedCall;
using tacet::server::RefusedFor;
using tacet::server::ServerStatus;

// After which mail that waits is a problem.
constexpr uint64_t kMailSeconds = 900;

// Problems on their way. Each member is claimed by its first cause.
class Finder {
 public:
  explicit Finder(const ProblemInputs& inputs)
      : inputs_(inputs), status_(inputs.status), found_(inputs.own) {}

  std::vector<Problem> Find() {
    FindOwn();
    FindObjections();
    FindStop();
    FindRefused();
    if (!IsCutOff() && !inputs_.unsettled) FindAwaited();
    FindSilent();
    FindMail();
    std::ranges::stable_sort(found_, {}, &Problem::code);
    return std::move(found_);
  }

 private:
  bool Has(ProblemCode code) const {
    return std::ranges::find(found_, code, &Problem::code) != found_.end();
  }
  // A minority of members may lie: what it says explains nothing away.
  bool IsBelieved(ProblemCode code) const { return Has(code) && !doubted_.contains(code); }
  // No member can call, whatever it does.
  bool IsCutOff() const {
    return Has(ProblemCode::kNotListening) || Has(ProblemCode::kNotStarted) ||
           Has(ProblemCode::kStandstill) || Has(ProblemCode::kServerCertificateEnded) ||
           Has(ProblemCode::kServerClock);
  }
  // Members call, and cannot do their part.
  bool KeepsMembersWaiting() const {
    return Has(ProblemCode::kDiskFull) || Has(ProblemCode::kDatabaseAway) ||
           Has(ProblemCode::kStoreFailed) || Has(ProblemCode::kObjectLost) ||
           IsBelieved(ProblemCode::kRollback) || Has(ProblemCode::kServerFork) ||
           IsBelieved(ProblemCode::kNoClosedRound);
  }
  void Add(ProblemCode code, std::string detail = {}) {
    found_.push_back({.code = code, .members = {}, .detail = std::move(detail)});
  }
  void Name(ProblemCode code, uint64_t member, std::string note) {
    if (!claimed_.insert(member).second) return;
    auto problem = std::ranges::find(found_, code, &Problem::code);
    if (problem == found_.end()) {
      found_.push_back({.code = code, .members = {}, .detail = {}});
      problem = std::prev(found_.end());
    }
    const auto at =
        std::ranges::lower_bound(problem->members, member, {}, &ConcernedMember::member);
    problem->members.insert(at, {.member = member, .note = std::move(note)});
  }

  void FindOwn() {
    std::vector<std::string> lost;
    for (const auto& [kind, count] : status_.lost) {
      lost.push_back(fmt::format("{} {}", count, protocol::BulkKindName(kind)));
    }
    if (!lost.empty() && !IsDone()) {
      Add(ProblemCode::kObjectLost, fmt::format("({})", fmt::join(lost, ", ")));
    }
    if (inputs_.certificate_end != 0) {
      const uint64_t end = inputs_.certificate_end;
      if (inputs_.now >= end) {
        Add(ProblemCode::kServerCertificateEnded, DurationText(inputs_.now - end) + " ago");
      } else if (end - inputs_.now <= storage::file::kCertificateWarningSeconds) {
        Add(ProblemCode::kServerCertificateEnds, "in " + DurationText(end - inputs_.now));
      }
    }
  }

  // Last: a member that cannot call at all has another cause. Running sites look into the mailbox
  // about every ten minutes.
  void FindMail() {
    if (IsDone()) return;
    const uint64_t now = inputs_.now;
    for (const tacet::server::WaitingLetter& letter : inputs_.mail.letters) {
      if (letter.since + kMailSeconds > now) continue;
      Name(ProblemCode::kLetterWaits, letter.member, "for " + DurationText(now - letter.since));
    }
    if (status_.watched_since + kMailSeconds > now) return;
    for (const uint64_t member : inputs_.mail.without_prekey) {
      Name(ProblemCode::kPrekeyMissing, member, "");
    }
  }

  // Unless attempts failed for another fault that is shown.
  void FindStop() {
    const bool for_givers =
        status_.last.has_value() && status_.last->failure == tacet::server::kTooFewGivers;
    if (!status_.stopped.empty() && !IsDone() && !for_givers && !KeepsMembersWaiting()) {
      Add(ProblemCode::kStopped, "(" + status_.stopped + ")");
    }
    if (status_.paused && status_.stopped.empty()) Add(ProblemCode::kPaused);
  }

  void FindObjections() {
    using Reason = protocol::ObjectionReason;
    const auto count = [this](Reason reason) {
      return static_cast<uint64_t>(
          std::ranges::count(status_.objections, reason, &protocol::Objection::reason));
    };
    const size_t members = inputs_.manifest.members().size();
    if (const uint64_t said = count(Reason::kRollback); said > 0) {
      secagg::AttemptNumber known;
      for (const protocol::Objection& one : status_.objections) {
        if (one.reason == Reason::kRollback) known = std::max(known, one.attempt);
      }
      Add(ProblemCode::kRollback,
          fmt::format("(so say {} of {} members, up to round {} attempt {})", said, members,
                      known.round, known.attempt));
      if (2 * said <= status_.here) doubted_.insert(ProblemCode::kRollback);
    }
    // An older state names objects that were deleted meanwhile.
    if (IsBelieved(ProblemCode::kRollback)) {
      std::erase_if(found_,
                    [](const Problem& one) { return one.code == ProblemCode::kObjectLost; });
    }
    if (const uint64_t said = count(Reason::kNoClosedRound); said > 0 && !KeepsMembersWaiting()) {
      Add(ProblemCode::kNoClosedRound, fmt::format("(so say {} of them)", said));
      const size_t seats = inputs_.manifest.manifest().committee().size();
      if (2 * said <= seats) doubted_.insert(ProblemCode::kNoClosedRound);
    }
    const uint64_t forks = count(Reason::kFork);
    if (forks == 0 || IsBelieved(ProblemCode::kRollback)) return;
    if (2 * forks > status_.here) {
      Add(ProblemCode::kServerFork, fmt::format("(so say {} of {} members)", forks, members));
      return;
    }
    for (const protocol::Objection& one : status_.objections) {
      if (one.reason == Reason::kFork) Name(ProblemCode::kMemberFork, one.member, "");
    }
  }

  // When one clock differs from several others, that one is wrong.
  bool IsServersClock() const {
    uint64_t ahead = 0, behind = 0;
    for (const RefusedCall& call : status_.refused) {
      if (call.why == RefusedFor::kOtherClock) ++(call.ahead > 0 ? ahead : behind);
    }
    const uint64_t others = std::max(ahead, behind);
    return others >= 2 && 2 * others > status_.taken + ahead + behind;
  }

  void FindRefused() {
    const bool is_settled = std::ranges::any_of(status_.refused, &RefusedCall::settled);
    if (is_settled && IsServersClock()) Add(ProblemCode::kServerClock);
    for (const RefusedCall& call : status_.refused) {
      if (call.why == RefusedFor::kOtherClock) {
        if (Has(ProblemCode::kServerClock) || !call.settled) continue;
        const auto seconds = static_cast<uint64_t>(call.ahead < 0 ? -call.ahead : call.ahead);
        Name(ProblemCode::kMemberClock, call.member,
             fmt::format("{} {}", DurationText(seconds), call.ahead < 0 ? "behind" : "ahead"));
      } else if (call.settled) {
        Name(ProblemCode::kMemberCertificate, call.member,
             call.why == RefusedFor::kCertificateEnded ? "ended" : "not valid yet");
      }
    }
  }

  // Members that said that they give nothing: their data, or a vote.
  void FindSilent() {
    for (const tacet::server::Abstainer& one : status_.abstainers) {
      const bool is_policy = one.reason == protocol::AbstentionReason::kPolicy;
      Name(is_policy ? ProblemCode::kPolicy : ProblemCode::kBudget, one.member, "");
    }
    for (const protocol::Objection& one : status_.objections) {
      if (one.reason == protocol::ObjectionReason::kMayHaveVoted) {
        Name(ProblemCode::kMayHaveVoted, one.member, "");
      }
    }
  }

  void FindAwaited() {
    for (const Absence& absence : status_.awaited) {
      if (IsHere(absence)) {
        NameIfLate(absence);
      } else if (HadTimeToCome(absence)) {
        const ProblemCode code = AwayAs(absence);
        if (code == ProblemCode::kUploadMissing && KeepsMembersWaiting()) continue;
        Name(code, absence.member, AbsenceNote(absence));
      }
    }
  }
  bool IsHere(const Absence& absence) const {
    return absence.last_seen.has_value() && *absence.last_seen + kHereSeconds >= inputs_.now;
  }
  // After a start nobody has been here.
  bool HadTimeToCome(const Absence& absence) const {
    return absence.last_seen.has_value() || status_.watched_since + kHereSeconds <= inputs_.now;
  }
  void NameIfLate(const Absence& absence) {
    if (KeepsMembersWaiting()) return;
    if (absence.silent) {
      Name(ProblemCode::kSeatSilent, absence.member, std::string(absence.owes));
    } else if (status_.extended && IsAt(AttemptPhase::kCollecting)) {
      Name(ProblemCode::kUploadMissing, absence.member, "connected");
    }
  }
  ProblemCode AwayAs(const Absence& absence) const {
    if (status_.waiting) return ProblemCode::kMemberAway;
    if (IsAt(AttemptPhase::kUnmasking)) return ProblemCode::kSeatAway;
    // One that heard of the attempt may be training.
    const bool has_heard = absence.last_seen.has_value() && status_.last.has_value() &&
                           *absence.last_seen >= status_.last->begun;
    return has_heard ? ProblemCode::kUploadMissing : ProblemCode::kMemberAway;
  }
  bool IsDone() const { return status_.finished >= inputs_.manifest.manifest().spec().rounds; }
  bool IsAt(AttemptPhase phase) const {
    return status_.last.has_value() && status_.last->phase == phase;
  }
  std::string AbsenceNote(const Absence& absence) const {
    const std::string owes =
        absence.owes.empty() ? std::string() : std::string(absence.owes) + ", ";
    if (!absence.last_seen.has_value()) return owes + "since the server started";
    const uint64_t last = std::min(inputs_.now, *absence.last_seen);
    return owes + "for " + DurationText(inputs_.now - last);
  }

  const ProblemInputs& inputs_;
  const ServerStatus& status_;
  std::vector<Problem> found_;
  std::set<uint64_t> claimed_;
  std::set<ProblemCode> doubted_;
};

}  // namespace

std::string DurationText(uint64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / base::kSecondsADay);
}

std::vector<Problem> FindProblems(const ProblemInputs& inputs) { return Finder(inputs).Find(); }

bool AnyStops(std::span<const Problem> problems) {
  return std::ranges::any_of(problems, &Problem::stops);
}

std::string ProblemText(const Problem& problem, const agreement::SignedManifest& manifest) {
  const ProblemKind& kind = KindOf(problem.code);
  std::string text = fmt::format("{}: {}", kind.name, kind.says);
  if (!problem.detail.empty()) text += " " + problem.detail;
  for (size_t i = 0; i < std::min(problem.members.size(), kMostNamed); ++i) {
    const ConcernedMember& one = problem.members[i];
    text += (i == 0 ? ": " : ", ") + manifest.members()[one.member].name;
    if (!one.note.empty()) text += " (" + one.note + ")";
  }
  if (problem.members.size() > kMostNamed) {
    text += fmt::format(" and {} more", problem.members.size() - kMostNamed);
  }
  return fmt::format("{}. {}", text, kind.remedy);
}

base::JsonValue ProblemJson(const Problem& problem, const agreement::SignedManifest& manifest) {
  base::JsonValue members = base::JsonValue::MakeArray();
  for (size_t i = 0; i < std::min(problem.members.size(), kMostNamed); ++i) {
    members.Append(manifest.members()[problem.members[i].member].name);
  }
  return base::JsonValue::MakeObject()
      .Set("code", KindOf(problem.code).name)
      .Set("stops", problem.stops())
      .Set("members", std::move(members))
      .Set("text", ProblemText(problem, manifest));
}

}  // namespace tacet::host
