// Tables of sites in a temporary folder, and what tests ask them.
#ifndef TACET_RUN_SITE_TABLES_FOR_TEST_H_
#define TACET_RUN_SITE_TABLES_FOR_TEST_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/config/agreed_query.h"
#include "tacet/run/query_columns.h"
#include "tacet/run/site_tables.h"

namespace tacet::run {

inline constexpr std::string_view kQuery = R"(
[privacy]
target_epsilon = 1
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 0
high = 120
where = ["sex = f"]
)";

// `data`: lines of the table [data], with its title.
inline std::string TextOfQuery(std::string_view data = "[data]\n",
                               std::string_view query = kQuery) {
  return fmt::format("{}values = ['sex one-of=f|f.1,m']\n{}", data, query);
}

inline std::string FaultsOf(const QueryColumns& columns,
                            const tacet::statistics::SiteTable& table) {
  table::ProblemSummary problems;
  CheckTable(columns, table, problems);
  return fmt::format("{}", fmt::join(ProblemLines(problems), "\n"));
}

class SiteTablesTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_.path() / name) << text;
  }
  absl::StatusOr<std::vector<tacet::statistics::SiteTable>> Load(
      const std::string& data = "[data]\n") {
    const auto loaded = base::ValueOf(config::ParseQuery(TextOfQuery(data), "query.toml"));
    return Load(loaded, QueryFormat(loaded.file));
  }
  absl::StatusOr<std::vector<tacet::statistics::SiteTable>> Load(const config::LoadedQuery& loaded,
                                                                 const TableFormats& formats = {}) {
    problems_ = table::ProblemSummary();
    return LoadSiteTables(folder_.path(), loaded.file, *loaded.query, formats, problems_);
  }
  // With settings of sites.
  absl::StatusOr<std::vector<tacet::statistics::SiteTable>> Rehearse(
      const config::LoadedQuery& loaded, std::string_view settings) {
    const std::filesystem::path file = folder_.path() / "sites.toml";
    std::ofstream(file) << settings;
    TACET_ASSIGN_OR_RETURN(const TableFormats formats, RehearsalFormats(loaded.file, file));
    return Load(loaded, formats);
  }
  // The site's notes about the rows of the last tables, which stopped nothing.
  std::string Told() const { return fmt::format("{}", fmt::join(ProblemLines(problems_), "\n")); }
  // The same after loading, without the folder.
  std::string Noted(const std::string& data = "[data]\n") {
    EXPECT_TRUE(Load(data).ok()) << Load(data).status();
    return WithoutFolder(Told());
  }
  // The message, without the folder.
  std::string Refusal(const std::string& data = "[data]\n") {
    const auto tables = Load(data);
    EXPECT_EQ(tables.status().code(), absl::StatusCode::kInvalidArgument);
    return WithoutFolder(base::Message(tables.status()));
  }
  std::string WithoutFolder(const std::string& text) const {
    EXPECT_TRUE(text.starts_with(folder_.path().string() + "/")) << text;
    return text.substr(std::min(text.size(), folder_.path().string().size() + 1));
  }

  base::TemporaryFolder folder_;
  table::ProblemSummary problems_;
};

}  // namespace tacet::run

#endif  // TACET_RUN_SITE_TABLES_FOR_TEST_H_
