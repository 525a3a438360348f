// Entropy with the bytes of a published test vector.
#ifndef TACET_CRYPTO_FIXED_ENTROPY_FOR_TEST_H_
#define TACET_CRYPTO_FIXED_ENTROPY_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"

namespace tacet::crypto {

// Gives the bytes that it was made with, each time.
class FixedEntropy final : public Entropy {
 public:
  explicit FixedEntropy(base::Bytes bytes) : bytes_(std::move(bytes)) {}
  void Fill(std::span<uint8_t> bytes) override {
    ASSERT_EQ(bytes.size(), bytes_.size());
    std::copy(bytes_.begin(), bytes_.end(), bytes.begin());
  }

 private:
  base::Bytes bytes_;
};

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_FIXED_ENTROPY_FOR_TEST_H_
