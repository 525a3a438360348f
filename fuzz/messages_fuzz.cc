// All messages of an attempt, decoded by their receivers. The first byte picks the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/fuzz_round.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/vote.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace {

using namespace tacet;

void Expect(bool right) {
  if (!right) std::abort();
}

bool Same(const base::Bytes& a, std::span<const uint8_t> b) { return std::ranges::equal(a, b); }

fuzz::AnsweredRound& Answered() {
  static fuzz::AnsweredRound& answered = *new fuzz::AnsweredRound;
  return answered;
}

absl::StatusOr<secagg::DecryptedRound> Decrypt(std::span<const uint8_t> closed_round,
                                               std::span<const base::Bytes> votes,
                                               std::span<const base::Bytes> shares) {
  const fuzz::FuzzRound& round = Answered().round;
  return secagg::DecryptRound(
      round.terms, round.committee, round.attempt, round.keys,
      {.closed_round = closed_round, .votes = votes, .unmask_shares = shares});
}

bool IsTheSum(const secagg::DecryptedRound& decrypted) {
  const fuzz::FuzzRound& round = Answered().round;
  return decrypted.aggregate.sums ==
         std::vector<uint64_t>(round.terms.dimension(),
                               fuzz::FuzzRound::kParticipants * round.params().offset());
}

void ReadUpload(std::span<const uint8_t> message) {
  const fuzz::FuzzRound& round = Answered().round;
  const auto upload = secagg::ReadUpload(message, round.attempt, round.params());
  if (!upload.ok()) return;
  Expect(
      Same(secagg::WriteUpload(upload->attempt, round.params(), upload->nonce, upload->ciphertext),
           message));
}

// Another closed round than the one that was voted for is never decrypted.
void ReadClosedRound(std::span<const uint8_t> message) {
  fuzz::AnsweredRound& answered = Answered();
  fuzz::FuzzRound& round = answered.round;
  const auto closed = secagg::ReadClosedRound(message, round.attempt, round.params(), 1);
  if (closed.ok()) Expect(Same(secagg::WriteClosedRound(*closed), message));
  const auto decrypted = Decrypt(message, answered.votes, answered.shares);
  Expect(decrypted.ok() == Same(answered.closed.closed_round, message));
  secagg::MemoryJournal journal;
  (void)round.Member(2, journal).Vote(message, answered.closed.roster);
}

// In addition to a closed round, only its own roster gets a vote.
void ReadRoster(std::span<const uint8_t> message) {
  fuzz::AnsweredRound& answered = Answered();
  fuzz::FuzzRound& round = answered.round;
  const auto roster = secagg::ReadRoster(message, round.attempt, round.terms.max_participants());
  if (roster.ok()) Expect(Same(secagg::WriteRoster(*roster, round.attempt), message));
  secagg::MemoryJournal journal;
  const auto vote = round.Member(2, journal).Vote(answered.closed.closed_round, message);
  Expect(vote.ok() == Same(answered.closed.roster, message));
}

// One vote next to the seat's own makes no quorum, whatever it says.
void ReadVote(std::span<const uint8_t> message) {
  fuzz::AnsweredRound& answered = Answered();
  fuzz::FuzzRound& round = answered.round;
  const auto vote = secagg::ReadVote(message, round.attempt, round.committee);
  if (vote.ok()) {
    Expect(Same(
        secagg::WriteVote(round.attempt, vote->seat, vote->hash, round.signing_keys[vote->seat]),
        message));
  }
  secagg::MemoryJournal journal;
  secagg::CommitteeMember member = round.Member(2, journal);
  (void)fuzz::ValueOrDie(member.Vote(answered.closed.closed_round, answered.closed.roster));
  const std::vector<base::Bytes> votes(3, base::Bytes(message.begin(), message.end()));
  Expect(!member.Unmask(votes).ok());
}

