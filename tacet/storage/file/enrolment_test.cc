// Coordinator's and sites' folders together: the files that each hands to the other.
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/child_for_test.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/storage/file/coordinator_folder.h"
#include "tacet/storage/file/disk_for_test.h"
#include "tacet/storage/file/exchange_key_files.h"
#include "tacet/storage/file/key_file_for_test.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kStart = 1'750'000'000;
constexpr uint64_t kEnd = 1'760'000'000;

CoordinatorKeys NewCoordinatorKeys() {
  crypto::SystemEntropy entropy;
  return {.signing = crypto::SigningKey::Generate(entropy),
          .authority = crypto::TlsKey::Generate()};
}

constexpr std::string_view kRotate = "tacet federation rotate";

class EnrolmentTest : public ::testing::Test {
 protected:
  CoordinatorFolder NewFederation() {
    return *CoordinatorFolder::Create(folder_.path() / "federation",
                                      {.federation = "hospitals",
                                       .identity = {7},
                                       .terms = {"[model]\n", agreement::WriteInitialModel(model_)},
                                       .authority = authority_},
                                      keys_, first_key_, KeyFile(1), entropy_);
  }

  agreement::ExchangePublicKeys NewExchangeKeys() {
    return agreement::ExchangeKeys::Generate(entropy_).public_keys();
  }

  SiteFolder NewSite(std::string_view name) {
    return *SiteFolder::Create(folder_.path() / name, name, {}, KeyFile(2), entropy_);
  }

  base::Bytes CertificateFor(const SiteFolder& site, const crypto::TlsKey& authority_key,
                             const base::Bytes& authority) {
    const auto request = *agreement::ReadEnrolmentRequest(site.request());
    return *crypto::IssueCertificate({.common_name = request.name,
                                      .role = crypto::CertificateRole::kClient,
                                      .public_key = request.tls_key,
                                      .hosts = {},
                                      .not_before = kStart,
                                      .not_after = kEnd},
                                     authority_key, authority);
  }
  base::Bytes CertificateFor(const SiteFolder& site) {
    return CertificateFor(site, keys_.authority, authority_);
  }

  agreement::SignedManifest Sign(
      std::span<const SiteFolder* const> sites, uint32_t epoch, std::string annex = "batch = 20\n",
      const std::function<void(dp::MechanismParams&)>& change = [](dp::MechanismParams&) {}) {
    agreement::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.epoch = epoch;
    if (epoch > 0) spec.predecessor = manifests_.at(epoch - 1).manifest().hash();
    spec.agreement.federation = {7};
    spec.server = server_;
    spec.agreement.model = "logistic";
    spec.agreement.dimension = model_.parameters.size();
    spec.agreement.initial_model = model_.Digest();
    spec.agreement.sampling.cohort = sites.size();
    spec.agreement.rounds = 5;
    spec.agreement.mechanism.scale = 1e-2;
    spec.agreement.mechanism.noise_stddev = 3;
    change(spec.agreement.mechanism);
    spec.annex = std::move(annex);
    spec.authority = authority_;
    for (const SiteFolder* site : sites) {
      const auto request = *agreement::ReadEnrolmentRequest(site->request());
      spec.members.push_back(agreement::MemberOf(request));
      kem_keys_[request.exchange_keys.exchange] = request.exchange_keys.kem;
    }
    agreement::SignedManifest manifest = *agreement::SignedManifest::Sign(spec, keys_.signing);
    manifests_.emplace(epoch, manifest);  // the first of an epoch: others are forks
    return manifest;
  }

  agreement::Invitation Invite(const SiteFolder& site, const agreement::SignedManifest& manifest,
                               uint64_t member) {
    return {.manifest = manifest.bytes(),
            .earlier = EarlierThan(manifest.epoch()),
            .certificate = CertificateFor(site),
            .epoch_key = *agreement::EncryptEpochKey(
                manifest, member, kem_keys_.at(manifest.members()[member].exchange_key),
                entropy_.Draw(32), keys_.signing, entropy_),
            .initial_model = agreement::WriteInitialModel(model_)};
  }

  std::vector<base::Bytes> EarlierThan(uint32_t epoch) const {
    std::vector<base::Bytes> earlier;
    for (uint32_t before = 0; before < epoch; ++before) {
      earlier.push_back(manifests_.at(before).bytes());
    }
    return earlier;
  }

  absl::Status Join(SiteFolder& site, const agreement::Invitation& invitation) {
    return site.Join(agreement::WriteInvitation(invitation), keys_.signing.public_key(), KeyFile(2))
        .status();
  }

  base::TemporaryFolder folder_;
  crypto::SystemEntropy entropy_;
  crypto::SecretBytes first_key_ = entropy_.Draw(32);
  CoordinatorKeys keys_ = NewCoordinatorKeys();
  base::Bytes authority_ = crypto::AuthorityOf(keys_.authority, kStart, kEnd);
  agreement::InitialModel model_{.salt = {8}, .parameters = {0.5f, -1, 2, 0}};
  agreement::ManifestServer server_ = {};
  std::map<uint32_t, agreement::SignedManifest> manifests_;
  // For the requests that manifests were signed for.
  std::map<crypto::ExchangePublicKey, crypto::KemPublicKey> kem_keys_;
};

