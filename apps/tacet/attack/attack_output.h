// The result of an attack as text and as JSON (docs/formats/attack.md), in parts.
#ifndef TACET_APPS_TACET_ATTACK_ATTACK_OUTPUT_H_
#define TACET_APPS_TACET_ATTACK_ATTACK_OUTPUT_H_

#include <span>
#include <string>
#include <vector>

#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/membership_attack.h"
#include "tacet/base/json.h"

namespace tacet::app::attack {

// The conclusions, a sentence each: whether the bound holds, and what was not tested. The
// conclusion from all comparisons is the first.
std::vector<std::string> AttackVerdict(const AttackResult& result, const AttackedRun& run);

base::JsonValue AttackJson(const AttackResult& result, const AttackedRun& run,
                           std::span<const std::string> verdict);
base::JsonValue TestJson(const UnitTest& test, const AttackedRun& run);
base::JsonValue AttacksJson(const std::vector<MeasuredAttack>& attacks);

// Tables for a terminal; each text ends with a line feed.
std::string TestText(const UnitTest& test);
// A line for each attack and false-positive rate; the columns of the comparison only where there is
// a bound to compare with.
std::string AttacksText(const std::vector<MeasuredAttack>& attacks);
// Bounds of all observers, the meaning of the columns, then `verdict`.
std::string VerdictText(const AttackResult& result, std::span<const std::string> verdict);

// A rate with its interval, in percent.
std::string IntervalText(double rate, const tacet::attack::Interval& interval);

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_ATTACK_OUTPUT_H_
