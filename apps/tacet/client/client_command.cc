#include "apps/tacet/client/client_command.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include <unistd.h>

#include "apps/tacet/client/waiting_invitation.h"
#include "apps/tacet/program/shell_text.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/key_renewal.h"
#include "tacet/agreement/manifest_changes.h"
#include "tacet/agreement/manifest_text.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/config/policy_file.h"
#include "tacet/config/site_config.h"
#include "tacet/coordinator/kept_exchange_keys.h"
#include "tacet/report/privacy_json.h"
#include "tacet/site/invitation_acceptance.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::app::client {
namespace {

using storage::file::Membership;
using storage::file::SiteFolder;

constexpr std::string_view kHomeHelp = "folder of the site: its keys and its invitation";
constexpr std::string_view kDefaultHome = "tacet-site";

class ClientRequestCommand : public program::Command {
 public:
  std::string_view name() const override { return "request"; }
  std::string_view summary() const override {
    return "create this site's keys and its enrolment request";
  }
  void Register(program::Options& options) override {
    options.AddString("home", kHomeHelp, &home_);
    options.AddString("name", "name of the site: lower-case letters, digits, hyphens", &name_);
    options.AddStrings("server-host",
                       "makes this the server's request: DNS name or address at which members "
                       "reach the server; may be repeated",
                       &hosts_);
    options.AddFlag("json", "print JSON", &json_);
    unlock_.Register(options);
    options.Require("name");
  }
  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.New("site's identity"));
    crypto::SystemEntropy entropy;
    TACET_ASSIGN_OR_RETURN(const SiteFolder folder,
                           SiteFolder::Create(home_, name_, hosts_, unlocker, entropy));
    const std::string fingerprint =
        agreement::FingerprintText(agreement::RequestFingerprint(folder.request()));
    if (json_) {
      fmt::print("{}\n", base::JsonValue::MakeObject()
                             .Set("name", name_)
                             .Set("request", folder.request_path().string())
                             .Set("fingerprint", fingerprint)
                             .Dump(2));
      return absl::OkStatus();
    }
    fmt::print(
        "request     {}\nfingerprint {}\n\nSend the request to the coordinating member, and tell "
        "it the fingerprint through another channel.\n",
        folder.request_path().string(), fingerprint);
    return absl::OkStatus();
  }

 private:
  std::string home_ = std::string(kDefaultHome);
  std::string name_;
  std::vector<std::string> hosts_;
  bool json_ = false;
  program::UnlockFlags unlock_;
};

class ClientRenewCommand : public program::Command {
 public:
  std::string_view name() const override { return "renew"; }
  std::string_view summary() const override {
    return "create this site's exchange key for the next epoch and a request to be enrolled with "
           "it";
  }
  void Register(program::Options& options) override {
    options.AddString("home", kHomeHelp, &home_);
    options.AddFlag("discard",
                    "delete keys for the next epoch that were made before, because somebody may "
                    "have copied them, and make others",
                    &discard_);
    mail_.Register(options,
                   "HOST:PORT of the federation's server: the request is left there for the "
                   "coordinator");
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(home_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("site's identity"));
    crypto::SystemEntropy entropy;
    TACET_ASSIGN_OR_RETURN(const storage::file::NextRequest next,
                           folder.Renew(unlocker, entropy,
                                        discard_ ? storage::file::UnusedKeys::kReplaced
                                                 : storage::file::UnusedKeys::kKept));
    fmt::print(
        "request     {}\nfingerprint {}\n\n{}Send the request to the coordinating member. It needs "
        "no fingerprint: the key that the coordinator knows signed it.\n",
        folder.request_path().string(),
        agreement::FingerprintText(agreement::RequestFingerprint(folder.request())),
        next.is_new
            ? ""
            : "It is the same request again: this site has not joined an epoch with its exchange "
              "key. If somebody may have copied that key, add --discard.\n");
    std::fflush(stdout);
    TACET_RETURN_IF_ERROR(base::Annotate(mail_.Leave(folder, home_, next, unlocker),
                                         "the request is written, and not left at the server"));
    if (mail_.given()) fmt::print("It is left at the server, too.\n");
    return absl::OkStatus();
  }

