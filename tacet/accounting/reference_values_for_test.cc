#include "tacet/accounting/reference_values_for_test.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "nlohmann/json.hpp"

namespace tacet::accounting {
namespace {

const nlohmann::json& File() {
  static const nlohmann::json file = [] {
    std::ifstream in(TACET_SOURCE_DIR "/tests/vectors/accounting.json");
    return nlohmann::json::parse(in);
  }();
  return file;
}

}  // namespace

bool HasReference(const std::string& path) {
  return File().contains(nlohmann::json::json_pointer(path));
}

double Reference(const std::string& path) {
  if (!HasReference(path)) {
    std::fprintf(stderr, "no reference value at %s\n", path.c_str());
    std::abort();
  }
  const nlohmann::json& value = File().at(nlohmann::json::json_pointer(path));
  if (value.is_number()) {
    return value.get<double>();
  }
  const std::string text = value.get<std::string>();
  const size_t slash = text.find('/');
  const double number = std::strtod(text.c_str(), nullptr);
  return slash == std::string::npos ? number
                                    : number / std::strtod(text.c_str() + slash + 1, nullptr);
}

size_t ReferenceSize(const std::string& path) {
  return File().at(nlohmann::json::json_pointer(path)).size();
}

}  // namespace tacet::accounting
