// Settings that gRPC reads from the environment of its process.
#ifndef TACET_TRANSPORT_GRPC_PROCESS_SETTINGS_H_
#define TACET_TRANSPORT_GRPC_PROCESS_SETTINGS_H_

namespace tacet::transport::grpc {

// True: the settings are made before main() begins, while there is one thread. gRPC has no setter
// for them and reads them once.
//
// TLS 1.3 only: of TLS 1.2 it offers and accepts nothing but suites for RSA certificates, and no
// party of a federation can have one that its authority signed (base/certificates.h).
//
// Silence: it would print every failed handshake to the standard error, which is for strangers to
// fill. GRPC_VERBOSITY in the environment brings that back.
bool ProcessSettingsMade();

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_PROCESS_SETTINGS_H_
