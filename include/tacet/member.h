// Member of a live federation: one site, its keys, its ledger and its run.
#ifndef TACET_MEMBER_H_
#define TACET_MEMBER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/privacy_model.h"

namespace tacet {

namespace api {
class MemberParts;
}  // namespace api

// Attempts that a site's ledger charges.
enum class ChargingRule {
  kAnnouncedAttempts,  // every attempt that the server announces, at the rate of the cohorts' draw
  kOwnSeals,           // attempts that this site sealed an update for, without amplification
};

// Events that a new ledger can add up.
enum class Composition {
  kAnyEvents,  // federations of any kind, one after the other
  kOneEvent,   // one federation alone, at a tighter bound
};

// "announced-attempts", "own-seals"; "any-events", "one-event".
std::string_view Name(ChargingRule rule);
std::string_view Name(Composition composition);

// Ledger of a site's population: the people whose data all its federations spend.
struct SiteLedgerOptions {
  // Folder of the ledger. Every member of the site that uses data of the same people names the same
  // one.
  //
  // Default: none, the user's own: $XDG_DATA_HOME/tacet/ledger or ~/.local/share/tacet/ledger
  std::optional<std::filesystem::path> folder = std::nullopt;

  // File in another place, such as a share, that remembers the ledger's end: an older copy of the
  // ledger is then refused. A committee seat's last words are kept next to it.
  //
  // Default: none
  std::optional<std::filesystem::path> anchor = std::nullopt;

  // Default: none, kOwnSeals where the server draws the cohorts, else kAnnouncedAttempts
  std::optional<ChargingRule> rule = std::nullopt;

  // For a new ledger.
  //
  // Default: none, kAnyEvents
  std::optional<Composition> composition = std::nullopt;

  // For a new ledger: epsilon above 0 that all federations together may cost. Further charges are
  // refused.
  //
  // Default: none
  std::optional<double> budget_epsilon = std::nullopt;
};

struct MemberOptions {
  // Folder of the site, which has joined a federation (`tacet client request`, `tacet client
  // join`).
  std::filesystem::path home = {};

  // HOST:PORT of the federation's server.
  std::string server = {};

  // File of random bytes that unlocks the keys, or file whose first line is their passphrase. Both
  // are readable by their owner alone. Without either the terminal asks for the passphrase.
  std::optional<std::filesystem::path> key_file = std::nullopt;
  std::optional<std::filesystem::path> passphrase_file = std::nullopt;

  // File or folder with this site's data, in any form. A digest that stays at the site notices that
  // they changed.
  std::filesystem::path data = {};

  // Number of records (persons) in the data. With unit kRecord (kPerson) they are the units, and
  // the number is needed. A site's policy may ask for a least number of records.
  std::optional<uint64_t> records = std::nullopt;
  std::optional<uint64_t> persons = std::nullopt;

  // The site's policy, signed by its officer in FILE.sig.
  //
  // Default: none, policy.toml in the home, if there is one
  std::optional<std::filesystem::path> policy = std::nullopt;

  // HTTP proxy, http://[USER:PASSWORD@]HOST:PORT.
  //
  // Default: none, as the environment says
  std::optional<std::string> proxy = std::nullopt;

  SiteLedgerOptions ledger = {};
};

// One attempt in which this site's data take part. Its parts live as long as the call of `train`.
struct MemberTask {
  uint32_t round = 0;                 // from 0
  uint32_t attempt = 0;               // of the round, from 0
  std::span<const float> model = {};  // parameters at the start of the round, shape (d,)
  // With unit kPerson or kRecord: places of the drawn units, below their number at this site. The
  // draw is secret: keep it at the site. Absent with unit kClient.
  std::optional<std::span<const uint32_t>> units = std::nullopt;
  // With unit kPerson or kRecord: norm to which each unit's part is to be clipped, the agreed one
  // less 2^-8 of it for rounding. Absent with unit kClient.
  std::optional<double> clip_norm = std::nullopt;
};

// All are called by the thread of Member::Run, `stop` also by another one.
struct MemberFunctions {
  // Writes the update, d finite values: new minus old parameters, or the sum of the drawn units'
  // updates, each clipped to `task.clip_norm`. It is clipped and noised afterwards.
  //
  // Cancelled ends the member; the task is trained again by the next run. After any other error
  // zeros are sealed in the update's place, and the member continues: neither what is sent nor
  // whether the site is there may depend on its data. The attempt is charged.
  std::function<absl::Status(const MemberTask& task, std::span<float> update)> train = nullptr;

