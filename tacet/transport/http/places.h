// Places of a server's connections: who gets one, and who has to go for it.
#ifndef TACET_TRANSPORT_HTTP_PLACES_H_
#define TACET_TRANSPORT_HTTP_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

namespace tacet::transport::http {

struct PlacesSpec {
  size_t all = 4096;
  size_t of_address = 1024;  // strangers with one address
  size_t of_certificate = 16;
};

// Nobody waits for a place: a newcomer beyond a cap replaces another connection, or is refused. A
// *stranger* is a connection that has shown no certificate yet, or where none is asked for.
//   - Beyond the cap of its address a stranger replaces the oldest stranger with that address.
//   - When all places are taken, it replaces the oldest stranger of any address, so strangers never
//     keep out those who have a certificate. If there is none it is refused.
//   - Beyond the cap of its certificate a connection replaces the one that has been silent for
//     longest under this certificate: dead connections do not lock out their owner.
// Not thread-safe.
class Places {
 public:
  using Id = uint64_t;

  explicit Places(const PlacesSpec& spec) : spec_(spec) {}

  // For a new connection.
  struct Verdict {
    bool admitted = false;
    std::optional<Id> replaced;  // has to go
  };
  Verdict Enter(Id id, const std::string& address);
  // The stranger has shown a certificate of this name. Returns the connection that has to go for
  // it; `last_active` says when one was active last.
  std::optional<Id> ShowCertificate(Id id, const std::string& name,
                                    const std::function<int64_t(Id)>& last_active);
  void Leave(Id id);

  size_t size() const { return entries_.size(); }
  size_t strangers() const { return strangers_.size(); }

 private:
  using Ids = std::list<Id>;  // the oldest first
  struct Entry {
    std::string address;
    std::optional<std::string> certificate;
    Ids::iterator in_group;      // of its address or its certificate
    Ids::iterator in_strangers;  // without a certificate
  };
  using Groups = std::unordered_map<std::string, Ids>;

  void Remove(const Entry& entry);

  PlacesSpec spec_;
  std::unordered_map<Id, Entry> entries_;
  Ids strangers_;
  Groups by_address_;      // strangers
  Groups by_certificate_;  // all others
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_PLACES_H_
