// Writes the seeds of the network fuzzer: run it when a format changes.
// usage: make_network_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <string>

#include "fuzz/fuzz_federation.h"
#include "fuzz/seed_folder.h"
#include "tacet/federation/announcement.h"
#include "tacet/federation/member_request.h"
#include "tacet/federation/model_statement.h"

namespace {

using namespace tacet;

void WriteRequests(const fuzz::SeedFolder& seeds, const fuzz::FuzzFederation& known) {
  const secagg::Attempt attempt{.manifest_hash = known.manifest.manifest().hash(), .round = 1};
  const federation::RequestBody bodies[] = {
      federation::AwaitRequest{.known_revision = 5, .listed_from = 2, .opening = true},
      federation::PutPartRequest{.name = {federation::BulkKind::kUpload, attempt},
                                 .total = 90,
                                 .digest = {},
                                 .offset = 30,
                                 .part = base::Bytes(60)},
      federation::FetchPartRequest{.name = {federation::BulkKind::kOpenedSum, attempt}},
      federation::PutVoteRequest{.attempt = attempt, .vote = base::Bytes(9)},
      federation::FetchVotesRequest{.attempt = attempt},
      federation::PutRefusalRequest{.attempt = attempt},
      federation::PutStatementRequest{.statement = base::Bytes(9)},
      federation::FetchStatementsRequest{.round = 1}};
  for (const federation::RequestBody& body : bodies) {
    const auto written = [&](uint64_t member, uint64_t time, const base::SigningKey& key) {
      return federation::WriteMemberRequest({.member = member, .time = time, .body = body},
                                            known.manifest, key);
    };
    const std::string name(federation::RequestKindName(body.index()));
    seeds.WriteWithVariants(name, 0, written(0, fuzz::FuzzFederation::kNow, known.site.signing));
    seeds.Write(name + "-forged", 0, written(1, fuzz::FuzzFederation::kNow, known.site.signing));
    seeds.Write(name + "-late", 0, written(0, 5, known.site.signing));
    seeds.Write(name + "-nobody", 0, written(7, fuzz::FuzzFederation::kNow, known.site.signing));
  }
  base::Bytes altered = federation::WriteMemberRequest(
      {.member = 0, .time = fuzz::FuzzFederation::kNow, .body = bodies[1]}, known.manifest,
      known.site.signing);
  constexpr size_t kKindAt = 6, kHashAt = 7, kObjectAt = 7 + 32 + 4 + 8 + 8;
  altered[kObjectAt] = 9;
  seeds.Write("no-such-object", 0, altered);
  altered[kKindAt] = 9;
  seeds.Write("no-such-kind", 0, altered);
  altered[kKindAt] = 5;
  altered[kHashAt] ^= 1;
  seeds.Write("other-manifest", 0, altered);
}

void WriteAnnouncements(const fuzz::SeedFolder& seeds) {
  federation::Announcement announcement{.epoch = 1, .revision = 9, .finished = 3, .stopped = true};
  seeds.WriteWithVariants("announcement-empty", 1, federation::WriteAnnouncement(announcement));
  announcement.listed = {{1, 2, 0}, {1, 3, 0}};
  announcement.kept = {{.epoch = 1, .round = 1}, {.epoch = 1, .round = 2}};
  announcement.current = federation::AnnouncedAttempt{.attempt = {.epoch = 1, .round = 3},
                                                      .phase = federation::AttemptPhase::kOpening,
                                                      .invited = federation::Invited::kYes};
  seeds.WriteWithVariants("announcement", 1, federation::WriteAnnouncement(announcement));
  federation::Announcement contradicts = announcement;
  contradicts.listed[0].round = 4;
  seeds.Write("announcement-disordered", 1, federation::WriteAnnouncement(contradicts));
  contradicts = announcement;
  contradicts.finished = 1;
  seeds.Write("announcement-unfinished", 1, federation::WriteAnnouncement(contradicts));
  contradicts = announcement;
  contradicts.current->phase = static_cast<federation::AttemptPhase>(7);
  seeds.Write("announcement-phase", 1, federation::WriteAnnouncement(contradicts));
}

void WriteRest(const fuzz::SeedFolder& seeds, const fuzz::FuzzFederation& known) {
  const auto statement = [&](uint64_t member, const base::SigningKey& key) {
    return federation::WriteModelStatement({.member = member, .round = 2}, known.manifest, key);
  };
  seeds.WriteWithVariants("statement", 2, statement(0, known.site.signing));
  seeds.Write("statement-forged", 2, statement(1, known.site.signing));
  seeds.Write("statement-nobody", 2, statement(5, known.site.signing));
  seeds.WriteWithVariants("fetched", 3, federation::WriteFetchedPart(99, base::Bytes(40)));
  seeds.WriteWithVariants("arrived", 4, federation::WriteArrived(7));
  seeds.WriteWithVariants("blobs", 5,
                          federation::WriteBlobs(std::vector{base::Bytes(5), base::Bytes(0)}));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_network_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const fuzz::FuzzFederation known;
  const fuzz::SeedFolder seeds(argv[1]);
  WriteRequests(seeds, known);
  WriteAnnouncements(seeds);
  WriteRest(seeds, known);
  return 0;
}
