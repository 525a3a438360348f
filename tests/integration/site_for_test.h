// A site of a federation that was set up with the program: it speaks to a server over the network
// and sends the same update in every round.
#ifndef TACET_TESTS_INTEGRATION_SITE_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_SITE_FOR_TEST_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/member/remote_server.h"
#include "tacet/protocol/attestation.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/sealer.h"
#include "tacet/transport/grpc/grpc_wire.h"
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
    return std::unique_ptr<SiteForTest>(new SiteForTest(std::move(site), std::move(wire)));
  }

  const member::RemoteServer& server() const { return server_; }
  uint64_t member() const { return *site_.joined.member; }

  absl::StatusOr<protocol::Announcement> Look() const { return server_.Await({}); }

  absl::Status Upload(const secagg::Attempt& attempt) {
    TACET_ASSIGN_OR_RETURN(const auto sealer,
                           secagg::Sealer::Create(manifest().terms(), attempt, KeysOf(attempt)));
    const std::vector<float> update(manifest().spec().dimension, 0.01F);
    TACET_ASSIGN_OR_RETURN(const secagg::SealedUpload upload, sealer->Seal(update, entropy_));
    return server_.Put({.kind = protocol::BulkKind::kUpload, .attempt = attempt}, upload.bytes);
  }

  std::vector<uint64_t> OpenersOf(const secagg::Attempt& attempt) const {
    const agreement::ManifestSpec& spec = manifest().spec();
    return secagg::ChooseOpeners(site_.epoch_key, spec.scheme, attempt, spec.sampling.clients,
                                 spec.openers);
  }

  absl::Status Vote(const secagg::Attempt& attempt) {
    std::vector<secagg::OpenerIdentity> openers;
    for (const uint64_t opener : OpenersOf(attempt)) openers.push_back(manifest().Identity(opener));
    TACET_ASSIGN_OR_RETURN(
        opener_, secagg::Opener::Create(manifest().terms(), attempt, KeysOf(attempt), openers,
                                        member(), site_.keys.signing, journal_, entropy_));
    TACET_ASSIGN_OR_RETURN(
        const base::Bytes closed,
        server_.Fetch({.kind = protocol::BulkKind::kClosedRound, .attempt = attempt}, 0,
                      size_t{1} << 30));
    TACET_ASSIGN_OR_RETURN(const base::Bytes vote, opener_->Review(closed));
    return server_.PutVote(attempt, vote);
  }
  absl::Status OpenSum(const secagg::Attempt& attempt) {
    TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> votes, server_.FetchVotes(attempt));
    TACET_ASSIGN_OR_RETURN(const base::Bytes sum, opener_->Open(votes));
    return server_.Put({.kind = protocol::BulkKind::kOpenedSum, .attempt = attempt}, sum);
  }

  // That the next round begins with a model whose digest follows from the round.
  absl::Status State(uint32_t round) {
    protocol::Attestation statement{.member = member(), .round = round};
    statement.model_digest.fill(static_cast<uint8_t>(round + 1));
    return server_.PutAttestation(
        protocol::WriteAttestation(statement, site_.joined.manifest, site_.keys.signing));
  }

 private:
  SiteForTest(OpenedSite site, std::unique_ptr<transport::grpc::GrpcWire> wire)
      : site_(std::move(site)),
        wire_(std::move(wire)),
        server_(site_.joined.manifest, *site_.joined.member, site_.keys.signing, *wire_) {}

  const agreement::Manifest& manifest() const { return site_.joined.manifest.manifest(); }
  secagg::AttemptKeys KeysOf(const secagg::Attempt& attempt) const {
    return secagg::DeriveAttemptKeys(site_.epoch_key, manifest().spec().scheme, attempt);
  }

  OpenedSite site_;
  std::unique_ptr<transport::grpc::GrpcWire> wire_;
  member::RemoteServer server_;
  crypto::SystemEntropy entropy_;
  secagg::MemoryJournal journal_;
  std::unique_ptr<secagg::Opener> opener_;
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

// The first `count` sites upload to the attempt that collects; all of them are invited.
inline absl::StatusOr<secagg::Attempt> UploadAll(SitesForTest& sites, size_t count) {
  TACET_ASSIGN_OR_RETURN(const protocol::AnnouncedAttempt current,
                         AwaitPhase(*sites[0], protocol::AttemptPhase::kCollecting));
  for (size_t i = 0; i < count; ++i) {
    TACET_RETURN_IF_ERROR(sites[i]->Upload(current.attempt));
  }
  return current.attempt;
}

// What follows the uploads: votes, sums, and statements about the next model.
inline absl::Status OpenRound(SitesForTest& sites) {
  TACET_ASSIGN_OR_RETURN(const protocol::AnnouncedAttempt current,
                         AwaitPhase(*sites[0], protocol::AttemptPhase::kOpening));
  const secagg::Attempt& attempt = current.attempt;
  // With the sums of a majority the round is published, and the others' votes are not needed.
  std::vector<uint64_t> openers = sites[0]->OpenersOf(attempt);
  openers.resize(secagg::Majority(openers.size()));
  for (const auto step : {&SiteForTest::Vote, &SiteForTest::OpenSum}) {
    for (const uint64_t opener : openers) {
      const auto site = std::ranges::find(sites, opener, [](const auto& s) { return s->member(); });
      TACET_RETURN_IF_ERROR(((**site).*step)(attempt));
    }
  }
  for (const auto& site : sites) TACET_RETURN_IF_ERROR(site->State(attempt.number.round + 1));
  return absl::OkStatus();
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_SITE_FOR_TEST_H_
