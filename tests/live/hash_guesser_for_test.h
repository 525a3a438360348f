// Attack on digests: hashes of guesses, looked for in all bytes that the attacker holds.
#ifndef TACET_TESTS_LIVE_HASH_GUESSER_FOR_TEST_H_
#define TACET_TESTS_LIVE_HASH_GUESSER_FOR_TEST_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gtest/gtest.h"
#include <openssl/evp.h>

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/secagg/checksum.h"

namespace tacet::live::testing {

// For a guess, every hash below is taken of every encoding below, with and without the labels of
// docs/formats/messages.md and under keys that anybody knows. The first 16 bytes of each result are
// looked for at every offset, as bytes and as hexadecimal digits. A wrong hit among 2^24 bytes by
// 2^30 results has probability below 2^-73.
class HashGuesser {
 public:
  HashGuesser() {
    for (const char* name : {"SHA256", "SHA1", "MD5", "SHA512", "SHA512-256", "SHA3-256",
                             "BLAKE2B512", "BLAKE2S256"}) {
      const EVP_MD* const hash = EVP_get_digestbyname(name);
      EXPECT_NE(hash, nullptr) << name;
      hashes_.emplace_back(name, hash);
    }
    Know(base::Bytes(32));
  }

  // Bytes that the attacker holds.
  void Hear(std::span<const uint8_t> bytes) {
    for (size_t at = 0; at + sizeof(Window) <= bytes.size(); ++at) {
      windows_.push_back(WindowAt(bytes.subspan(at)));
    }
    is_sorted_ = false;
  }
  // A value under which a digest may be keyed.
  void Know(std::span<const uint8_t> key) { keys_.push_back(crypto::SecretBytes::CopyOf(key)); }
  size_t heard() const { return windows_.size(); }

  // Whether this is among the bytes, or its hexadecimal digits are. After Confirms, or Prepare;
  // then from several threads.
  bool HoldsDigest(const crypto::Digest& digest) const {
    const uint32_t prefix = PrefixOf(digest);
    return (prefixes_[prefix / 64] >> (prefix % 64) & 1) != 0 && Holds(digest);
  }
  // Before it, where there are many.
  void Prefetch(const crypto::Digest& digest) const {
    __builtin_prefetch(&prefixes_[PrefixOf(digest) / 64]);
  }
  // Sorts the bytes.
  void Prepare() {
    if (is_sorted_) return;
    std::ranges::sort(windows_);
    const auto rest = std::ranges::unique(windows_);
    windows_.erase(rest.begin(), rest.end());
    prefixes_.assign((size_t{1} << kPrefixBits) / 64, 0);
    const auto note = [&](std::span<const uint8_t> first) {
      const uint32_t prefix = PrefixOf(first);
      prefixes_[prefix / 64] |= uint64_t{1} << (prefix % 64);
    };
    for (const Window& window : windows_) {
      const auto* const bytes = reinterpret_cast<const uint8_t*>(&window);
      note({bytes, 4});
      const auto decoded = base::FromHex(base::AsText({bytes, 8}));
      if (decoded.ok()) note(*decoded);
    }
    is_sorted_ = true;
  }

  // The form in which a digest of these values is among the bytes; nothing when it is not.
  std::optional<std::string> Confirms(std::span<const float> values) {
    for (const auto& [name, bytes] : EncodingsOf(values)) {
      if (const auto hash = ConfirmsBytes(bytes)) return *hash + " of " + name;
    }
    return std::nullopt;
  }
  // The same of a state: model and velocity, also by a digest of the model's digest and velocity.
  std::optional<std::string> Confirms(std::span<const float> model,
                                      std::span<const float> velocity) {
    for (const std::span<const float> part : {model, velocity}) {
      if (auto found = Confirms(part)) return found;
    }
    const base::Bytes m = EncodingsOf(model).front().second;
    const base::Bytes v = EncodingsOf(velocity).front().second;
    for (const auto& [name, hash] : hashes_) {
      if (const auto found = ConfirmsBytes(Joined(HashOf(hash, m), v))) {
        return *found + " of " + name + " of model, and velocity";
      }
    }
    if (const auto found = ConfirmsBytes(Joined(m, v))) return *found + " of model and velocity";
    return std::nullopt;
  }

