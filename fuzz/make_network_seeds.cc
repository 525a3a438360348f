// Writes the seeds of the network fuzzer: run it when a format changes.
// usage: make_network_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <string>

#include "fuzz/fuzz_federation.h"
#include "fuzz/seed_folder.h"
#include "tacet/protocol/abstention.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/objection.h"
#include "tacet/protocol/whole_requests_for_test.h"

namespace {

using namespace tacet;

void WriteRequests(const fuzz::SeedFolder& seeds, const fuzz::FuzzFederation& known) {
  const secagg::Attempt attempt{.manifest_hash = known.manifest.manifest().hash(),
                                .number = {.round = 1}};
  const protocol::RequestBody bodies[] = {
      protocol::AwaitRequest{.known_revision = 5, .listed_from = 2, .unmasking = true},
      protocol::PutPartRequest{.name = {protocol::BulkKind::kUpload, attempt},
                               .total = 90,
                               .digest = {},
                               .offset = 30,
                               .part = base::Bytes(60)},
      protocol::FetchPartRequest{.name = {protocol::BulkKind::kUnmaskShare, attempt}, .index = 1},
      protocol::PutVoteRequest{.attempt = attempt, .vote = base::Bytes(9)},
      protocol::FetchVotesRequest{.attempt = attempt},
      protocol::PutVerdictRequest{.attempt = attempt, .confirmed = true},
      protocol::PutAttestationRequest{.attestation = base::Bytes(9)},
      protocol::FetchAttestationsRequest{.round = 1},
      protocol::PutOpeningRequest{.statement = base::Bytes(9)},
      protocol::FetchOpeningRequest{},
      protocol::PutAbstentionRequest{.abstention = base::Bytes(9)},
      protocol::PutObjectionRequest{.objection = base::Bytes(9)},
      protocol::FetchPacketsRequest{.attempt = attempt, .from = 3}};
  for (const protocol::RequestBody& body : bodies) {
    const auto written = [&](uint64_t member, uint64_t time, const crypto::SigningKey& key) {
      return protocol::WriteMemberRequest({.member = member, .time = time, .body = body},
                                          known.manifest, key);
    };
    const std::string name(protocol::RequestKindName(body.index()));
    seeds.WriteWithVariants(name, 0, written(0, fuzz::FuzzFederation::kNow, known.site.signing));
    seeds.Write(name + "-forged", 0, written(1, fuzz::FuzzFederation::kNow, known.site.signing));
    seeds.Write(name + "-late", 0, written(0, 5, known.site.signing));
    seeds.Write(name + "-nobody", 0, written(7, fuzz::FuzzFederation::kNow, known.site.signing));
  }
  base::Bytes altered = protocol::WriteMemberRequest(
      {.member = 0, .time = fuzz::FuzzFederation::kNow, .body = bodies[1]}, known.manifest,
      known.site.signing);
  constexpr size_t kKindAt = 6, kHashAt = 7, kObjectAt = 7 + 32 + 4 + 8 + 8;
  altered[kObjectAt] = 9;
  seeds.Write("no-such-object", 0, altered);
  altered[kObjectAt] = static_cast<uint8_t>(protocol::BulkKind::kRoster);
  seeds.Write("roster-from-a-member", 0, altered);
  altered[kKindAt] = protocol::kRequestKinds + 1;
  seeds.Write("no-such-kind", 0, altered);
  altered[kKindAt] = 5;
  altered[kHashAt] ^= 1;
  seeds.Write("other-manifest", 0, altered);
}

void WriteAnnouncements(const fuzz::SeedFolder& seeds) {
  protocol::Announcement announcement{.epoch = 1, .revision = 9, .finished = 3, .stopped = true};
  seeds.WriteWithVariants("announcement-empty", 1, protocol::WriteAnnouncement(announcement));
  announcement.listed = {{1, 2, 0}, {1, 3, 0}};
  announcement.kept = {{.number = {.epoch = 1, .round = 1}}, {.number = {.epoch = 1, .round = 2}}};
  announcement.current = protocol::AnnouncedAttempt{.attempt = {.number = {.epoch = 1, .round = 3}},
                                                    .phase = protocol::AttemptPhase::kUnmasking,
                                                    .invited = protocol::Invited::kYes};
  seeds.WriteWithVariants("announcement", 1, protocol::WriteAnnouncement(announcement));
  protocol::Announcement contradicts = announcement;
  contradicts.listed[0].round = 4;
  seeds.Write("announcement-disordered", 1, protocol::WriteAnnouncement(contradicts));
  contradicts = announcement;
  contradicts.finished = 1;
  seeds.Write("announcement-unfinished", 1, protocol::WriteAnnouncement(contradicts));
  contradicts = announcement;
  contradicts.current->phase = static_cast<protocol::AttemptPhase>(7);
  seeds.Write("announcement-phase", 1, protocol::WriteAnnouncement(contradicts));
}

void WriteRest(const fuzz::SeedFolder& seeds, const fuzz::FuzzFederation& known) {
  const auto attestation = [&](uint64_t member, const crypto::SigningKey& key) {
    return protocol::WriteAttestation({.member = member, .round = 2}, known.manifest, key);
  };
  seeds.WriteWithVariants("attestation", 2, attestation(0, known.site.signing));
  seeds.Write("attestation-forged", 2, attestation(1, known.site.signing));
  seeds.Write("attestation-nobody", 2, attestation(5, known.site.signing));
  const auto opening = [&](protocol::OpeningWord word, uint64_t member,
                           const crypto::SigningKey& key) {
    return protocol::WriteOpeningStatement({.word = word, .member = member, .state = {.round = 2}},
                                           known.manifest, key);
  };
  using Word = protocol::OpeningWord;
  seeds.WriteWithVariants("opening-vote", 6, opening(Word::kVote, 0, known.site.signing));
  seeds.WriteWithVariants("opening-state", 6, opening(Word::kHas, 0, known.site.signing));
  seeds.WriteWithVariants(
      "opening-states", 6,
      protocol::WriteOpeningStatement({.word = Word::kHas,
                                       .member = 0,
                                       .state = {.round = 2},
                                       .earlier = protocol::OpeningState{.round = 1}},
                                      known.manifest, known.site.signing));
  seeds.Write("opening-word", 6, opening(Word{3}, 0, known.site.signing));
  seeds.Write("opening-forged", 6, opening(Word::kVote, 1, known.site.signing));
  seeds.Write("opening-nobody", 6, opening(Word::kVote, 5, known.site.signing));
  const auto abstention = [&](uint64_t member, protocol::AbstentionReason reason) {
    return protocol::WriteAbstention(
        {.member = member,
         .attempt = {.manifest_hash = known.manifest.manifest().hash(), .number = {.round = 1}},
         .reason = reason},
        known.site.signing);
  };
  using Reason = protocol::AbstentionReason;
  seeds.WriteWithVariants("abstention", 7, abstention(0, Reason::kPolicy));
  seeds.Write("abstention-reason", 7, abstention(0, Reason{3}));
  seeds.Write("abstention-forged", 7, abstention(1, Reason::kBudget));
  seeds.Write("abstention-nobody", 7, abstention(5, Reason::kBudget));
  const auto objection = [&](uint64_t member, protocol::ObjectionReason reason) {
    return protocol::WriteObjection(
        {.member = member, .revision = 9, .attempt = {.round = 1}, .reason = reason},
        known.manifest, known.site.signing);
  };
  seeds.WriteWithVariants("objection", 8, objection(0, protocol::ObjectionReason::kRollback));
  seeds.Write("objection-reason", 8, objection(0, protocol::ObjectionReason{4}));
  seeds.Write("objection-forged", 8, objection(1, protocol::ObjectionReason::kFork));
  seeds.Write("objection-nobody", 8, objection(5, protocol::ObjectionReason::kFork));
  seeds.WriteWithVariants("fetched", 3, protocol::WriteFetchedPart(99, base::Bytes(40)));
  seeds.WriteWithVariants("arrived", 4, protocol::WriteArrived(7));
  seeds.WriteWithVariants("blobs", 5,
                          protocol::WriteBlobs(std::vector{base::Bytes(5), base::Bytes(0)}));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_network_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const fuzz::FuzzFederation known;
  const fuzz::SeedFolder seeds(std::filesystem::path(argv[1]) / "network");
  WriteRequests(seeds, known);
  WriteAnnouncements(seeds);
  WriteRest(seeds, known);
  return 0;
}
