// A site of a federation that was set up with the program: it speaks to a server over the network
// and sends the same update in every round.
#ifndef TACET_TESTS_INTEGRATION_SITE_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_SITE_FOR_TEST_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/pair_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/member/remote_server.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/objection.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/sealer.h"
#include "tacet/transport/https/https_wire.h"
#include "tests/integration/opened_site_for_test.h"

namespace tacet::app {

class SiteForTest {
 public:
  // `home` joined; `key_file` locks its keys; `server` is HOST:PORT.
  static absl::StatusOr<std::unique_ptr<SiteForTest>> Open(const std::filesystem::path& home,
                                                           const std::filesystem::path& key_file,
                                                           std::string server) {
    TACET_ASSIGN_OR_RETURN(OpenedSite site, OpenSite(home, key_file));
    TACET_ASSIGN_OR_RETURN(auto wire, WireOf(site, std::move(server)));
    return std::unique_ptr<SiteForTest>(new SiteForTest(home, std::move(site), std::move(wire)));
  }

  const member::RemoteServer& server() const { return server_; }
  uint64_t member() const { return *site_.joined.member; }

  absl::StatusOr<protocol::Announcement> Look() const { return server_.Await({}); }

  absl::Status Upload(const secagg::Attempt& attempt) {
    TACET_ASSIGN_OR_RETURN(const auto sealer,
                           secagg::Sealer::Create(manifest().terms(), attempt, KeysOf(attempt)));
    const std::vector<float> update(manifest().spec().dimension, 0.01F);
    const std::vector<crypto::KemPublicKey> seat_keys = site_.joined.manifest.seat_keys();
    TACET_ASSIGN_OR_RETURN(const agreement::ClientKeys keys,
                           agreement::KeysWithSeats(manifest(), PairSecrets(), member(), seat_keys,
                                                    site_.keys.signing));
    TACET_RETURN_IF_ERROR(server_.Put(
        {.kind = protocol::BulkKind::kKeyPacket,
         .attempt = protocol::PacketAttempt(manifest().hash(), site_.joined.manifest.epoch())},
        keys.packet));
    TACET_ASSIGN_OR_RETURN(const secagg::SealedUpload upload,
                           sealer->Seal(update, keys.pair_keys, entropy_));
    // For the process that votes, which may be another one.
    std::ofstream(NonceFile(attempt), std::ios::binary) << base::AsText(upload.nonce);
    return server_.Put({.kind = protocol::BulkKind::kUpload, .attempt = attempt}, upload.bytes);
  }

  // This site is on the committee.
  absl::Status Vote(const secagg::Attempt& attempt) {
    seat_ = *secagg::SeatOf(manifest().committee(), member());
    result_key_ = KeysOf(attempt).result_key;
    committee_member_.emplace(secagg::CommitteeMemberParts{.terms = manifest().terms(),
                                                           .committee = manifest().committee(),
                                                           .signing_key = site_.keys.signing,
                                                           .result_key = result_key_,
                                                           .pair_key_of = pair_key_of_,
                                                           .journal = journal_,
                                                           .entropy = entropy_},
                              attempt, seat_, manifest().spec().sampling.clients,
                              OwnUpload(attempt));
    TACET_ASSIGN_OR_RETURN(
        const base::Bytes closed,
        server_.Fetch({.kind = protocol::BulkKind::kClosedRound, .attempt = attempt}, 0,
                      size_t{1} << 30));
    TACET_ASSIGN_OR_RETURN(const base::Bytes roster,
                           server_.Fetch({.kind = protocol::BulkKind::kRoster, .attempt = attempt},
                                         0, size_t{1} << 30));
    TACET_RETURN_IF_ERROR(
        server_.FetchPackets(attempt, 0, [this](std::span<const uint8_t> copy) -> absl::Status {
          TACET_ASSIGN_OR_RETURN(const secagg::KeyPacket packet,
                                 secagg::ReadKeyPacket(copy, manifest().committee().size(), seat_));
          TACET_ASSIGN_OR_RETURN(
              agreement::ClientPairKey pair,
              agreement::PairKeyByPacket(manifest(), PairSecrets(), seat_, packet));
          pair_keys_.insert_or_assign(pair.client,
                                      secagg::ListedPairKey{pair.list, std::move(pair.key)});
          return absl::OkStatus();
        }));
    TACET_ASSIGN_OR_RETURN(const base::Bytes vote, committee_member_->Vote(closed, roster));
    return server_.PutVote(attempt, vote);
  }
  absl::Status Unmask(const secagg::Attempt& attempt) {
    TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> votes, server_.FetchVotes(attempt));
    TACET_ASSIGN_OR_RETURN(const base::Bytes share, committee_member_->Unmask(votes));
    return server_.Put({.kind = protocol::BulkKind::kUnmaskShare, .attempt = attempt}, share);
  }
  absl::Status Confirm(const secagg::Attempt& attempt) { return server_.PutVerdict(attempt, true); }

  // That the next round begins with a model whose digest follows from the round.
  absl::Status State(uint32_t round) {
    protocol::Attestation attestation{.member = member(), .round = round};
    attestation.model_digest.fill(static_cast<uint8_t>(round + 1));
    return server_.PutAttestation(
        protocol::WriteAttestation(attestation, site_.joined.manifest, site_.keys.signing));
  }

  // That the open attempt begins with another model than this site's.
  absl::Status Object() {
    TACET_ASSIGN_OR_RETURN(const protocol::Announcement announced, Look());
    if (!announced.current.has_value()) return base::FailedPrecondition("no attempt is open");
    return server_.Say(protocol::PutObjectionRequest{
        protocol::WriteObjection({.member = member(),
                                  .revision = announced.revision,
                                  .attempt = announced.current->attempt.number,
                                  .reason = protocol::ObjectionReason::kFork},
                                 site_.joined.manifest, site_.keys.signing)});
  }

