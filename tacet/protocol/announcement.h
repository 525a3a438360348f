// Announcement: the server's message to one member about the state of the federation.
#ifndef TACET_PROTOCOL_ANNOUNCEMENT_H_
#define TACET_PROTOCOL_ANNOUNCEMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/attempt.h"

namespace tacet::protocol {

// Phase of an attempt. The numbers are part of the format.
enum class AttemptPhase : uint8_t {
  kCollecting = 1,  // uploads are accepted
  kUnmasking = 2,   // closed; the committee votes, gives unmask shares and confirms the aggregate
  kPublished = 3,   // confirmed; members fetch, decrypt and apply
  kFailed = 4,      // nothing of it is applied
};
std::string_view AttemptPhaseName(AttemptPhase phase);  // collecting, unmasking, published, failed

// Role of the member in the announced attempt.
enum class Invited : uint8_t {
  kNo = 0,
  kYes = 1,
  kOwnCoin = 2,  // it decides by a secret coin of its own (Poisson sampling)
};

struct AnnouncedAttempt {
  secagg::Attempt attempt;
  AttemptPhase phase = AttemptPhase::kCollecting;
  Invited invited = Invited::kNo;
  uint64_t deadline = 0;      // of the phase, Unix seconds of the server's clock
  uint32_t participants = 0;  // K', from kUnmasking on

  friend bool operator==(const AnnouncedAttempt&, const AnnouncedAttempt&) = default;
};

struct Announcement {
  crypto::Digest manifest_hash{};
  uint32_t epoch = 0;
  // Another number after every change that a member can see; only for comparing.
  uint64_t revision = 0;
  // Attempts announced in this epoch from the one with index `first_listed` on, in order: a ledger
  // of announced attempts catches up with them. The last is the current one when there is one.
  uint64_t first_listed = 0;
  std::vector<secagg::AttemptNumber> listed = {};
  std::optional<AnnouncedAttempt> current =
      std::nullopt;  // the last one begun in this epoch, also when it ended
  // Rounds that are published, in all epochs. Before a later epoch is opened: the round with which
  // it begins if the committee votes for that.
  uint32_t finished = 0;
  // Published attempts of this epoch whose closed rounds can still be fetched, in order.
  std::vector<secagg::Attempt> kept = {};
  bool stopped = false;  // no attempt will follow
  // The server has lost objects: who gave or holds one gives it again.
  bool recalls = false;

  friend bool operator==(const Announcement&, const Announcement&) = default;
};

base::Bytes WriteAnnouncement(const Announcement& announcement);
// DataLoss when cut short, with an unknown word, or with lists that contradict each other.
absl::StatusOr<Announcement> ReadAnnouncement(std::span<const uint8_t> bytes);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_ANNOUNCEMENT_H_
