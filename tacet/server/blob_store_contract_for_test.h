// Contract tests of every BlobStore, one test for each sentence of its comments. A `Backend` has
// `blobs()`, of a new, empty blob store, and `Reopen()`, after which `blobs()` holds what a new
// process would find.
#ifndef TACET_SERVER_BLOB_STORE_CONTRACT_FOR_TEST_H_
#define TACET_SERVER_BLOB_STORE_CONTRACT_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/server/blob_store.h"

namespace tacet::server {

template <typename Backend>
class BlobStoreContract : public ::testing::Test {
 protected:
  BlobStore& blobs() { return backend_.blobs(); }
  void Reopen() { backend_.Reopen(); }

  static BlobKey KeyOf(uint64_t member) {
    return {{protocol::BulkKind::kUpload, {.number = {.epoch = 1, .round = 2, .attempt = 3}}},
            member};
  }
  static base::Bytes ObjectOf(size_t size, uint32_t seed) {
    base::Bytes bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((seed = seed * 1664525 + 9) >> 24);
    return bytes;
  }
  absl::Status Append(const BlobKey& key, const base::Bytes& object, uint64_t begin, uint64_t end) {
    return blobs().Append(key, crypto::Sha256(object), begin,
                          std::span(object).subspan(begin, end - begin));
  }
  struct ReadBytes {
    uint64_t total = 0;  // of the object
    base::Bytes part;
  };
  // At most `most` bytes from `offset` on.
  absl::StatusOr<ReadBytes> ReadPart(const BlobKey& key, uint64_t offset, size_t most) {
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobReader> object, blobs().Open(key));
    const uint64_t rest = object->size() - std::min(offset, object->size());
    ReadBytes fetched{.total = object->size(), .part = {}};
    fetched.part.resize(static_cast<size_t>(std::min<uint64_t>(most, rest)));
    TACET_RETURN_IF_ERROR(object->Read(offset, fetched.part));
    return fetched;
  }
  uint64_t Arrived(const BlobKey& key, const base::Bytes& object) {
    const auto arrived = blobs().Arrived(key, crypto::Sha256(object));
    EXPECT_TRUE(arrived.ok()) << arrived.status();
    return arrived.value_or(~uint64_t{0});
  }
  void Put(const BlobKey& key, const base::Bytes& object) {
    EXPECT_TRUE(Append(key, object, 0, object.size()).ok());
    EXPECT_TRUE(blobs().Complete(key, crypto::Sha256(object)).ok());
  }
  bool Holds(const BlobKey& key, const base::Bytes& object) {
    const bool is_there = blobs().Holds(key, crypto::Sha256(object)).value();
    const auto read = blobs().Read(key, crypto::Sha256(object));
    EXPECT_EQ(is_there, read.ok()) << read.status();
    return read.ok() && *read == object;
  }
  static void ExpectError(const absl::Status& status, absl::StatusCode code,
                          std::string_view message) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(base::Message(status), ::testing::HasSubstr(std::string(message)));
  }

  Backend backend_;
};

TYPED_TEST_SUITE_P(BlobStoreContract);

TYPED_TEST_P(BlobStoreContract, TakesAnObjectInParts) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(1000, 1);
  EXPECT_EQ(this->Arrived(key, object), 0u);
  uint64_t have = 0;
  for (const uint64_t end : {1, 1, 500, 999, 1000}) {
    ASSERT_TRUE(this->Append(key, object, have, end).ok());
    EXPECT_EQ(this->Arrived(key, object), end);
    have = end;
  }
  ASSERT_OK_AND_ASSIGN(const auto whole, this->blobs().Complete(key, crypto::Sha256(object)));
  EXPECT_EQ(whole, object);
  EXPECT_TRUE(this->Holds(key, object));
}

TYPED_TEST_P(BlobStoreContract, TakesThePartThatComesNextOnly) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(100, 1);
  this->ExpectError(this->Append(key, object, 1, 10), absl::StatusCode::kOutOfRange,
                    "begins at byte 1, 0 have arrived");
  ASSERT_TRUE(this->Append(key, object, 0, 50).ok());
  for (const uint64_t offset : {0, 49, 51, 100}) {
    this->ExpectError(this->Append(key, object, offset, 100), absl::StatusCode::kOutOfRange,
                      "50 have arrived");
  }
  this->ExpectError(
      this->blobs().Append(key, crypto::Sha256(object), std::numeric_limits<uint64_t>::max(), {}),
      absl::StatusCode::kOutOfRange, "50 have arrived");
  ASSERT_TRUE(this->Append(key, object, 50, 100).ok());
  EXPECT_EQ(this->blobs().Complete(key, crypto::Sha256(object)).value(), object);
}

