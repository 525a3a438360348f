// Server store and blob store in memory, for tests. What survives is what the object holds, so a
// server that "restarts" is given the same object again.
#ifndef TACET_SERVER_MEMORY_SERVER_STORE_FOR_TEST_H_
#define TACET_SERVER_MEMORY_SERVER_STORE_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/server_store.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {

// Lets calls fail as a full disk or a lost connection would. Thread-safe.
class InjectedFailure {
 public:
  enum class When {
    kBefore,  // nothing has happened
    kAfter,   // it has happened, but the answer was lost
  };

  InjectedFailure() = default;
  // A copy of a store is a backup, which works.
  InjectedFailure(const InjectedFailure&) {}
  InjectedFailure& operator=(const InjectedFailure&) { return *this; }

  // After `successes` more calls every call fails, until Heal.
  void After(uint64_t successes, When when = When::kBefore) {
    const base::MutexLock lock(mutex_);
    successes_ = successes;
    when_ = when;
  }
  void Heal() { After(std::numeric_limits<uint64_t>::max()); }

  // The error of a call that fails before it has happened.
  void FailWith(absl::StatusCode code) { FailWith(absl::Status(code, "the disk is full")); }
  void FailWith(absl::Status error) {
    const base::MutexLock lock(mutex_);
    error_ = std::move(error);
  }

  // Runs `act` as one call.
  template <typename Act>
  auto Call(Act act) -> decltype(act()) {
    const base::MutexLock lock(mutex_);
    const bool fails = successes_ == 0;
    if (!fails && successes_ != std::numeric_limits<uint64_t>::max()) --successes_;
    if (fails && when_ == When::kBefore) return error_;
    auto result = act();
    if (fails && result.ok()) return base::Unavailable("the connection is lost");
    return result;
  }

 private:
  base::Mutex mutex_;
  uint64_t successes_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<uint64_t>::max();
  When when_ ABSL_GUARDED_BY(mutex_) = When::kBefore;
  absl::Status error_ ABSL_GUARDED_BY(mutex_) = base::Unavailable("the disk is full");
};

class MemoryServerStore final : public ServerStore {
 public:
  InjectedFailure& failure() { return failure_; }

  // As a backup from before any of them was put.
  void Lose(ItemKind kind) {
    std::erase_if(items_, [kind](const Kept& kept) { return kept.item.kind == kind; });
  }

