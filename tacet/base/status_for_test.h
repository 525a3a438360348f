// Values of results that a test expects to be there.
#ifndef TACET_BASE_STATUS_FOR_TEST_H_
#define TACET_BASE_STATUS_FOR_TEST_H_

#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::base {

// The value of `result`. An error fails the test at the line of the call, and ends it.
template <typename T>
T ValueOf(absl::StatusOr<T> result, const char* file = __builtin_FILE(),
          int line = __builtin_LINE()) {
  if (!result.ok()) ADD_FAILURE_AT(file, line) << result.status();
  return std::move(result).value();  // throws the error: no test can continue without the value
}

}  // namespace tacet::base

// Evaluates the last argument (an absl::StatusOr<T>); asserts that it has a value and moves that
// into `lhs`. For functions that return nothing, as every ASSERT.
#define ASSERT_OK_AND_ASSIGN(lhs, ...) \
  ASSERT_OK_AND_ASSIGN_IMPL(TACET_STATUS_CONCAT(tacet_result_, __LINE__), lhs, __VA_ARGS__)
#define ASSERT_OK_AND_ASSIGN_IMPL(result, lhs, ...) \
  auto result = (__VA_ARGS__);                      \
  ASSERT_TRUE(result.ok()) << result.status();      \
  lhs = *std::move(result)

#endif  // TACET_BASE_STATUS_FOR_TEST_H_