TYPED_TEST_P(BlobStoreContract, AnotherDigestBeginsAgain) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes first = this->ObjectOf(100, 1);
  const base::Bytes second = this->ObjectOf(100, 2);
  ASSERT_TRUE(this->Append(key, first, 0, 60).ok());
  EXPECT_EQ(this->Arrived(key, second), 0u);
  ASSERT_TRUE(this->Append(key, second, 0, 30).ok());
  EXPECT_EQ(this->Arrived(key, second), 30u);
  this->ExpectError(this->Append(key, first, 60, 100), absl::StatusCode::kOutOfRange,
                    "0 have arrived");
  ASSERT_TRUE(this->Append(key, first, 0, 100).ok());
  EXPECT_EQ(this->blobs().Complete(key, crypto::Sha256(first)).value(), first);
}

TYPED_TEST_P(BlobStoreContract, CompletesOnlyWhatHasTheDigest) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(100, 1);
  const auto expect_lost = [&] {
    this->ExpectError(this->blobs().Complete(key, crypto::Sha256(object)).status(),
                      absl::StatusCode::kDataLoss, "digest");
    EXPECT_EQ(this->Arrived(key, object), 0u);  // it is forgotten
    this->ExpectError(this->blobs().Read(key, crypto::Sha256(object)).status(),
                      absl::StatusCode::kNotFound, "");
  };
  expect_lost();  // nothing has arrived
  ASSERT_TRUE(this->Append(key, object, 0, 99).ok());
  expect_lost();
  base::Bytes altered = object;
  altered[50] ^= 1;
  ASSERT_TRUE(this->blobs().Append(key, crypto::Sha256(object), 0, altered).ok());
  expect_lost();
  altered = object;
  altered.push_back(0);
  ASSERT_TRUE(this->blobs().Append(key, crypto::Sha256(object), 0, altered).ok());
  expect_lost();
  this->Put(key, object);
  EXPECT_TRUE(this->Holds(key, object));
}

TYPED_TEST_P(BlobStoreContract, CompletesUnreadWhatOneWriterWrote) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(100, 1);
  const crypto::Digest digest = crypto::Sha256(object);
  this->ExpectError(this->blobs().CompleteUnread(key, digest), absl::StatusCode::kDataLoss,
                    "digest");  // nothing has arrived
  ASSERT_TRUE(this->Append(key, object, 0, 100).ok());
  this->ExpectError(this->blobs().CompleteUnread(key, crypto::Sha256(this->ObjectOf(100, 2))),
                    absl::StatusCode::kDataLoss, "digest");  // another one has arrived
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(this->Append(key, object, 0, 100).ok() || again > 0);
    ASSERT_TRUE(this->blobs().CompleteUnread(key, digest).ok());
    this->Reopen();
    EXPECT_TRUE(this->Holds(key, object));
  }
  const base::Bytes second = this->ObjectOf(90, 2);
  ASSERT_TRUE(this->Append(key, second, 0, 90).ok());
  ASSERT_TRUE(this->blobs().CompleteUnread(key, crypto::Sha256(second)).ok());
  EXPECT_TRUE(this->Holds(key, second));
  EXPECT_FALSE(this->Holds(key, object));
}

TYPED_TEST_P(BlobStoreContract, ACompleteObjectIsDurable) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(100, 1);
  this->Put(key, object);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(this->Arrived(key, object), 100u);
    EXPECT_TRUE(this->Holds(key, object));
    // Once more: the answers to the first calls may have been lost.
    EXPECT_TRUE(this->Append(key, object, 100, 100).ok());
    EXPECT_EQ(this->blobs().Complete(key, crypto::Sha256(object)).value(), object);
    this->ExpectError(this->blobs().Append(key, crypto::Sha256(object), 100, base::Bytes(1)),
                      absl::StatusCode::kOutOfRange, "100 have arrived");
    this->Reopen();
  }
}

TYPED_TEST_P(BlobStoreContract, WhatArrivedIsNotTakenForComplete) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(100, 1);
  ASSERT_TRUE(this->Append(key, object, 0, 100).ok());
  this->ExpectError(this->blobs().Read(key, crypto::Sha256(object)).status(),
                    absl::StatusCode::kNotFound, "");
  this->ExpectError(this->ReadPart(key, 0, 10).status(), absl::StatusCode::kNotFound, "");
  this->Reopen();
  const uint64_t arrived = this->Arrived(key, object);
  ASSERT_LE(arrived, 100u);
  ASSERT_TRUE(this->Append(key, object, arrived, 100).ok());
  EXPECT_EQ(this->blobs().Complete(key, crypto::Sha256(object)).value(), object);
}

