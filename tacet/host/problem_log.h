// Log of problems as they come and go.
#ifndef TACET_HOST_PROBLEM_LOG_H_
#define TACET_HOST_PROBLEM_LOG_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/host/problems.h"
#include "tacet/host/server_log.h"
#include "tacet/server/round_server.h"

namespace tacet::host {

// Not thread-safe.
class ProblemLog {
 public:
  // Both must outlive it.
  ProblemLog(const agreement::SignedManifest& manifest, ServerLog& log)
      : manifest_(manifest), log_(log) {}

  // Logs what is new, concerns other members, or is over.
  void Note(std::span<const Problem> problems);
  // Logs who objects, each member once to one announcement.
  void NoteObjections(std::span<const protocol::Objection> objections);

 private:
  const agreement::SignedManifest& manifest_;
  ServerLog& log_;
  std::map<ProblemCode, std::vector<uint64_t>> known_;  // with their members
  std::vector<protocol::Objection> objections_;
};

}  // namespace tacet::host

#endif  // TACET_HOST_PROBLEM_LOG_H_
