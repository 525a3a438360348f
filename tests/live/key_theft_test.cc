// Theft of exchange keys: a thief takes the folders of sites in one epoch, and has the uploads and
// the epoch keys of all epochs. The server and one colluding member could give it these. Another
// thief has recorded requests and invitations, and would like to have the epoch keys.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/agreement/pair_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/half_broken_box_for_test.h"
#include "tacet/he/aggregation.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/whole_messages_for_test.h"
#include "tacet/storage/file/exchange_key_files.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::live {
namespace {

namespace fs = std::filesystem;
using storage::file::SiteFolder;

using base::ValueOf;

constexpr uint64_t kDimension = 20;
constexpr uint64_t kSites = 5;
constexpr uint64_t kOutside = 4;  // the member without a seat
constexpr uint32_t kSeats = 4;    // of the members 0 to 3
constexpr uint32_t kCorrupt = 1;

// With one key coefficient a polynomial f + 1 seats decrypt.
agreement::ManifestSpec Agreement(const agreement::InitialModel& model) {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = kDimension;
  spec.initial_model = model.Digest();
  spec.sampling.cohort = kSites;
  spec.sampling.min_participants = 3;
  spec.rounds = 3;
  spec.mechanism.scale = 1e-2;
  spec.mechanism.noise_stddev = 3;
  spec.committee = {.seats = kSeats, .corrupt = kCorrupt, .packing = 1};
  return spec;
}

// The keys that a thief found, by member.
using Loot = std::map<uint64_t, agreement::ExchangeKeys>;
using Uploads = std::map<uint64_t, base::Bytes>;

// The messages between the coordinator and a member at the beginning of an epoch.
struct Recorded {
  base::Bytes request;
  base::Bytes epoch_key;  // encrypted, of the invitation
};

// One epoch of the federation, and one attempt in it.
struct Epoch {
  agreement::SignedManifest manifest;
  crypto::SecretBytes key;
  std::vector<Recorded> recorded = {};    // by member
  std::vector<base::Bytes> packets = {};  // that the members send to the server, by member

  const secagg::Terms& terms() const { return manifest.manifest().terms(); }
  secagg::Attempt attempt() const {
    secagg::Attempt attempt;
    attempt.manifest_hash = manifest.manifest().hash();
    attempt.number.epoch = manifest.epoch();
    return attempt;
  }
  const crypto::ExchangePublicKey& NamedFor(uint64_t member) const {
    return manifest.members()[member].exchange_key;
  }
  agreement::PairSecrets SecretsWith(const agreement::ExchangeKeys& own) const {
    return {.exchange_key = own.exchange,
            .kem_key = own.kem,
            .epoch_key = key,
            .epoch = manifest.epoch()};
  }
  // For `client`, whose keys these are.
  agreement::ClientKeys KeysOf(uint64_t client, const agreement::ExchangeKeys& own,
                               const crypto::SigningKey& signing_key) const {
    const std::vector<crypto::KemPublicKey> seat_keys = manifest.seat_keys();
    return ValueOf(agreement::KeysWithSeats(manifest.manifest(), SecretsWith(own), client,
                                            seat_keys, signing_key));
  }
  secagg::KeyPacket PacketOf(uint64_t client) const {
    return ValueOf(secagg::ReadKeyPacket(packets[client], kSeats));
  }
  // For a pair, from what X25519 and ML-KEM-768 gave somebody.
  crypto::SecretBytes PairKeyFrom(const crypto::SecretBytes& agreed,
                                  const crypto::SecretBytes& shared, uint64_t client,
                                  uint32_t seat) const {
    return secagg::DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = key},
                                 {.manifest_hash = manifest.manifest().hash(),
                                  .epoch = manifest.epoch(),
                                  .client = client,
                                  .seat = seat,
                                  .list = secagg::ListDigest(PacketOf(client))});
  }
};

