// Writes the seeds of the message, ciphertext, aggregated ciphertext, key sharing, partial sum,
// rank message, checkpoint, ledger and row sketch fuzzers: run it when a format changes. usage:
// make_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/fuzz_checkpoint.h"
#include "fuzz/fuzz_round.h"
#include "tacet/ledger/ledger_anchor.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/ledger/row_sketch.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/vote.h"
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
  bool pure = false;       // discrete Laplace noise
  bool all_kinds = false;  // refused attempts and policies, too
};

base::Bytes LedgerBytes(const LedgerSeed& seed) {
  ledger::LedgerHeader header;
  header.population = "main";
  header.unit = seed.unit;
  header.spending.budget_epsilon = 3;
  header.spending.composition = accounting::Composition::kAnyEvents;
  const bool own = seed.rule == ledger::ChargingRule::kOwnSeals;
  base::ByteWriter ledger_writer;
  ledger_writer.Raw(ledger::WriteLedgerHeader(header));
  ledger::LedgerAnchor end = ledger::EmptyLedgerEnd(header);
  base::Bytes anchor;
  for (uint32_t round = 0; round <= seed.records; ++round) {
    if (round == seed.anchored) anchor = ledger::WriteLedgerAnchor(end);
    if (round == seed.records) break;
    ledger::LedgerEntry entry;
    entry.rule = seed.rule;
    entry.label.number.round = seed.twice ? 0 : round;
    entry.kind = round == 0 || own ? ledger::ChargeKind::kSealing : ledger::ChargeKind::kCatchingUp;
    entry.event.unit = seed.unit;
    entry.event.sampling = own          ? accounting::Sampling::kNone
                           : round == 0 ? accounting::Sampling::kFixedSize
                                        : accounting::Sampling::kPoisson;
    entry.event.sampling_rate = seed.bad_event ? 2 : own || seed.pure ? 1 : 0.25;
    if (seed.pure) entry.event.pure_epsilon = 0.5;
    entry.event.noise_stddev = 6;
    ledger::LedgerRecord kind = entry;
    if (seed.all_kinds && round == 1) {
      kind = ledger::LedgerRefusal{.federation = entry.federation, .label = entry.label};
    } else if (seed.all_kinds && round == 2) {
      kind = ledger::LedgerPolicy{.digest = {9}, .serial = 3};
    }
    const base::Bytes record = ledger::WriteLedgerRecord(kind, end.head);
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

// Under the key of fuzz/row_sketch_fuzz.cc.
void WriteRowSketchSeeds(const std::filesystem::path& folder) {
  const crypto::SecretBytes key(ledger::kSketchKeyBytes),
      other = crypto::SecretBytes::CopyOf(base::Bytes(32, 1));
  const ledger::RowSketch rows = ledger::RowSketch::Of({1, 2, 77, ledger::kSketchThreshold - 1});
  const base::Bytes bytes = ledger::WriteRowSketch(rows, key);
  Write(folder / "rows", bytes);
  Write(folder / "empty", ledger::WriteRowSketch({}, key));
  Write(folder / "other_key", ledger::WriteRowSketch(rows, other));
  Write(folder / "version", WithByte(bytes, 4, 2));
  Write(folder / "many", WithByte(bytes, 41, 1));
  Write(folder / "not_ascending", WithByte(bytes, 42, 3));
  Write(folder / "beyond_the_threshold", WithByte(bytes, 42 + 31, 0x40));
  Write(folder / "digest", WithByte(bytes, -1, 0));
  Write(folder / "cut", base::Bytes(bytes.begin(), bytes.begin() + 50));
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

constexpr uint8_t kRaw = 0x80, kCut = 0x40;  // flags of the inputs that are patched

void WritePartialSumSeeds(const std::filesystem::path& folder) {
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

void WriteMessageSeeds(const std::filesystem::path& folder) {
  fuzz::AnsweredRound answered;
  fuzz::FuzzRound& round = answered.round;
  const base::Bytes& upload = answered.uploads[0];
  Write(folder / "upload", Tagged(0, upload));
  Write(folder / "upload_cut", Tagged(0, {upload.begin(), upload.end() - 1}));
  Write(folder / "upload_magic", Tagged(0, WithByte(upload, 0, 'X')));
  Write(folder / "upload_scheme", Tagged(0, WithByte(upload, kSchemeAt, 9)));
  Write(folder / "upload_dimension", Tagged(0, WithByte(upload, kSchemeAt + 2, 1)));
  Write(folder / "upload_damaged", Tagged(0, WithByte(upload, -1, 0x80)));

  constexpr int64_t kCountAt = 4 + 2 + secagg::kAttemptBytes, kListAt = kCountAt + 4;
  const base::Bytes& closed = answered.closed.closed_round;
  Write(folder / "closed_round", Tagged(1, closed));
  Write(folder / "closed_round_cut", Tagged(1, {closed.begin(), closed.end() - 1}));
  Write(folder / "closed_round_participants", Tagged(1, WithByte(closed, kCountAt, 3)));
  Write(folder / "closed_round_nonces", Tagged(1, WithByte(closed, kListAt, 0xff)));
  Write(folder / "closed_round_shares", Tagged(1, WithByte(closed, -1, 0xff)));

  const base::Bytes& share = answered.shares[0];
  Write(folder / "unmask_share", Tagged(2, share));
  Write(folder / "unmask_share_cut", Tagged(2, {share.begin(), share.end() - 1}));
  Write(folder / "unmask_share_seat", Tagged(2, WithByte(share, kCountAt + 32, 7)));
  Write(folder / "unmask_share_length", Tagged(2, WithByte(share, kCountAt + 32 + 4 + 3, 0x7f)));
  Write(folder / "unmask_share_signature",
        Tagged(2, WithByte(share, -1, static_cast<uint8_t>(share.back() ^ 1))));

  const base::Bytes& vote = answered.votes[1];
  Write(folder / "vote", Tagged(3, vote));
  Write(folder / "vote_cut", Tagged(3, {vote.begin(), vote.end() - 1}));
  Write(folder / "vote_seat", Tagged(3, WithByte(vote, kCountAt, 9)));
  Write(folder / "vote_attempt", Tagged(3, WithByte(vote, kCountAt - 33, 9)));
  Write(folder / "vote_signature",
        Tagged(3, WithByte(vote, -1, static_cast<uint8_t>(vote.back() ^ 1))));

  const auto own = fuzz::ValueOrDie(secagg::ReadUnmaskShare(
      share, round.attempt, round.params().sharing(), round.committee, round.keys.result_key));
  base::ByteWriter writer;
  for (const uint16_t word : own.mask_sums.Expose()) writer.U16(word);
  const base::Bytes words = writer.Take();
  Write(folder / "words", Tagged(4, words));
  Write(folder / "words_cut", Tagged(4, {words.begin(), words.end() - 2}));
  Write(folder / "words_wrong", Tagged(4, WithByte(words, -1, 0)));
  Write(folder / "words_not_canonical", Tagged(4, WithByte(WithByte(words, -1, 0xff), -2, 0xff)));

  const base::Bytes packet = secagg::WriteKeyPacket(round.packets[2].packet);
  Write(folder / "key_packet", Tagged(8, packet));
  Write(folder / "key_packet_cut", Tagged(8, {packet.begin(), packet.end() - 1}));
  Write(folder / "key_packet_hash", Tagged(8, WithByte(packet, 50, 0)));
  Write(folder / "key_packet_ciphertext",
        Tagged(8, WithByte(packet, -1, static_cast<uint8_t>(packet.back() ^ 1))));
  const base::Bytes copy = secagg::CopyForSeat(packet, fuzz::FuzzRound::kSeats, 1);
  Write(folder / "key_packet_copy", Tagged(9, copy));
  Write(folder / "key_packet_copy_of_another_seat", Tagged(9, secagg::CopyForSeat(packet, 4, 2)));

  const base::Bytes& row = answered.rows[0];
  Write(folder / "check_row", Tagged(6, row));
  Write(folder / "check_row_cut", Tagged(6, {row.begin(), row.end() - 1}));
  Write(folder / "check_row_seat", Tagged(6, WithByte(row, kCountAt + 32, 7)));
  Write(folder / "check_row_length", Tagged(6, WithByte(row, kCountAt + 32 + 4 + 3, 0x7f)));
  Write(folder / "check_row_signature",
        Tagged(6, WithByte(row, -1, static_cast<uint8_t>(row.back() ^ 1))));
  const int64_t combinations_at = kCountAt + 32 + 4 + 4;
  const base::Bytes combinations(row.begin() + combinations_at, row.end() - 64);
  Write(folder / "combinations", Tagged(7, combinations));
  Write(folder / "combinations_wrong",
        Tagged(7, WithByte(combinations, 3, static_cast<uint8_t>(combinations[3] ^ 1))));
  Write(folder / "combinations_not_canonical",
        Tagged(7, WithByte(WithByte(combinations, 2, 0xff), 3, 0xff)));

  const base::Bytes& roster = answered.closed.roster;
  Write(folder / "roster", Tagged(5, roster));
  Write(folder / "roster_cut", Tagged(5, {roster.begin(), roster.end() - 1}));
  Write(folder / "roster_participants", Tagged(5, WithByte(roster, kCountAt, 0xff)));
  Write(folder / "roster_salt", Tagged(5, WithByte(roster, kListAt, 0)));
  Write(folder / "roster_member", Tagged(5, WithByte(roster, -8, 9)));
}

// Patches of honest ciphertexts and aggregated ciphertexts: fuzz/ciphertext_fuzz.cc,
// fuzz/aggregated_ciphertext_fuzz.cc. The payload of scheme compact is one coefficient there, 12
// bytes in a ciphertext and 16 in a sum.
constexpr const char* kSchemeNames[] = {"compact", "paper", "paper_secret_key"};

void WriteCiphertextSeeds(const std::filesystem::path& folder) {
  for (uint8_t scheme = 0; scheme < 3; ++scheme) {
    const std::string name = kSchemeNames[scheme];
    Write(folder / name, Patches(scheme, {}));
    Write(folder / (name + "_altered"), Patches(scheme, {{3, 0x55}, {1000, 0xaa}}));
    Write(folder / (name + "_cut"), Patches(scheme | kCut, {{100, 7}}));
  }
  Write(folder / "compact_payload_not_canonical",
        Patches(0, {{8, 0xff}, {9, 0xff}, {10, 0xff}, {11, 0xff}}));
  // One coefficient of counts, three of the MAC, then the shares.
  Write(folder / "compact_tag_altered", Patches(0, {{12 + 24, 0x55}}));
  Write(folder / "compact_tag_not_canonical",
        Patches(0, {{36, 0xff}, {37, 0xff}, {38, 0xff}, {39, 0xff}}));
  Write(folder / "compact_shares_not_canonical", Patches(0, {{48, 0xff}, {49, 0xff}}));
  Write(folder / "paper_tag_not_canonical", Patches(1, {{5 * 8 + 8 * 8192 + 7, 0xff}}));
  Write(folder / "paper_c0_not_canonical", Patches(1, {{7, 0xff}}));
  Write(folder / "paper_c1_not_canonical", Patches(1, {{5 * 8 + 8 * 8191 + 7, 0xff}}));
  Write(folder / "paper_secret_key_c0_not_canonical", Patches(2, {{7, 0xff}}));
  Write(folder / "raw_short", Tagged(kRaw, {'a', 'b', 'c'}));
  Write(folder / "raw_zeros", Tagged(kRaw, base::Bytes(59)));
}

void WriteAggregatedCiphertextSeeds(const std::filesystem::path& folder) {
  const auto patches = [](uint8_t flags, uint8_t participants, const std::vector<Patch>& all) {
    base::Bytes bytes = Patches(flags, all);
    bytes.insert(bytes.begin() + 1, participants);
    return bytes;
  };
  for (uint8_t scheme = 0; scheme < 3; ++scheme) {
    const std::string name = kSchemeNames[scheme];
    Write(folder / name, patches(scheme, 2, {}));
    Write(folder / (name + "_altered"), patches(scheme, 2, {{3, 0x55}, {1000, 0xaa}}));
    Write(folder / (name + "_cut"), patches(scheme | kCut, 2, {{100, 7}}));
    Write(folder / (name + "_not_canonical"), patches(scheme, 2, {{7, 0xff}, {15, 0xff}}));
    Write(folder / (name + "_participants"), patches(scheme, 9, {}));
  }
  Write(folder / "compact_tag_not_canonical", patches(0, 2, {{16 + 7, 0xff}}));
  Write(folder / "compact_shares_not_canonical", patches(0, 2, {{64, 0xff}, {65, 0xff}}));
  Write(folder / "paper_tag_not_canonical", patches(1, 2, {{5 * 8 + 8 * 8192 + 7, 0xff}}));
  Write(folder / "raw_zeros", patches(kRaw | 2, 1, std::vector<Patch>(14)));
}

// fuzz/key_sharing_fuzz.cc.
struct WrongWord {
  uint8_t seat;
  uint16_t word, value;
};
base::Bytes WrongWords(uint8_t committee, uint32_t answering, const std::vector<WrongWord>& all) {
  base::ByteWriter writer;
  writer.U8(committee);
  for (int i = 0; i < 3; ++i) writer.U8(static_cast<uint8_t>(answering >> (8 * i)));
  for (const WrongWord& wrong : all) {
    writer.U8(wrong.seat);
    writer.U16(wrong.word);
    writer.U16(wrong.value);
  }
  return writer.Take();
}

void WriteKeySharingSeeds(const std::filesystem::path& folder) {
  constexpr uint8_t kOne = 0, kFour = 2, kFive = 3, kFiveRamp = 4, kTen = 6, kTwenty = 7;
  Write(folder / "one", WrongWords(kOne, 1, {}));
  Write(folder / "one_none", WrongWords(kOne, 0, {}));
  Write(folder / "quorum", WrongWords(kFour, 0b0111, {}));
  Write(folder / "too_few", WrongWords(kFour, 0b1010, {}));
  Write(folder / "wrong_unnoticed", WrongWords(kFour, 0b1011, {{3, 7, 1}}));
  Write(folder / "wrong_noticed", WrongWords(kFive, 0b11111, {{4, 7, 1}}));
  Write(folder / "wrong_named", WrongWords(kFiveRamp, 0b11111, {{0, 7, 1}}));
  Write(folder / "two_wrong", WrongWords(kTen, 0x3ff, {{0, 7, 1}, {9, 300, 65520}}));
  Write(folder / "wrong_and_absent", WrongWords(kTwenty, 0xf7fff, {{3, 0, 0}, {16, 511, 9}}));
  Write(folder / "three_wrong", WrongWords(kTwenty, 0xfffff, {{1, 7, 1}, {2, 7, 2}, {3, 9, 3}}));
  Write(folder / "too_many_wrong",
        WrongWords(kTwenty, 0xfffff, {{1, 7, 1}, {2, 7, 2}, {3, 9, 3}, {4, 1, 1}}));
  Write(folder / "share_sum", WrongWords(kFive, 0b11111, {{128, 7, 1}}));
  Write(folder / "share_sum_not_canonical", WrongWords(kFive, 0b11111, {{128, 7, 65521}}));
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
  simulation::RankTask task{
      .secrets = {.epoch_key = entropy.Draw(32), .exchange_seed = entropy.Draw(32)},
      .share = {.seats = {{0, 1}, {2, 4}}, .mean_samples = 2}};
  const auto plain = fuzz::ValueOrDie(
      key.Open(fuzz::ValueOrDie(simulation::EncryptRankTask(task, key.public_key()))));
  const base::Bytes opened(plain.Expose().begin(), plain.Expose().end());
  Write(folder / "task", Tagged(2, opened));
  Write(folder / "task_client", Tagged(2, WithByte(opened, -9, 5)));
  Write(folder / "task_cover", Tagged(2, WithByte(opened, -1, 2)));
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
      .federation = {}, .next_round = 2, .model = {1, 2, 3}, .velocity = {0.5f, 0, -1}};
  const base::Bytes small = protocol::WriteCheckpoint(checkpoint);
  Write(folder / "small", Tagged(0, small));
  Write(folder / "version", Tagged(0, WithByte(small, 4, 9)));
  Write(folder / "cut", Tagged(0, {small.begin(), small.end() - 40}));
  Write(folder / "damaged", Tagged(0, WithByte(small, -20, 0xaa)));
  Write(folder / "checksum", Tagged(0, WithByte(small, -1, 0xaa)));
  Write(folder / "old_version", Tagged(0, WithByte(small, 4, 1)));
  protocol::Checkpoint without_velocity = checkpoint;
  without_velocity.velocity = {};
  Write(folder / "without_velocity", Tagged(0, protocol::WriteCheckpoint(without_velocity)));
  checkpoint.federation[0] = 1;
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
  other.federation[0] ^= 1;
  Write(folder / "sealed_other_run", Tagged(1, known.Seal(other)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const std::filesystem::path corpus = argv[1];
  WriteMessageSeeds(corpus / "messages");
  WriteCiphertextSeeds(corpus / "ciphertext");
  WriteAggregatedCiphertextSeeds(corpus / "aggregated_ciphertext");
  WriteKeySharingSeeds(corpus / "key_sharing");
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
           LedgerSeed{.name = "pure", .unit = Unit::kRecord, .pure = true},
           LedgerSeed{.name = "twice", .twice = true},
           LedgerSeed{.name = "bad_event", .bad_event = true},
           LedgerSeed{.name = "all_kinds", .records = 5, .anchored = 5, .all_kinds = true},
       }) {
    Write(corpus / "ledger" / seed.name, LedgerBytes(seed));
  }
  base::Bytes shorter = LedgerBytes({.name = "shorter"});
  --shorter[1];  // the ledger ends early, the anchor is wrong
  Write(corpus / "ledger" / "wrong_split", shorter);
  base::Bytes flipped = LedgerBytes({.name = "flipped"});
  flipped[2 + ledger::kLedgerHeaderBytes + 50] ^= 1;
  Write(corpus / "ledger" / "flipped_record", flipped);
  // Records are cut off, the anchor is whole.
  base::Bytes cut = LedgerBytes({.name = "cut"});
  const size_t ledger_bytes = cut[0] | size_t{cut[1]} << 8;
  cut.erase(cut.begin() + 2 + static_cast<std::ptrdiff_t>(ledger_bytes - 30),
            cut.begin() + 2 + static_cast<std::ptrdiff_t>(ledger_bytes));
  cut[0] = static_cast<uint8_t>(ledger_bytes - 30);
  cut[1] = static_cast<uint8_t>((ledger_bytes - 30) >> 8);
  Write(corpus / "ledger" / "missing_record", cut);
  base::Bytes earlier = LedgerBytes({.name = "earlier"});
  earlier[2 + 4] = 1;
  Write(corpus / "ledger" / "earlier_version", earlier);
  WriteRowSketchSeeds(corpus / "row_sketch");
  return 0;
}
