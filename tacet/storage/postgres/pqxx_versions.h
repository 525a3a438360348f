// The functions of libpqxx that the store needs, in one form for libpqxx 6 and 7.
#ifndef TACET_STORAGE_POSTGRES_PQXX_VERSIONS_H_
#define TACET_STORAGE_POSTGRES_PQXX_VERSIONS_H_

#include <cstdint>
#include <span>

#include <pqxx/pqxx>

#include "tacet/base/bytes.h"

namespace tacet::storage::postgres {

#if PQXX_VERSION_MAJOR >= 7

// Valid as long as `bytes`. A null pointer would be NULL.
inline pqxx::bytes_view Binary(std::span<const uint8_t> bytes) {
  static constexpr uint8_t kNone = 0;
  return pqxx::binary_cast(bytes.empty() ? &kNone : bytes.data(), bytes.size());
}

inline base::Bytes BytesIn(const pqxx::field& field) {
  const auto binary = field.as<pqxx::bytes>();
  const auto* const first = reinterpret_cast<const uint8_t*>(binary.data());
  return base::Bytes(first, first + binary.size());
}

template <typename... Values>
pqxx::result ExecutePrepared(pqxx::transaction_base& transaction, const char* name,
                             const Values&... values) {
  return transaction.exec(pqxx::prepped(name), pqxx::params(values...));
}

// A connection that writes nothing to stderr, has no values in its messages, and stays lost once it
// is lost: a new one would not hold the lock of the only server.
class QuietConnection {
 public:
  explicit QuietConnection(const char* parameters) : connection_(parameters) {
    connection_.set_notice_handler([](pqxx::zview) noexcept {});
    connection_.set_verbosity(pqxx::error_verbosity::terse);
  }
  pqxx::connection& get() { return connection_; }

 private:
  pqxx::connection connection_;
};

#else

inline pqxx::binarystring Binary(std::span<const uint8_t> bytes) {
  return pqxx::binarystring(bytes.empty() ? "" : static_cast<const void*>(bytes.data()),
                            bytes.size());
}

inline base::Bytes BytesIn(const pqxx::field& field) {
  const pqxx::binarystring binary(field);
  return base::Bytes(binary.begin(), binary.end());
}

template <typename... Values>
pqxx::result ExecutePrepared(pqxx::transaction_base& transaction, const char* name,
                             const Values&... values) {
  return transaction.exec_prepared(name, values...);
}

// A connection that writes nothing to stderr, has no values in its messages, and stays lost once it
// is lost: a new one would not hold the lock of the only server.
class QuietConnection {
 public:
  explicit QuietConnection(const char* parameters) : connection_(parameters), quiet_(connection_) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    connection_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
    connection_.set_verbosity(pqxx::connection_base::terse);
  }
  pqxx::connection& get() { return connection_; }

 private:
  pqxx::connection connection_;
  pqxx::quiet_errorhandler quiet_;
};

#endif

}  // namespace tacet::storage::postgres

#endif  // TACET_STORAGE_POSTGRES_PQXX_VERSIONS_H_
