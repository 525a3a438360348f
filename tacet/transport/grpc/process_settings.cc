#include "tacet/transport/grpc/process_settings.h"

#include <cstdlib>

namespace tacet::transport::grpc {
namespace {

const bool settings_made =
    setenv("GRPC_SSL_CIPHER_SUITES", "ECDHE-RSA-AES256-GCM-SHA384", /*overwrite=*/1) == 0 &&
    setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0) == 0;

}  // namespace

bool ProcessSettingsMade() { return settings_made; }

}  // namespace tacet::transport::grpc
