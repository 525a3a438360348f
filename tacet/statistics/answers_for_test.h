// Answers of tests: a query's questions about rows of one site, with or without noise.
#ifndef TACET_STATISTICS_ANSWERS_FOR_TEST_H_
#define TACET_STATISTICS_ANSWERS_FOR_TEST_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/statistics/answers.h"
#include "tacet/statistics/site_sum_for_test.h"
#include "tacet/statistics/site_table_for_test.h"

namespace tacet::statistics {

// The vector of a site with these rows.
inline std::vector<double> SumOf(const std::shared_ptr<const Query>& query,
                                 const std::vector<std::string>& columns, const TextRows& rows) {
  const std::vector<float> sum = SumOfSite(query, TableOfRows("site", columns, rows));
  return {sum.begin(), sum.end()};
}

inline std::vector<Answer> Answers(const Query& query, const std::vector<double>& sum,
                                   double noise) {
  auto answers = AnswersOf(query, sum, {.stddev = noise});
  EXPECT_TRUE(answers.ok()) << answers.status();
  return *std::move(answers);
}

inline table::AgreedValues ValuesOf(std::string_view text) {
  auto values = table::ParseAgreedValues(text);
  EXPECT_TRUE(values.ok()) << values.status();
  return *std::move(values);
}

inline std::shared_ptr<const Query> MakeQuery(std::vector<QuestionSpec> questions, double floor = 0,
                                              std::vector<table::AgreedValues> values = {}) {
  auto query = Query::Create(
      {.questions = std::move(questions), .floor = floor, .values = std::move(values)});
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

inline const Estimate& Find(const Answer& answer, std::string_view quantity,
                            std::string_view group = "", std::string_view at = "") {
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity == quantity && estimate.group == group && estimate.at == at) {
      return estimate;
    }
  }
  ADD_FAILURE() << "no " << quantity << " " << group << " " << at;
  static const Estimate none;
  return none;
}

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ANSWERS_FOR_TEST_H_
