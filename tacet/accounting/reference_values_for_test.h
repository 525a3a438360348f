// Access to the numbers of tests/vectors/accounting.json by their paths, for tests.
#ifndef TACET_ACCOUNTING_REFERENCE_VALUES_FOR_TEST_H_
#define TACET_ACCOUNTING_REFERENCE_VALUES_FOR_TEST_H_

#include <string>

namespace tacet::accounting {

// Where in the file: "/moments_grid/3" has elements "sigma", "q", ...
bool HasReference(const std::string& path);
// The value at a path such as "/moments_grid/3/eps_str": numbers, numbers in strings and fractions
// in strings ("1000/3596"). Ends the program when there is none.
double Reference(const std::string& path);
// Elements of the array or object at a path.
size_t ReferenceSize(const std::string& path);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_REFERENCE_VALUES_FOR_TEST_H_