 private:
  std::string home_ = std::string(kDefaultHome);
  bool discard_ = false;
  WaitingInvitation mail_;
  program::UnlockFlags unlock_;
};

// Words of the annex, which may hold any character.
std::string Printable(const std::vector<std::string>& words) {
  const std::string text = fmt::format("{}", fmt::join(words, ", "));
  return base::PlainText(text, text.size());
}

// The columns that a site gives, and to which questions.
absl::StatusOr<std::string> ReadingLines(const Membership& membership) {
  if (!membership.member.has_value()) return std::string();
  TACET_ASSIGN_OR_RETURN(const config::RunConfig agreed,
                         config::ParseRunConfig(membership.manifest.annex(), "the agreement"));
  TACET_ASSIGN_OR_RETURN(
      const policy::DataUse use,
      config::DataUseOf(agreed, membership.manifest.members()[*membership.member].name,
                        std::nullopt));
  std::string text =
      use.columns.has_value()
          ? fmt::format("reads       columns {}\n", Printable(*use.columns))
          : "reads       the columns of this site's file: the agreement names none\n";
  for (const policy::QuestionUse& question : use.questions) {
    text += fmt::format("question    {} ({}), of columns {}\n", Printable({question.name}),
                        question.kind, Printable(question.columns));
  }
  return text;
}

absl::Status PrintMembership(const Membership& membership) {
  TACET_ASSIGN_OR_RETURN(const std::string text,
                         agreement::SignedManifestText(membership.manifest));
  TACET_ASSIGN_OR_RETURN(const std::string model,
                         config::ExternalModelLines(membership.manifest.annex()));
  TACET_ASSIGN_OR_RETURN(const std::string reading, ReadingLines(membership));
  fmt::print("{}{}{}", model, text, reading);
  return absl::OkStatus();
}

// States which exchange keys of the epoch before the new epoch keeps.
void TellExchangeKeys(const agreement::SignedManifest& before, const Membership& membership) {
  const agreement::SignedManifest& now = membership.manifest;
  const agreement::EpochLink link = before.link();
  const coordinator::KeptExchangeKeys kept = coordinator::FindKeptExchangeKeys({&link, 1}, now);
  if (!kept.committee.empty()) {
    fmt::print("warning     the committee keeps exchange keys of epoch {}: {}. {}\n",
               before.epoch(), coordinator::NamesText(kept.committee),
               coordinator::LossByKeptKeys(now));
  }
  if (!membership.member.has_value()) return;
  if (agreement::NamesExchangeKey(before.members(),
                                  now.members()[*membership.member].exchange_key)) {
    fmt::print(
        "note        this site keeps its exchange key of epoch {}. `tacet client renew` makes the "
        "key of the next epoch.\n",
        before.epoch());
  } else {
    fmt::print(
        "keys        this site's exchange key is new, and the one of epoch {} is deleted. This "
        "site can no longer unmask rounds of that epoch.\n",
        before.epoch());
  }
}

