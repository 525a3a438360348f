#include "tacet/crypto/aes_blocks.h"

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"

namespace tacet::crypto {
namespace {

// NIST SP 800-38A, F.1.5 (ECB-AES256.Encrypt), first two blocks.
TEST(AesBlocksTest, NistVector) {
  const base::Bytes key =
      base::FromHex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4").value();
  base::Bytes blocks =
      base::FromHex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51").value();
  EncryptAesBlocks(key, blocks);
  EXPECT_EQ(base::ToHex(blocks),
            "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870");
  EncryptAesBlocks(key, {});
}

TEST(AesBlocksDeathTest, WrongSizesAreProgrammingErrors) {
  base::Bytes blocks(17);
  EXPECT_DEATH(EncryptAesBlocks(base::Bytes(32), blocks), "multiple of 16");
  EXPECT_DEATH(EncryptAesBlocks(base::Bytes(16), std::span(blocks).first(16)), "32 bytes");
}

}  // namespace
}  // namespace tacet::crypto
