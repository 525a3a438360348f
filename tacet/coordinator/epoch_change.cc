#include "tacet/coordinator/epoch_change.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/base/status.h"
#include "tacet/coordinator/mailbox_steps.h"
#include "tacet/coordinator/site_kit.h"

namespace tacet::coordinator {
namespace {

using agreement::SignedManifest;
using protocol::MailClient;
using storage::file::CoordinatorFolder;
using storage::file::EnrolledSite;

class Change {
 public:
  Change(const CoordinatorParts& parts, const ChangeHooks& hooks) : parts_(parts), hooks_(hooks) {}

  // The keys of the sites outside of `removed` for the next epoch, as many as come.
  absl::Status AwaitKeys(const std::set<std::string>& removed) const;
  // Invitations are written, and are where their readers find them.
  absl::StatusOr<ChangeEnd> HandOut(SignedManifest manifest, const crypto::SecretBytes& epoch_key,
                                    const std::string& server) const;
  // Until every site has answered, or the time is over.
  absl::Status AwaitAnswers(ChangeEnd& end) const;

 private:
  absl::Status AtMailbox(const std::function<absl::Status(const MailClient&)>& step) const {
    return coordinator::AtMailbox(step, parts_, hooks_);
  }
  absl::StatusOr<std::vector<SiteAnswer>> Answers(const ChangeEnd& end,
                                                  const MailClient& mail) const;
  void Say(const std::string& line) const { hooks_.say(line); }

  const CoordinatorParts& parts_;
  const ChangeHooks& hooks_;
};

absl::Status Change::AwaitKeys(const std::set<std::string>& removed) const {
  Polling polling(hooks_);
  std::vector<std::string> told;
  while (true) {
    TakenPrekeys prekeys;
    TACET_RETURN_IF_ERROR(AtMailbox([&](const MailClient& mail) -> absl::Status {
      TACET_ASSIGN_OR_RETURN(prekeys,
                             TakePrekeys(removed, parts_.keys.authority, mail, parts_.folder));
      return absl::OkStatus();
    }));
    for (const std::string& refusal : prekeys.refused) {
      if (std::ranges::find(told, refusal) != told.end()) continue;
      Say("warning     " + refusal);
      told.push_back(refusal);
    }
    if (prekeys.run_out.empty()) return absl::OkStatus();
    const std::string missing =
        fmt::format("waiting     for the next epoch's keys of {}", NamesText(prekeys.run_out));
    if (std::ranges::find(told, missing) == told.end()) {
      Say(missing);
      told.push_back(missing);
    }
    // The owner of a key is decided with the epoch: it does not begin with one of a seat.
    if (polling.Wait()) continue;
    if (!polling.is_ended()) return absl::OkStatus();
    return absl::CancelledError(
        "it was ended while it waited for the sites' keys: no epoch was begun");
  }
}

absl::StatusOr<std::vector<SiteAnswer>> Change::Answers(const ChangeEnd& end,
                                                        const MailClient& mail) const {
  const SignedManifest& manifest = end.manifest;
  TACET_ASSIGN_OR_RETURN(const std::optional<SignedManifest> before,
                         ManifestBefore(manifest, parts_.folder));
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, parts_.folder.Enrolled());
  std::vector<SiteAnswer> answers;
  for (const EnrolledSite& site : sites) {
    const crypto::PublicKey& key = site.request.signing_key;
    if (!manifest.MemberWith(key).has_value()) continue;
    if (before.has_value() && !before->MemberWith(key).has_value()) continue;
    TACET_ASSIGN_OR_RETURN(const std::optional<protocol::LetterReply> reply,
                           ReplyOf(site, manifest, end.letters, mail, parts_.folder));
    SiteAnswer answer{.name = site.request.name};
    if (reply.has_value()) {
      answer.joined = reply->joined;
      answer.fields = reply->fields;
      if (!answer.joined && answer.fields.empty()) answer.fields = {"policy"};
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

absl::Status Change::AwaitAnswers(ChangeEnd& end) const {
  Polling polling(hooks_);
  std::set<std::string> told;
  while (true) {
    std::vector<SiteAnswer> answers;
    TACET_RETURN_IF_ERROR(AtMailbox([&](const MailClient& mail) -> absl::Status {
      TACET_ASSIGN_OR_RETURN(answers, Answers(end, mail));
      return absl::OkStatus();
    }));
    end.sites = std::move(answers);
    bool is_complete = true;
    for (const SiteAnswer& site : end.sites) {
      const bool has_answered = site.joined || !site.fields.empty();
      is_complete &= has_answered;
      if (!has_answered) continue;
      const std::string line =
          site.joined ? fmt::format("joined      {}", site.name)
                      : fmt::format(
                            "asks        {}: its policy stops it: {}. A person there can "
                            "accept: tacet client join --server HOST:PORT",
                            site.name, fmt::join(site.fields, ", "));
      if (told.insert(line).second) Say(line);
    }
    if (is_complete || !polling.Wait()) return absl::OkStatus();
  }
}

absl::StatusOr<ChangeEnd> Change::HandOut(SignedManifest manifest,
                                          const crypto::SecretBytes& epoch_key,
                                          const std::string& server) const {
  CoordinatorFolder& folder = parts_.folder;
  TACET_ASSIGN_OR_RETURN(const std::vector<HandedOut> written,
                         WriteInvitations(folder, manifest, parts_.keys.signing, epoch_key));
  const bool is_kit_server = CheckKitServer(manifest, server).ok();
  TACET_RETURN_IF_ERROR(
      WriteSiteKits(manifest, is_kit_server ? server : std::string(), folder.path() / "invitations")
          .status());
  ChangeEnd end{.manifest = std::move(manifest), .sites = {}, .by_file = {}};
  TACET_ASSIGN_OR_RETURN(const std::optional<HandedOut> server_file,
                         MoveServer(end.manifest, UntilItHasItsFile::kWait, parts_, hooks_));
  LeftInvitations left;
  TACET_RETURN_IF_ERROR(AtMailbox([&](const MailClient& mail) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const std::vector<SiteAnswer> answers, Answers(end, mail));
    std::set<std::string> joined;
    for (const SiteAnswer& answer : answers) {
      if (answer.joined) joined.insert(answer.name);
    }
    TACET_ASSIGN_OR_RETURN(
        left, LeaveInvitations(end.manifest, epoch_key, parts_.keys.signing, mail, folder, joined));
    return absl::OkStatus();
  }));
  end.letters = std::move(left.left);
  for (const HandedOut& one : written) {
    const bool is_site = std::ranges::find(left.by_file, one.name) != left.by_file.end();
    if (is_site || (server_file.has_value() && server_file->name == one.name)) {
      end.by_file.push_back(one);
    }
  }
  TACET_RETURN_IF_ERROR(folder.ForgetEpochsBefore(end.manifest.epoch()));
  for (const HandedOut& one : end.by_file) {
    Say(FileLine(one));
  }
  return end;
}

absl::StatusOr<SignedManifest> LastManifest(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, folder.SignedManifest(epoch));
  return SignedManifest::Read(bytes);
}

// The last epoch, whose letters an earlier call has left.
absl::StatusOr<NextEpoch> PresentEpoch(const CoordinatorParts& parts) {
  TACET_ASSIGN_OR_RETURN(SignedManifest manifest, LastManifest(parts.folder));
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key,
                         parts.folder.EpochKey(manifest.epoch(), parts.unlocker));
  return NextEpoch{.manifest = std::move(manifest), .key = std::move(key), .kept = {}};
}

