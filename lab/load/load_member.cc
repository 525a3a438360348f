#include "lab/load/load_member.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/ledger_in_memory.h"
#include "tacet/member/member_loop.h"
#include "tacet/member/member_session.h"
#include "tacet/run/run_output.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/member_state_folder.h"
#include "tacet/storage/file/node_log_file.h"
#include "tacet/transport/https/https_wire.h"

namespace tacet::app::load {
namespace {

ledger::LedgerHeader HeaderOf(const agreement::ManifestSpec& agreed) {
  ledger::LedgerHeader header = ledger::LedgerHeaderOf(agreed);
  header.population = "load";
  header.created = base::SystemUnixSeconds();
  return header;
}

}  // namespace

absl::StatusOr<LoadMember::Storage> LoadMember::OpenStorage(LoadCommons& commons, uint64_t number) {
  const agreement::ManifestSpec& agreed = commons.federation.manifest->manifest().spec();
  Storage storage;
  ledger::OpenedLedger opened;
  if (commons.folder.empty()) {
    storage.state = std::make_unique<member::MemoryMemberState>(&commons.stored_checkpoints);
    opened = ledger::LedgerInMemory(HeaderOf(agreed));
  } else {
    const std::filesystem::path home =
        commons.folder / commons.federation.manifest->members()[number].name;
    std::error_code ignored;
    std::filesystem::create_directories(home, ignored);
    TACET_ASSIGN_OR_RETURN(storage.state, storage::file::MemberStateFolder::Open(home / "state"));
    TACET_ASSIGN_OR_RETURN(storage.log, storage::file::NodeLogFile::Open(home / "node-log.jsonl"));
    TACET_ASSIGN_OR_RETURN(
        opened, storage::file::LedgerFile::OpenOrCreate(home / run::kLedgerFile, HeaderOf(agreed)));
  }
  TACET_ASSIGN_OR_RETURN(storage.ledger, ledger::PrivacyLedger::Create(std::move(opened)));
  return storage;
}

absl::StatusOr<std::unique_ptr<LoadMember>> LoadMember::Create(LoadCommons& commons,
                                                               uint64_t number) {
  const LoadFederation& federation = commons.federation;
  TACET_ASSIGN_OR_RETURN(Storage storage, OpenStorage(commons, number));
  TACET_ASSIGN_OR_RETURN(
      std::unique_ptr<transport::https::HttpsWire> wire,
      transport::https::HttpsWire::Create({.server = commons.server,
                                           .proxy = "",
                                           .authority = federation.manifest->authority(),
                                           .certificate = federation.certificates[number]},
                                          federation.sites[number].tls));
  return std::unique_ptr<LoadMember>(
      new LoadMember(commons, number, std::move(storage), std::move(wire)));
}

LoadMember::LoadMember(LoadCommons& commons, uint64_t number, Storage storage,
                       std::unique_ptr<protocol::Wire> wire)
    : commons_(commons),
      number_(number),
      turn_(commons.turns),
      times_(commons.meter),
      storage_{.state = {std::move(storage.state), times_},
               .log = {std::move(storage.log), times_},
               .ledger = std::move(storage.ledger)},
      updates_(times_),
      wire_(std::move(wire), turn_, times_),
      retry_policy_({}, entropy_, [this](double seconds) { return commons_.meter.Wait(seconds); },
                    {}),
      server_(*commons.federation.manifest, number, key(), wire_, base::SystemUnixSeconds,
              std::ref(retry_policy_)) {}

bool LoadMember::Wait(double seconds) {
  turn_.Give();
  return commons_.meter.Wait(seconds);
}

absl::StatusOr<std::unique_ptr<member::MemberSession>> LoadMember::NewSession() {
  TACET_ASSIGN_OR_RETURN(
      policy::Permission permission,
      policy::Permission::WithoutPolicy(std::nullopt, *commons_.federation.manifest));
  return member::MemberSession::Create(
      {.manifest = *commons_.federation.manifest,
       .member = number_,
       .signing_key = key(),
       .exchange_keys = commons_.federation.exchange_keys[number_],
       .epoch_key = commons_.federation.epoch_key,
       .server = server_,
       .state = storage_.state,
       .updates = updates_,
       .log = storage_.log,
       .ledger = *storage_.ledger,
       .permission = std::move(permission),
       .entropy = entropy_,
       .rule = ledger::DefaultRule(commons_.federation.manifest->manifest().spec()),
       .checkpoints = &commons_.checkpoints},
      commons_.initial_model);
}

// An error gives the turn back, too: the others wait for it before they hear of the error.
absl::Status LoadMember::Join() {
  turn_.Take();
  absl::StatusOr<std::unique_ptr<member::MemberSession>> session = NewSession();
  turn_.Give();
  TACET_ASSIGN_OR_RETURN(session_, std::move(session));
  return absl::OkStatus();
}

absl::Status LoadMember::Run() {
  turn_.Take();
  const absl::Status ended =
      member::RunMember(*session_, {}, entropy_,
                        {.wait = [this](double seconds) { return Wait(seconds); },
                         .on_trouble = {},
                         .on_progress = {}});
  turn_.Give();
  return ended;
}

}  // namespace tacet::app::load
