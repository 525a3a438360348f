// Pool of immutable values: equal ones of many owners are in memory once.
#ifndef TACET_BASE_SHARED_VALUES_H_
#define TACET_BASE_SHARED_VALUES_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tacet/base/mutex.h"

namespace tacet::base {

// Meant for few distinct values at a time, each with many owners: a new value is compared with all
// of them. A value goes with its last owner, which may outlive the pool. Thread-safe.
template <typename Value, typename Same = std::equal_to<Value>>
class SharedValues {
 public:
  SharedValues() = default;
  SharedValues(const SharedValues&) = delete;
  SharedValues& operator=(const SharedValues&) = delete;

  // The value that is in memory already, or else `value`.
  std::shared_ptr<const Value> Share(Value value) {
    const MutexLock lock(mutex_);
    std::erase_if(known_, [](const std::weak_ptr<const Value>& known) { return known.expired(); });
    for (const std::weak_ptr<const Value>& known : known_) {
      std::shared_ptr<const Value> held = known.lock();
      if (held != nullptr && Same()(*held, value)) return held;
    }
    auto added = std::make_shared<const Value>(std::move(value));
    known_.push_back(added);
    return added;
  }

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<const Value>> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::base

#endif  // TACET_BASE_SHARED_VALUES_H_
