// Submissions of members to an attempt or to the beginning of a round.
#ifndef TACET_SERVER_SUBMISSIONS_H_
#define TACET_SERVER_SUBMISSIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tacet/base/bytes.h"

namespace tacet::server {

// Submission of one member; of a large object, which is in the blob store, the digest. Copies share
// the bytes.
class Submission {
 public:
  Submission(uint64_t from, base::Bytes bytes)
      : member(from), bytes_(std::make_shared<const base::Bytes>(std::move(bytes))) {}

  uint64_t member;
  const base::Bytes& bytes() const { return *bytes_; }

  friend bool operator==(const Submission& a, const Submission& b) {
    return a.member == b.member && a.bytes() == b.bytes();
  }

 private:
  std::shared_ptr<const base::Bytes> bytes_;
};

// Submissions of one kind, in the order in which they arrived. Copies share them, so that the copy
// of a state costs little.
class Submissions {
 public:
  using value_type = Submission;
  using const_iterator = std::vector<Submission>::const_iterator;

  const_iterator begin() const { return all_->begin(); }
  const_iterator end() const { return all_->end(); }
  size_t size() const { return all_->size(); }
  bool empty() const { return all_->empty(); }
  const Submission& operator[](size_t i) const { return (*all_)[i]; }
  // Null when the member gave none.
  const Submission* Find(uint64_t member) const;

  void Add(Submission submission);
  void Remove(uint64_t member);

  friend bool operator==(const Submissions& a, const Submissions& b) { return *a.all_ == *b.all_; }

 private:
  using Shared = std::shared_ptr<const std::vector<Submission>>;
  static const Shared& None();
  Shared all_ = None();
};

}  // namespace tacet::server

#endif  // TACET_SERVER_SUBMISSIONS_H_
