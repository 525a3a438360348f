// Warnings about data with which training cannot be expected to work.
#ifndef TACET_CONFIG_DATA_WARNINGS_H_
#define TACET_CONFIG_DATA_WARNINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tacet/config/run_config.h"
#include "tacet/data/dataset.h"

namespace tacet::config {

// Rows of each class.
std::vector<uint64_t> ClassCounts(const data::Dataset& dataset);

// "class 2", with its text where data.csv_labels gives one: class 2 ("severe").
std::string ClassText(const RunConfig& config, uint64_t label);

// Rows that are held out for evaluation, of all clients.
uint64_t HeldOutRows(const RunConfig& config, const data::Dataset& dataset);

// A warning is a sentence without its full stop, with what to change: classes without rows, nothing
// held out. They hold counts of the data, so they stay where the data are.
std::vector<std::string> DataWarnings(const RunConfig& config, const data::Dataset& dataset);

}  // namespace tacet::config

#endif  // TACET_CONFIG_DATA_WARNINGS_H_
