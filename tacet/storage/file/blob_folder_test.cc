#include "tacet/storage/file/blob_folder.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/damaged_file_for_test.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/server/blob_store_contract_for_test.h"
#include "tacet/storage/file/disk_for_test.h"

namespace tacet::storage::file {
namespace {

using server::BlobKey;
using ::testing::HasSubstr;

std::unique_ptr<BlobFolder> OpenOrDie(const std::filesystem::path& folder,
                                      DiskCalls& disk = DiskCalls::System()) {
  auto blobs = BlobFolder::Open(folder, disk);
  if (!blobs.ok()) ADD_FAILURE() << blobs.status();
  return blobs.ok() ? *std::move(blobs) : nullptr;
}

class FileBackend {
 public:
  server::BlobStore& blobs() { return *blobs_; }
  void Reopen() {
    blobs_.reset();
    blobs_ = OpenOrDie(folder_.path());
  }

 private:
  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  std::unique_ptr<BlobFolder> blobs_ = OpenOrDie(folder_.path());
};

}  // namespace
}  // namespace tacet::storage::file

namespace tacet::server {
INSTANTIATE_TYPED_TEST_SUITE_P(File, BlobStoreContract, storage::file::FileBackend);
}  // namespace tacet::server

namespace tacet::storage::file {
namespace {

class BlobFolderTest : public ::testing::Test {
 protected:
  static BlobKey KeyOf(uint64_t member) {
    return {{protocol::BulkKind::kUpload, {.number = {.round = 2}}}, member};
  }
  static base::Bytes ObjectOf(uint64_t member, size_t size) {
    base::Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>((i * 40503 + member) >> 3);
    return bytes;
  }
  // Sends what has not arrived in parts of `part_bytes`, then completes as the server does.
  static absl::Status Send(server::BlobStore& blobs, uint64_t member, const base::Bytes& object,
                           size_t part_bytes) {
    const crypto::Digest digest = crypto::Sha256(object);
    TACET_ASSIGN_OR_RETURN(uint64_t have, blobs.Arrived(KeyOf(member), digest));
    const bool in_one_part = have == 0 && part_bytes >= object.size();
    while (have < object.size()) {
      const auto part =
          std::span(object).subspan(have, std::min<size_t>(part_bytes, object.size() - have));
      TACET_RETURN_IF_ERROR(blobs.Append(KeyOf(member), digest, have, part));
      have += part.size();
    }
    return in_one_part ? blobs.CompleteUnread(KeyOf(member), digest)
                       : blobs.Complete(KeyOf(member), digest).status();
  }
  static bool Holds(server::BlobStore& blobs, uint64_t member, const base::Bytes& object) {
    const auto read = blobs.Read(KeyOf(member), crypto::Sha256(object));
    return read.ok() && *read == object;
  }
  // Files but the lock.
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename() != "lock") files.push_back(entry.path());
    }
    return files;
  }

  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path folder_ = temporary_.path() / "blobs";
};

