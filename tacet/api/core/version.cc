#include "tacet/version.h"

namespace tacet {

std::string_view Version() { return TACET_VERSION; }

}  // namespace tacet
