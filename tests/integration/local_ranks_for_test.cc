#include "tests/integration/local_ranks_for_test.h"

#include "tacet/base/status.h"

namespace tacet::simulation {

class LocalRanks::Member final : public RankGroup {
 public:
  Member(LocalRanks& ranks, uint32_t rank, uint32_t size)
      : ranks_(ranks), rank_(rank), size_(size) {}

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return size_; }

  absl::Status Send(uint32_t to, std::span<const uint8_t> bytes) override {
    const base::MutexLock lock(ranks_.mutex_);
    if (ranks_.abandoned_) return Gone();
    ranks_.sent_[{rank_, to}].emplace_back(bytes.begin(), bytes.end());
    ranks_.changed_.SignalAll();
    return absl::OkStatus();
  }

  absl::StatusOr<base::Bytes> Receive(uint32_t from, size_t max_bytes) override {
    const base::MutexLock lock(ranks_.mutex_);
    std::deque<base::Bytes>& waiting = ranks_.sent_[{from, rank_}];
    while (!ranks_.abandoned_ && waiting.empty()) ranks_.changed_.Wait(ranks_.mutex_);
    if (ranks_.abandoned_) return Gone();
    base::Bytes message = std::move(waiting.front());
    waiting.pop_front();
    if (message.size() <= max_bytes) return message;
    return base::DataLoss("a message of rank {} has {} bytes, at most {} are expected", from,
                          message.size(), max_bytes);
  }

 private:
  static absl::Status Gone() { return absl::UnavailableError("another rank is gone"); }

  LocalRanks& ranks_;
  uint32_t rank_;
  uint32_t size_;
};

LocalRanks::LocalRanks(uint32_t size) {
  for (uint32_t rank = 0; rank < size; ++rank) {
    members_.push_back(std::make_unique<Member>(*this, rank, size));
  }
}

void LocalRanks::Abandon() {
  const base::MutexLock lock(mutex_);
  abandoned_ = true;
  changed_.SignalAll();
}

}  // namespace tacet::simulation
