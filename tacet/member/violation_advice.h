// Advice for the people of a site at a protocol violation: the next step, and whom to notify.
#ifndef TACET_MEMBER_VIOLATION_ADVICE_H_
#define TACET_MEMBER_VIOLATION_ADVICE_H_

#include <string_view>

namespace tacet::member {

// Sentences for one of the names in docs/formats/node-log.md, "Protocol violations". A name that is
// not known has the strictest advice.
std::string_view ViolationAdvice(std::string_view violation);

}  // namespace tacet::member

#endif  // TACET_MEMBER_VIOLATION_ADVICE_H_
