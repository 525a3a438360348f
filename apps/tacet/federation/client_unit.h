// Unit file of a site's service, as packaging/systemd has it.
#ifndef TACET_APPS_TACET_FEDERATION_CLIENT_UNIT_H_
#define TACET_APPS_TACET_FEDERATION_CLIENT_UNIT_H_

#include <string_view>

namespace tacet::app::federation {

// The text of tacet-client.service.
std::string_view ClientUnit();

}  // namespace tacet::app::federation

#endif  // TACET_APPS_TACET_FEDERATION_CLIENT_UNIT_H_