  // Whether to end. Asked several times a second.
  //
  // Default: none, never
  std::function<bool()> stop = nullptr;

  // A warning for the site's people, which stays at the site: data that look like the wrong ones.
  std::function<void(std::string_view text)> on_warning = nullptr;
  // A failure after which the call is tried again, such as a server that is offline.
  std::function<void(const absl::Status& trouble)> on_trouble = nullptr;
  // An error of `train` in whose place zeros are sealed. Nobody outside the site is told.
  std::function<void(const absl::Status& failure)> on_failure = nullptr;
  // An act of the server or of another member that an honest one does not do.
  std::function<void(std::string_view text)> on_violation = nullptr;
  // Figures of a round that was applied: one JSON object and a new line (docs/formats/metrics.md).
  std::function<void(std::string_view figures)> on_round = nullptr;
};

struct MemberEnd {
  uint32_t rounds = 0;    // applied, in all runs of this home together
  bool done = false;      // the server begins no further attempt
  bool complete = false;  // all agreed rounds were applied
  // Why no attempt follows before the last agreed round, such as budgets that have ended. Empty
  // when the training is complete, or continues.
  std::string stopped = {};
  uint64_t charged_attempts = 0;
  // For the training's guarantee; a forecast of the charged attempts; of all charges in the ledger.
  // Absent where there is no bound.
  std::optional<double> epsilon = std::nullopt;
  std::optional<double> charged_epsilon = std::nullopt;
  std::optional<double> ledger_epsilon = std::nullopt;
  std::vector<std::string> violations = {};  // names, of this run
  // First error of `train` in this run in whose place zeros were sealed; OK without one.
  absl::Status failure = absl::OkStatus();
  std::filesystem::path run = {};  // directory that Run::Open reads
};

// One home of a site with its keys unlocked. Keys are wiped with the last copy of the object.
// Thread-safe; one home has one run at a time.
class Member {
 public:
  // NotFound and FailedPrecondition when the home has no identity, has not joined a federation, or
  // is the server's. PermissionDenied and InvalidArgument for a wrong passphrase or key file.
  static absl::StatusOr<Member> Open(const MemberOptions& options);

  std::string_view name() const;        // of the site in the federation
  uint64_t number() const;              // of the site among the members, from 0
  std::string_view federation() const;  // its name
  uint32_t epoch() const;
  Unit unit() const;
  uint32_t rounds() const;       // T, as agreed
  uint64_t dimension() const;    // d
  double learning_rate() const;  // of the server in the first round, as agreed
  // Directory of the present training's run, which need not exist yet.
  std::filesystem::path run_folder() const;

  // Parameters before the first round, shape (d,). NotFound and DataLoss where the home lacks them.
  absl::StatusOr<std::vector<float>> InitialModel() const;

  // Takes part until the federation is done, `functions.stop` says so, or the site itself fails:
  // trains, seals, uploads, votes, decrypts and verifies. Failures that pass are retried. A later
  // run continues where this one ended, also in another process. Errors: FailedPrecondition when
  // another run uses the home, or its files do not fit; PermissionDenied names the limit of the
  // site's policy that the agreement does not keep; InvalidArgument for an agreement about a query,
  // which `tacet client run` answers; ResourceExhausted when the ledger permits no first attempt;
  // DataLoss names a damaged file.
  absl::StatusOr<MemberEnd> Run(const MemberFunctions& functions) const;

 private:
  explicit Member(std::shared_ptr<api::MemberParts> parts);

  std::shared_ptr<api::MemberParts> parts_;
};

}  // namespace tacet

#endif  // TACET_MEMBER_H_
