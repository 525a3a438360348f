// Choice of a server's storage from the command line.
#ifndef TACET_HOST_SERVER_STATE_H_
#define TACET_HOST_SERVER_STATE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/server/server_store.h"

namespace tacet::host {

struct ServerState {
  std::string_view kind;  // "sqlite" or "postgresql"; the address may hold a password
  std::unique_ptr<tacet::server::ServerStore> store;
};

// "sqlite:PATH" or "postgresql://...". InvalidArgument for anything else; errors never quote the
// address of a database. `entropy` must outlive the state.
absl::StatusOr<ServerState> OpenServerState(std::string_view where, crypto::Entropy& entropy);

}  // namespace tacet::host

#endif  // TACET_HOST_SERVER_STATE_H_
