// Columns of Python's tables as the library has them.
#ifndef TACET_PYTHON_BINDINGS_TABLE_COLUMNS_H_
#define TACET_PYTHON_BINDINGS_TABLE_COLUMNS_H_

#include <string>
#include <vector>

#include "nanobind/nanobind.h"
#include "tacet/table/column.h"

namespace tacet::python {

// Copy of a one-dimensional array of truth values, whole numbers, float32 or float64, through the
// buffer protocol. A copy, since another thread may write to the array meanwhile: the values that
// were checked must be the values that are added. A float32 counts as WidenedFloat. `mask`: none,
// or an array of truth values, true where the value is missing. `missing`: texts that mean
// "missing". Whole numbers beyond 2^53 make a column of texts, which keeps them apart.
table::Column ColumnOfNumbers(nanobind::handle array, nanobind::handle mask,
                              const std::vector<std::string>& missing);

// The same of any iterable. `plain` turns what is neither float, int, bool, str nor None into one
// of them, or raises an error.
table::Column ColumnOfValues(nanobind::iterable values, const nanobind::callable& plain,
                             const std::vector<std::string>& missing);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_TABLE_COLUMNS_H_
