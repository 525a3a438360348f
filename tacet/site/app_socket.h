// Unix socket at which the app of another framework meets the member of its site.
#ifndef TACET_SITE_APP_SOCKET_H_
#define TACET_SITE_APP_SOCKET_H_

#include <filesystem>
#include <memory>
#include <stop_token>
#include <thread>

#include "absl/status/statusor.h"
#include <sys/types.h>

#include "tacet/site/app_link.h"
#include "tacet/transport/http/descriptor.h"

namespace tacet::site {

// Serves one app at a time, in threads of its own. A second one that connects is told so and sent
// away.
class AppSocket {
 public:
  // Listens at `path`. Its folder says who may connect: processes of the member's own user and of
  // the folder's group. FailedPrecondition when others can use the folder, or another process
  // serves at `path`; InvalidArgument for a path that no socket can have.
  static absl::StatusOr<std::unique_ptr<AppSocket>> Listen(const std::filesystem::path& path,
                                                           AppLink& link);
  // Ends the app's connection, and removes the socket.
  ~AppSocket();
  AppSocket(const AppSocket&) = delete;
  AppSocket& operator=(const AppSocket&) = delete;

 private:
  AppSocket(std::filesystem::path path, gid_t group, AppLink& link,
            transport::http::Descriptor listener);
  void Accept(const std::stop_token& stop);

  std::filesystem::path path_;
  gid_t group_;
  AppLink& link_;
  transport::http::Descriptor listener_;
  std::jthread accepting_;  // ends first
};

}  // namespace tacet::site

#endif  // TACET_SITE_APP_SOCKET_H_
