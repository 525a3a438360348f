// Writes the seeds of the message and checkpoint fuzzers: run it when a format changes.
// usage: make_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/fuzz_round.h"
#include "tacet/federation/checkpoint.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/sealer.h"

namespace {

using namespace tacet;

void Write(const std::filesystem::path& path, const base::Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

base::Bytes Tagged(uint8_t kind, const base::Bytes& message) {
  base::Bytes bytes = {kind};
  bytes.insert(bytes.end(), message.begin(), message.end());
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const std::filesystem::path corpus = argv[1];
  fuzz::FuzzRound round;
  const he::AggregationParams& params = round.terms.aggregation();
  const auto sealer =
      fuzz::ValueOrDie(secagg::Sealer::Create(round.terms, round.attempt, round.keys));
  secagg::Aggregator aggregator(params, round.attempt, fuzz::FuzzRound::kParticipants);
  const std::vector<uint32_t> counts(params.dimension(), static_cast<uint32_t>(params.offset()));
  for (uint32_t k = 0; k < fuzz::FuzzRound::kParticipants; ++k) {
    const base::Bytes upload = fuzz::ValueOrDie(sealer->SealCounts(counts, round.entropy.Draw(32)));
    if (k == 0) Write(corpus / "messages" / "upload", Tagged(0, upload));
    if (!aggregator.Submit(k, upload).ok()) return 1;
  }
  const base::Bytes closed = fuzz::ValueOrDie(aggregator.Close());
  Write(corpus / "messages" / "closed_round", Tagged(1, closed));
  const base::Digest hash = secagg::ClosedRoundHash(
      fuzz::ValueOrDie(secagg::ReadClosedRound(closed, round.attempt, params, 1)));
  secagg::OpenedSum opened{.participants = fuzz::FuzzRound::kParticipants,
                           .sums = std::vector<uint64_t>(params.dimension(), 2 * params.offset())};
  Write(corpus / "messages" / "opened_sum",
        Tagged(2,
               secagg::WriteOpenedSum(opened, round.attempt, params, hash, 1, round.keys.result_key,
                                      round.signing_keys[1], round.entropy)));
  Write(corpus / "messages" / "vote",
        Tagged(3, secagg::WriteVote(round.attempt, 1, hash, round.signing_keys[1])));
  Write(corpus / "checkpoint" / "small",
        federation::WriteCheckpoint(
            {.agreement = {}, .next_round = 2, .model = {1, 2, 3}, .velocity = {0.5f, 0, -1}}));
  return 0;
}
