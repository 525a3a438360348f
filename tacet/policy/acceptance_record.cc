#include "tacet/policy/acceptance_record.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::policy {
namespace {

constexpr std::string_view kWhat = "record of acceptances";
constexpr std::string_view kAcceptancesLabel = "tacet/1/acceptances";
constexpr size_t kEpochBytes = 32 + 4 + 8 + 1 + 8 + 1;
constexpr size_t kKeyBytes = 32;
constexpr uint32_t kMaxKnown = 2;  // sets of keys

uint8_t BitsOf(const std::vector<ChangeKind>& kinds) {
  unsigned bits = 0;
  for (const ChangeKind kind : kinds) bits |= 1U << static_cast<unsigned>(kind);
  return static_cast<uint8_t>(bits);
}

absl::StatusOr<AcceptedEpoch> ReadEpoch(base::ByteReader& reader) {
  AcceptedEpoch accepted;
  TACET_ASSIGN_OR_RETURN(accepted.manifest, secagg::ReadArray<32>(reader, "manifest"));
  TACET_ASSIGN_OR_RETURN(accepted.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(accepted.unix_seconds, reader.ReadU64("time"));
  TACET_ASSIGN_OR_RETURN(const uint8_t by, reader.ReadU8("by"));
  if (by < 1 || by > static_cast<uint8_t>(AcceptedBy::kCoordinator)) {
    return base::DataLoss("{}: nobody accepts by {}", kWhat, by);
  }
  accepted.by = static_cast<AcceptedBy>(by);
  TACET_ASSIGN_OR_RETURN(accepted.serial, reader.ReadU64("serial"));
  TACET_ASSIGN_OR_RETURN(const uint8_t bits, reader.ReadU8("kinds"));
  if (bits >= 1U << kChangeKinds.size()) {
    return base::DataLoss("{}: there are no kinds {}", kWhat, bits);
  }
  for (const ChangeKind kind : kChangeKinds) {
    if ((bits >> static_cast<unsigned>(kind) & 1U) != 0) accepted.kinds.push_back(kind);
  }
  return accepted;
}

// A count of `each` bytes, held against what is left before memory is taken.
absl::StatusOr<uint32_t> ReadCount(base::ByteReader& reader, std::string_view field, size_t each) {
  TACET_ASSIGN_OR_RETURN(const uint32_t count, reader.ReadU32(field));
  if (count > reader.remaining() / each) {
    return base::DataLoss("{}: field `{}` is {}, {} bytes are left", kWhat, field, count,
                          reader.remaining());
  }
  return count;
}

}  // namespace

std::set<crypto::PublicKey> AcceptanceRecord::KnownIn(const crypto::Digest& manifest) const {
  const auto found = std::ranges::find(known, manifest, &KnownKeys::manifest);
  return found == known.end() ? std::set<crypto::PublicKey>() : found->keys;
}

std::set<crypto::PublicKey> StayedMembers(std::set<crypto::PublicKey> keys,
                                          const crypto::Digest& joined,
                                          std::span<const agreement::EpochLink> chain) {
  const auto found = std::ranges::find(chain, joined, &agreement::EpochLink::hash);
  if (found == chain.end()) return {};
  for (const agreement::EpochLink& link : std::span(found + 1, chain.end())) {
    const std::vector<agreement::MemberIdentity>& members = link.agreed.members;
    std::erase_if(keys, [&](const crypto::PublicKey& key) {
      return std::ranges::find(members, key, &agreement::MemberIdentity::signing_key) ==
             members.end();
    });
  }
  return keys;
}

AcceptanceRecord AfterAccepting(AcceptanceRecord record, const crypto::Digest& joined,
                                std::span<const agreement::EpochLink> chain,
                                AcceptedEpoch accepted) {
  const agreement::EpochLink& now = chain.back();
  accepted.manifest = now.hash;
  accepted.epoch = now.epoch;
  const crypto::Digest& before = joined == crypto::Digest{} ? now.hash : joined;
  KnownKeys known{.manifest = now.hash,
                  .keys = StayedMembers(record.KnownIn(before), before, chain)};
  if (accepted.by == AcceptedBy::kPerson) {
    for (const agreement::MemberIdentity& member : now.agreed.members) {
      known.keys.insert(member.signing_key);
    }
  }
  std::erase_if(record.known, [&](const KnownKeys& keys) { return keys.manifest != before; });
  if (before == accepted.manifest) record.known.clear();
  record.known.push_back(std::move(known));
  record.latest_policy = std::max(record.latest_policy, accepted.serial);
  // The same invitation again, after a kill or with another certificate.
  if (!record.epochs.empty() && record.epochs.back().manifest == accepted.manifest) {
    if (accepted.by != AcceptedBy::kPerson && accepted.by != AcceptedBy::kPolicy) return record;
    record.epochs.pop_back();
  }
  record.epochs.push_back(std::move(accepted));
  if (record.epochs.size() > AcceptanceRecord::kMaxEpochs) {
    record.epochs.erase(record.epochs.begin());
  }
  return record;
}

base::Bytes WriteAcceptanceRecord(const AcceptanceRecord& record, const crypto::SigningKey& site) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kAcceptances, writer);
  writer.U64(record.latest_policy);
  writer.U32(static_cast<uint32_t>(record.epochs.size()));
  for (const AcceptedEpoch& accepted : record.epochs) {
    writer.Raw(accepted.manifest);
    writer.U32(accepted.epoch);
    writer.U64(accepted.unix_seconds);
    writer.U8(static_cast<uint8_t>(accepted.by));
    writer.U64(accepted.serial);
    writer.U8(BitsOf(accepted.kinds));
  }
  writer.U32(static_cast<uint32_t>(record.known.size()));
  for (const KnownKeys& known : record.known) {
    writer.Raw(known.manifest);
    writer.U32(static_cast<uint32_t>(known.keys.size()));
    for (const crypto::PublicKey& key : known.keys) writer.Raw(key);
  }
  agreement::AppendSignature(kAcceptancesLabel, site, writer);
  return writer.Take();
}