TYPED_TEST_P(BlobStoreContract, ACompleteObjectStaysUntilAnotherIsCompleteInItsPlace) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes first = this->ObjectOf(100, 1);
  const base::Bytes second = this->ObjectOf(90, 2);
  this->Put(key, first);
  EXPECT_EQ(this->Arrived(key, second), 0u);
  ASSERT_TRUE(this->Append(key, second, 0, 80).ok());
  EXPECT_TRUE(this->Holds(key, first));
  ASSERT_TRUE(this->Append(key, second, 80, 90).ok());
  ASSERT_TRUE(this->blobs().Complete(key, crypto::Sha256(second)).ok());
  this->ExpectError(this->blobs().Read(key, crypto::Sha256(first)).status(),
                    absl::StatusCode::kDataLoss, "digest");
  EXPECT_TRUE(this->Holds(key, second));
}

TYPED_TEST_P(BlobStoreContract, AnEmptyObjectIsOne) {
  const BlobKey key = this->KeyOf(7);
  ASSERT_TRUE(this->blobs().Append(key, crypto::Sha256({}), 0, {}).ok());
  ASSERT_TRUE(this->blobs().Complete(key, crypto::Sha256({})).ok());
  this->Reopen();
  EXPECT_TRUE(this->Holds(key, {}));
  EXPECT_EQ(this->ReadPart(key, 0, 10).value().total, 0u);
}

TYPED_TEST_P(BlobStoreContract, ReadsParts) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(1000, 3);
  this->Put(key, object);
  const auto expect_part = [&](uint64_t offset, size_t most, size_t size) {
    ASSERT_OK_AND_ASSIGN(const auto part, this->ReadPart(key, offset, most));
    EXPECT_EQ(part.total, 1000u);
    ASSERT_EQ(part.part.size(), size);
    EXPECT_TRUE(std::equal(part.part.begin(), part.part.end(),
                           object.begin() + static_cast<ptrdiff_t>(offset)));
  };
  expect_part(0, 1000, 1000);
  expect_part(0, std::numeric_limits<size_t>::max(), 1000);
  expect_part(0, 1, 1);
  expect_part(400, 300, 300);
  expect_part(900, 300, 100);
  expect_part(1000, 300, 0);
  expect_part(10, 0, 0);
  for (const uint64_t behind : {uint64_t{1001}, std::numeric_limits<uint64_t>::max()}) {
    this->ExpectError(this->ReadPart(key, behind, 1).status(), absl::StatusCode::kOutOfRange,
                      "of an object of 1000 bytes");
  }
  this->ExpectError(this->ReadPart(this->KeyOf(8), 0, 1).status(), absl::StatusCode::kNotFound, "");
}

TYPED_TEST_P(BlobStoreContract, AReaderReadsNothingBehindTheEnd) {
  const BlobKey key = this->KeyOf(7);
  this->Put(key, this->ObjectOf(100, 3));
  ASSERT_OK_AND_ASSIGN(const auto reader, this->blobs().Open(key));
  EXPECT_EQ(reader->size(), 100u);
  base::Bytes out(30);
  EXPECT_TRUE(reader->Read(70, out).ok());
  for (const uint64_t offset : {uint64_t{71}, uint64_t{200}, ~uint64_t{0}}) {
    this->ExpectError(reader->Read(offset, out), absl::StatusCode::kOutOfRange,
                      "of an object of 100 bytes");
  }
}

TYPED_TEST_P(BlobStoreContract, AReaderKeepsWhatIsForgotten) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(1000, 3);
  this->Put(key, object);
  ASSERT_OK_AND_ASSIGN(const auto reader, this->blobs().Open(key));
  ASSERT_TRUE(this->blobs().KeepOnly({}).ok());
  base::Bytes out(1000);
  EXPECT_TRUE(reader->Read(0, out).ok());
  EXPECT_EQ(out, object);
  this->ExpectError(this->blobs().Open(key).status(), absl::StatusCode::kNotFound, "");
}

TYPED_TEST_P(BlobStoreContract, WhatAWriterDoesNotCommitHasNotArrived) {
  const BlobKey key = this->KeyOf(7);
  const base::Bytes object = this->ObjectOf(100, 1);
  const crypto::Digest digest = crypto::Sha256(object);
  for (const uint64_t have : {0, 40}) {
    {
      ASSERT_OK_AND_ASSIGN(const auto writer, this->blobs().Begin(key, digest, have));
      ASSERT_TRUE(writer->Write(std::span(object).subspan(have, 20)).ok());
    }
    EXPECT_EQ(this->Arrived(key, object), have);
    {
      ASSERT_OK_AND_ASSIGN(const auto writer, this->blobs().Begin(key, digest, have));
      ASSERT_TRUE(writer->Write(std::span(object).subspan(have, 15)).ok());
      ASSERT_TRUE(writer->Write(std::span(object).subspan(have + 15, 25)).ok());
      ASSERT_TRUE(writer->Commit().ok());
    }
    EXPECT_EQ(this->Arrived(key, object), have + 40);
  }
  ASSERT_TRUE(this->Append(key, object, 80, 100).ok());
  EXPECT_EQ(this->blobs().Complete(key, digest).value(), object);
  this->ExpectError(this->Append(key, object, 99, 100), absl::StatusCode::kOutOfRange, "");
  this->ExpectError(this->blobs().Append(key, digest, 100, base::Bytes(1)),
                    absl::StatusCode::kOutOfRange, "100 have arrived");
  EXPECT_TRUE(this->blobs().Append(key, digest, 100, {}).ok());
  EXPECT_TRUE(this->Holds(key, object));
}