TEST_F(BlobFolderTest, AFolderThatIsRemovedIsMadeAgain) {
  auto blobs = OpenOrDie(folder_);
  const base::Bytes object = ObjectOf(1, 100);
  ASSERT_TRUE(Send(*blobs, 1, object, 100).ok());
  std::filesystem::remove_all(folder_);
  EXPECT_FALSE(blobs->Holds(KeyOf(1), crypto::Sha256(object)).value());
  EXPECT_EQ(blobs->Read(KeyOf(1), crypto::Sha256(object)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(blobs->KeepOnly({}).ok());  // there is nothing to remove
  for (const uint64_t member : {1, 2}) {
    ASSERT_TRUE(Send(*blobs, member, ObjectOf(member, 100), 40).ok());
    EXPECT_TRUE(Holds(*blobs, member, ObjectOf(member, 100)));
  }
  EXPECT_EQ(BlobFolder::Open(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
}

// It would be in the way of the same bytes.
TEST_F(BlobFolderTest, ADamagedObjectIsForgotten) {
  auto blobs = OpenOrDie(folder_);
  const base::Bytes object = ObjectOf(1, 100);
  ASSERT_TRUE(Send(*blobs, 1, object, 100).ok());
  std::filesystem::resize_file(Files().at(0), 32 + 99);
  EXPECT_TRUE(blobs->Holds(KeyOf(1), crypto::Sha256(object)).value());
  EXPECT_EQ(blobs->Read(KeyOf(1), crypto::Sha256(object)).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_THAT(Files(), ::testing::IsEmpty());
  ASSERT_TRUE(Send(*blobs, 1, object, 100).ok());
  EXPECT_TRUE(Holds(*blobs, 1, object));
}

TEST_F(BlobFolderTest, OnlyItsOwnerCanReadTheFiles) {
  auto blobs = OpenOrDie(folder_);
  ASSERT_TRUE(Send(*blobs, 1, ObjectOf(1, 10), 10).ok());
  const base::Bytes object = ObjectOf(2, 10);
  ASSERT_TRUE(blobs->Append(KeyOf(2), crypto::Sha256(object), 0, object).ok());
  const auto mode = [](const std::filesystem::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  };
  EXPECT_EQ(mode(folder_), 0700u);
  EXPECT_EQ(mode(folder_ / "lock"), 0600u);
  ASSERT_EQ(Files().size(), 2u);
  for (const auto& path : Files()) EXPECT_EQ(mode(path), 0600u);
}

TEST_F(BlobFolderTest, ServesOneProcessAtATime) {
  auto blobs = OpenOrDie(folder_);
  const auto other = BlobFolder::Open(folder_);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(other.status()), HasSubstr("is in use by another process"));
  blobs.reset();
  EXPECT_NE(OpenOrDie(folder_), nullptr);
}

TEST_F(BlobFolderTest, AFolderThatCannotBeMadeIsAnError) {
  const auto blobs = BlobFolder::Open(folder_ / "further");
  EXPECT_EQ(blobs.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(blobs.status()), HasSubstr("No such file or directory"));
}

TEST_F(BlobFolderTest, LeavesFilesOfOthersAlone) {
  auto blobs = OpenOrDie(folder_);
  ASSERT_TRUE(Send(*blobs, 1, ObjectOf(1, 10), 10).ok());
  std::ofstream(folder_ / "notes.txt") << "ours";
  ASSERT_TRUE(blobs->KeepOnly({}).ok());
  EXPECT_EQ(Files(), std::vector{folder_ / "notes.txt"});
}

TEST_F(BlobFolderTest, NoticesThatAFileWasAltered) {
  const base::Bytes object = ObjectOf(1, 100);
  for (const std::streamoff at : {0, 32, 131}) {  // of the digest, of the object
    std::filesystem::remove_all(folder_);
    auto blobs = OpenOrDie(folder_);
    ASSERT_TRUE(Send(*blobs, 1, object, 100).ok());
    base::FlipBit(Files().at(0), at);
    const auto read = blobs->Read(KeyOf(1), crypto::Sha256(object));
    if (at < 32) {
      EXPECT_EQ(*read, object);  // the object's own digest decides
    } else {
      EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
    }
  }
}

// A file of fewer bytes than its header, as a crash may leave it.
TEST_F(BlobFolderTest, BeginsAgainAfterATornHeader) {
  const base::Bytes object = ObjectOf(1, 100);
  auto blobs = OpenOrDie(folder_);
  ASSERT_TRUE(blobs->Append(KeyOf(1), crypto::Sha256(object), 0, object).ok());
  std::filesystem::resize_file(Files().at(0), 31);
  EXPECT_EQ(blobs->Arrived(KeyOf(1), crypto::Sha256(object)).value(), 0u);
  EXPECT_TRUE(Send(*blobs, 1, object, 30).ok());
  EXPECT_TRUE(Holds(*blobs, 1, object));
}

// Every call fails once; the same call fits again afterwards.
TEST_F(BlobFolderTest, EveryDiskCallMayFail) {
  const base::Bytes object = ObjectOf(1, 500);
  const crypto::Digest digest = crypto::Sha256(object);
  for (int fail_at = 0;; ++fail_at) {
    std::filesystem::remove_all(folder_);
    FailingDisk disk;
    disk.fail_at = fail_at;
    auto blobs = OpenOrDie(folder_, disk);
    int failures = 0;
    const auto expect_unavailable = [&](const absl::Status& status) {
      ++failures;
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(base::Message(status), ::testing::AnyOf(HasSubstr("No space left on device"),
                                                          HasSubstr("Input/output error")));
    };
    for (uint64_t have = 0; have < object.size();) {
      const auto part = std::span(object).subspan(have, 250);
      const absl::Status status = blobs->Append(KeyOf(1), digest, have, part);
      if (status.ok()) {
        have += part.size();
      } else {
        expect_unavailable(status);
        ASSERT_LT(failures, 2);
        EXPECT_EQ(blobs->Arrived(KeyOf(1), digest).value(), have);
      }
    }
    for (auto whole = blobs->Complete(KeyOf(1), digest); !whole.ok();) {
      expect_unavailable(whole.status());
      ASSERT_LT(failures, 2);
      EXPECT_TRUE(Send(*blobs, 1, object, 250).ok());
      whole = blobs->Complete(KeyOf(1), digest);
    }
    EXPECT_TRUE(Holds(*blobs, 1, object));
    if (const absl::Status kept = blobs->KeepOnly({}); !kept.ok()) {
      expect_unavailable(kept);
      EXPECT_TRUE(blobs->KeepOnly({}).ok());
    }
    EXPECT_TRUE(Files().empty());
    if (disk.calls <= fail_at) {
      EXPECT_EQ(failures, 0);
      EXPECT_GT(fail_at, 14);
      break;
    }
    EXPECT_EQ(failures, 1) << fail_at;
  }
}

TEST_F(BlobFolderTest, DyingAtEveryCallLosesNothingThatWasComplete) {
  const base::Bytes object = ObjectOf(1, 500);
  int deaths = 0;
  const auto die = [&](DeadlyDisk::When when, size_t part_bytes) {
    for (int die_at = 0;; ++die_at) {
      std::filesystem::remove_all(folder_);
      const int code = base::ExitCodeInChild([&] {
        DeadlyDisk disk(die_at, when);
        auto blobs = BlobFolder::Open(folder_, disk);
        return blobs.ok() && Send(**blobs, 1, object, part_bytes).ok() ? 0 : 1;
      });
      ASSERT_TRUE(code == 0 || code == DeadlyDisk::kDied) << code;
      auto blobs = OpenOrDie(folder_);
      EXPECT_TRUE(code != 0 || Holds(*blobs, 1, object));
      ASSERT_TRUE(Send(*blobs, 1, object, part_bytes).ok());
      EXPECT_TRUE(Holds(*blobs, 1, object));
      EXPECT_EQ(Files().size(), 1u);
      if (code == 0) break;
      ++deaths;
    }
  };
  for (const auto when :
       {DeadlyDisk::When::kBefore, DeadlyDisk::When::kHalfway, DeadlyDisk::When::kAfter}) {
    die(when, 250);
    die(when, 500);
  }
  EXPECT_GT(deaths, 30);
}

TEST_F(BlobFolderTest, KilledAtRandomMomentsLosesNothingThatWasComplete) {
  constexpr size_t kBytes = 20'000;
  std::mt19937 generator(1);
  std::uniform_int_distribution<int> microseconds(500, 12'000);
  std::set<uint64_t> complete;
  for (int i = 0; i < 80; ++i) {
    base::Child child([&](int acknowledge) {
      auto blobs = BlobFolder::Open(folder_);
      for (uint64_t member = complete.size(); blobs.ok(); ++member) {
        if (!Send(**blobs, member, ObjectOf(member, kBytes), 3000).ok()) return 1;
        if (::write(acknowledge, &member, sizeof member) != sizeof member) return 2;
      }
      return 3;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(generator)));
    child.Kill();
    while (const auto member = child.Read<uint64_t>()) complete.insert(*member);
    ASSERT_EQ(child.ExitCode(), -1) << "it ended by itself";
  }
  auto blobs = OpenOrDie(folder_);
  EXPECT_FALSE(complete.empty());
  for (const uint64_t member : complete) {
    ASSERT_TRUE(Holds(*blobs, member, ObjectOf(member, kBytes))) << member;
  }
  EXPECT_LE(Files().size(), complete.size() + 1);
}

// An object that is complete costs its own size in memory, not more.
TEST_F(BlobFolderTest, HoldsALargeObjectOnce) {
  constexpr size_t kParts = 96;
  const int code = base::ExitCodeInChild([&] {
    auto blobs = BlobFolder::Open(folder_);
    if (!blobs.ok()) return 1;
    const base::Bytes part = ObjectOf(1, 1 << 20);
    crypto::Sha256Hasher hasher;
    for (size_t i = 0; i < kParts; ++i) hasher.Update(part);
    const crypto::Digest digest = hasher.Finish();
    for (size_t i = 0; i < kParts; ++i) {
      if (!(*blobs)->Append(KeyOf(1), digest, i * part.size(), part).ok()) return 2;
    }
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    const bool complete = (*blobs)->Complete(KeyOf(1), digest).ok();
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    if (!complete) return 3;
    const long grown_mib = (after.ru_maxrss - before.ru_maxrss) / 1024;
    return grown_mib < long{kParts} * 3 / 2 ? 0 : 4;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace tacet::storage::file