absl::StatusOr<AcceptanceRecord> ReadAcceptanceRecord(std::span<const uint8_t> bytes,
                                                      const crypto::PublicKey& site) {
  base::ByteReader reader(bytes, kWhat);
  AcceptanceRecord record;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kAcceptances, reader));
  TACET_ASSIGN_OR_RETURN(record.latest_policy, reader.ReadU64("latest policy"));
  TACET_ASSIGN_OR_RETURN(const uint32_t epochs, ReadCount(reader, "epochs", kEpochBytes));
  if (epochs > AcceptanceRecord::kMaxEpochs) {
    return base::DataLoss("{}: {} epochs, at most {} are kept", kWhat, epochs,
                          AcceptanceRecord::kMaxEpochs);
  }
  for (uint32_t i = 0; i < epochs; ++i) {
    TACET_ASSIGN_OR_RETURN(AcceptedEpoch accepted, ReadEpoch(reader));
    record.epochs.push_back(std::move(accepted));
  }
  TACET_ASSIGN_OR_RETURN(const uint32_t sets, ReadCount(reader, "sets of keys", 32 + 4));
  if (sets > kMaxKnown) {
    return base::DataLoss("{}: {} sets of keys, at most {} are kept", kWhat, sets, kMaxKnown);
  }
  for (uint32_t i = 0; i < sets; ++i) {
    KnownKeys known;
    TACET_ASSIGN_OR_RETURN(known.manifest, secagg::ReadArray<32>(reader, "manifest"));
    TACET_ASSIGN_OR_RETURN(const uint32_t keys, ReadCount(reader, "keys", kKeyBytes));
    for (uint32_t j = 0; j < keys; ++j) {
      TACET_ASSIGN_OR_RETURN(const crypto::PublicKey key, secagg::ReadArray<32>(reader, "key"));
      if (!known.keys.empty() && key <= *known.keys.rbegin()) {
        return base::DataLoss("{}: keys are not in their order", kWhat);
      }
      known.keys.insert(known.keys.end(), key);
    }
    record.known.push_back(std::move(known));
  }
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         agreement::ReadSignature(kAcceptancesLabel, site, bytes, reader));
  if (!is_signed) return base::DataLoss("{}: it is not signed by this site", kWhat);
  return record;
}

}  // namespace tacet::policy