// The pair key of a client and a seat as the thief computes it; nothing when it cannot.
using Guess = std::function<std::optional<crypto::SecretBytes>(uint64_t client, uint32_t seat)>;

class KeyTheftTest : public ::testing::Test {
 protected:
  KeyTheftTest() {
    for (uint64_t i = 0; i < kSites; ++i) {
      sites_.push_back(ValueOf(
          SiteFolder::Create(Home(i), "site-" + std::to_string(i), {}, unlocker_, entropy_)));
    }
  }

  fs::path Home(uint64_t site) const { return folder_.path() / std::to_string(site); }

  void Renew(const std::vector<uint64_t>& who) {
    for (const uint64_t site : who) {
      EXPECT_TRUE(ValueOf(sites_[site].Renew(unlocker_, entropy_)).is_new);
    }
  }

  // Signed for the requests that the sites have now, or those in `returned`. Every other site
  // joins: these hold other keys.
  Epoch Begin(uint32_t epoch, const std::map<uint64_t, base::Bytes>& returned = {}) {
    agreement::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.epoch = epoch;
    spec.agreement = Agreement(model_);
    spec.agreement.federation = {7};
    if (!manifests_.empty()) spec.predecessor = last_;
    spec.authority = authority_;
    std::vector<agreement::EnrolmentRequest> requests;
    for (uint64_t i = 0; i < kSites; ++i) {
      const auto other = returned.find(i);
      requests.push_back(ValueOf(agreement::ReadEnrolmentRequest(
          other == returned.end() ? sites_[i].request() : other->second)));
      spec.members.push_back(agreement::MemberOf(requests.back()));
    }
    Epoch begun{.manifest = ValueOf(agreement::SignedManifest::Sign(std::move(spec), coordinator_)),
                .key = entropy_.Draw(32)};
    for (uint64_t i = 0; i < kSites; ++i) {
      const agreement::Invitation invitation{
          .manifest = begun.manifest.bytes(),
          .earlier = manifests_,
          .certificate = CertificateFor(requests[i]),
          .epoch_key = ValueOf(agreement::EncryptEpochKey(
              begun.manifest, i, requests[i].exchange_keys.kem, begun.key, coordinator_, entropy_)),
          .initial_model = agreement::WriteInitialModel(model_)};
      const auto joined = sites_[i].Join(agreement::WriteInvitation(invitation),
                                         coordinator_.public_key(), unlocker_);
      EXPECT_EQ(joined.ok(), !returned.contains(i)) << joined.status();
      begun.recorded.push_back({.request = sites_[i].request(), .epoch_key = invitation.epoch_key});
    }
    for (uint64_t i = 0; i < kSites; ++i) {
      begun.packets.push_back(returned.contains(i) ? base::Bytes() : KeysOf(begun, i).packet);
    }
    manifests_.push_back(begun.manifest.bytes());
    last_ = begun.manifest.manifest().hash();
    return begun;
  }

  agreement::ExchangeKeys ExchangeKeysOf(uint64_t site) {
    return ValueOf(sites_[site].TakeUpExchangeKeys(ValueOf(sites_[site].Joined()), unlocker_));
  }
  agreement::ClientKeys KeysOf(const Epoch& epoch, uint64_t client) {
    return epoch.KeysOf(client, ExchangeKeysOf(client),
                        ValueOf(sites_[client].UnlockKeys(unlocker_)).signing);
  }

  // The upload of `client`: the same count in every coordinate.
  base::Bytes Upload(const Epoch& epoch, uint64_t client) {
    const crypto::SecretBytes pair_keys = KeysOf(epoch, client).pair_keys;
    const auto sealer = ValueOf(secagg::Sealer::Create(
        epoch.terms(), epoch.attempt(),
        secagg::DeriveAttemptKeys(epoch.key, he::Scheme::kCompact, epoch.attempt())));
    const std::vector<uint32_t> counts(kDimension, CountOf(epoch, client));
    return ValueOf(secagg::SealCounts(*sealer, counts, pair_keys, entropy_.Draw(32)));
  }
  static uint32_t CountOf(const Epoch& epoch, uint64_t client) {
    return static_cast<uint32_t>(epoch.terms().aggregation().offset() + 100 * (client + 1));
  }
  Uploads AllUploads(const Epoch& epoch) {
    Uploads uploads;
    for (uint64_t client = 0; client < kSites; ++client) uploads[client] = Upload(epoch, client);
    return uploads;
  }