// The work that an earlier call with the same text began and did not end.
absl::StatusOr<std::optional<NextEpoch>> Resumed(const EpochChangeSpec& spec,
                                                 const CoordinatorParts& parts) {
  TACET_ASSIGN_OR_RETURN(std::optional<NextEpoch> begun,
                         BegunEpoch(spec.asked, parts.unlocker, parts.folder));
  if (begun.has_value()) return begun;
  TACET_ASSIGN_OR_RETURN(const std::optional<storage::file::HandedOutCommand> last,
                         storage::file::CommandHandedOut(parts.folder));
  if (!last.has_value() || last->asked != spec.asked) return std::nullopt;
  if (last->is_answered && spec.again) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(begun, PresentEpoch(parts));
  return begun;
}

// Seats for an epoch that names none, best first: seats and then other members of the present epoch
// that have renewed their keys, those that have not, newcomers. A site that is absent so loses its
// seat where another one can have it, and no newcomer takes the seat of a member that its peers
// know. Empty where every member has a seat.
absl::StatusOr<std::vector<std::string>> SeatsOfNext(const EpochChangeSpec& spec,
                                                     const storage::file::TrainingTerms& terms,
                                                     const CoordinatorFolder& folder) {
  constexpr uint32_t kMostWithAllSeats = 7;
  TACET_ASSIGN_OR_RETURN(const SignedManifest present, LastManifest(folder));
  TACET_ASSIGN_OR_RETURN(const agreement::InitialModel model,
                         agreement::ReadInitialModel(terms.initial_model));
  TACET_ASSIGN_OR_RETURN(const agreement::ManifestSpec agreed, AgreementOf(terms.agreement, model));
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, folder.Enrolled());
  const std::vector<uint64_t>& seats = present.manifest().spec().committee_members;
  std::vector<std::pair<int, std::string>> ranked;
  for (const EnrolledSite& site : sites) {
    if (site.request.server || spec.next.removed.contains(site.request.name)) continue;
    const std::optional<uint64_t> member = present.MemberWith(site.request.signing_key);
    int rank = 3;
    if (member.has_value()) {
      const bool is_renewed =
          site.request.exchange_keys.exchange != present.members()[*member].exchange_key;
      const bool has_seat = std::ranges::find(seats, *member) != seats.end();
      rank = is_renewed ? (has_seat ? 0 : 1) : 2;
    }
    ranked.emplace_back(rank, site.request.name);
  }
  size_t number = agreed.committee.seats;
  if (number == 0 && ranked.size() > kMostWithAllSeats) number = seats.size();
  if (number == 0 || number >= ranked.size()) return std::vector<std::string>();
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (size_t seat = 0; seat < number; ++seat) names.push_back(ranked[seat].second);
  return names;
}