class ClientJoinCommand : public program::Command {
 public:
  std::string_view name() const override { return "join"; }
  std::string_view summary() const override {
    return "check and accept the invitation of the coordinating member";
  }
  void Register(program::Options& options) override {
    options.AddPositional("invitation",
                          "invitation file that the coordinating member sent; when not given, the "
                          "one that waits at --server",
                          {}, false, &invitation_);
    waiting_.Register(options,
                      "HOST:PORT of the federation's server. Without an invitation file the one "
                      "that waits there is accepted. Keys for the next epoch are made and left "
                      "there");
    options.AddString("home", kHomeHelp, &home_);
    options.AddString(
        "coordinator",
        "fingerprint of the coordinator; it is stored, so later epochs do not need it",
        &coordinator_);
    options.AddFlag("check", "check the invitation and show what it changes; change nothing",
                    &check_);
    options.AddString("policy",
                      "the site's policy, which may accept without a person; when not given, "
                      "policy.toml in the site's folder",
                      &policy_);
    options.AddFlag("accept",
                    "accept members, server and terms without asking, unless a term is weaker than "
                    "in the manifest accepted last",
                    &accept_);
    options.AddFlag("accept-weaker", "accept weaker terms, too, without asking", &accept_weaker_);
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(home_));
    TACET_ASSIGN_OR_RETURN(const crypto::PublicKey coordinator, ExpectedCoordinator(folder));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("site's identity"));
    TACET_ASSIGN_OR_RETURN(const base::Bytes invitation, InvitationBytes(folder, unlocker));
    const absl::StatusOr<Membership> before = folder.Joined();
    if (!storage::file::IsNotJoined(before.status())) TACET_RETURN_IF_ERROR(before.status());
    TACET_ASSIGN_OR_RETURN(const Membership next,
                           folder.CheckInvitation(invitation, coordinator, unlocker));
    policy::AcceptedEpoch accepted{.unix_seconds = base::SystemUnixSeconds()};
    bool is_shown = false;
    if (before.ok()) {
      TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
      TACET_ASSIGN_OR_RETURN(const bool is_accepted, Accept(*before, next, keys, accepted));
      if (!is_accepted) return absl::OkStatus();
    } else if (!check_ && next.member.has_value()) {
      TACET_ASSIGN_OR_RETURN(is_shown, AcceptFirst(next, accepted));
    }
    if (check_) {
      TACET_RETURN_IF_ERROR(PrintMembership(next));
      fmt::print("\nThe invitation is in order. Nothing was changed.\n");
      return absl::OkStatus();
    }
    const std::filesystem::path home(home_);
    TACET_ASSIGN_OR_RETURN(
        const Membership membership,
        site::JoinAccepted(
            folder, {.home = home,
                     .joined = before.ok() ? before->manifest.manifest().hash() : crypto::Digest{},
                     .invitation = invitation,
                     .next = next,
                     .coordinator = coordinator,
                     .unlocker = unlocker,
                     .policy = policy_,
                     .accepted = std::move(accepted)}));
    if (!is_shown) TACET_RETURN_IF_ERROR(PrintMembership(membership));
    if (before.ok() && before->manifest.epoch() < membership.manifest.epoch()) {
      TellExchangeKeys(before->manifest, membership);
    }
    waiting_.Finish(folder, membership, unlocker);
    return absl::OkStatus();
  }
  int exit_code() const override { return needs_person_ ? program::kNeedsPerson : 0; }

 private:
  absl::StatusOr<base::Bytes> InvitationBytes(const SiteFolder& folder,
                                              const crypto::Unlocker& unlocker) const {
    if (!invitation_.empty()) return storage::file::ReadFile(invitation_);
    if (waiting_.given()) return waiting_.Fetch(folder, home_, unlocker);
    return base::InvalidArgument(
        "give the invitation file, or --server HOST:PORT for an invitation that waits there");
  }
  // Without a manifest that was accepted before, as after damage to the folder, a person's word
  // alone makes keys of members known. True: the membership was shown.
  absl::StatusOr<bool> AcceptFirst(const Membership& next, policy::AcceptedEpoch& accepted) const {
    if (accept_ || accept_weaker_) return false;
    if (::isatty(STDIN_FILENO) == 0) {
      accepted.by = policy::AcceptedBy::kCoordinator;
      fmt::print(
          "note        no person at this site has accepted these members, so a policy accepts "
          "nothing from them. `{}` does\n",
          AcceptingCommand("--accept"));
      return false;
    }
    TACET_RETURN_IF_ERROR(PrintMembership(next));
    TACET_RETURN_IF_ERROR(Ask("Accept these members and terms?", "yes", next));
    return true;
  }
  absl::Status Ask(std::string_view question, std::string_view word, const Membership& next) const {
    fmt::print("{} ({}/no) ", question, word);
    std::fflush(stdout);
    std::string answer;
    std::getline(std::cin, answer);
    if (answer == word) return absl::OkStatus();
    return base::PermissionDenied("epoch {} was not accepted. Nothing was changed",
                                  next.manifest.epoch());
  }
  std::string AcceptingCommand(std::string_view flag) const {
    std::vector<std::string> words = {"tacet", "client", "join"};
    if (invitation_.empty()) {
      words.insert(words.end(), {"--server", waiting_.server()});
    } else {
      words.push_back(invitation_);
    }
    words.insert(words.end(), {"--home", home_});
    if (policy_.has_value()) words.insert(words.end(), {"--policy", *policy_});
    const std::vector<std::string> unlock = unlock_.Words();
    words.insert(words.end(), unlock.begin(), unlock.end());
    words.emplace_back(flag);
    return program::ShellText(words);
  }

  // Shows what differs from the manifest that was accepted last, decides by the site's policy, and
  // asks where the policy does not accept. False: nobody could be asked.
  absl::StatusOr<bool> Accept(const Membership& before, const Membership& next,
                              const agreement::MemberKeys& keys, policy::AcceptedEpoch& accepted) {
    const bool is_same = before.manifest.manifest().hash() == next.manifest.manifest().hash();
    if (is_same && !accept_ && !accept_weaker_) {
      accepted.by = policy::AcceptedBy::kUnchanged;
      return true;
    }
    TACET_ASSIGN_OR_RETURN(const std::vector<agreement::ManifestChange> changes,
                           agreement::ManifestChanges(before.manifest, next.manifest));
    const bool weaker = agreement::IsAnyWeaker(changes);
    const std::string shown = changes.empty()
                                  ? "changed    keys of members; no member, server or term\n"
                                  : agreement::ManifestChangesText(changes);
    const auto show = [&] { fmt::print("{}\n", shown); };
    if (accept_weaker_ || (accept_ && !weaker)) {
      show();
      return true;
    }
    if (changes.empty() && !next.member.has_value()) {  // a server, which has no policy
      accepted.by = policy::AcceptedBy::kUnchanged;
      return true;
    }
    const std::filesystem::path home(home_);
    const site::InvitationDecision decision = site::DecideInvitation(
        {.home = home, .policy = policy_, .keys = keys, .joined = before, .next = next});
    accepted.kinds = decision.acceptance.kinds;
    const std::string objections = site::ObjectionsText(decision.acceptance);
    if (decision.acceptance.accepted()) {
      accepted.by = policy::AcceptedBy::kPolicy;
      accepted.serial = decision.serial;
      show();
      fmt::print("accepted    by the policy, number {}: {}\n\n", decision.serial,
                 policy::ChangeKindNames(accepted.kinds));
      return true;
    }
    if (!check_ && ::isatty(STDIN_FILENO) == 0) {
      needs_person_ = true;
      fmt::print(stderr,
                 "tacet: epoch {} {} the manifest of epoch {} that this site accepted, and the "
                 "policy does not accept it without a person:\n{}Nothing was changed, and there is "
                 "no terminal on which to ask. `{}` accepts it:\n{}",
                 next.manifest.epoch(), weaker ? "has weaker terms than" : "differs from",
                 before.manifest.epoch(), objections,
                 AcceptingCommand(weaker ? "--accept-weaker" : "--accept"), shown);
      return false;
    }
    show();
    fmt::print("A person has to accept this:\n{}\n", objections);
    if (check_) {
      needs_person_ = true;
      return true;
    }
    TACET_RETURN_IF_ERROR(
        Ask(weaker ? "Terms marked WEAKER protect your data less than before. Accept these changes?"
                   : "Accept these changes?",
            weaker ? "weaker" : "yes", next));
    return true;
  }

  absl::StatusOr<crypto::PublicKey> ExpectedCoordinator(const SiteFolder& folder) const {
    const absl::StatusOr<crypto::PublicKey> known = folder.Coordinator();
    if (!coordinator_.has_value()) {
      if (known.status().code() == absl::StatusCode::kNotFound) {
        return base::InvalidArgument(
            "--coordinator is needed the first time: who sent the invitation cannot be told from "
            "it");
      }
      return known;
    }
    TACET_ASSIGN_OR_RETURN(const crypto::PublicKey given,
                           agreement::ParseFingerprint(*coordinator_));
    if (known.ok() && *known != given) {
      return base::PermissionDenied("this site belongs to the coordinator {}",
                                    agreement::FingerprintText(*known));
    }
    return given;
  }

  std::string home_ = std::string(kDefaultHome);
  std::string invitation_;
  std::optional<std::string> coordinator_;
  std::optional<std::string> policy_;
  bool check_ = false, accept_ = false, accept_weaker_ = false;
  bool needs_person_ = false;
  WaitingInvitation waiting_;
  program::UnlockFlags unlock_;
};