 private:
  struct Window {
    uint64_t first = 0, second = 0;
    friend auto operator<=>(const Window&, const Window&) = default;
  };
  static Window WindowAt(std::span<const uint8_t> bytes) {
    Window window;
    std::memcpy(&window, bytes.data(), sizeof(window));
    return window;
  }
  static constexpr size_t kPrefixBits = 25;
  static uint32_t PrefixOf(std::span<const uint8_t> bytes) {
    uint32_t first = 0;
    std::memcpy(&first, bytes.data(), sizeof(first));
    return first >> (32 - kPrefixBits);
  }
  static base::Bytes Joined(std::span<const uint8_t> first, std::span<const uint8_t> second) {
    base::Bytes joined(first.begin(), first.end());
    joined.insert(joined.end(), second.begin(), second.end());
    return joined;
  }
  static base::Bytes HashOf(const EVP_MD* hash, std::span<const uint8_t> bytes) {
    base::Bytes result(EVP_MAX_MD_SIZE);
    unsigned int size = 0;
    EXPECT_EQ(EVP_Digest(bytes.data(), bytes.size(), result.data(), &size, hash, nullptr), 1);
    result.resize(size);
    return result;
  }

  static std::vector<std::pair<std::string, base::Bytes>> EncodingsOf(
      std::span<const float> values) {
    base::ByteWriter little, big, doubles, text;
    for (const float value : values) {
      const auto bits = std::bit_cast<uint32_t>(value);
      little.U32(bits);
      for (int shift = 24; shift >= 0; shift -= 8) big.U8(static_cast<uint8_t>(bits >> shift));
      doubles.U64(std::bit_cast<uint64_t>(static_cast<double>(value)));
      text.Raw(base::AsBytes(fmt::format("{}\n", value)));
    }
    return {{"little-endian binary32", little.Take()},
            {"big-endian binary32", big.Take()},
            {"little-endian binary64", doubles.Take()},
            {"decimal digits", text.Take()}};
  }

  std::optional<std::string> ConfirmsBytes(std::span<const uint8_t> bytes) {
    Prepare();
    for (const std::string_view label : {"", "tacet/1/model", "tacet/1/state"}) {
      const base::Bytes labelled = Joined(base::AsBytes(label), bytes);
      for (const auto& [name, hash] : hashes_) {
        if (Holds(HashOf(hash, labelled))) return name;
      }
      for (const crypto::SecretBytes& key : keys_) {
        if (Holds(crypto::HmacSha256(key, {labelled}))) return "HMAC-SHA256 under a known key";
      }
    }
    // A checksum of zeros is a count and eight zeros, which any bytes may have: it says nothing.
    if (std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; })) return std::nullopt;
    base::ByteWriter sums;
    for (const uint64_t word : secagg::Checksum(bytes)) sums.U64(word);
    if (Holds(sums.bytes())) return "checksum";
    return std::nullopt;
  }
  bool Holds(std::span<const uint8_t> result) const {
    if (std::ranges::binary_search(windows_, WindowAt(result))) return true;
    const std::string digits = base::ToHex(result.first(sizeof(Window)));
    return std::ranges::binary_search(windows_, WindowAt(base::AsBytes(digits))) &&
           std::ranges::binary_search(windows_,
                                      WindowAt(base::AsBytes(digits).subspan(sizeof(Window))));
  }

  std::vector<std::pair<std::string, const EVP_MD*>> hashes_;
  std::vector<crypto::SecretBytes> keys_;
  std::vector<Window> windows_;
  std::vector<uint64_t> prefixes_;  // bits: of a window, or of the bytes whose digits it has
  bool is_sorted_ = false;
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_HASH_GUESSER_FOR_TEST_H_