  // The thief copies the folders and knows what unlocks them. It looks for the keys that `epoch`
  // names.
  Loot StealFrom(const std::vector<uint64_t>& sites, const Epoch& epoch) const {
    Loot loot;
    for (const uint64_t site : sites) {
      auto keys = storage::file::ExchangeKeyFiles(Home(site)).Find(epoch.NamedFor(site), unlocker_);
      if (keys.ok()) {
        loot.emplace(site, *std::move(keys));
      } else {
        EXPECT_EQ(keys.status().code(), absl::StatusCode::kNotFound) << keys.status();
      }
    }
    return loot;
  }

  // With the secrets of the seat, or with those of the client.
  static Guess With(const Epoch& epoch, const Loot& loot) {
    return [&](uint64_t client, uint32_t seat) -> std::optional<crypto::SecretBytes> {
      if (const auto of_seat = loot.find(seat); of_seat != loot.end()) {
        const secagg::KeyPacket copy = ValueOf(secagg::ReadKeyPacket(
            secagg::CopyForSeat(epoch.packets[client], kSeats, seat), kSeats, seat));
        return std::move(
            ValueOf(agreement::PairKeyByPacket(epoch.manifest.manifest(),
                                               epoch.SecretsWith(of_seat->second), seat, copy))
                .key);
      }
      const auto of_client = loot.find(client);
      if (of_client == loot.end()) return std::nullopt;
      crypto::InsecureSeededEntropy any(1, "a signature changes no key");
      const agreement::ClientKeys keys =
          epoch.KeysOf(client, of_client->second, crypto::SigningKey::Generate(any));
      return crypto::SecretBytes::CopyOf(
          keys.pair_keys.Expose().subspan(secagg::kPairKeyBytes * seat, secagg::kPairKeyBytes));
    };
  }

  // Sum of the masks of `seat` over `uploads` as the thief computes it.
  static crypto::SecretVector<uint16_t> MaskSum(const Epoch& epoch, const Guess& guess,
                                                uint32_t seat, const Uploads& uploads) {
    const he::AggregationParams& params = epoch.terms().aggregation();
    secagg::MaskAccumulator sum(epoch.attempt(), params.sharing().mask_words());
    for (const auto& [client, bytes] : uploads) {
      const auto view = ValueOf(secagg::ReadUpload(bytes, epoch.attempt(), params));
      if (const auto key = guess(client, seat)) sum.Add(key->Expose(), view.nonce);
    }
    return sum.Finish();
  }

