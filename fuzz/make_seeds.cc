// Writes the seeds of the message, partial sum, rank message, checkpoint and ledger fuzzers: run it
// when a format changes.
// usage: make_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/fuzz_checkpoint.h"
#include "fuzz/fuzz_round.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/sealer.h"
#include "tacet/simulation/rank_messages.h"

namespace {

using namespace tacet;

// Where an upload names its scheme; a reserved byte and the dimension follow.
constexpr int64_t kSchemeAt = 4 + 2 + secagg::kAttemptBytes;

void Write(const std::filesystem::path& path, const base::Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

base::Bytes Tagged(uint8_t kind, const base::Bytes& message) {
  base::ByteWriter writer;
  writer.U8(kind);
  writer.Raw(message);
  return writer.Take();
}

// `message` with another byte at `place`; places below 0 count from the end.
base::Bytes WithByte(base::Bytes message, int64_t place, uint8_t value) {
  message[place < 0 ? message.size() - static_cast<size_t>(-place) : static_cast<size_t>(place)] =
      value;
  return message;
}

// A ledger with `records` charges; its anchor knows `anchored` of them and `tail` bytes follow.
struct LedgerSeed {
  const char* name;
  uint32_t records = 2;
  uint32_t anchored = 2;
  size_t tail = 0;
  ledger::ChargingRule rule = ledger::ChargingRule::kAnnouncedAttempts;
  accounting::Unit unit = accounting::Unit::kClient;
  bool twice = false;      // all charges have one label
  bool bad_event = false;  // and a rate that cannot be
};

base::Bytes LedgerBytes(const LedgerSeed& seed) {
  ledger::LedgerHeader header;
  header.data_set = "seed";
  header.rule = seed.rule;
  header.unit = seed.unit;
  header.spending.budget_epsilon = 3;
  header.spending.composition = accounting::Composition::kAnyEvents;
  const bool own = seed.rule == ledger::ChargingRule::kOwnSeals;
  base::ByteWriter ledger_writer;
  ledger_writer.Raw(ledger::WriteLedgerHeader(header));
  ledger::LedgerAnchor end;
  end.genesis = end.head = ledger::LedgerGenesis(header);
  base::Bytes anchor;
  for (uint32_t round = 0; round <= seed.records; ++round) {
    if (round == seed.anchored) anchor = ledger::WriteLedgerAnchor(end);
    if (round == seed.records) break;
    ledger::LedgerEntry entry;
    entry.label.number.round = seed.twice ? 0 : round;
    entry.kind = round == 0 || own ? ledger::ChargeKind::kSealing : ledger::ChargeKind::kCatchingUp;
    entry.event.unit = seed.unit;
    entry.event.sampling = own          ? accounting::Sampling::kNone
                           : round == 0 ? accounting::Sampling::kFixedSize
                                        : accounting::Sampling::kPoisson;
    entry.event.sampling_rate = seed.bad_event ? 2 : own ? 1 : 0.25;
    entry.event.noise_stddev = 6;
    const base::Bytes record = ledger::WriteLedgerRecord(entry, end.head);
    end.head = ledger::RecordHash(record);
    ++end.count;
    ledger_writer.Raw(record);
  }
  base::Bytes ledger = ledger_writer.Take();
  ledger.resize(ledger.size() + seed.tail);
  base::ByteWriter writer;
  writer.U16(static_cast<uint16_t>(ledger.size()));
  writer.Raw(ledger);
  writer.Raw(anchor);
  return writer.Take();
}

// Patches of an honest partial sum: fuzz/partial_sum_fuzz.cc.
struct Patch {
  uint32_t position;
  uint8_t value;
};
base::Bytes Patches(uint8_t flags, const std::vector<Patch>& patches) {
  base::ByteWriter writer;
  writer.U8(flags);
  for (const Patch& patch : patches) writer.U32(patch.position | uint32_t{patch.value} << 24);
  return writer.Take();
}

void WritePartialSumSeeds(const std::filesystem::path& folder) {
  constexpr uint8_t kRaw = 0x80, kCut = 0x40;
  constexpr uint32_t kSchemeByte = kSchemeAt, kUploadsAt = kSchemeAt + 10, kFromEnd = 1 << 23;
  Write(folder / "honest", Patches(0, {}));
  Write(folder / "cut_header", Patches(kCut, {{40, 0}}));
  Write(folder / "cut_sum", Patches(kCut, {{kFromEnd, 0}}));
  Write(folder / "magic", Patches(0, {{0, 'X'}}));
  Write(folder / "scheme", Patches(0, {{kSchemeByte, 2}}));
  Write(folder / "dimension", Patches(0, {{kSchemeByte + 2, 8}}));
  Write(folder / "no_uploads", Patches(0, {{kUploadsAt, 0}}));
  Write(folder / "many_uploads", Patches(0, {{kUploadsAt + 3, 0xff}}));
  Write(folder / "same_participant", Patches(0, {{kUploadsAt + 4, 0}}));
  Write(folder / "not_canonical", Patches(0, {{kFromEnd, 0xff}}));
  Write(folder / "raw", Patches(kRaw, {{0, 0}}));
}

void WriteRankSeeds(const std::filesystem::path& folder) {
  Write(folder / "hello", Tagged(0, simulation::WriteRankHello({})));
  const std::vector<float> model = {1, -2, 0.5f};
  const base::Bytes job = simulation::WriteRankJob({}, model);
  Write(folder / "job", Tagged(1, job));
  Write(folder / "job_kind", Tagged(1, WithByte(job, 6, 3)));
  Write(folder / "job_cut", Tagged(1, {job.begin(), job.end() - 1}));
  Write(folder / "end", Tagged(1, simulation::WriteRankEnd()));
  crypto::InsecureSeededEntropy entropy(1, "rank seeds");
  const crypto::SealingKey key = crypto::SealingKey::Generate(entropy);
  simulation::RankTask task{.epoch_key = entropy.Draw(32),
                            .share = {.seats = {{0, 1}, {2, 4}}, .mean_samples = 2}};
  const auto plain = fuzz::ValueOrDie(
      key.Open(fuzz::ValueOrDie(simulation::SealRankTask(task, key.public_key()))));
  const base::Bytes opened(plain.Expose().begin(), plain.Expose().end());
  Write(folder / "task", Tagged(2, opened));
  Write(folder / "task_client", Tagged(2, WithByte(opened, -8, 5)));
  Write(folder / "task_cut", Tagged(2, {opened.begin(), opened.end() - 1}));
  simulation::RankReport report{.threads = 2, .train_seconds = 1, .seal_seconds = 0.5};
  report.Note("a note");
  const base::Bytes told = simulation::WriteRankReport(report);
  Write(folder / "report", Tagged(3, told));
  Write(folder / "report_seconds", Tagged(3, WithByte(told, 17, 0xff)));
  Write(folder / "report_cut", Tagged(3, {told.begin(), told.end() - 1}));
}

void WriteCheckpointSeeds(const std::filesystem::path& folder) {
  protocol::Checkpoint checkpoint{
      .agreement = {}, .next_round = 2, .model = {1, 2, 3}, .velocity = {0.5f, 0, -1}};
  const base::Bytes small = protocol::WriteCheckpoint(checkpoint);
  Write(folder / "small", Tagged(0, small));
  Write(folder / "version", Tagged(0, WithByte(small, 4, 9)));
  Write(folder / "cut", Tagged(0, {small.begin(), small.end() - 40}));
  Write(folder / "damaged", Tagged(0, WithByte(small, -40, 0xaa)));
  checkpoint.agreement[0] = 1;
  Write(folder / "other_run", Tagged(0, protocol::WriteCheckpoint(checkpoint)));
  checkpoint.model.push_back(4);
  checkpoint.velocity.push_back(0);
  Write(folder / "other_dimension", Tagged(0, protocol::WriteCheckpoint(checkpoint)));

  const fuzz::FuzzCheckpoint known;
  const base::Bytes sealed = known.Seal(known.state);
  Write(folder / "sealed", Tagged(1, sealed));
  Write(folder / "sealed_version", Tagged(1, WithByte(sealed, 4, 9)));
  Write(folder / "sealed_round", Tagged(1, WithByte(sealed, 4 + 2 + 32 + 4, 9)));
  Write(folder / "sealed_cut", Tagged(1, {sealed.begin(), sealed.end() - 1}));
  protocol::Checkpoint other = known.state;
  other.agreement[0] ^= 1;
  Write(folder / "sealed_other_run", Tagged(1, known.Seal(other)));
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
    if (k == 0) {
      Write(corpus / "messages" / "upload", Tagged(0, upload));
      Write(corpus / "messages" / "upload_cut", Tagged(0, {upload.begin(), upload.end() - 1}));
      Write(corpus / "messages" / "upload_magic", Tagged(0, WithByte(upload, 0, 'X')));
      Write(corpus / "messages" / "upload_scheme", Tagged(0, WithByte(upload, kSchemeAt, 9)));
      Write(corpus / "messages" / "upload_dimension",
            Tagged(0, WithByte(upload, kSchemeAt + 2, 1)));
      Write(corpus / "messages" / "upload_damaged", Tagged(0, WithByte(upload, -1, 0x80)));
    }
    if (!aggregator.Submit(k, upload).ok()) return 1;
  }
  const base::Bytes closed = fuzz::ValueOrDie(aggregator.Close());
  Write(corpus / "messages" / "closed_round", Tagged(1, closed));
  const crypto::Digest hash = secagg::ClosedRoundHash(
      fuzz::ValueOrDie(secagg::ReadClosedRound(closed, round.attempt, params, 1)));
  secagg::OpenedSum opened{.participants = fuzz::FuzzRound::kParticipants,
                           .sums = std::vector<uint64_t>(params.dimension(), 2 * params.offset())};
  const base::Bytes opened_sum =
      secagg::WriteOpenedSum(opened, round.attempt, params, hash, 1, round.keys.result_key,
                             round.signing_keys[1], round.entropy);
  constexpr int64_t kOpenerAt = 4 + 2 + secagg::kAttemptBytes + 32;
  Write(corpus / "messages" / "opened_sum", Tagged(2, opened_sum));
  Write(corpus / "messages" / "opened_sum_opener", Tagged(2, WithByte(opened_sum, kOpenerAt, 7)));
  Write(corpus / "messages" / "opened_sum_participants",
        Tagged(2, WithByte(opened_sum, kOpenerAt + 8, 0)));
  Write(corpus / "messages" / "opened_sum_signature",
        Tagged(2, WithByte(opened_sum, -1, static_cast<uint8_t>(opened_sum.back() ^ 1))));
  const uint64_t centre = 2 * params.offset();
  opened.sums.front() += 5;
  opened.sums.back() -= 5;
  const base::Bytes packed = secagg::PackCentred(opened.sums, centre, params.plaintext_bits());
  Write(corpus / "messages" / "sums", Tagged(4, packed));
  Write(corpus / "messages" / "sums_cut", Tagged(4, {packed.begin(), packed.end() - 1}));
  Write(corpus / "messages" / "sums_after_end", Tagged(4, WithByte(packed, -1, 0xff)));
  Write(corpus / "messages" / "vote",
        Tagged(3, secagg::WriteVote(round.attempt, 1, hash, round.signing_keys[1])));
  WritePartialSumSeeds(corpus / "partial_sum");
  WriteRankSeeds(corpus / "rank_messages");
  WriteCheckpointSeeds(corpus / "checkpoint");
  using accounting::Unit;
  using ledger::ChargingRule;
  for (const LedgerSeed& seed : {
           LedgerSeed{.name = "whole"},
           LedgerSeed{.name = "empty", .records = 0, .anchored = 0},
           LedgerSeed{.name = "one_ahead", .anchored = 1},
           LedgerSeed{.name = "two_ahead", .records = 3, .anchored = 1},
           LedgerSeed{.name = "torn", .tail = 40},
           LedgerSeed{.name = "never_filled", .tail = ledger::kLedgerRecordBytes},
           LedgerSeed{.name = "ahead_and_torn", .anchored = 1, .tail = 9},
           LedgerSeed{.name = "own_seals", .rule = ChargingRule::kOwnSeals, .unit = Unit::kPerson},
           LedgerSeed{.name = "records", .unit = Unit::kRecord},
           LedgerSeed{.name = "twice", .twice = true},
           LedgerSeed{.name = "bad_event", .bad_event = true},
       }) {
    Write(corpus / "ledger" / seed.name, LedgerBytes(seed));
  }
  base::Bytes shorter = LedgerBytes({.name = "shorter"});
  shorter[0] = static_cast<uint8_t>(shorter[0] - 20);  // the ledger ends early, the anchor is wrong
  Write(corpus / "ledger" / "wrong_split", shorter);
  base::Bytes flipped = LedgerBytes({.name = "flipped"});
  flipped[250] ^= 1;
  Write(corpus / "ledger" / "flipped_record", flipped);
  // Records are cut off, the anchor is whole.
  base::Bytes cut = LedgerBytes({.name = "cut"});
  const size_t ledger_bytes = cut.size() - 2 - ledger::kLedgerAnchorBytes;
  cut.erase(cut.begin() + 2 + static_cast<std::ptrdiff_t>(ledger_bytes - 30),
            cut.begin() + 2 + static_cast<std::ptrdiff_t>(ledger_bytes));
  cut[0] = static_cast<uint8_t>(ledger_bytes - 30);
  cut[1] = static_cast<uint8_t>((ledger_bytes - 30) >> 8);
  Write(corpus / "ledger" / "missing_record", cut);
  return 0;
}