class ClientShowCommand : public program::Command {
 public:
  std::string_view name() const override { return "show"; }
  std::string_view summary() const override {
    return "agreement that this site joined, its members, and the privacy guarantee in words";
  }
  void Register(program::Options& options) override {
    options.AddString("home", kHomeHelp, &home_);
    options.AddFlag("json", "print JSON", &json_);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const SiteFolder folder, SiteFolder::Open(home_));
    TACET_ASSIGN_OR_RETURN(const Membership membership, storage::file::MembershipOf(folder, home_));
    if (!json_) {
      TACET_RETURN_IF_ERROR(PrintMembership(membership));
      return PrintAcceptances(membership);
    }
    const agreement::Manifest& manifest = membership.manifest.manifest();
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                           agreement::GuaranteesOf(agreement::PermittedTerms(manifest)));
    TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                           agreement::PrivacyWarnings(manifest.spec()));
    base::JsonValue shown = agreement::SignedManifestJson(
        membership.manifest, tacet::report::PrivacyJson(guarantees, warnings));
    TACET_ASSIGN_OR_RETURN(const config::RunConfig agreed,
                           config::ParseRunConfig(membership.manifest.annex(), "the agreement"));
    if (config::IsExternal(agreed)) {
      TACET_ASSIGN_OR_RETURN(const std::string app, config::AppConfiguration(agreed));
      TACET_ASSIGN_OR_RETURN(base::JsonValue told, base::JsonValue::Parse(app));
      shown.Set("app", std::move(told));
    }
    fmt::print("{}\n", shown.Dump(2));
    return absl::OkStatus();
  }

 private:
  absl::Status PrintAcceptances(const Membership& membership) const {
    if (!membership.member.has_value()) return absl::OkStatus();
    const absl::StatusOr<policy::AcceptanceRecord> record =
        site::LoadAcceptances(home_, membership.manifest.members()[*membership.member].signing_key);
    if (record.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
    fmt::print("\n{}", record.ok() ? site::AcceptancesText(*record)
                                   : "warning     " + base::Message(record.status()) + "\n");
    return absl::OkStatus();
  }

  std::string home_ = std::string(kDefaultHome);
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewClientCommand() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(std::make_unique<ClientRequestCommand>());
  commands.push_back(std::make_unique<ClientJoinCommand>());
  commands.push_back(std::make_unique<ClientRenewCommand>());
  commands.push_back(std::make_unique<ClientShowCommand>());
  commands.push_back(NewClientPolicyCommand());
#ifdef TACET_WITH_NETWORK
  commands.push_back(NewClientCheckCommand());
  commands.push_back(NewClientRunCommand());
#endif
  return std::make_unique<program::CommandGroup>(
      "client", "take part in a federation; commands of a site", std::move(commands));
}

}  // namespace tacet::app::client
