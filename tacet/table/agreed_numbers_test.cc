#include "tacet/table/agreed_numbers.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/table/agreed_values.h"

namespace tacet::table {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

AgreedNumbers NumbersOf(std::string_view text) {
  return std::get<AgreedNumbers>(base::ValueOf(ParseAgreedColumn(text)));
}

std::optional<std::string> DayIn(std::string_view text, std::string_view order) {
  const auto day = ParseDay(text, *ParseDateOrder(order));
  return day.has_value() ? std::optional(DayText(*day)) : std::nullopt;
}

// Features, questions and agreed ranges refuse the same ones.
TEST(NumberRangeTest, BoundsAreFiniteAndTheLowerComesFirst) {
  EXPECT_THAT(ParseNumberRange("-0.5..1e3"), Optional(NumberRange{.low = -0.5, .high = 1000}));
  for (const char* text : {"0..0", "2..1", "0..", "..1", "0", "0.1", "0..1..2", "0..inf", "nan..1",
                           "-1e308..1e308", "0,5..1", "0 ..1"}) {
    EXPECT_EQ(ParseNumberRange(text), std::nullopt) << text;
  }
}

TEST(CalendarDayTest, EachOrderIsReadAsItSays) {
  EXPECT_THAT(DayIn("2025-03-04", "year-month-day"), Optional(std::string("2025-03-04")));
  EXPECT_THAT(DayIn("4.3.2025", "day.month.year"), Optional(std::string("2025-03-04")));
  EXPECT_THAT(DayIn("03/04/2025", "month/day/year"), Optional(std::string("2025-03-04")));
  EXPECT_THAT(DayIn("03/04/2025", "day/month/year"), Optional(std::string("2025-04-03")));
  EXPECT_THAT(DayIn("2025-03-04 23:59:59.5", "year-month-day"),
              Optional(std::string("2025-03-04")));
  EXPECT_THAT(DayIn("2025-03-04T00:30+01:00", "year-month-day"),
              Optional(std::string("2025-03-04")));
  EXPECT_THAT(DayIn("29.02.2024", "day.month.year"), Optional(std::string("2024-02-29")));
}

// Whatever could be two days is none.
TEST(CalendarDayTest, NothingIsGuessed) {
  for (const char* text : {"", "4.3.25", "29.02.2023", "31.4.2025", "0.3.2025", "2025.3.4",
                           "4/3/2025", "4.3.2025 noon", "4.3.2025.", "4.13.2025", "-4.3.2025",
                           "4.3.+2025", "04.03.02025", "4. 3.2025", "4.3.2025T"}) {
    EXPECT_EQ(DayIn(text, "day.month.year"), std::nullopt) << text;
  }
  for (const char* order : {"", "day", "day.month", "day.month/year", "day.month.month", "d.m.y",
                            "day month year", "day.month.year.day"}) {
    EXPECT_EQ(ParseDateOrder(order), std::nullopt) << order;
  }
  EXPECT_EQ(DateOrderText(*ParseDateOrder("day/month/year")), "day/month/year");
}

TEST(CalendarDayTest, YearsAreCountedAsAges) {
  const auto years = [](std::string_view from, std::string_view to) {
    return YearsBetween(*ParseDay(from), *ParseDay(to));
  };
  EXPECT_EQ(years("1980-05-17", "2025-05-16"), 44);
  EXPECT_EQ(years("1980-05-17", "2025-05-17"), 45);
  EXPECT_EQ(years("2000-02-29", "2001-02-28"), 0);
  EXPECT_EQ(years("2000-02-29", "2001-03-01"), 1);
  EXPECT_EQ(years("2000-02-29", "2004-02-29"), 4);
  EXPECT_EQ(DayNumber(*ParseDay("1970-01-02")), 1);
  EXPECT_EQ(DayText(DayOf(DayNumber(*ParseDay("1899-12-31")))), "1899-12-31");
}

TEST(AgreedNumbersTest, ALimitIsReadAsAgreedAndNoOtherWay) {
  const AgreedNumbers age = NumbersOf("age at-least=90");
  for (const char* text : {"> 89", ">89", ">= 90", "\u2265 90", "90+", "> 90", "90", ">= 90.0"}) {
    EXPECT_THAT(age.Find(text, DecimalMark::kPoint), Optional(90.0)) << text;
  }
  // Read as 90 they would be wrong.
  for (const char* text : {"> 5", "> 88", ">= 89", "< 90", "<= 90", "> 89.5", "89+", ">", "> x",
                           "+", "> 89 years", "over 89", ">> 89"}) {
    EXPECT_EQ(age.Find(text, DecimalMark::kPoint), std::nullopt) << text;
  }
  EXPECT_THAT(age.Find("> 5.5e1", DecimalMark::kPoint), std::nullopt);
  EXPECT_THAT(age.Find("55", DecimalMark::kPoint), Optional(55.0));

  const AgreedNumbers troponin = NumbersOf("troponin at-most=0.5 at-most=0.1 at-least=500");
  EXPECT_THAT(troponin.Find("<0,5", DecimalMark::kComma), Optional(0.5));
  EXPECT_THAT(troponin.Find("<0.1", DecimalMark::kPoint), Optional(0.1));
  EXPECT_THAT(troponin.Find("\u2264 0.1", DecimalMark::kPoint), Optional(0.1));
  EXPECT_THAT(troponin.Find("> 499", DecimalMark::kPoint), Optional(500.0));
  EXPECT_EQ(troponin.Find("<0.2", DecimalMark::kPoint), std::nullopt);
  EXPECT_THAT(NumbersOf("age at-most=17").Find("<18", DecimalMark::kPoint), Optional(17.0));
}

TEST(AgreedNumbersTest, AUnitMayStandBehindANumber) {
  const AgreedNumbers dose = NumbersOf("dose unit=mg at-least=40");
  EXPECT_THAT(dose.Find("12 mg", DecimalMark::kPoint), Optional(12.0));
  EXPECT_THAT(dose.Find("12,5mg", DecimalMark::kComma), Optional(12.5));
  EXPECT_THAT(dose.Find("12", DecimalMark::kPoint), Optional(12.0));
  EXPECT_THAT(dose.Find(">= 40 mg", DecimalMark::kPoint), Optional(40.0));
  // A microgram is not a milligram.
  for (const char* text : {"12 \u00b5g", "12 g", "mg", "12 mg mg", "12 mgs"}) {
    EXPECT_EQ(dose.Find(text, DecimalMark::kPoint), std::nullopt) << text;
  }
  EXPECT_THAT(NumbersOf("'o2 sat' unit=' %'").Find("63 %", DecimalMark::kPoint), Optional(63.0));
}

TEST(AgreedNumbersTest, ANumberOutsideTheRangeIsAnError) {
  const AgreedNumbers height = NumbersOf("height range=30..250 unit=cm at-most=30");
  EXPECT_THAT(height.Find("171 cm", DecimalMark::kPoint), Optional(171.0));
  EXPECT_THAT(height.Find("30", DecimalMark::kPoint), Optional(30.0));
  EXPECT_THAT(height.Find("<= 30", DecimalMark::kPoint), Optional(30.0));
  for (const char* text : {"1.71", "1711", "-171", "250.1"}) {
    EXPECT_EQ(height.Find(text, DecimalMark::kPoint), std::nullopt) << text;
    EXPECT_NE(height.Read(text, DecimalMark::kPoint), std::nullopt) << text;
  }
  EXPECT_EQ(OutsideRange("1711", *height.range).what,
            "\"1711\" is outside the agreed range 30..250");
}

TEST(AgreedNumbersTest, DatesAreDays) {
  const AgreedNumbers admitted = NumbersOf("admitted date=day.month.year");
  EXPECT_THAT(admitted.Find("2.1.1970", DecimalMark::kPoint), Optional(1.0));
  EXPECT_THAT(admitted.Find("1970-01-02", DecimalMark::kPoint), Optional(1.0));
  EXPECT_EQ(admitted.Find("1/2/1970", DecimalMark::kPoint), std::nullopt);
  EXPECT_EQ(admitted.Find("45658", DecimalMark::kPoint), std::nullopt);
  const ValueFault fault = NotADate("1/2/1970", *admitted.dates);
  EXPECT_EQ(fault.what, "\"1/2/1970\" is not a date as day.month.year");
  EXPECT_THAT(fault.remedy, HasSubstr("data.csv_spellings"));
}

TEST(AgreedNumbersTest, WordsThatContradictEachOtherAreRefused) {
  for (const char* text :
       {"a date date", "a date unit=mg", "a date=dmy", "a unit=", "a unit=mg unit=g",
        "a at-least=", "a at-least=x", "a at-least=1 at-least=1", "a between=1", "a one-of",
        "a date=", "a range=", "a range=1", "a range=2..1", "a range=1..2 range=1..2"}) {
    EXPECT_THAT(base::Message(ParseAgreedColumn(text).status()), HasSubstr("expected")) << text;
  }
  EXPECT_THAT(base::Message(ParseSpelling("age at-least=90").status()),
              HasSubstr("limits and ranges are the same at all sites"));
}

TEST(AgreedNumbersTest, ASitesOwnSpellingBecomesTheAgreedOne) {
  const std::vector<AgreedColumn> spellings = {
      base::ValueOf(ParseSpelling("admitted date=month/day/year")),
      base::ValueOf(ParseSpelling("dose unit=mg"))};
  const auto written = [&](std::string_view column, std::string field) {
    WriteAsAgreed(spellings, column, DecimalMark::kComma, field);
    return field;
  };
  EXPECT_EQ(written("admitted", "3/4/2025"), "2025-03-04");
  EXPECT_EQ(written("admitted", "2025-03-04"), "2025-03-04");
  EXPECT_EQ(written("admitted", "4.3.2025"), "4.3.2025");
  EXPECT_EQ(written("dose", "12,5 mg"), "12,5");
  EXPECT_EQ(written("dose", ">= 40 mg"), ">= 40");
  EXPECT_EQ(written("dose", "12 \u00b5g"), "12 \u00b5g");
  EXPECT_EQ(written("other", "3/4/2025"), "3/4/2025");
}

}  // namespace
}  // namespace tacet::table
