// Unit file of a site's service, as packaging/systemd has it.
#ifndef TACET_COORDINATOR_CLIENT_UNIT_H_
#define TACET_COORDINATOR_CLIENT_UNIT_H_

#include <string_view>

namespace tacet::coordinator {

// The text of tacet-client.service.
std::string_view ClientUnit();

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_CLIENT_UNIT_H_