  // The sum of the counts in `uploads` as the thief decrypts it, with the masks of f + 1 seats. One
  // upload is a participant's own update, all of them are the closed round.
  static std::vector<uint64_t> Decrypt(const Epoch& epoch, const Guess& guess,
                                       const std::vector<uint32_t>& seats, const Uploads& uploads) {
    const he::AggregationParams& params = epoch.terms().aggregation();
    const auto adder = he::NewAdder(params);
    for (const auto& [client, bytes] : uploads) {
      const auto view = ValueOf(secagg::ReadUpload(bytes, epoch.attempt(), params));
      EXPECT_TRUE(adder->Add(view.ciphertext).ok());
    }
    const base::Bytes closed = adder->Close();
    std::vector<crypto::SecretVector<uint16_t>> masks;
    std::vector<he::KeySharing::Answer> answers;
    for (const uint32_t seat : seats) masks.push_back(MaskSum(epoch, guess, seat, uploads));
    for (size_t i = 0; i < seats.size(); ++i) {
      answers.push_back({.seat = seats[i], .mask_sums = masks[i].Expose()});
    }
    auto recovered =
        ValueOf(params.sharing().Recover(std::span(closed).last(params.share_bytes()), answers));
    const auto decryptor = ValueOf(he::NewCompactDecryptor(
        params, secagg::PublicSeed(epoch.attempt()), std::move(recovered.key_sum)));
    return ValueOf(decryptor->Decrypt(closed, static_cast<uint32_t>(uploads.size()))).sums;
  }
  static bool Opens(const Epoch& epoch, const Guess& guess, const std::vector<uint32_t>& seats,
                    const Uploads& uploads) {
    uint64_t sum = 0;
    for (const auto& [client, bytes] : uploads) sum += CountOf(epoch, client);
    return Decrypt(epoch, guess, seats, uploads) == std::vector<uint64_t>(kDimension, sum);
  }
  static bool Opens(const Epoch& epoch, const Loot& loot, const std::vector<uint32_t>& seats,
                    const Uploads& uploads) {
    return Opens(epoch, With(epoch, loot), seats, uploads);
  }

  // With what lies in the folder of `site`: its identity, and the exchange keys that `holds` names.
  bool OpensEpochKey(uint64_t site, const Epoch& recorded, const Epoch& holds) const {
    const agreement::MemberKeys identity = ValueOf(sites_[site].UnlockKeys(unlocker_));
    const auto keys =
        storage::file::ExchangeKeyFiles(Home(site)).Find(holds.NamedFor(site), unlocker_);
    if (!keys.ok()) return false;
    const auto opened = agreement::DecryptEpochKey(
        recorded.recorded[site].epoch_key, recorded.manifest, site, identity.sealing, keys->kem);
    return opened.ok() && crypto::ConstantTimeEqual(opened->Expose(), recorded.key.Expose());
  }