TEST_F(EnrolmentTest, ACoordinatorFindsEverythingAgain) {
  const SiteFolder north = NewSite("north"), south = NewSite("south");
  const base::Bytes souths = CertificateFor(south);
  {
    CoordinatorFolder folder = NewFederation();
    ASSERT_TRUE(folder.Enrol(south.request(), souths).ok());
    ASSERT_TRUE(folder.Enrol(north.request(), CertificateFor(north)).ok());
    const SiteFolder other =
        *SiteFolder::Create(folder_.path() / "other", "north", {}, KeyFile(2), entropy_);
    EXPECT_THAT(base::Message(folder.Enrol(other.request(), CertificateFor(other))),
                HasSubstr("north is enrolled already, with other keys"));
    // The same request renews the certificate.
    const base::Bytes renewed = CertificateFor(north);
    ASSERT_TRUE(folder.Enrol(north.request(), renewed).ok());
    EXPECT_EQ(folder.Enrolled()->front().certificate, renewed);
  }
  ASSERT_OK_AND_ASSIGN(const auto folder, CoordinatorFolder::Open(folder_.path() / "federation"));
  EXPECT_EQ(folder.parts().federation, "hospitals");
  EXPECT_EQ(folder.parts().identity, crypto::Digest{7});
  EXPECT_EQ(folder.parts().terms.agreement, "[model]\n");
  EXPECT_EQ(folder.parts().authority, authority_);
  EXPECT_EQ(folder.parts().terms.initial_model, agreement::WriteInitialModel(model_));
  ASSERT_OK_AND_ASSIGN(const auto keys, folder.UnlockKeys(KeyFile(1)));
  EXPECT_EQ(keys.signing.public_key(), keys_.signing.public_key());
  EXPECT_EQ(keys.authority.public_key(), keys_.authority.public_key());
  EXPECT_EQ(folder.UnlockKeys(KeyFile(9)).status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_OK_AND_ASSIGN(const auto enrolled, folder.Enrolled());
  ASSERT_EQ(enrolled.size(), 2u);
  EXPECT_EQ(enrolled[0].request.name, "north");
  EXPECT_EQ(enrolled[1].certificate, souths);
}

TEST_F(EnrolmentTest, EpochsHaveKeysOfTheirOwn) {
  CoordinatorFolder folder = NewFederation();
  EXPECT_EQ(folder.Epoch().value(), 0u);
  ASSERT_TRUE(folder.BeginEpoch(1, entropy_.Draw(32), KeyFile(1), entropy_).ok());
  EXPECT_EQ(folder.BeginEpoch(1, first_key_, KeyFile(1), entropy_).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(folder.Epoch().value(), 1u);
  EXPECT_TRUE(
      crypto::ConstantTimeEqual(folder.EpochKey(0, KeyFile(1))->Expose(), first_key_.Expose()));
  EXPECT_FALSE(
      crypto::ConstantTimeEqual(folder.EpochKey(1, KeyFile(1))->Expose(), first_key_.Expose()));
  EXPECT_EQ(folder.SignedManifest(1).status().code(), absl::StatusCode::kNotFound);
}

// A thief of the folder, with what unlocks it, after the next epoch has begun.
TEST_F(EnrolmentTest, KeysAndInvitationsOfEndedEpochsAreDeleted) {
  CoordinatorFolder folder = NewFederation();
  const fs::path federation = folder_.path() / "federation", kept = folder_.path() / "kept";
  const base::Bytes invitation = {1, 2, 3};
  for (const uint32_t epoch : {0, 1, 2}) {
    if (epoch > 0) {
      ASSERT_TRUE(folder.BeginEpoch(epoch, entropy_.Draw(32), KeyFile(1), entropy_).ok());
    }
    base::ByteWriter manifest;
    base::WritePreamble(base::format::kSignedManifest, manifest);
    ASSERT_TRUE(folder.SaveSignedManifest(epoch, manifest.bytes()).ok());
    for (const std::string name : {"north", "west-epoch-2"}) {
      ASSERT_TRUE(folder.SaveInvitation(epoch, name, invitation).ok());
    }
  }
  const fs::path first = federation / "epochs" / "0000000000.key";
  fs::create_hard_link(first, kept);
  ASSERT_TRUE(folder.ForgetEpochsBefore(2).ok());
  ASSERT_TRUE(folder.ForgetEpochsBefore(2).ok());
  EXPECT_EQ(folder.Epoch().value(), 2u);
  EXPECT_TRUE(folder.EpochKey(2, KeyFile(1)).ok());
  for (const uint32_t epoch : {0, 1}) {
    EXPECT_EQ(folder.EpochKey(epoch, KeyFile(1)).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_TRUE(folder.SignedManifest(epoch).ok());  // names the exchange keys that were used
  }
  std::set<std::string> left;
  for (const auto& file : fs::directory_iterator(federation / "invitations")) {
    left.insert(file.path().filename().string());
  }
  EXPECT_THAT(left, ElementsAre("north-epoch-2.tacet", "west-epoch-2-epoch-2.tacet"));
  // Not only its name is gone.
  const base::Bytes zeros = *ReadFile(kept);
  EXPECT_FALSE(zeros.empty());
  EXPECT_EQ(zeros, base::Bytes(zeros.size()));
}

TEST_F(EnrolmentTest, ARemovedSiteCanBeEnrolledAgain) {
  CoordinatorFolder folder = NewFederation();
  const SiteFolder north = NewSite("north");
  ASSERT_TRUE(folder.Enrol(north.request(), CertificateFor(north)).ok());
  ASSERT_TRUE(folder.Remove("north").ok());
  EXPECT_TRUE(folder.Enrolled()->empty());
  EXPECT_THAT(base::Message(folder.Remove("north")), HasSubstr("no site called north"));
  EXPECT_THAT(base::Message(folder.Remove("../x")), HasSubstr("is not a name for a site"));
  EXPECT_TRUE(folder.Enrol(north.request(), CertificateFor(north)).ok());
}

// A member's signature stands for the telephone call. It does not make an old key new.
TEST_F(EnrolmentTest, ARenewedRequestNeedsNoFingerprint) {
  CoordinatorFolder folder = NewFederation();
  SiteFolder north = NewSite("north");
  const SiteFolder south = NewSite("south");
  const auto read = [](const SiteFolder& site) {
    return *agreement::ReadEnrolmentRequest(site.request());
  };
  EXPECT_FALSE(*folder.Recognises(read(north)));
  ASSERT_TRUE(folder.Enrol(north.request(), CertificateFor(north)).ok());
  EXPECT_TRUE(*folder.Recognises(read(north)));
  const SiteFolder* const sites[] = {&north, &south};
  const auto manifest = Sign(sites, 0);
  ASSERT_TRUE(folder.SaveSignedManifest(0, manifest.bytes()).ok());
  ASSERT_TRUE(Join(north, Invite(north, manifest, 0)).ok());

  const base::Bytes old = north.request();
  EXPECT_TRUE(north.Renew(KeyFile(2), entropy_)->is_new);
  const base::Bytes renewed = north.request();
  EXPECT_NE(renewed, old);
  EXPECT_FALSE(north.Renew(KeyFile(2), entropy_)->is_new);
  EXPECT_EQ(north.request(), renewed);
  EXPECT_EQ(SiteFolder::Open(folder_.path() / "north")->request(), renewed);
  EXPECT_TRUE(*folder.Recognises(read(north)));
  ASSERT_TRUE(folder.Enrol(renewed, CertificateFor(north)).ok());
  EXPECT_EQ(folder.Enrolled()->front().request.exchange_keys, read(north).exchange_keys);

  // On its way to the coordinator somebody puts the old request back.
  const absl::Status replayed = folder.Enrol(old, CertificateFor(north));
  EXPECT_EQ(replayed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(replayed), HasSubstr("was used in epoch 0: the request is an old one"));
  EXPECT_EQ(folder.Enrolled()->front().request.exchange_keys, read(north).exchange_keys);

  // Somebody else's keys, or its own signing key next to another TLS key.
  const SiteFolder other =
      *SiteFolder::Create(folder_.path() / "other", "north", {}, KeyFile(2), entropy_);
  EXPECT_FALSE(*folder.Recognises(read(other)));
  EXPECT_THAT(base::Message(folder.Enrol(other.request(), CertificateFor(other))),
              HasSubstr("north is enrolled already, with other keys"));
  agreement::MemberKeys keys = *north.UnlockKeys(KeyFile(2));
  keys.tls = crypto::TlsKey::Generate();
  const base::Bytes mixed = agreement::WriteEnrolmentRequest("north", {}, keys, NewExchangeKeys());
  EXPECT_FALSE(*folder.Recognises(*agreement::ReadEnrolmentRequest(mixed)));
  EXPECT_THAT(base::Message(folder.Enrol(mixed, CertificateFor(north))),
              HasSubstr("north is enrolled already, with other keys"));
}

TEST_F(EnrolmentTest, AFederationDoesNotBeginAmongOtherFiles) {
  std::ofstream(folder_.path() / "something") << "x";
  EXPECT_EQ(CoordinatorFolder::Create(folder_.path(), {}, keys_, first_key_, KeyFile(1), entropy_)
                .status()
                .code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(CoordinatorFolder::Open(folder_.path()).status().code(), absl::StatusCode::kNotFound);
}

// Every file and folder below `path`, with its content.
std::map<std::string, base::Bytes> Tree(const fs::path& path) {
  std::map<std::string, base::Bytes> tree;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    tree[fs::relative(entry.path(), path)] =
        entry.is_directory() ? base::Bytes{} : *ReadFile(entry.path());
  }
  return tree;
}

// Fails one call; files are written in one.
class DiskFailingOnce : public DiskCalls {
 public:
  explicit DiskFailingOnce(int fail_at) : left_(fail_at) {}
  ssize_t Write(int descriptor, std::span<const uint8_t> bytes) override {
    return left_-- == 0 ? Fail() : DiskCalls::Write(descriptor, bytes);
  }
  int Synchronise(int descriptor) override {
    return left_-- == 0 ? Fail() : DiskCalls::Synchronise(descriptor);
  }
  int Rename(const char* from, const char* to) override {
    return left_-- == 0 ? Fail() : DiskCalls::Rename(from, to);
  }

 private:
  static int Fail() {
    errno = EIO;
    return -1;
  }
  int left_;
};

// Calls `act` with a disk whose first, second, … call fails, until none does; true when it failed.
// `expect` then looks at what is left.
void FailEachCall(const std::function<bool(DiskCalls&)>& act, const std::function<void()>& expect) {
  int fail_at = 0;
  for (;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    DiskFailingOnce disk(fail_at);
    if (!act(disk)) break;
    expect();
  }
  EXPECT_GE(fail_at, 4);
}

// The same with a process that ends there.
void DieAtEachCall(const std::function<bool(DiskCalls&)>& act,
                   const std::function<void()>& expect) {
  int die_at = 0;
  for (;; ++die_at) {
    SCOPED_TRACE(die_at);
    const int code = base::ExitCodeInChild([&] {
      DeadlyDisk disk(die_at, DeadlyDisk::When::kHalfway);
      return act(disk) ? 1 : 0;
    });
    expect();
    if (code == 0) break;
    ASSERT_EQ(code, DeadlyDisk::kDied);
  }
  EXPECT_GE(die_at, 4);
}

// `federation init`: nothing is left of one that failed, and the next one succeeds after a death.
TEST_F(EnrolmentTest, AFederationIsMadeWhollyOrNotAtAll) {
  const fs::path home = folder_.path() / "new" / "federation";
  const auto make = [&](DiskCalls& disk) {
    return CoordinatorFolder::Create(home,
                                     {.federation = "hospitals",
                                      .identity = {7},
                                      .terms = {"[model]\n", agreement::WriteInitialModel(model_)},
                                      .authority = authority_},
                                     keys_, first_key_, KeyFile(1), entropy_, disk);
  };
  const auto before = Tree(folder_.path());
  FailEachCall([&](DiskCalls& disk) { return !make(disk).ok(); },
               [&] { EXPECT_EQ(Tree(folder_.path()), before); });
  EXPECT_EQ(*CoordinatorFolder::Open(home)->Epoch(), 0u);
  // A folder that was there stays.
  fs::remove_all(home);
  fs::create_directories(home);
  DiskFailingOnce failing(6);
  EXPECT_FALSE(make(failing).ok());
  EXPECT_TRUE(fs::is_directory(home) && fs::is_empty(home));
  fs::remove_all(home);
  DieAtEachCall(
      [&](DiskCalls& disk) { return !make(disk).ok(); },
      [&] {
        const bool whole = CoordinatorFolder::Open(home).ok();
        const absl::Status again = make(DiskCalls::System()).status();
        EXPECT_EQ(again.code(), whole ? absl::StatusCode::kAlreadyExists : absl::StatusCode::kOk)
            << again;
        ASSERT_OK_AND_ASSIGN(const auto opened, CoordinatorFolder::Open(home));
        EXPECT_TRUE(opened.UnlockKeys(KeyFile(1)).ok());
        EXPECT_TRUE(opened.EpochKey(0, KeyFile(1)).ok());
        EXPECT_EQ(Tree(home).size(), 11u);
        fs::remove_all(home);
      });
  // A file that somebody else put there is not cleared away.
  ASSERT_TRUE(ReplaceFile(folder_.path() / "others", {}).ok());
  fs::create_directories(home / "sites");
  ASSERT_TRUE(ReplaceFile(home / "name.new", {}).ok());
  ASSERT_TRUE(ReplaceFile(home / "sites/north.enrolled", {}).ok());
  EXPECT_FALSE(make(DiskCalls::System()).ok());
  EXPECT_TRUE(fs::exists(home / "sites/north.enrolled"));
}

// `federation enrol`, of a new site and of one that renews its exchange key.
TEST_F(EnrolmentTest, ASiteIsEnrolledWhollyOrNotAtAll) {
  (void)NewFederation();
  const fs::path home = folder_.path() / "federation", copy = folder_.path() / "copy";
  const SiteFolder north = NewSite("north");
  const base::Bytes first = north.request();
  const base::Bytes first_certificate = CertificateFor(north);
  const base::Bytes second = agreement::WriteEnrolmentRequest(
      "north", {}, *north.UnlockKeys(KeyFile(2)), NewExchangeKeys());
  const base::Bytes second_certificate = CertificateFor(north);
  const auto restore = [&] {
    fs::remove_all(home);
    fs::copy(copy, home, fs::copy_options::recursive);
  };
  for (const bool renews : {false, true}) {
    if (renews) {
      restore();
      ASSERT_TRUE(CoordinatorFolder::Open(home)->Enrol(first, first_certificate).ok());
      fs::remove_all(copy);
    }
    fs::copy(home, copy, fs::copy_options::recursive);
    const auto before = Tree(home);
    const auto enrol = [&](DiskCalls& disk) {
      CoordinatorFolder folder = *CoordinatorFolder::Open(home, disk);
      return !(renews ? folder.Enrol(second, second_certificate)
                      : folder.Enrol(first, first_certificate))
                  .ok();
    };
    // The request and its own certificate, or what was there.
    const auto expect_whole = [&](bool may_leave_unfinished) {
      auto after = Tree(home);
      if (may_leave_unfinished) after.erase("sites/north.enrolled.new");
      const auto enrolled = *CoordinatorFolder::Open(home)->Enrolled();
      if (after != before) {
        ASSERT_EQ(enrolled.size(), 1u);
        EXPECT_EQ(enrolled[0].request, *agreement::ReadEnrolmentRequest(renews ? second : first));
        EXPECT_EQ(enrolled[0].certificate, renews ? second_certificate : first_certificate);
        after.erase("sites/north.enrolled");
        auto others = before;
        others.erase("sites/north.enrolled");
        EXPECT_EQ(after, others);
      }
      restore();
    };
    FailEachCall(enrol, [&] { expect_whole(false); });
    restore();
    DieAtEachCall(enrol, [&] { expect_whole(true); });
    restore();
  }
}

TEST_F(EnrolmentTest, ASiteJoinsAndRemembers) {
  SiteFolder north = NewSite("north"), south = NewSite("south");
  const SiteFolder* const sites[] = {&north, &south};
  const auto manifest = Sign(sites, 0);
  EXPECT_EQ(south.Joined().status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Join(south, Invite(south, manifest, 1)).ok());
  ASSERT_OK_AND_ASSIGN(const auto again, SiteFolder::Open(folder_.path() / "south"));
  ASSERT_OK_AND_ASSIGN(const auto membership, again.Joined());
  EXPECT_EQ(membership.member, 1u);
  EXPECT_EQ(membership.manifest.bytes(), manifest.bytes());
  EXPECT_EQ(again.Coordinator().value(), keys_.signing.public_key());
  EXPECT_EQ(again.InitialModel().value(), model_);
  const auto named = membership.manifest.members()[1].exchange_key;
  const auto exchange_keys =
      base::ValueOf(ExchangeKeyFiles(folder_.path() / "south").Find(named, KeyFile(2)));
  EXPECT_TRUE(agreement::DecryptEpochKey(membership.sealed_epoch_key, membership.manifest, 1,
                                         again.UnlockKeys(KeyFile(2))->sealing, exchange_keys.kem)
                  .ok());
}

TEST_F(EnrolmentTest, AnOfficerIsPinnedInTheIdentity) {
  const SiteFolder site = NewSite("north");
  const crypto::PublicKey officer = keys_.signing.public_key();
  EXPECT_EQ(site.PinOfficer(officer, KeyFile(9), entropy_).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(site.UnlockKeys(KeyFile(2))->officer.has_value());
  const crypto::PublicKey before = site.UnlockKeys(KeyFile(2))->signing.public_key();
  ASSERT_TRUE(site.PinOfficer(officer, KeyFile(2), entropy_).ok());
  ASSERT_OK_AND_ASSIGN(const auto keys,
                       SiteFolder::Open(folder_.path() / "north")->UnlockKeys(KeyFile(2)));
  EXPECT_EQ(keys.officer, officer);
  EXPECT_EQ(keys.signing.public_key(), before);
}

TEST_F(EnrolmentTest, ASiteRefusesWhatIsNotForIt) {
  SiteFolder north = NewSite("north"), south = NewSite("south");
  const SiteFolder* const sites[] = {&north, &south};
  const auto manifest = Sign(sites, 0);
  const agreement::Invitation good = Invite(north, manifest, 0);
  const auto refusal = [&](const agreement::Invitation& invitation) {
    return base::Message(Join(north, invitation));
  };
  // Another site's.
  EXPECT_THAT(refusal(Invite(south, manifest, 1)), HasSubstr("is for south with another key"));
  // Another authority's.
  const CoordinatorKeys stranger = NewCoordinatorKeys();
  const base::Bytes other_authority = crypto::AuthorityOf(stranger.authority, kStart, kEnd);
  agreement::Invitation bad = good;
  bad.certificate = CertificateFor(north, stranger.authority, other_authority);
  EXPECT_THAT(refusal(bad), HasSubstr("another authority signed it"));
  // Another coordinator's.
  EXPECT_THAT(
      base::Message(
          north.Join(agreement::WriteInvitation(good), stranger.signing.public_key(), KeyFile(2))
              .status()),
      HasSubstr("not by the coordinator"));
  bad = good;
  bad.initial_model.back() ^= 1;
  EXPECT_THAT(refusal(bad), HasSubstr("not the agreed one"));
  bad = good;
  bad.initial_model.front() ^= 1;  // of the salt
  EXPECT_THAT(refusal(bad), HasSubstr("not the agreed one"));
  bad = good;
  bad.epoch_key = Invite(south, manifest, 1).epoch_key;
  EXPECT_THAT(refusal(bad), HasSubstr("is for member 1, not for 0"));
  const SiteFolder west = NewSite("west");
  const SiteFolder* const without[] = {&south, &west};
  bad = good;
  bad.manifest = Sign(without, 0).bytes();
  EXPECT_THAT(refusal(bad), HasSubstr("north is not a member of hospitals in epoch 0"));
  EXPECT_EQ(north.Joined().status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Join(north, good).ok());
}

// A coordinator whose program signs what `federation init` refuses.
TEST_F(EnrolmentTest, AnAgreementThatSwitchesAProtectionOffIsRefused) {
  SiteFolder north = NewSite("north"), south = NewSite("south");
  const SiteFolder* const sites[] = {&north, &south};
  const auto refusal = [&](const std::function<void(dp::MechanismParams&)>& change) {
    const auto manifest = Sign(sites, 0, "batch = 20\n", change);
    const absl::Status joined = Join(north, Invite(north, manifest, 0));
    EXPECT_EQ(joined.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(north.Joined().status().code(), absl::StatusCode::kNotFound);
    return base::Message(joined);
  };
  EXPECT_THAT(refusal([](dp::MechanismParams& params) { params.without_noise = true; }),
              HasSubstr("the agreement leaves out the noise: only a simulation can do that"));
  EXPECT_THAT(refusal([](dp::MechanismParams& params) { params.without_clipping = true; }),
              HasSubstr("the agreement leaves out clipping: only a simulation can do that"));
}

TEST_F(EnrolmentTest, EpochsOnlyGoForwardAndAreNotForked) {
  SiteFolder north = NewSite("north"), south = NewSite("south");
  const SiteFolder* const sites[] = {&north, &south};
  const auto first = Sign(sites, 0), second = Sign(sites, 1);
  const auto refusal = [&](const agreement::Invitation& invitation) {
    const absl::Status refused = Join(north, invitation);
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
    return std::string(base::Message(refused));
  };
  // A newcomer takes the whole chain.
  ASSERT_TRUE(Join(north, Invite(north, second, 0)).ok());
  EXPECT_EQ(north.Joined()->chain.size(), 2u);
  EXPECT_THAT(refusal(Invite(north, first, 0)),
              HasSubstr("epoch 0 has ended, this site is in epoch 1"));
  const auto fork = Sign(sites, 1, "batch = 7\n");
  EXPECT_THAT(refusal(Invite(north, fork, 0)),
              HasSubstr("another manifest was signed for epoch 1"));
  // The fork continues, and shows the site its own epoch or the other one.
  manifests_.erase(1);
  manifests_.emplace(1, fork);
  const auto after_fork = Sign(sites, 2);
  EXPECT_THAT(refusal(Invite(north, after_fork, 0)),
              HasSubstr("another manifest was signed for epoch 1"));
  manifests_.erase(1);
  manifests_.emplace(1, second);
  EXPECT_THAT(refusal(Invite(north, after_fork, 0)), HasSubstr("two were signed for that epoch"));
  manifests_.erase(2);
  const auto third = Sign(sites, 2);
  agreement::Invitation skipping = Invite(north, third, 0);
  skipping.earlier.pop_back();
  EXPECT_THAT(refusal(skipping), HasSubstr("one is missing"));
  EXPECT_EQ(north.Joined()->manifest.epoch(), 1u);
  EXPECT_TRUE(Join(north, Invite(north, third, 0)).ok());
  EXPECT_EQ(north.Joined()->manifest.epoch(), 2u);
  EXPECT_EQ(north.Joined()->earlier().size(), 2u);
}

// Every state between two steps of `rotate --remove`: before its key the epoch has not begun.
TEST_F(EnrolmentTest, AnEpochBeginsWhollyOrNotAtAll) {
  const SiteFolder north = NewSite("north"), south = NewSite("south"), west = NewSite("west");
  const SiteFolder* const all[] = {&north, &south, &west};
  const SiteFolder* const rest[] = {&north, &south};
  const auto first = Sign(all, 0), second = Sign(rest, 1);
  const fs::path home = folder_.path() / "federation", copy = folder_.path() / "copy";
  {
    CoordinatorFolder folder = NewFederation();
    for (const SiteFolder* site : all) {
      ASSERT_TRUE(folder.Enrol(site->request(), CertificateFor(*site)).ok());
    }
    ASSERT_TRUE(folder.SaveSignedManifest(0, first.bytes()).ok());
  }
  fs::copy(home, copy, fs::copy_options::recursive);
  const std::vector<std::string> removed = {"west"};
  CoordinatorFolder whole = *CoordinatorFolder::Open(home);
  ASSERT_TRUE(whole
                  .BeginNextEpoch(second, nullptr, removed, entropy_.Draw(32), kRotate, KeyFile(1),
                                  entropy_)
                  .ok());
  EXPECT_EQ(whole.Enrolled()->size(), 2u);
  EXPECT_EQ(*whole.Epoch(), 1u);

  // The removals are written first.
  const auto reopened = [&](bool manifest, bool key) {
    const fs::path at = folder_.path() / "crashed";
    fs::remove_all(at);
    fs::copy(copy, at, fs::copy_options::recursive);
    if (manifest) {
      fs::copy_file(home / "epochs/0000000001.manifest", at / "epochs/0000000001.manifest");
    }
    EXPECT_TRUE(ReplaceFile(at / "epochs/0000000001.removed", base::AsBytes("west\n")).ok());
    if (key) fs::copy_file(home / "epochs/0000000001.key", at / "epochs/0000000001.key");
    return *CoordinatorFolder::Open(at);
  };
  for (const bool manifest : {false, true}) {
    CoordinatorFolder before = reopened(manifest, false);
    EXPECT_EQ(*before.Epoch(), 0u);
    EXPECT_EQ(before.Enrolled()->size(), 3u);
    EXPECT_FALSE(fs::exists(before.path() / "epochs/0000000001.removed"));
    EXPECT_FALSE(fs::exists(before.path() / "epochs/0000000001.manifest"));
    EXPECT_TRUE(before
                    .BeginNextEpoch(second, nullptr, removed, entropy_.Draw(32), kRotate,
                                    KeyFile(1), entropy_)
                    .ok());
    EXPECT_EQ(before.Enrolled()->size(), 2u);
  }
  const CoordinatorFolder after = reopened(true, true);
  EXPECT_EQ(*after.Epoch(), 1u);
  EXPECT_EQ(after.Enrolled()->size(), 2u);
  EXPECT_TRUE(fs::exists(after.path() / "removed/west.enrolled"));
}

// Two commands at the same time, in the folder and with the epoch that one of them has begun.
TEST_F(EnrolmentTest, OneCommandAtATimeWorksInAFolder) {
  const SiteFolder north = NewSite("north"), south = NewSite("south");
  const SiteFolder* const all[] = {&north, &south};
  const auto first = Sign(all, 0), second = Sign(all, 1);
  const fs::path home = folder_.path() / "federation";
  std::optional<CoordinatorFolder> folder(NewFederation());
  ASSERT_TRUE(folder->SaveSignedManifest(0, first.bytes()).ok());
  const auto begin = [&](CoordinatorFolder& in) {
    return in.BeginNextEpoch(second, nullptr, {}, entropy_.Draw(32), kRotate, KeyFile(1), entropy_);
  };
  std::thread other([&] {
    auto opened = CoordinatorFolder::Open(home);  // waits
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(*opened->Epoch(), 1u);
    EXPECT_EQ(begin(*opened).code(), absl::StatusCode::kAlreadyExists);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(begin(*folder).ok());
  folder.reset();
  other.join();
}

// The same of `rotate --config`, which brings a training's terms along.
TEST_F(EnrolmentTest, ATrainingBeginsWhollyOrNotAtAll) {
  const SiteFolder north = NewSite("north"), south = NewSite("south");
  const SiteFolder* const all[] = {&north, &south};
  const auto first = Sign(all, 0, "[model]\n");
  const fs::path home = folder_.path() / "federation", copy = folder_.path() / "copy";
  ASSERT_TRUE(NewFederation().SaveSignedManifest(0, first.bytes()).ok());
  fs::copy(home, copy, fs::copy_options::recursive);
  const TrainingTerms before{"[model]\n", agreement::WriteInitialModel(model_)};
  model_.parameters.push_back(0.5F);
  const TrainingTerms next{"[data]\n", agreement::WriteInitialModel(model_)};
  const auto second = Sign(all, 1, next.agreement);
  const auto terms_of = [](const CoordinatorFolder& folder) {
    return std::pair(folder.parts().terms.agreement, folder.parts().terms.initial_model);
  };
  const auto expected = [](const TrainingTerms& terms) {
    return std::pair(terms.agreement, terms.initial_model);
  };
  {
    CoordinatorFolder whole = *CoordinatorFolder::Open(home);
    ASSERT_TRUE(
        whole.BeginNextEpoch(second, &next, {}, entropy_.Draw(32), kRotate, KeyFile(1), entropy_)
            .ok());
    EXPECT_EQ(terms_of(whole), expected(next));
  }
  EXPECT_EQ(terms_of(*CoordinatorFolder::Open(home)), expected(next));

  // The rest of a process that died: files of the epoch, its key, and those that were moved up.
  struct Crash {
    bool model = false, agreement = false, key = false;
    bool model_is_up = false, agreement_is_up = false;
  };
  const auto reopened = [&](const Crash& crash) {
    const fs::path at = folder_.path() / "crashed", epochs = at / "epochs";
    fs::remove_all(at);
    fs::copy(copy, at, fs::copy_options::recursive);
    fs::copy_file(home / "epochs/0000000001.manifest", epochs / "0000000001.manifest");
    const auto write = [](const fs::path& path, std::span<const uint8_t> bytes) {
      EXPECT_TRUE(ReplaceFile(path, bytes).ok());
    };
    write(epochs / "0000000001.removed", {});
    if (crash.model) write(epochs / "0000000001.model", next.initial_model);
    if (crash.agreement) write(epochs / "0000000001.toml", base::AsBytes(next.agreement));
    if (crash.model_is_up) write(at / "initial-model", next.initial_model);
    if (crash.agreement_is_up) write(at / "federation.toml", base::AsBytes(next.agreement));
    if (crash.key) fs::copy_file(home / "epochs/0000000001.key", epochs / "0000000001.key");
    CoordinatorFolder folder = *CoordinatorFolder::Open(at);
    EXPECT_FALSE(fs::exists(epochs / "0000000001.model"));
    EXPECT_FALSE(fs::exists(epochs / "0000000001.toml"));
    return folder;
  };
  for (const Crash crash :
       {Crash{}, Crash{.model = true}, Crash{.model = true, .agreement = true}}) {
    CoordinatorFolder folder = reopened(crash);
    EXPECT_EQ(*folder.Epoch(), 0u);
    EXPECT_EQ(terms_of(folder), expected(before));
    // The epoch begins after all, and continues with the training of before.
    ASSERT_TRUE(
        folder.BeginNextEpoch(second, nullptr, {}, entropy_.Draw(32), kRotate, KeyFile(1), entropy_)
            .ok());
    EXPECT_EQ(terms_of(folder), expected(before));
  }
  for (const Crash crash : {Crash{.model = true, .agreement = true, .key = true},
                            Crash{.agreement = true, .key = true, .model_is_up = true},
                            Crash{.key = true, .model_is_up = true, .agreement_is_up = true}}) {
    const CoordinatorFolder folder = reopened(crash);
    EXPECT_EQ(*folder.Epoch(), 1u);
    EXPECT_EQ(terms_of(folder), expected(next));
  }
}

class NextEpochTest : public EnrolmentTest {
 protected:
  NextEpochTest() {
    EXPECT_TRUE(Join(north_, Invite(north_, Sign(sites_, 0), 0)).ok());
    first_ = KeyInRequest();
  }
  crypto::ExchangePublicKey KeyInRequest() const {
    return agreement::ReadEnrolmentRequest(north_.request())->exchange_keys.exchange;
  }
  bool Has(const crypto::ExchangePublicKey& key) const {
    return ExchangeKeyFiles(home_).Find(key, KeyFile(2)).ok();
  }
  std::map<std::string, base::Bytes> Files() const {
    std::map<std::string, base::Bytes> files;
    for (const auto& entry : std::filesystem::directory_iterator(home_)) {
      files[entry.path().filename()] = *ReadFile(entry.path());
    }
    return files;
  }
  // As a crash left them.
  void Restore(const std::map<std::string, base::Bytes>& files, const std::string& name) const {
    ASSERT_TRUE(ReplaceFile(home_ / name, files.at(name), DiskCalls::System(), 0600).ok());
  }

  SiteFolder north_ = NewSite("north"), south_ = NewSite("south");
  const SiteFolder* const sites_[2] = {&north_, &south_};
  const std::filesystem::path home_ = folder_.path() / "north";
  crypto::ExchangePublicKey first_{};
};

TEST_F(NextEpochTest, TakesTheNewKeyAndDeletesTheOldOne) {
  ASSERT_TRUE(north_.Renew(KeyFile(2), entropy_)->is_new);
  const auto second = KeyInRequest();
  EXPECT_TRUE(Has(first_));  // the present epoch continues with it
  EXPECT_EQ(north_.TakeUpExchangeKeys(*north_.Joined(), KeyFile(2))->exchange.public_key(), first_);
  ASSERT_TRUE(Join(north_, Invite(north_, Sign(sites_, 1), 0)).ok());
  EXPECT_FALSE(Has(first_));
  EXPECT_TRUE(Has(second));
  EXPECT_EQ(north_.TakeUpExchangeKeys(*north_.Joined(), KeyFile(2))->exchange.public_key(), second);
  EXPECT_FALSE(Files().contains("exchange-next.key"));
  // The certificate of the same epoch may be renewed.
  EXPECT_TRUE(Join(north_, Invite(north_, Sign(sites_, 1), 0)).ok());
}

TEST_F(NextEpochTest, MayKeepTheKeyAndHaveTheNextOneReady) {
  const auto manifest = Sign(sites_, 1);  // before north renews
  ASSERT_TRUE(north_.Renew(KeyFile(2), entropy_)->is_new);
  ASSERT_TRUE(Join(north_, Invite(north_, manifest, 0)).ok());
  EXPECT_TRUE(Has(first_));
  EXPECT_TRUE(Has(KeyInRequest()));
  ASSERT_TRUE(Join(north_, Invite(north_, Sign(sites_, 2), 0)).ok());
  EXPECT_FALSE(Has(first_));
}

// Keys for the next epoch that somebody may have copied are replaced, and never those in use.
TEST_F(NextEpochTest, UnusedKeysAreReplacedOnRequest) {
  EXPECT_FALSE(UnusedRequest(north_)->has_value());
  ASSERT_TRUE(north_.Renew(KeyFile(2), entropy_)->is_new);
  const auto stolen = KeyInRequest();
  EXPECT_EQ((*UnusedRequest(north_))->request, north_.request());
  ASSERT_TRUE(north_.Renew(KeyFile(2), entropy_, UnusedKeys::kReplaced)->is_new);
  const auto second = KeyInRequest();
  EXPECT_FALSE(Has(stolen));
  EXPECT_TRUE(Has(second));
  EXPECT_TRUE(Has(first_));
  // The file says so, whichever process reads it.
  EXPECT_EQ((*UnusedRequest(*SiteFolder::Open(home_)))->request, north_.request());

  // For a join that a crash interrupted, the keys that look like those for the next epoch are in
  // use.
  const std::map<std::string, base::Bytes> before = Files();
  ASSERT_TRUE(Join(north_, Invite(north_, Sign(sites_, 1), 0)).ok());
  Restore(before, "exchange.key");
  Restore(before, "exchange-next.key");
  EXPECT_FALSE(UnusedRequest(north_)->has_value());
  ASSERT_TRUE(north_.Renew(KeyFile(2), entropy_, UnusedKeys::kReplaced)->is_new);
  EXPECT_TRUE(Has(second));
  EXPECT_EQ(north_.TakeUpExchangeKeys(*north_.Joined(), KeyFile(2))->exchange.public_key(), second);
  // Between its steps a request that names deleted keys is nowhere.
  std::filesystem::remove(home_ / "north.request");
  std::filesystem::remove(home_ / "exchange-next.key");
  EXPECT_FALSE(UnusedRequest(north_)->has_value());
  EXPECT_TRUE(north_.Renew(KeyFile(2), entropy_, UnusedKeys::kReplaced)->is_new);
}

// A caller that leaves a request holds the folder: neither keys nor request change until then.
TEST_F(NextEpochTest, ARequestIsHeldWhileItIsSent) {
  const absl::StatusOr<NextRequest> sent = north_.Renew(KeyFile(2), entropy_);
  ASSERT_TRUE(sent.ok());
  const SiteFolder other = *SiteFolder::Open(home_);
  const auto held = UnusedRequest(other);
  EXPECT_EQ(held.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(held.status()),
              HasSubstr("another process works on the exchange keys"));
}

// Every state between two steps of a join: the invitation is there, the old key is whole or zeros,
// the next one is not in use yet. Both `join` and `run` continue from it.
TEST_F(NextEpochTest, ACrashInAJoinIsFinished) {
  ASSERT_TRUE(north_.Renew(KeyFile(2), entropy_)->is_new);
  const std::map<std::string, base::Bytes> before = Files();
  const auto second = KeyInRequest();
  const agreement::Invitation invitation = Invite(north_, Sign(sites_, 1), 0);
  ASSERT_TRUE(Join(north_, invitation).ok());
  for (const bool zeros : {false, true}) {
    for (const bool joins : {false, true}) {
      Restore(before, "exchange.key");
      Restore(before, "exchange-next.key");
      EXPECT_TRUE(Has(first_));
      if (zeros) {
        ASSERT_TRUE(OverwriteSecretFile(home_ / "exchange.key").ok());
      }
      if (joins) {
        EXPECT_TRUE(Join(north_, invitation).ok());
      } else {
        EXPECT_TRUE(north_.TakeUpExchangeKeys(*north_.Joined(), KeyFile(2)).ok());
      }
      EXPECT_FALSE(Has(first_));
      EXPECT_TRUE(Has(second));
      EXPECT_FALSE(Files().contains("exchange-next.key"));
    }
  }
}

// Somebody with the stolen signing key, or the coordinator, had a key of its own enrolled: the site
// would seal for pairs that it does not share.
TEST_F(NextEpochTest, RefusesAnExchangeKeyThatIsNotItsOwn) {
  const base::Bytes own = north_.request();
  const base::Bytes forged = agreement::WriteEnrolmentRequest(
      "north", {}, *north_.UnlockKeys(KeyFile(2)), NewExchangeKeys());
  ASSERT_TRUE(ReplaceFile(north_.request_path(), forged).ok());
  const SiteFolder as_enrolled = *SiteFolder::Open(home_);
  const SiteFolder* const sites[] = {&as_enrolled, &south_};
  const auto manifest = Sign(sites, 1);
  ASSERT_TRUE(ReplaceFile(north_.request_path(), own).ok());

  const std::map<std::string, base::Bytes> before = Files();
  const absl::Status refused = Join(north_, Invite(north_, manifest, 0));
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(base::Message(refused),
              HasSubstr("does not hold the exchange key that the manifest names"));
  EXPECT_EQ(Files(), before);
  EXPECT_EQ(north_.Joined()->manifest.epoch(), 0u);
}

TEST_F(EnrolmentTest, TheServerHasNoExchangeKey) {
  const std::vector<std::string> hosts = {"tacet.example"};
  SiteFolder hub = *SiteFolder::Create(folder_.path() / "hub", "hub", hosts, KeyFile(2), entropy_);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "hub/exchange-next.key"));
  EXPECT_THAT(base::Message(hub.Renew(KeyFile(2), entropy_).status()),
              HasSubstr("only sites have exchange keys"));
}

TEST_F(EnrolmentTest, AnEpochHasOneServer) {
  const SiteFolder north = NewSite("north"), south = NewSite("south");
  const SiteFolder* const sites[] = {&north, &south};
  const std::vector<std::string> hosts = {"tacet.example"};
  const auto server = [&](const std::string& folder) {
    return *SiteFolder::Create(folder_.path() / folder, "hub", hosts, KeyFile(2), entropy_);
  };
  SiteFolder hub = server("hub"), other = server("other");
  const auto key = agreement::ReadEnrolmentRequest(hub.request())->tls_key;
  server_ = {.name = "hub", .hosts = hosts, .tls_key = key};
  const auto invite = [&](const SiteFolder& site, crypto::CertificateRole role) {
    agreement::Invitation invitation;
    invitation.manifest = Sign(sites, 0).bytes();
    invitation.certificate = *crypto::IssueCertificate(
        {.common_name = "hub",
         .role = role,
         .public_key = agreement::ReadEnrolmentRequest(site.request())->tls_key,
         .hosts = role == crypto::CertificateRole::kServer ? hosts : std::vector<std::string>{},
         .not_before = kStart,
         .not_after = kEnd},
        keys_.authority, authority_);
    return invitation;
  };
  using crypto::CertificateRole;
  EXPECT_THAT(base::Message(Join(other, invite(other, CertificateRole::kServer))),
              HasSubstr("the server of hospitals in epoch 0 is hub, not hub with this key"));
  EXPECT_THAT(base::Message(Join(hub, invite(hub, CertificateRole::kClient))),
              HasSubstr("the certificate is not for a server"));
  EXPECT_TRUE(Join(hub, invite(hub, CertificateRole::kServer)).ok());
}

TEST_F(EnrolmentTest, ARequestIsNamedAfterItsSite) {
  const SiteFolder north = NewSite("north");
  EXPECT_EQ(north.request_path().filename(), "north.request");
  const auto home = north.request_path().parent_path();
  ASSERT_TRUE(ReplaceFile(home / "south.request", base::Bytes(10)).ok());
  const auto two = SiteFolder::Open(home);
  EXPECT_EQ(two.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(two.status()), HasSubstr("holds north.request and south.request"));
  std::filesystem::remove(home / "south.request");
  EXPECT_TRUE(SiteFolder::Open(home).ok());
  std::filesystem::remove(home / "north.request");
  EXPECT_THAT(base::Message(SiteFolder::Open(home).status()),
              HasSubstr("holds no request (NAME.request): `tacet client request --name NAME`"));
  // The same request again.
  ASSERT_TRUE(SiteFolder::Create(home, "north", {}, KeyFile(2), entropy_).ok());
  EXPECT_EQ(SiteFolder::Open(home)->request(), north.request());
  EXPECT_THAT(base::Message(SiteFolder::Create(home, "south", {}, KeyFile(2), entropy_).status()),
              HasSubstr("which asked to be north"));
  EXPECT_THAT(base::Message(SiteFolder::Create(home, "north", {}, KeyFile(3), entropy_).status()),
              HasSubstr("identity.key: the site's identity does not open"));
  // The files of a call that did not come to its end are replaced.
  const auto begun = folder_.path() / "begun";
  ASSERT_TRUE(MakeFolders(begun, kOwnersFolder).ok());
  ASSERT_TRUE(ReplaceFile(begun / "west.request", base::Bytes(10)).ok());
  ASSERT_TRUE(SiteFolder::Create(begun, "east", {}, KeyFile(2), entropy_).ok());
  EXPECT_EQ(SiteFolder::Open(begun)->request_path().filename(), "east.request");
}

}  // namespace
}  // namespace tacet::storage::file
