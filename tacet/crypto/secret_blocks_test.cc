#include "tacet/crypto/secret_blocks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Not;

// For the mapping that holds `at`: the flags that the system lists.
std::vector<std::string> PageFlags(const void* at) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      here = begin <= reinterpret_cast<uintptr_t>(at) && reinterpret_cast<uintptr_t>(at) < end;
    }
    if (!here || !line.starts_with("VmFlags:")) continue;
    std::istringstream words(line.substr(8));
    std::vector<std::string> flags;
    for (std::string word; words >> word;) flags.push_back(word);
    return flags;
  }
  ADD_FAILURE() << "no mapping";
  return {};
}

constexpr char kLocked[] = "lo", kNotDumped[] = "dd";

bool Has(const std::vector<std::string>& flags, const char* flag) {
  return std::ranges::find(flags, flag) != flags.end();
}

// A small limit prevents it, and so do sanitizers.
bool CanLockMemory() {
  constexpr size_t kBytes = 64 << 10;
  void* const pages =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool locked = ::mlock(pages, kBytes) == 0 && Has(PageFlags(pages), kLocked);
  ::munmap(pages, kBytes);
  return locked;
}

TEST(SecretBlocksTest, ShortSecretsAreInNoDumpAndInNoSwap) {
  const bool can_lock = CanLockMemory();
  for (const size_t size : {size_t{1}, size_t{32}, size_t{138}, kMaxSecretBlockBytes}) {
    const SecretBytes secret(size);
    const std::vector<std::string> flags = PageFlags(secret.Expose().data());
    EXPECT_THAT(flags, Contains(kNotDumped)) << size;
    EXPECT_TRUE(Has(flags, kLocked) || !can_lock) << size;
  }
  // This search tells secrets from other memory.
  const std::vector<uint8_t> other(32);
  EXPECT_THAT(PageFlags(other.data()), Not(Contains(kNotDumped)));
}

// The limit of a system may be small: more secrets than it has room for are still in no dump.
TEST(SecretBlocksTest, WithoutRoomToLockSecretsWorkAllTheSame) {
  EXPECT_EQ(base::ExitCodeInChild([] {
              const rlimit none{};
              ::setrlimit(RLIMIT_MEMLOCK, &none);
              std::vector<SecretBytes> secrets;
              for (int i = 0; i < 1000; ++i) secrets.emplace_back(kMaxSecretBlockBytes);
              const auto flags = PageFlags(secrets.back().Expose().data());
              // Root may lock what it likes.
              return Has(flags, kNotDumped) && (::geteuid() == 0 || !Has(flags, kLocked)) ? 0 : 1;
            }),
            0);
}

TEST(SecretBlocksTest, BlocksAreAlignedApartAndUsedAgain) {
  std::map<uintptr_t, size_t> taken;
  for (size_t bytes = 1; bytes <= kMaxSecretBlockBytes; bytes += 37) {
    void* const block = TakeSecretBlock(bytes);
    ASSERT_NE(block, nullptr);
    std::memset(block, 0xA5, bytes);
    const auto at = reinterpret_cast<uintptr_t>(block);
    EXPECT_EQ(at % 64, 0u);
    const auto [place, is_new] = taken.emplace(at, bytes);
    ASSERT_TRUE(is_new);
    if (place != taken.begin()) {
      EXPECT_LE(std::prev(place)->first + std::prev(place)->second, at);
    }
    if (std::next(place) != taken.end()) {
      EXPECT_LE(at + bytes, std::next(place)->first);
    }
  }
  for (const auto& [at, bytes] : taken) {
    ReturnSecretBlock(reinterpret_cast<void*>(at), bytes);  // NOLINT(performance-no-int-to-ptr)
  }
  void* const again = TakeSecretBlock(100);
  EXPECT_TRUE(taken.contains(reinterpret_cast<uintptr_t>(again)));
  ReturnSecretBlock(again, 100);
  const SecretBytes zeros(4000);  // a block that held other bytes
  EXPECT_THAT(zeros.Expose(), Each(0));
}

// A fork while other threads take blocks leaves the child able to take its own.
TEST(SecretBlocksTest, AForkedChildIsNotLockedOut) {
  std::atomic<bool> done = false;
  std::array<std::thread, 2> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      while (!done) const SecretBytes secret(32);
    });
  }
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(base::ExitCodeInChild([] { return SecretBytes(32).empty() ? 1 : 0; }), 0);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tacet::crypto