absl::StatusOr<NextEpoch> Begin(const EpochChangeSpec& spec, const CoordinatorParts& parts,
                                const ChangeHooks& hooks, const Change& change) {
  if (spec.enrol) TACET_RETURN_IF_ERROR(spec.enrol());
  std::optional<storage::file::TrainingTerms> terms;
  if (spec.terms) {
    TACET_ASSIGN_OR_RETURN(terms, spec.terms());
  }
  if (terms.has_value() && !spec.gives_up) {
    TACET_ASSIGN_OR_RETURN(const SignedManifest present, LastManifest(parts.folder));
    TACET_RETURN_IF_ERROR(AwaitEnd(present, parts, hooks));
  }
  TACET_RETURN_IF_ERROR(change.AwaitKeys(spec.next.removed));
  NextEpochSpec next = spec.next;
  next.terms = terms.has_value() ? &*terms : nullptr;
  if (next.committee.empty()) {
    TACET_ASSIGN_OR_RETURN(
        next.committee,
        SeatsOfNext(spec, terms.has_value() ? *terms : parts.folder.parts().terms, parts.folder));
  }
  return BeginNextEpoch(next, spec.asked, parts.keys.signing, parts.unlocker, parts.folder);
}

}  // namespace

bool ChangeEnd::all_joined() const {
  return std::ranges::all_of(sites, [](const SiteAnswer& site) { return site.joined; });
}

bool ChangeEnd::needs_person() const {
  return std::ranges::any_of(sites, [](const SiteAnswer& site) { return !site.fields.empty(); });
}

absl::StatusOr<ChangeEnd> ChangeEpoch(const EpochChangeSpec& spec, const CoordinatorParts& parts,
                                      const ChangeHooks& hooks) {
  const Change change(parts, hooks);
  TACET_ASSIGN_OR_RETURN(std::optional<NextEpoch> next, Resumed(spec, parts));
  const bool is_resumed = next.has_value();
  if (!is_resumed) {
    TACET_ASSIGN_OR_RETURN(next, Begin(spec, parts, hooks, change));
  }
  hooks.say(fmt::format("epoch       {} of {} with {} members{}", next->manifest.epoch(),
                        next->manifest.federation(), next->manifest.members().size(),
                        is_resumed ? ", which this command began before" : ""));
  TACET_ASSIGN_OR_RETURN(ChangeEnd end,
                         change.HandOut(std::move(next->manifest), next->key, spec.kit_server));
  TACET_RETURN_IF_ERROR(storage::file::KeepHandedOut(parts.folder, {.asked = spec.asked}));
  end.is_resumed = is_resumed;
  TACET_RETURN_IF_ERROR(change.AwaitAnswers(end));
  if (!end.all_joined()) return end;
  TACET_RETURN_IF_ERROR(
      storage::file::KeepHandedOut(parts.folder, {.asked = spec.asked, .is_answered = true}));
  return end;
}

absl::StatusOr<ChangeEnd> RenewCertificates(uint64_t days, const CoordinatorParts& parts,
                                            const ChangeHooks& hooks) {
  CoordinatorFolder& folder = parts.folder;
  // An epoch that another call has begun comes first.
  TACET_RETURN_IF_ERROR(BegunEpoch("tacet federation renew", parts.unlocker, folder).status());
  TACET_ASSIGN_OR_RETURN(NextEpoch present, PresentEpoch(parts));
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, folder.Enrolled());
  for (const EnrolledSite& site : sites) {
    TACET_RETURN_IF_ERROR(EnrolParty(site.request_bytes, days, parts.keys.authority, folder));
  }
  const Change change(parts, hooks);
  TACET_ASSIGN_OR_RETURN(ChangeEnd end,
                         change.HandOut(std::move(present.manifest), present.key, {}));
  TACET_RETURN_IF_ERROR(change.AwaitAnswers(end));
  return end;
}

}  // namespace tacet::coordinator
