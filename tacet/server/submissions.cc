#include "tacet/server/submissions.h"

#include <algorithm>

namespace tacet::server {

const Submissions::Shared& Submissions::None() {
  static const Shared kNone = std::make_shared<const std::vector<Submission>>();
  return kNone;
}

const Submission* Submissions::Find(uint64_t member) const {
  const auto found = std::ranges::find(*all_, member, &Submission::member);
  return found == all_->end() ? nullptr : &*found;
}

void Submissions::Add(Submission submission) {
  std::vector<Submission> all;
  all.reserve(all_->size() + 1);
  all.assign(all_->begin(), all_->end());
  all.push_back(std::move(submission));
  all_ = std::make_shared<const std::vector<Submission>>(std::move(all));
}

void Submissions::Remove(uint64_t member) {
  std::vector<Submission> all = *all_;
  std::erase_if(all, [member](const Submission& one) { return one.member == member; });
  all_ = std::make_shared<const std::vector<Submission>>(std::move(all));
}

}  // namespace tacet::server