// Three shares decrypt. A fourth that is none changes nothing.
void ReadUnmaskShare(std::span<const uint8_t> message) {
  fuzz::AnsweredRound& answered = Answered();
  std::vector<base::Bytes> shares(answered.shares.begin() + 1, answered.shares.end());
  shares.emplace(shares.begin(), message.begin(), message.end());
  const auto decrypted = Decrypt(answered.closed.closed_round, answered.votes, shares);
  Expect(decrypted.ok() && IsTheSum(*decrypted) && decrypted->wrong_seats.empty());
}

// The words of an unmask share without encryption and signature, which no mutation gets past: seat
// 0 says anything. Its share is refused, or does not fit the three others and is corrected.
void AnswerWith(std::span<const uint8_t> message) {
  fuzz::AnsweredRound& answered = Answered();
  fuzz::FuzzRound& round = answered.round;
  const size_t expected = round.params().sharing().mask_words();
  std::vector<uint16_t> words(std::min(message.size() / 2, expected + 1));
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<uint16_t>(message[2 * i] | message[2 * i + 1] << 8);
  }
  const crypto::Digest hash = secagg::ClosedRoundHash(fuzz::ValueOrDie(
      secagg::ReadClosedRound(answered.closed.closed_round, round.attempt, round.params(), 1)));
  const base::Bytes written = secagg::WriteUnmaskShare(
      words, round.attempt, hash, 0, round.keys.result_key, round.signing_keys[0], round.entropy);
  const auto read = secagg::ReadUnmaskShare(written, round.attempt, round.params().sharing(),
                                            round.committee, round.keys.result_key);
  const bool canonical =
      std::ranges::all_of(words, [](uint16_t word) { return word < he::kSharePrime; });
  Expect(read.ok() == (canonical && words.size() == expected));
  if (read.ok()) Expect(std::ranges::equal(read->mask_sums.Expose(), words));
  std::vector<base::Bytes> shares = answered.shares;
  shares[0] = written;
  const auto decrypted = Decrypt(answered.closed.closed_round, answered.votes, shares);
  const auto own = fuzz::ValueOrDie(
      secagg::ReadUnmaskShare(answered.shares[0], round.attempt, round.params().sharing(),
                              round.committee, round.keys.result_key));
  // The last words belong to check rows: no sum of keys depends on them.
  const size_t compared = expected - he::kCheckWords;
  const bool fits = !read.ok() || std::ranges::equal(own.mask_sums.Expose().first(compared),
                                                     std::span(words).first(compared));
  Expect(decrypted.ok() && IsTheSum(*decrypted));
  Expect(decrypted->wrong_seats == (fits ? std::vector<uint32_t>() : std::vector<uint32_t>{0}));
}

// Participants that the rows name next to honest uploads, and with a wrong share of the first.
std::vector<size_t> Named(std::span<const base::Bytes> rows, bool spoil) {
  fuzz::AnsweredRound& answered = Answered();
  const fuzz::FuzzRound& round = answered.round;
  const secagg::ClosedRound closed = fuzz::ValueOrDie(
      secagg::ReadClosedRound(answered.closed.closed_round, round.attempt, round.params(), 1));
  const secagg::Roster roster = fuzz::ValueOrDie(
      secagg::ReadRoster(answered.closed.roster, round.attempt, round.terms.max_participants()));
  std::vector<base::Bytes> shares;
  for (const uint64_t member : roster.members) {
    const auto all =
        std::span(answered.uploads[member])
            .subspan(secagg::SharesOffset(round.params()), round.params().share_bytes());
    shares.emplace_back(all.begin(), all.end());
  }
  if (spoil) shares[0][0] ^= 1;
  const std::vector<std::span<const uint8_t>> views(shares.begin(), shares.end());
  return secagg::FindWrongParticipants(round.params(), round.committee, round.attempt,
                                       secagg::ClosedRoundHash(closed), rows, views)
      .disputed;
}

