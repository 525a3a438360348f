// Size of a test: the usual one, or the one that an environment variable gives. A long test is a
// usual one at a larger size (tacet_long_runs in cmake/TacetTargets.cmake).
#ifndef TACET_BASE_TEST_SIZE_FOR_TEST_H_
#define TACET_BASE_TEST_SIZE_FOR_TEST_H_

#include <cstdlib>
#include <string>

namespace tacet::base {

inline int TestSize(const char* variable, int usual) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? usual : std::stoi(given);
}

}  // namespace tacet::base

#endif  // TACET_BASE_TEST_SIZE_FOR_TEST_H_
