// The result of an attack as text and as JSON (docs/formats/attack.md).
#ifndef TACET_APPS_TACET_ATTACK_ATTACK_OUTPUT_H_
#define TACET_APPS_TACET_ATTACK_ATTACK_OUTPUT_H_

#include <string>
#include <vector>

#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/membership_attack.h"
#include "tacet/base/json.h"

namespace tacet::app::attack {

base::JsonValue AttackJson(const AttackResult& result, const AttackedRun& run,
                           const AttackSettings& settings);

// Tables for a terminal, then what follows from them; ends with a line feed.
std::string AttackText(const AttackResult& result, const AttackedRun& run,
                       const AttackSettings& settings);

// What the numbers say, a sentence each: whether the bound holds, what was not tested, whether the
// attack could have found anything.
std::vector<std::string> AttackVerdict(const AttackResult& result, const AttackedRun& run,
                                       const AttackSettings& settings);

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_ATTACK_OUTPUT_H_
