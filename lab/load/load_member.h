// One member of a load test: a session as at a real site, with synthetic updates.
#ifndef TACET_LAB_LOAD_LOAD_MEMBER_H_
#define TACET_LAB_LOAD_LOAD_MEMBER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lab/load/load_federation.h"
#include "lab/load/load_instruments.h"
#include "lab/load/load_meter.h"
#include "tacet/crypto/random.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/member/backoff.h"
#include "tacet/member/member_session.h"
#include "tacet/member/member_state.h"
#include "tacet/member/memory_member_state.h"
#include "tacet/member/remote_server.h"
#include "tacet/member/shared_checkpoints.h"

namespace tacet::app::load {

// The objects that the members of one process have in common.
struct LoadCommons {
  const LoadFederation& federation;
  std::string server;  // HOST:PORT
  // Where each member has a folder for its state, ledger and log; empty: they are in memory.
  std::filesystem::path folder;
  LoadMeter& meter;
  Turns turns;
  agreement::InitialModel initial_model;
  // The members' copies of the same model are in memory once.
  member::SharedCheckpoints checkpoints;
  member::MemoryMemberState::Checkpoints stored_checkpoints;
};

// Keys, ledger, checks, signatures and transport are those of `tacet client run`. Each member has a
// connection of its own.
class LoadMember {
 public:
  // `commons` must outlive it.
  static absl::StatusOr<std::unique_ptr<LoadMember>> Create(LoadCommons& commons, uint64_t number);
  LoadMember(const LoadMember&) = delete;
  LoadMember& operator=(const LoadMember&) = delete;

  // Starts it: checks the model and opens what it stores. Nothing is asked of the server.
  absl::Status Join();
  // Once it has joined: until the federation is done (OK), a member has failed (Cancelled), or this
  // one does.
  absl::Status Run();
  // Ends the call that Run waits for; from any thread.
  void Stop() { wire_.Stop(); }

 private:
  // Its files, or what is in their place.
  struct Storage {
    std::unique_ptr<member::MemberState> state;
    std::unique_ptr<member::NodeLog> log;
    std::unique_ptr<ledger::PrivacyLedger> ledger;
  };
  struct MeasuredStorage {
    MeasuredState state;
    MeasuredLog log;
    std::unique_ptr<ledger::PrivacyLedger> ledger;
  };
  static absl::StatusOr<Storage> OpenStorage(LoadCommons& commons, uint64_t number);

  LoadMember(LoadCommons& commons, uint64_t number, Storage storage,
             std::unique_ptr<protocol::Wire> wire);

  absl::StatusOr<std::unique_ptr<member::MemberSession>> NewSession();
  bool Wait(double seconds);
  const crypto::SigningKey& key() const { return commons_.federation.sites[number_].signing; }

  LoadCommons& commons_;
  uint64_t number_;
  crypto::SystemEntropy entropy_;
  Turn turn_;
  MemberTimes times_;
  MeasuredStorage storage_;
  SyntheticUpdates updates_;
  TurnWire wire_;
  member::RetryPolicy retry_policy_;
  member::RemoteServer server_;
  std::unique_ptr<member::MemberSession> session_;
};

}  // namespace tacet::app::load

#endif  // TACET_LAB_LOAD_LOAD_MEMBER_H_