  absl::Status Claim(const crypto::Digest& federation) override {
    return failure_.Call([&]() -> absl::Status {
      if (owner_.has_value()) return CheckOwner(*owner_, federation);
      owner_ = federation;
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<AttemptRecord>> Attempts() const override {
    return failure_.Call([&]() -> absl::StatusOr<std::vector<AttemptRecord>> { return attempts_; });
  }

  absl::Status Begin(const AttemptRecord& record, std::span<const uint64_t> cohort) override {
    return failure_.Call([&]() -> absl::Status {
      const bool begun_before = std::ranges::any_of(attempts_, [&](const AttemptRecord& known) {
        return known.attempt.number == record.attempt.number;
      });
      TACET_RETURN_IF_ERROR(CheckBegin(record, Last(), begun_before));
      attempts_.push_back(record);
      cohort_.assign(cohort.begin(), cohort.end());
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<uint64_t>> Cohort() const override {
    return failure_.Call([&]() -> absl::StatusOr<std::vector<uint64_t>> { return cohort_; });
  }

  absl::Status Update(const AttemptRecord& record, std::span<const Item> items) override {
    return failure_.Call([&]() -> absl::Status {
      TACET_RETURN_IF_ERROR(CheckUpdate(record, Last()));
      std::vector<Kept> now = items_;
      for (const Item& item : items) {
        TACET_RETURN_IF_ERROR(PutInto(now, record.attempt.number, item));
      }
      attempts_.back() = record;
      items_ = std::move(now);
      return absl::OkStatus();
    });
  }

  absl::Status Finish(const AttemptRecord& record, std::span<const ItemKind> forgotten) override {
    return failure_.Call([&]() -> absl::Status {
      TACET_RETURN_IF_ERROR(CheckFinish(record, Last()));
      attempts_.back() = record;
      cohort_.clear();
      const secagg::AttemptNumber number = record.attempt.number;
      std::erase_if(items_, [&](const Kept& kept) {
        return kept.at == number &&
               std::find(forgotten.begin(), forgotten.end(), kept.item.kind) != forgotten.end();
      });
      return absl::OkStatus();
    });
  }

  absl::Status PutItem(const secagg::AttemptNumber& at, const Item& item) override {
    return failure_.Call([&] { return PutInto(items_, at, item); });
  }

  absl::StatusOr<std::vector<Item>> Items(const secagg::AttemptNumber& at) const override {
    return failure_.Call([&]() -> absl::StatusOr<std::vector<Item>> {
      std::vector<Item> found;
      for (const Kept& kept : items_) {
        if (kept.at == at) found.push_back(kept.item);
      }
      return found;
    });
  }

  absl::Status ForgetItem(const secagg::AttemptNumber& at, ItemKind kind,
                          uint64_t member) override {
    return failure_.Call([&]() -> absl::Status {
      std::erase_if(items_, [&](const Kept& kept) {
        return kept.at == at && kept.item.kind == kind && kept.item.member == member;
      });
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<Item>> ItemsOf(const secagg::AttemptNumber& at, ItemKind kind,
                                            uint64_t from, size_t most) const override {
    return failure_.Call([&]() -> absl::StatusOr<std::vector<Item>> {
      std::vector<Item> found;
      for (const Kept& kept : items_) {
        if (kept.at == at && kept.item.kind == kind && kept.item.member >= from) {
          found.push_back(kept.item);
        }
      }
      std::ranges::sort(found, {}, &Item::member);
      if (found.size() > most) found.resize(most);
      return found;
    });
  }

  absl::Status ForgetBefore(uint32_t round, uint32_t epoch) override {
    return failure_.Call([&]() -> absl::Status {
      std::erase_if(items_, [&](const Kept& kept) {
        return (kept.at.round < round && kept.item.kind != ItemKind::kLeftOut) ||
               (kept.at.epoch < epoch && kept.item.kind == ItemKind::kKeyPacket);
      });
      return absl::OkStatus();
    });
  }

 private:
  struct Kept {
    secagg::AttemptNumber at;
    Item item;
  };

  std::optional<AttemptRecord> Last() const {
    return attempts_.empty() ? std::nullopt : std::optional(attempts_.back());
  }
  static absl::Status PutInto(std::vector<Kept>& items, const secagg::AttemptNumber& at,
                              const Item& item) {
    for (const Kept& kept : items) {
      if (kept.at != at || kept.item.kind != item.kind || kept.item.member != item.member) continue;
      return CheckSameItem(item, kept.item.bytes);
    }
    items.push_back({at, item});
    return absl::OkStatus();
  }

  mutable InjectedFailure failure_;  // its lock guards everything
  std::optional<crypto::Digest> owner_;
  std::vector<AttemptRecord> attempts_;
  std::vector<uint64_t> cohort_;
  std::vector<Kept> items_;
};

class MemoryBlobStore final : public BlobStore {
 public:
  InjectedFailure& failure() { return failure_; }

  absl::StatusOr<uint64_t> Arrived(const BlobKey& key, const crypto::Digest& digest) override {
    return failure_.Call([&]() -> absl::StatusOr<uint64_t> { return ArrivedOf(key, digest); });
  }

  absl::StatusOr<std::unique_ptr<BlobWriter>> Begin(const BlobKey& key,
                                                    const crypto::Digest& digest,
                                                    uint64_t offset) override {
    return failure_.Call([&]() -> absl::StatusOr<std::unique_ptr<BlobWriter>> {
      TACET_RETURN_IF_ERROR(CheckNext(key, digest, offset));
      return std::make_unique<Writer>(*this, key, digest, offset);
    });
  }

  absl::StatusOr<base::Bytes> Complete(const BlobKey& key, const crypto::Digest& digest) override {
    return failure_.Call([&]() -> absl::StatusOr<base::Bytes> {
      if (IsWhole(key, digest)) return whole_.at(BlobKeyBytes(key))->bytes;
      Object arrived{digest, {}};
      if (ArrivedOf(key, digest) > 0) arrived = std::move(arriving_.at(BlobKeyBytes(key)));
      arriving_.erase(BlobKeyBytes(key));
      if (crypto::Sha256(arrived.bytes) != digest) {
        return base::DataLoss("the object does not have the announced digest");
      }
      auto whole = std::make_shared<const Object>(std::move(arrived));
      return (whole_[BlobKeyBytes(key)] = std::move(whole))->bytes;
    });
  }

  // Checks what its caller should have seen.
  absl::Status CompleteUnread(const BlobKey& key, const crypto::Digest& digest) override {
    return Complete(key, digest).status();
  }

  absl::StatusOr<bool> Holds(const BlobKey& key, const crypto::Digest& digest) const override {
    return failure_.Call([&]() -> absl::StatusOr<bool> { return IsWhole(key, digest); });
  }

  absl::StatusOr<base::Bytes> Read(const BlobKey& key, const crypto::Digest& digest) override {
    return failure_.Call([&]() -> absl::StatusOr<base::Bytes> {
      TACET_ASSIGN_OR_RETURN(const std::shared_ptr<const Object> object, Find(key));
      if (crypto::Sha256(object->bytes) != digest) {
        return base::DataLoss("the object does not have the expected digest");
      }
      return object->bytes;
    });
  }

  absl::StatusOr<std::unique_ptr<BlobReader>> Open(const BlobKey& key) const override {
    return failure_.Call([&]() -> absl::StatusOr<std::unique_ptr<BlobReader>> {
      TACET_ASSIGN_OR_RETURN(std::shared_ptr<const Object> object, Find(key));
      return std::make_unique<Reader>(std::move(object));
    });
  }

  absl::Status KeepOnly(std::span<const BlobKey> kept) override {
    return failure_.Call([&]() -> absl::Status {
      std::vector<base::Bytes> names;
      for (const BlobKey& key : kept) names.push_back(BlobKeyBytes(key));
      const auto unwanted = [&](const auto& entry) {
        return std::find(names.begin(), names.end(), entry.first) == names.end();
      };
      std::erase_if(arriving_, unwanted);
      std::erase_if(whole_, unwanted);
      return absl::OkStatus();
    });
  }

 private:
  struct Object {
    crypto::Digest digest{};
    base::Bytes bytes;
  };

  // Bytes are the store's when they are committed.
  class Writer final : public BlobWriter {
   public:
    Writer(MemoryBlobStore& store, const BlobKey& key, const crypto::Digest& digest,
           uint64_t offset)
        : store_(store), key_(key), digest_(digest), offset_(offset) {}
    absl::Status Write(std::span<const uint8_t> bytes) override {
      written_.insert(written_.end(), bytes.begin(), bytes.end());
      return absl::OkStatus();
    }
    absl::Status Commit() override {
      return store_.failure_.Call([&] { return store_.Commit(key_, digest_, offset_, written_); });
    }

   private:
    MemoryBlobStore& store_;
    BlobKey key_;
    crypto::Digest digest_;
    uint64_t offset_;
    base::Bytes written_;
  };

  // As a file that stays open when its name is gone.
  class Reader final : public BlobReader {
   public:
    explicit Reader(std::shared_ptr<const Object> object) : object_(std::move(object)) {}
    uint64_t size() const override { return object_->bytes.size(); }
    absl::Status Read(uint64_t offset, std::span<uint8_t> out) override {
      if (offset > size() || out.size() > size() - offset) {
        return base::OutOfRange("{} bytes from byte {} on of an object of {} bytes", out.size(),
                                offset, size());
      }
      std::copy_n(object_->bytes.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
      return absl::OkStatus();
    }

   private:
    std::shared_ptr<const Object> object_;
  };

  absl::Status CheckNext(const BlobKey& key, const crypto::Digest& digest, uint64_t offset) {
    const uint64_t arrived = ArrivedOf(key, digest);
    if (offset == arrived) return absl::OkStatus();
    return base::OutOfRange("the part begins at byte {}, {} have arrived", offset, arrived);
  }
  absl::Status Commit(const BlobKey& key, const crypto::Digest& digest, uint64_t offset,
                      const base::Bytes& part) {
    TACET_RETURN_IF_ERROR(CheckNext(key, digest, offset));
    if (IsWhole(key, digest)) {
      return part.empty()
                 ? absl::OkStatus()
                 : base::OutOfRange("the part begins at byte {}, {} have arrived", offset, offset);
    }
    Object& object = arriving_[BlobKeyBytes(key)];
    object.digest = digest;
    object.bytes.insert(object.bytes.end(), part.begin(), part.end());
    return absl::OkStatus();
  }

  bool IsWhole(const BlobKey& key, const crypto::Digest& digest) const {
    const auto found = whole_.find(BlobKeyBytes(key));
    return found != whole_.end() && found->second->digest == digest;
  }
  uint64_t ArrivedOf(const BlobKey& key, const crypto::Digest& digest) {
    if (IsWhole(key, digest)) return whole_.at(BlobKeyBytes(key))->bytes.size();
    const auto found = arriving_.find(BlobKeyBytes(key));
    if (found == arriving_.end()) return 0;
    if (found->second.digest == digest) return found->second.bytes.size();
    arriving_.erase(found);
    return 0;
  }
  absl::StatusOr<std::shared_ptr<const Object>> Find(const BlobKey& key) const {
    const auto found = whole_.find(BlobKeyBytes(key));
    if (found == whole_.end()) return base::NotFound("there is no such object");
    return found->second;
  }

  mutable InjectedFailure failure_;  // its lock guards everything
  std::map<base::Bytes, Object> arriving_;
  std::map<base::Bytes, std::shared_ptr<const Object>> whole_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_MEMORY_SERVER_STORE_FOR_TEST_H_
