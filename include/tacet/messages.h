// Messages of an attempt, as bytes, and the decrypted aggregate.
#ifndef TACET_MESSAGES_H_
#define TACET_MESSAGES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tacet/types.h"

namespace tacet {

// Fresh random bytes that name a seal. Members outside the committee see nonces in place of member
// numbers.
using SealNonce = std::array<uint8_t, 16>;

// A client's changes to its update before it sealed it. The report depends on its data: it never
// leaves the client.
struct ClipReport {
  double norm = 0;       // L2 norm before clipping; 0 for an update that is not finite
  bool finite = true;    // false: a value was NaN or infinite, and zeros were sealed in its place
  bool clipped = false;  // true when the clip norm made the update shorter
};

// Client to server: Agreement::upload_bytes() bytes. Keep it and send it again unchanged when a
// transfer fails; never seal a second time in one attempt.
struct SealedUpdate {
  Bytes upload = {};
  SealNonce nonce{};
  ClipReport clip = {};
};

// Server to clients.
struct ClosedAttempt {
  Bytes closed_round = {};  // for every member: nonces, MAC sum and aggregated ciphertext
  Bytes roster = {};        // for the committee only: the participants
};

// Everything that decrypts one attempt. All may have passed through the server; votes and shares
// that cannot be read, or belong to another sum, are left out.
struct DecryptionMessages {
  Bytes closed_round = {};
  std::vector<Bytes> votes = {};
  std::vector<Bytes> unmask_shares = {};
};

struct Aggregate {
  // K': number of uploads in the sum.
  uint32_t participants = 0;
  // Sum of the clipped updates plus noise, d values in units of the update.
  std::vector<double> sum = {};
  // The sum over its public divisor: K'; with dummy uploads K' K / M; with units kPerson and
  // kRecord the expected batch.
  std::vector<double> average = {};
  // Seats whose unmask shares were wrong, increasing. The sum was recovered without them.
  std::vector<uint32_t> wrong_seats = {};
};

}  // namespace tacet

#endif  // TACET_MESSAGES_H_