// A row that is none changes nothing.
void ReadCheckRow(std::span<const uint8_t> message) {
  fuzz::AnsweredRound& answered = Answered();
  const fuzz::FuzzRound& round = answered.round;
  const auto row =
      secagg::ReadCheckRow(message, round.attempt, round.committee, fuzz::FuzzRound::kParticipants);
  if (row.ok()) {
    Expect(Same(secagg::WriteCheckRow(round.attempt, row->round_hash, row->seat, row->combinations,
                                      round.signing_keys[row->seat]),
                message));
  }
  std::vector<base::Bytes> rows = answered.rows;
  rows.emplace(rows.begin(), message.begin(), message.end());
  Expect(Named(rows, false).empty());
  Expect(Named(rows, true) == std::vector<size_t>{0});
}

// The combinations of seat 0 without the signature, which no mutation gets past. With one seat more
// than recovers a key, a lie names those whom it is about, and nobody else.
void CheckWith(std::span<const uint8_t> message) {
  fuzz::AnsweredRound& answered = Answered();
  const fuzz::FuzzRound& round = answered.round;
  const secagg::CheckRow own = fuzz::ValueOrDie(secagg::ReadCheckRow(
      answered.rows[0], round.attempt, round.committee, fuzz::FuzzRound::kParticipants));
  std::vector<he::ShareCombination> said = own.combinations;
  bool canonical = true;
  for (size_t i = 0; i < message.size() / 2 && i < said.size() * he::kCheckWords; ++i) {
    uint16_t& word = said[i / he::kCheckWords][i % he::kCheckWords];
    word = static_cast<uint16_t>(message[2 * i] | message[2 * i + 1] << 8);
    canonical = canonical && word < he::kSharePrime;
  }
  std::vector<base::Bytes> rows = answered.rows;
  rows[0] = secagg::WriteCheckRow(round.attempt, own.round_hash, 0, said, round.signing_keys[0]);
  std::vector<size_t> lied_about;
  for (size_t i = 0; canonical && i < said.size(); ++i) {
    if (said[i] != own.combinations[i]) lied_about.push_back(i);
  }
  Expect(Named(rows, false) == lied_about);
}

// Whole, or the copy of seat 1, which opens its ciphertext whatever it is.
void ReadKeyPacket(std::span<const uint8_t> message, std::optional<uint32_t> seat) {
  const fuzz::FuzzRound& round = Answered().round;
  const auto packet = secagg::ReadKeyPacket(message, fuzz::FuzzRound::kSeats, seat);
  if (!packet.ok()) return;
  Expect(Same(secagg::WriteKeyPacket(*packet), message));
  const uint64_t client = packet->owner.client;
  const bool known = client < fuzz::FuzzRound::kSeats;
  const bool is_right =
      known && secagg::IsSignedBy(*packet, round.signing_keys[client].public_key());
  const uint32_t first = seat.value_or(0);
  const crypto::SecretBytes shared = round.kem_keys[first].Decapsulate(packet->ciphertexts.front());
  if (is_right) {
    Expect(
        crypto::ConstantTimeEqual(shared.Expose(), round.packets[client].shared[first].Expose()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> message(data + 1, size - 1);
  // An accepted message is written again byte for byte: every message has one form.
  switch (data[0] % 10) {
    case 0:
      ReadUpload(message);
      break;
    case 1:
      ReadClosedRound(message);
      break;
    case 2:
      ReadUnmaskShare(message);
      break;
    case 3:
      ReadVote(message);
      break;
    case 4:
      AnswerWith(message);
      break;
    case 5:
      ReadRoster(message);
      break;
    case 6:
      ReadCheckRow(message);
      break;
    case 7:
      CheckWith(message);
      break;
    case 8:
      ReadKeyPacket(message, std::nullopt);
      break;
    default:
      ReadKeyPacket(message, 1);
      break;
  }
  return 0;
}