TYPED_TEST_P(BlobStoreContract, EveryFieldOfAKeyMatters) {
  std::vector<BlobKey> keys(8, this->KeyOf(7));
  keys[1].member = 8;
  keys[2].name.kind = protocol::BulkKind::kUnmaskShare;
  keys[3].name.attempt.number.epoch = 9;
  keys[4].name.attempt.number.round = 9;
  keys[5].name.attempt.number.attempt = 9;
  keys[6].name.attempt.manifest_hash[0] = 1;
  keys[7].name.attempt.model_digest[0] = 1;
  for (uint32_t i = 0; i < keys.size(); ++i) this->Put(keys[i], this->ObjectOf(50, i));
  this->Reopen();
  for (uint32_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(this->Holds(keys[i], this->ObjectOf(50, i))) << i;
  }
}

TYPED_TEST_P(BlobStoreContract, KeepsOnlyWhatIsNamed) {
  const base::Bytes object = this->ObjectOf(100, 1);
  for (uint64_t member = 0; member < 3; ++member) this->Put(this->KeyOf(member), object);
  for (uint64_t member = 3; member < 6; ++member) {
    ASSERT_TRUE(this->Append(this->KeyOf(member), object, 0, 40).ok());
  }
  // One may be named that is not there.
  const std::vector<BlobKey> kept = {this->KeyOf(1), this->KeyOf(4), this->KeyOf(99)};
  ASSERT_TRUE(this->blobs().KeepOnly(kept).ok());
  for (int i = 0; i < 2; ++i) {
    for (const uint64_t member : {0, 2}) {
      this->ExpectError(this->blobs().Read(this->KeyOf(member), crypto::Sha256(object)).status(),
                        absl::StatusCode::kNotFound, "");
    }
    EXPECT_TRUE(this->Holds(this->KeyOf(1), object));
    for (const uint64_t member : {3, 5}) EXPECT_EQ(this->Arrived(this->KeyOf(member), object), 0u);
    EXPECT_EQ(this->Arrived(this->KeyOf(4), object), 40u);
    this->Reopen();
  }
  ASSERT_TRUE(this->blobs().KeepOnly({}).ok());
  EXPECT_FALSE(this->Holds(this->KeyOf(1), object));
  this->Put(this->KeyOf(0), object);
  EXPECT_TRUE(this->Holds(this->KeyOf(0), object));
}

TYPED_TEST_P(BlobStoreContract, TakesObjectsFromSeveralThreads) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const base::Bytes object = this->ObjectOf(200'000, t);
      const BlobKey key = this->KeyOf(t);
      for (uint64_t have = 0; have < object.size(); have += 10'000) {
        EXPECT_TRUE(this->Append(key, object, have, have + 10'000).ok());
        EXPECT_EQ(this->Arrived(key, object), have + 10'000);
      }
      const auto whole = this->blobs().Complete(key, crypto::Sha256(object));
      EXPECT_TRUE(whole.ok() && *whole == object);
      EXPECT_TRUE(this->Holds(key, object));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t t = 0; t < 6; ++t) {
    EXPECT_TRUE(this->Holds(this->KeyOf(t), this->ObjectOf(200'000, t)));
  }
}

REGISTER_TYPED_TEST_SUITE_P(BlobStoreContract, TakesAnObjectInParts, TakesThePartThatComesNextOnly,
                            AnotherDigestBeginsAgain, CompletesOnlyWhatHasTheDigest,
                            CompletesUnreadWhatOneWriterWrote, ACompleteObjectIsDurable,
                            WhatArrivedIsNotTakenForComplete,
                            ACompleteObjectStaysUntilAnotherIsCompleteInItsPlace,
                            AnEmptyObjectIsOne, ReadsParts, AReaderReadsNothingBehindTheEnd,
                            AReaderKeepsWhatIsForgotten, WhatAWriterDoesNotCommitHasNotArrived,
                            EveryFieldOfAKeyMatters, KeepsOnlyWhatIsNamed,
                            TakesObjectsFromSeveralThreads);

}  // namespace tacet::server

#endif  // TACET_SERVER_BLOB_STORE_CONTRACT_FOR_TEST_H_
