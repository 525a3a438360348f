// Server of a federation inside of another framework's server, which is written in Python.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/string_view.h"
#include "nanobind/stl/unique_ptr.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "python/bindings/python_calls.h"
#include "tacet/base/status.h"
#include "tacet/server.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

class PythonRelayServer {
 public:
  explicit PythonRelayServer(RelayServer server) : server_(std::move(server)) {}
  ~PythonRelayServer() { Close(); }
  PythonRelayServer(const PythonRelayServer&) = delete;
  PythonRelayServer& operator=(const PythonRelayServer&) = delete;

  // Its threads, which may wait for Python's lock to tell an event, have ended afterwards.
  void Close() {
    std::optional<RelayServer> closed = std::exchange(server_, std::nullopt);
    WithoutLock([&closed] { closed.reset(); });
  }

  nb::dict Exchange(const nb::dict& bundles, double wait_seconds) const {
    std::optional<RelayServer> server = Server();
    RelayServer::Bundles given;
    for (const auto& [node, bundle] : bundles) {
      given.emplace(nb::cast<std::string>(node), CopyOf(nb::cast<nb::bytes>(bundle)));
    }
    const RelayServer::Bundles ready = ValueOrThrow(WithoutLock([&] {
      auto answers = server->Exchange(given, wait_seconds);
      server.reset();  // perhaps the last copy
      return answers;
    }));
    nb::dict answers;
    for (const auto& [node, bundle] : ready) answers[nb::cast(node)] = BytesOf(bundle);
    return answers;
  }

  RelayServer Server() const {
    if (server_.has_value()) return *server_;
    throw StatusError(base::FailedPrecondition("the server was closed"));
  }

 private:
  std::optional<RelayServer> server_;
};

ServerFunctions FunctionsOf(const nb::object& on_event) {
  if (on_event.is_none()) return {};
  return {
      .on_event = [told = PythonObject(on_event), calls = PythonCalls()](std::string_view line) {
        // An exception of the listener must not end the server.
        (void)calls.Run([&] { CallFunction(told.get(), line); });
      }};
}

}  // namespace

void BindRelayServer(nb::module_& module) {
  nb::class_<PythonRelayServer>(module, "RelayServer",
                                "Server of a federation inside of another framework's server.")
      .def_static(
          "open",
          [](const std::string& home, const std::optional<std::string>& storage,
             const nb::object& on_event, uint64_t collecting_seconds, uint64_t grace_seconds,
             uint64_t retry_seconds, uint64_t unmasking_seconds, uint64_t abandon_seconds,
             uint32_t kept_rounds) {
            const RoundOptions options{.collecting_seconds = collecting_seconds,
                                       .grace_seconds = grace_seconds,
                                       .retry_seconds = retry_seconds,
                                       .unmasking_seconds = unmasking_seconds,
                                       .abandon_seconds = abandon_seconds,
                                       .kept_rounds = kept_rounds};
            const ServerFunctions functions = FunctionsOf(on_event);
            return std::make_unique<PythonRelayServer>(ValueOrThrow(
                WithoutLock([&] { return RelayServer::Open(home, storage, options, functions); })));
          },
          "home"_a, "storage"_a.none(), "on_event"_a.none(), "collecting_seconds"_a,
          "grace_seconds"_a, "retry_seconds"_a, "unmasking_seconds"_a, "abandon_seconds"_a,
          "kept_rounds"_a)
      .def("exchange", &PythonRelayServer::Exchange, "bundles"_a, "wait_seconds"_a,
           nb::sig("def exchange(self, bundles: dict[str, bytes], wait_seconds: float) -> "
                   "dict[str, bytes]"))
      .def("close", &PythonRelayServer::Close)
      .def_prop_ro("done", [](const PythonRelayServer& s) { return s.Server().done(); })
      .def_prop_ro("round", [](const PythonRelayServer& s) { return s.Server().round(); })
      .def_prop_ro("rounds", [](const PythonRelayServer& s) { return s.Server().rounds(); });
}

}  // namespace tacet::python
