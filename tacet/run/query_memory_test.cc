// Bytes that a query requests for a table: from the file to the site's vector.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include <malloc.h>

#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/config/agreed_query.h"
#include "tacet/run/site_tables.h"
#include "tacet/statistics/site_units.h"

namespace {

std::atomic<size_t> live_bytes = 0;
std::atomic<size_t> most_bytes = 0;

void* Counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const size_t live = live_bytes += malloc_usable_size(memory);
  size_t most = most_bytes;
  while (most < live && !most_bytes.compare_exchange_weak(most, live)) {
  }
  return memory;
}

void Release(void* memory) {
  if (memory != nullptr) live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Counted(std::malloc(size)); }
void* operator new[](size_t size) { return Counted(std::malloc(size)); }
void operator delete(void* memory) noexcept { Release(memory); }
void operator delete[](void* memory) noexcept { Release(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { Release(memory); }
void operator delete[](void* memory, size_t /*size*/) noexcept { Release(memory); }

namespace tacet::run {
namespace {

constexpr size_t kRows = 300'000;
// Blocks that are not full, the piece of the file, dictionaries.
constexpr size_t kFixedBytes = size_t{2} << 20;

class QueryMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream file(folder_.path() / "bonn.csv");
    file << "age,dose,patient,sex\n";
    for (size_t row = 0; row < kRows; ++row) {
      file << fmt::format("{}.{:06},{},P{:06},{}\n", 20 + row % 80, row, row * row % 1'000'003,
                          row % 5000, row % 3 == 0 ? "female" : "male");
    }
  }

  // The most bytes that are live at once while the table is read and its units are added, and those
  // of the table alone.
  struct Bytes {
    size_t table = 0;
    size_t most = 0;
  };
  Bytes BytesOf(const std::string& text) {
    const auto loaded = base::ValueOf(config::ParseQuery(text, "query.toml"));
    const size_t before = live_bytes;
    most_bytes = before;
    table::ProblemSummary problems;
    const auto tables = base::ValueOf(LoadSiteTables(folder_.path(), loaded.file, *loaded.query,
                                                     QueryFormat(loaded.file), problems));
    EXPECT_EQ(tables.front().rows, kRows);
    Bytes bytes{.table = live_bytes - before};
    const auto site = base::ValueOf(tacet::statistics::SiteUnits::Create(
        loaded.query, tables.front(), loaded.file.person_column));
    std::vector<uint32_t> units(site.units());
    std::iota(units.begin(), units.end(), 0u);
    std::vector<float> sum(loaded.query->dimension());
    site.SumUnits(units, sum);
    bytes.most = most_bytes - before;
    return bytes;
  }

  base::TemporaryFolder folder_;
};

TEST_F(QueryMemoryTest, ANumberTakesEightBytesAndAQueryOfItSixteen) {
  const Bytes bytes = BytesOf(
      "[privacy]\nnoise_multiplier = 2\nmax_units = 300000\n[[question]]\nkind = 'mean'\n"
      "column = 'age'\nlow = 0\nhigh = 100\nwhere = ['dose >= 10']\n");
  EXPECT_LE(bytes.table, 2 * 8 * kRows + kFixedBytes);
  EXPECT_LE(bytes.most, 2 * 16 * kRows);
}

TEST_F(QueryMemoryTest, ATextTakesFourBytes) {
  const Bytes bytes = BytesOf(
      "[privacy]\nnoise_multiplier = 2\nmax_units = 300000\n[[question]]\nkind = 'histogram'\n"
      "column = 'sex'\ncategories = ['female', 'male']\n");
  EXPECT_LE(bytes.table, 4 * kRows + kFixedBytes);
  EXPECT_LE(bytes.most, 16 * kRows);
}

TEST_F(QueryMemoryTest, PersonsTakeSixteenBytes) {
  const Bytes bytes = BytesOf(
      "[data]\nperson_column = 'patient'\n[privacy]\nunit = 'person'\nnoise_multiplier = 2\n"
      "rows_per_unit = 10\n[[question]]\nkind = 'mean'\ncolumn = 'dose'\nlow = 0\nhigh = 9\n");
  EXPECT_LE(bytes.table, 12 * kRows + kFixedBytes);
  EXPECT_LE(bytes.most, 2 * 16 * kRows);
}

}  // namespace
}  // namespace tacet::run