  base::Bytes CertificateFor(const agreement::EnrolmentRequest& request) const {
    return ValueOf(crypto::IssueCertificate({.common_name = request.name,
                                             .role = crypto::CertificateRole::kClient,
                                             .public_key = request.tls_key,
                                             .hosts = {},
                                             .not_before = 1'750'000'000,
                                             .not_after = 1'760'000'000},
                                            authority_key_, authority_));
  }

  const std::vector<uint32_t> stolen_seats_ = {1, 2};  // f + 1
  const std::vector<uint64_t> stolen_sites_ = {1, 2};
  const std::vector<uint64_t> committee_ = {0, 1, 2, 3};

  base::TemporaryFolder folder_;
  crypto::SystemEntropy entropy_;
  crypto::Unlocker unlocker_ = ValueOf(crypto::Unlocker::FromKeyFile(crypto::SecretBytes(32)));
  crypto::SigningKey coordinator_ = crypto::SigningKey::Generate(entropy_);
  crypto::TlsKey authority_key_ = crypto::TlsKey::Generate();
  base::Bytes authority_ =
      ValueOf(crypto::IssueAuthority({.common_name = "hospitals",
                                      .role = crypto::CertificateRole::kAuthority,
                                      .public_key = authority_key_.public_key(),
                                      .hosts = {},
                                      .not_before = 1'750'000'000,
                                      .not_after = 1'760'000'000},
                                     authority_key_));
  agreement::InitialModel model_{.salt = {3}, .parameters = std::vector<float>(kDimension)};
  std::vector<SiteFolder> sites_;
  std::vector<base::Bytes> manifests_;
  crypto::Digest last_{};
};

TEST_F(KeyTheftTest, KeysOfOneEpochOpenALaterOneOnlyWhereTheCommitteeKeepsThem) {
  const Epoch first = Begin(0);
  const Loot loot = StealFrom(stolen_sites_, first);
  ASSERT_EQ(loot.size(), kCorrupt + 1);
  EXPECT_TRUE(Opens(first, loot, stolen_seats_, {{kOutside, Upload(first, kOutside)}}));

  // The same keys in another epoch, as `rotate --keep-exchange-keys` allows it.
  const Epoch kept = Begin(1);
  EXPECT_TRUE(Opens(kept, loot, stolen_seats_, {{kOutside, Upload(kept, kOutside)}}));

  Renew(committee_);
  const Epoch renewed = Begin(2);
  EXPECT_FALSE(Opens(renewed, loot, stolen_seats_, {{kOutside, Upload(renewed, kOutside)}}));
  EXPECT_FALSE(Opens(renewed, loot, stolen_seats_, {{0, Upload(renewed, 0)}}));
  EXPECT_FALSE(Opens(renewed, loot, stolen_seats_, AllUploads(renewed)));
}

TEST_F(KeyTheftTest, FoldersOpenNoRoundOfAnEpochThatEnded) {
  const Epoch first = Begin(0);
  const Uploads recorded = AllUploads(first);
  Renew(committee_);
  // Until the next epoch is joined, the present one continues.
  const Loot before = StealFrom(committee_, first);
  ASSERT_EQ(before.size(), kSeats);
  EXPECT_TRUE(Opens(first, before, stolen_seats_, recorded));
  EXPECT_TRUE(Opens(first, before, stolen_seats_, {{3, recorded.at(3)}}));

  const Epoch second = Begin(1);
  EXPECT_TRUE(StealFrom(committee_, first).empty());
  const Loot after = StealFrom(committee_, second);
  ASSERT_EQ(after.size(), kSeats);
  EXPECT_FALSE(Opens(first, after, stolen_seats_, recorded));
  EXPECT_FALSE(Opens(first, after, stolen_seats_, {{3, recorded.at(3)}}));
  EXPECT_TRUE(Opens(second, after, stolen_seats_, AllUploads(second)));
}

// Sites that leave a prekey have the keys of the next epoch in their folders all the time. A theft
// opens the present epoch and the next one, and no other.
TEST_F(KeyTheftTest, APrekeyOpensOneEpochMore) {
  const std::vector<uint64_t> all = {0, 1, 2, 3, kOutside};
  const Epoch first = Begin(0);
  const Uploads recorded = AllUploads(first);
  Renew(all);
  const Epoch second = Begin(1);
  Renew(all);
  std::map<uint64_t, std::vector<agreement::ExchangeKeys>> stolen;
  for (const uint64_t site : stolen_sites_) {
    stolen[site] = ValueOf(storage::file::ExchangeKeyFiles(Home(site)).All(unlocker_));
    ASSERT_EQ(stolen[site].size(), 2u);  // of this epoch, and one prekey
  }
  const auto loot_for = [&](const Epoch& epoch) {
    Loot loot;
    for (const auto& [site, keys] : stolen) {
      for (const agreement::ExchangeKeys& key : keys) {
        if (key.exchange.public_key() != epoch.NamedFor(site)) continue;
        loot.emplace(site, ValueOf(agreement::ReadExchangeKeys(agreement::WriteExchangeKeys(key))));
      }
    }
    return loot;
  };
  const auto opens_one = [&](const Epoch& epoch, const base::Bytes& upload) {
    return Opens(epoch, loot_for(epoch), stolen_seats_, {{kOutside, upload}});
  };
  EXPECT_FALSE(opens_one(first, recorded.at(kOutside)));
  EXPECT_TRUE(opens_one(second, Upload(second, kOutside)));
  const Epoch third = Begin(2);
  Renew(all);
  EXPECT_TRUE(opens_one(third, Upload(third, kOutside)));
  const Epoch fourth = Begin(3);
  EXPECT_TRUE(loot_for(fourth).empty());
  EXPECT_FALSE(opens_one(fourth, Upload(fourth, kOutside)));
  EXPECT_FALSE(Opens(fourth, loot_for(fourth), stolen_seats_, AllUploads(fourth)));
}

// After a theft the sites replace the keys that they hold for the next epoch.
TEST_F(KeyTheftTest, ADiscardedPrekeyOpensNoLaterEpoch) {
  const std::vector<uint64_t> all = {0, 1, 2, 3, kOutside};
  const Epoch first = Begin(0);
  Renew(all);
  std::map<uint64_t, std::vector<agreement::ExchangeKeys>> stolen;
  for (const uint64_t site : stolen_sites_) {
    stolen[site] = ValueOf(storage::file::ExchangeKeyFiles(Home(site)).All(unlocker_));
    ASSERT_EQ(stolen[site].size(), 2u);
  }
  for (const uint64_t site : all) {
    EXPECT_FALSE(ValueOf(sites_[site].Renew(unlocker_, entropy_)).is_new);  // that is not enough
    EXPECT_TRUE(
        ValueOf(sites_[site].Renew(unlocker_, entropy_, storage::file::UnusedKeys::kReplaced))
            .is_new);
  }
  const Epoch second = Begin(1);
  for (const size_t which : {0, 1}) {  // those for the next epoch, and those of the first
    Loot loot;
    for (const auto& [site, keys] : stolen) {
      EXPECT_NE(keys[which].exchange.public_key(), second.NamedFor(site));
      loot.emplace(site,
                   ValueOf(agreement::ReadExchangeKeys(agreement::WriteExchangeKeys(keys[which]))));
    }
    EXPECT_FALSE(Opens(second, loot, stolen_seats_, AllUploads(second)));
  }
}

// The same, and a server that works with the thief: it gives the coordinator the prekeys that were
// replaced. The thief has the epoch that begins with them, their sites cannot join it, and it is
// the last one: the coordinator takes no key twice, and the sites leave what they hold.
TEST_F(KeyTheftTest, AReturnedPrekeyOpensOneEpochMoreToo) {
  const Epoch first = Begin(0);
  Renew({0, 1, 2, 3, kOutside});
  std::map<uint64_t, base::Bytes> returned;
  Loot loot;
  for (const uint64_t site : stolen_sites_) {
    returned[site] = sites_[site].request();
    auto stolen = ValueOf(storage::file::ExchangeKeyFiles(Home(site)).All(unlocker_));
    loot.emplace(site, std::move(stolen[0]));  // for the next epoch
    EXPECT_TRUE(
        ValueOf(sites_[site].Renew(unlocker_, entropy_, storage::file::UnusedKeys::kReplaced))
            .is_new);
  }
  const Epoch second = Begin(1, returned);
  for (const auto& [site, keys] : loot)
    EXPECT_EQ(keys.exchange.public_key(), second.NamedFor(site));
  EXPECT_TRUE(Opens(second, loot, stolen_seats_, {{kOutside, Upload(second, kOutside)}}));
  for (const uint64_t site : stolen_sites_) {
    EXPECT_EQ(ValueOf(sites_[site].Joined()).manifest.epoch(), 0u);
    EXPECT_FALSE(ValueOf(sites_[site].Renew(unlocker_, entropy_)).is_new);
  }
  Renew({0, 3, kOutside});
  const Epoch third = Begin(2);
  for (const auto& [site, keys] : loot) EXPECT_NE(keys.exchange.public_key(), third.NamedFor(site));
  EXPECT_FALSE(Opens(third, loot, stolen_seats_, {{kOutside, Upload(third, kOutside)}}));
  EXPECT_FALSE(Opens(third, loot, stolen_seats_, AllUploads(third)));
}

// Either end of a pair computes its key. A member outside the committee that keeps its key exposes
// its own recorded uploads by that, and nobody else's.
TEST_F(KeyTheftTest, AMemberThatKeepsItsKeyExposesItselfAlone) {
  const Epoch first = Begin(0);
  const Uploads recorded = AllUploads(first);
  Renew(committee_);
  Begin(1);
  const Loot loot = StealFrom({0, 1, 2, 3, kOutside}, first);
  ASSERT_EQ(loot.size(), 1u);
  EXPECT_TRUE(loot.contains(kOutside));
  EXPECT_TRUE(Opens(first, loot, stolen_seats_, {{kOutside, recorded.at(kOutside)}}));
  EXPECT_FALSE(Opens(first, loot, stolen_seats_, {{0, recorded.at(0)}}));
  EXPECT_FALSE(Opens(first, loot, stolen_seats_, recorded));

  Renew({kOutside});
  Begin(2);
  EXPECT_TRUE(StealFrom({kOutside}, first).empty());
}

// Everything between coordinator and members was recorded, and X25519 is broken: whatever two ends
// agree with it, the thief computes from their public keys.
TEST_F(KeyTheftTest, RecordedInvitationsDoNotOpenWithX25519Broken) {
  const Epoch first = Begin(0);
  for (uint64_t site = 0; site < kSites; ++site) {
    const Recorded& recorded = first.recorded[site];
    const auto request = ValueOf(agreement::ReadEnrolmentRequest(recorded.request));
    base::ByteWriter context;
    context.Raw("tacet/1/encrypted epoch key");
    context.Raw(first.manifest.manifest().hash());
    context.U32(0);
    context.U64(site);
    const crypto::HalfBrokenBox box{.box = std::span(recorded.epoch_key).subspan(50, 1168),
                                    .sealing_key = request.sealing_key,
                                    .kem_key = request.exchange_keys.kem,
                                    .context = context.Take()};
    // A broken X25519 gives what its secrets give.
    const agreement::MemberKeys identity = ValueOf(sites_[site].UnlockKeys(unlocker_));
    const agreement::ExchangeKeys keys =
        ValueOf(storage::file::ExchangeKeyFiles(Home(site)).Find(first.NamedFor(site), unlocker_));
    const crypto::SecretBytes agreed = ValueOf(identity.sealing.Agree(box.sender()));
    const crypto::SecretBytes also_agreed = ValueOf(keys.exchange.Agree(box.sender()));
    const crypto::SecretBytes own =
        crypto::KemKey::Generate(entropy_).Decapsulate(box.ciphertext());
    const base::Bytes zeros(32), none;
    for (const std::span<const uint8_t> guess :
         {std::span<const uint8_t>(none), std::span<const uint8_t>(zeros), agreed.Expose(),
          also_agreed.Expose(), own.Expose()}) {
      EXPECT_FALSE(box.OpenWith(agreed.Expose(), guess).has_value());
    }
    // The thief knows the format: only the KEM's secret is missing.
    const auto opened =
        box.OpenWith(agreed.Expose(), keys.kem.Decapsulate(box.ciphertext()).Expose());
    ASSERT_TRUE(opened.has_value());
    EXPECT_TRUE(crypto::ConstantTimeEqual(opened->Expose(), first.key.Expose()));
  }
}

// The server, a member that gives it the epoch key, and the folders of f seats: everything that was
// recorded, and X25519 is broken. What ML-KEM-768 shares with the other seats is missing, and
// whatever the thief puts in its place opens no upload and no sum. With it, each of them opens.
TEST_F(KeyTheftTest, RecordedUploadsDoNotOpenWithX25519Broken) {
  const Epoch first = Begin(0);
  const Uploads recorded = AllUploads(first);
  std::vector<agreement::ExchangeKeys> keys;  // by member: a broken X25519 gives what they give
  for (uint64_t site = 0; site < kSites; ++site) keys.push_back(ExchangeKeysOf(site));
  const auto broken = [&](uint64_t client, uint32_t seat) {
    return ValueOf(keys[seat].exchange.Agree(first.NamedFor(client)));
  };
  const crypto::KemKey own = crypto::KemKey::Generate(entropy_);
  using Shared = std::function<crypto::SecretBytes(uint64_t client, uint32_t seat)>;
  const Shared zeros = [](uint64_t, uint32_t) { return crypto::SecretBytes(32); };
  const Shared none = [](uint64_t, uint32_t) { return crypto::SecretBytes(); };
  const Shared by_own_key = [&](uint64_t client, uint32_t seat) {
    return own.Decapsulate(first.PacketOf(client).ciphertexts[seat]);
  };
  const Shared of_another_seat = [&](uint64_t client, uint32_t seat) {
    return keys[kCorrupt].kem.Decapsulate(first.PacketOf(client).ciphertexts[seat]);
  };
  const Shared right = [&](uint64_t client, uint32_t seat) {
    return keys[seat].kem.Decapsulate(first.PacketOf(client).ciphertexts[seat]);
  };
  const std::vector<Uploads> targets = {
      recorded, {{0, recorded.at(0)}}, {{kOutside, recorded.at(kOutside)}}};
  for (const bool with_seat : {false, true}) {
    const Loot loot = with_seat ? StealFrom({1}, first) : Loot();
    ASSERT_EQ(loot.size(), with_seat ? kCorrupt : 0);
    const auto guess = [&](const Shared& shared) -> Guess {
      return [&](uint64_t client, uint32_t seat) -> std::optional<crypto::SecretBytes> {
        if (auto known = With(first, loot)(client, seat)) return known;
        return first.PairKeyFrom(broken(client, seat), shared(client, seat), client, seat);
      };
    };
    for (const Uploads& target : targets) {
      for (const Shared* const wrong : {&zeros, &none, &by_own_key, &of_another_seat}) {
        EXPECT_FALSE(Opens(first, guess(*wrong), stolen_seats_, target)) << with_seat;
      }
      EXPECT_TRUE(Opens(first, guess(right), stolen_seats_, target)) << with_seat;
    }
  }
}

// The other half alone: anyone who breaks ML-KEM-768 meets X25519.
TEST_F(KeyTheftTest, RecordedUploadsDoNotOpenWithMlKemBroken) {
  const Epoch first = Begin(0);
  const Uploads recorded = AllUploads(first);
  std::vector<agreement::ExchangeKeys> keys;
  for (uint64_t site = 0; site < kSites; ++site) keys.push_back(ExchangeKeysOf(site));
  const Guess guess = [&](uint64_t client, uint32_t seat) -> std::optional<crypto::SecretBytes> {
    return first.PairKeyFrom(crypto::SecretBytes(32),
                             keys[seat].kem.Decapsulate(first.PacketOf(client).ciphertexts[seat]),
                             client, seat);
  };
  EXPECT_FALSE(Opens(first, guess, stolen_seats_, recorded));
  EXPECT_FALSE(Opens(first, guess, stolen_seats_, {{0, recorded.at(0)}}));
}

// The identity is in backups, and lasts. Without the exchange keys of an epoch it opens nothing
// that was recorded in it. A member that keeps its keys keeps every member's epoch key readable.
TEST_F(KeyTheftTest, FoldersOpenNoEpochKeyOfAnEpochThatEnded) {
  const Epoch first = Begin(0);
  for (uint64_t site = 0; site < kSites; ++site) EXPECT_TRUE(OpensEpochKey(site, first, first));
  Renew(committee_);
  const Epoch second = Begin(1);
  for (uint64_t site = 0; site < kSites; ++site) {
    EXPECT_EQ(OpensEpochKey(site, first, first), site == kOutside) << site;
    EXPECT_EQ(OpensEpochKey(site, first, second), site == kOutside) << site;
    EXPECT_TRUE(OpensEpochKey(site, second, second)) << site;
  }
  Renew({kOutside});
  const Epoch third = Begin(2);
  for (const Epoch* holds : {&first, &second, &third}) {
    EXPECT_FALSE(OpensEpochKey(kOutside, first, *holds));
  }
}

}  // namespace
}  // namespace tacet::live
