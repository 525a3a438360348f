// Attack on digests: very many guesses around a model, one block of SHA-256 each.
#ifndef TACET_TESTS_LIVE_GUESS_SWEEP_FOR_TEST_H_
#define TACET_TESTS_LIVE_GUESS_SWEEP_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/sha.h>

#include "tacet/base/bytes.h"
#include "tacet/base/parallel.h"
#include "tacet/crypto/hash.h"
#include "tests/live/hash_guesser_for_test.h"

namespace tacet::live::testing {

// SHA-256 of messages that differ in their last bytes. What comes before them is hashed once.
class PreparedSha256 {
 public:
  // The last `tail_bytes` of `message` vary.
  PreparedSha256(std::span<const uint8_t> message, size_t tail_bytes) {
    const size_t tail = message.size() - tail_bytes;
    const size_t done = tail / kBlock * kBlock;  // bytes in blocks before that of the tail
    Init();
    for (size_t at = 0; at < done; at += kBlock) Transform(before_, message.data() + at);
    tail_at_ = tail - done;
    last_.assign(message.begin() + static_cast<ptrdiff_t>(done), message.end());
    last_.push_back(0x80);
    while (last_.size() % kBlock != kBlock - 8) last_.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8) {
      last_.push_back(static_cast<uint8_t>((uint64_t{message.size()} * 8) >> shift));
    }
  }

  crypto::Digest With(std::span<const uint8_t> tail) {
    std::memcpy(last_.data() + tail_at_, tail.data(), tail.size());
    SHA256_CTX state;
    std::memcpy(state.h, before_.h, sizeof(state.h));
    for (size_t at = 0; at < last_.size(); at += kBlock) Transform(state, last_.data() + at);
    for (uint32_t& word : state.h) word = __builtin_bswap32(word);
    return std::bit_cast<crypto::Digest>(state.h);
  }

 private:
  static constexpr size_t kBlock = 64;

// The fast call for one block is the one that later versions of libcrypto discourage.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  void Init() { SHA256_Init(&before_); }
  static void Transform(SHA256_CTX& state, const uint8_t* block) {
    SHA256_Transform(&state, block);
  }
#pragma GCC diagnostic pop

  SHA256_CTX before_{};
  base::Bytes last_;
  size_t tail_at_ = 0;
};

// Guesses of a model whose last three values are unknown: each is tried at the nearest floats
// around the true one.
class GuessSweep {
 public:
  static constexpr size_t kUnknown = 3;

  explicit GuessSweep(const HashGuesser& guesser) : guesser_(guesser) {}

  // Which digest of any of `guesses` guesses around `model` is among the bytes that the guesser
  // heard; nothing when none is. From 2^20 guesses on, the model itself is among them.
  std::optional<std::string> Confirms(std::span<const float> model, uint64_t guesses) const {
    const size_t threads = base::Processors();
    std::vector<std::optional<std::string>> found(threads);
    base::RunOnThreads(threads, [&](size_t thread) {
      Digests digests(model);
      const uint64_t end = guesses * (thread + 1) / threads;
      for (uint64_t guess = guesses * thread / threads; guess < end; guess += kAtOnce) {
        const uint64_t count = std::min<uint64_t>(kAtOnce, end - guess);
        std::array<std::array<crypto::Digest, kDigests>, kAtOnce> made;
        for (uint64_t i = 0; i < count; ++i) {
          made[i] = digests.Of(Guess(model.last(kUnknown), guess + i, guesses));
          for (const crypto::Digest& digest : made[i]) guesser_.Prefetch(digest);
        }
        for (uint64_t i = 0; i < count; ++i) {
          for (size_t k = 0; k < kDigests; ++k) {
            if (!guesser_.HoldsDigest(made[i][k])) continue;
            found[thread] = kNames[k];
            return;
          }
        }
      }
    });
    for (const std::optional<std::string>& one : found) {
      if (one.has_value()) return one;
    }
    return std::nullopt;
  }

  // Values of a guess, little-endian.
  using Tail = std::array<uint8_t, 4 * kUnknown>;
  // Moves of the values by -512 to 511 floats; of the last one by as many as are left.
  static Tail Guess(std::span<const float> truth, uint64_t guess, uint64_t guesses) {
    const std::array<uint64_t, kUnknown> moves = {guess % 1024 - 512, (guess >> 10) % 1024 - 512,
                                                  (guess >> 20) - (guesses >> 21)};
    Tail tail;
    for (size_t i = 0; i < kUnknown; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(truth[i]) + static_cast<uint32_t>(moves[i]);
      base::StoreU32(bits, tail.data() + 4 * i);
    }
    return tail;
  }

 private:
  static constexpr uint64_t kAtOnce = 16;
  static constexpr size_t kDigests = 4;
  static constexpr std::array<const char*, kDigests> kNames = {
      "SHA-256", "SHA-256 with label tacet/1/model", "SHA-256 with label tacet/1/state",
      "HMAC-SHA256 under zeros"};

  // The digests of a guess: SHA-256 without a label and with tacet's labels, and tacet's own
  // digest of a model under a key of zeros.
  class Digests {
   public:
    explicit Digests(std::span<const float> model) {
      base::ByteWriter values;
      for (const float value : model) values.U32(std::bit_cast<uint32_t>(value));
      const std::string_view model_label = "tacet/1/model", state_label = "tacet/1/state";
      const std::string inner_pad(64, 0x36), outer_pad(64, 0x5c);
      for (const std::string& prefix :
           {std::string(), std::string(model_label), std::string(state_label),
            inner_pad + std::string(model_label)}) {
        hashes_.push_back(After(prefix, values.bytes(), sizeof(Tail)));
      }
      hashes_.push_back(After(outer_pad, base::Bytes(32), 32));
    }

    std::array<crypto::Digest, kDigests> Of(const Tail& tail) {
      const crypto::Digest inner = hashes_[3].With(tail);
      return {hashes_[0].With(tail), hashes_[1].With(tail), hashes_[2].With(tail),
              hashes_[4].With(inner)};
    }

   private:
    static PreparedSha256 After(std::string_view prefix, std::span<const uint8_t> rest,
                                size_t tail_bytes) {
      base::ByteWriter message;
      message.Raw(prefix);
      message.Raw(rest);
      return {message.bytes(), tail_bytes};
    }

    std::vector<PreparedSha256> hashes_;
  };

  const HashGuesser& guesser_;
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_GUESS_SWEEP_FOR_TEST_H_