 private:
  SiteForTest(std::filesystem::path home, OpenedSite site,
              std::unique_ptr<transport::https::HttpsWire> wire)
      : home_(std::move(home)),
        site_(std::move(site)),
        wire_(std::move(wire)),
        server_(site_.joined.manifest, *site_.joined.member, site_.keys.signing, *wire_) {}

  agreement::PairSecrets PairSecrets() const {
    return {.exchange_key = site_.exchange->exchange,
            .kem_key = site_.exchange->kem,
            .epoch_key = site_.epoch_key,
            .epoch = site_.joined.manifest.epoch()};
  }

 public:
  const agreement::Manifest& manifest() const { return site_.joined.manifest.manifest(); }

 private:
  secagg::AttemptKeys KeysOf(const secagg::Attempt& attempt) const {
    return secagg::DeriveAttemptKeys(site_.epoch_key, manifest().spec().scheme, attempt);
  }

  std::filesystem::path NonceFile(const secagg::Attempt& attempt) const {
    return home_ / fmt::format("nonce-of-test-{}-{}", attempt.number.round, attempt.number.attempt);
  }
  secagg::OwnUpload OwnUpload(const secagg::Attempt& attempt) const {
    std::ifstream file(NonceFile(attempt), std::ios::binary);
    secagg::SealNonce nonce{};
    if (!file.read(reinterpret_cast<char*>(nonce.data()), nonce.size())) return {};
    return {.nonce = nonce, .acknowledged = true};
  }

  std::filesystem::path home_;
  OpenedSite site_;
  std::unique_ptr<transport::https::HttpsWire> wire_;
  member::RemoteServer server_;
  crypto::SystemEntropy entropy_;
  secagg::MemoryJournal journal_;
  crypto::SecretBytes result_key_;
  uint32_t seat_ = 0;
  std::map<uint64_t, secagg::ListedPairKey> pair_keys_;  // by client
  secagg::PairKeyOf pair_key_of_ =
      [this](uint64_t client) -> absl::StatusOr<secagg::ListedPairKey> {
    const auto found = pair_keys_.find(client);
    if (found == pair_keys_.end()) return absl::NotFoundError("no packet of that client");
    return found->second.Copy();
  };
  std::optional<secagg::CommitteeMember> committee_member_;
};

using SitesForTest = std::vector<std::unique_ptr<SiteForTest>>;

// The current attempt as soon as it is in `phase`; DeadlineExceeded after two minutes.
inline absl::StatusOr<protocol::AnnouncedAttempt> AwaitPhase(const SiteForTest& site,
                                                             protocol::AttemptPhase phase) {
  for (int i = 0; i < 1200; ++i) {
    TACET_ASSIGN_OR_RETURN(const protocol::Announcement announced, site.Look());
    if (announced.current.has_value() && announced.current->phase == phase) {
      return *announced.current;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return absl::DeadlineExceededError("the phase did not come");
}

// The server learns that all are there, and with which model round 0 begins. One that is further
// refuses to hear it.
inline absl::Status ShowUp(const SitesForTest& sites) {
  for (const auto& site : sites) {
    TACET_RETURN_IF_ERROR(site->Look().status());
    const absl::Status stated = site->State(0);
    if (protocol::IsRetryable(stated)) return stated;
  }
  return absl::OkStatus();
}

// The first `count` sites upload to the attempt that collects; all of them are invited.
inline absl::StatusOr<secagg::Attempt> UploadAll(SitesForTest& sites, size_t count) {
  TACET_RETURN_IF_ERROR(ShowUp(sites));
  TACET_ASSIGN_OR_RETURN(const protocol::AnnouncedAttempt current,
                         AwaitPhase(*sites[0], protocol::AttemptPhase::kCollecting));
  for (size_t i = 0; i < count; ++i) {
    TACET_RETURN_IF_ERROR(sites[i]->Upload(current.attempt));
  }
  return current.attempt;
}

// The steps after the uploads: votes, unmask shares, confirmations, and attestations of the next
// model.
inline absl::Status DecryptRound(SitesForTest& sites) {
  TACET_ASSIGN_OR_RETURN(const protocol::AnnouncedAttempt current,
                         AwaitPhase(*sites[0], protocol::AttemptPhase::kUnmasking));
  const secagg::Attempt& attempt = current.attempt;
  const agreement::Manifest& manifest = sites[0]->manifest();
  // A quorum votes and unmasks. With f + 1 confirmations the round is published.
  const size_t quorum = manifest.terms().aggregation().sharing().votes();
  const size_t confirmations = manifest.spec().committee.corrupt + size_t{1};
  const auto act = [&](size_t seats, auto step) -> absl::Status {
    for (size_t seat = 0; seat < seats; ++seat) {
      const uint64_t member = manifest.committee()[seat].member;
      const auto site = std::ranges::find(sites, member, [](const auto& s) { return s->member(); });
      TACET_RETURN_IF_ERROR(((**site).*step)(attempt));
    }
    return absl::OkStatus();
  };
  TACET_RETURN_IF_ERROR(act(quorum, &SiteForTest::Vote));
  TACET_RETURN_IF_ERROR(act(quorum, &SiteForTest::Unmask));
  TACET_RETURN_IF_ERROR(act(confirmations, &SiteForTest::Confirm));
  for (const auto& site : sites) TACET_RETURN_IF_ERROR(site->State(attempt.number.round + 1));
  return absl::OkStatus();
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_SITE_FOR_TEST_H_
