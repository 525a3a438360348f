#include "tacet/transport/mpi/mpi_ranks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <mpi.h>

#include "tacet/base/status.h"

namespace tacet::transport::mpi {
namespace {

// MPI counts are ints: long messages go in pieces.
constexpr size_t kPieceBytes = size_t{1} << 28;
constexpr int kLengthTag = 1;
constexpr int kPieceTag = 2;

// A wait of t is noticed after at most t/16 more, and no later than a millisecond.
constexpr std::chrono::microseconds kShortestNap{20};
constexpr std::chrono::microseconds kLongestNap{1000};

absl::Status StatusOf(int code, std::string_view what, uint32_t rank) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return absl::UnavailableError(fmt::format(
      "{} rank {}: {}", what, rank, std::string_view(text.data(), static_cast<size_t>(length))));
}

// MPI's own waiting takes a whole processor.
int WaitFor(MPI_Request& request) {
  std::chrono::microseconds nap = kShortestNap;
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    int done = 0;
    const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done != 0) return code;
    std::this_thread::sleep_for(nap);
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start);
    nap = std::clamp(waited / 16, kShortestNap, kLongestNap);
  }
}

absl::Status SendPiece(const void* data, size_t bytes, uint32_t to, int tag) {
  MPI_Request request;
  int code = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), tag,
                       MPI_COMM_WORLD, &request);
  if (code == MPI_SUCCESS) code = WaitFor(request);
  return StatusOf(code, "sending to", to);
}

absl::Status ReceivePiece(void* data, size_t bytes, uint32_t from, int tag) {
  MPI_Request request;
  int code = MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(from), tag,
                       MPI_COMM_WORLD, &request);
  if (code == MPI_SUCCESS) code = WaitFor(request);
  return StatusOf(code, "receiving from", from);
}

uint32_t LocalSize() {
  MPI_Comm local;
  int size = 1;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local) ==
      MPI_SUCCESS) {
    MPI_Comm_size(local, &size);
    MPI_Comm_free(&local);
  }
  return static_cast<uint32_t>(size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MpiRanks>> MpiRanks::Start() {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) return base::FailedPrecondition("MPI was started before in this process");
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    return base::FailedPrecondition("MPI does not start, or not for programs with threads");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::unique_ptr<MpiRanks> ranks(new MpiRanks);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ranks->rank_ = static_cast<uint32_t>(rank);
  ranks->size_ = static_cast<uint32_t>(size);
  ranks->local_size_ = LocalSize();
  return ranks;
}

MpiRanks::~MpiRanks() { MPI_Finalize(); }

absl::Status MpiRanks::Send(uint32_t to, std::span<const uint8_t> bytes) {
  const uint64_t length = bytes.size();
  TACET_RETURN_IF_ERROR(SendPiece(&length, sizeof(length), to, kLengthTag));
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const std::span<const uint8_t> piece =
        bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at));
    TACET_RETURN_IF_ERROR(SendPiece(piece.data(), piece.size(), to, kPieceTag));
  }
  return absl::OkStatus();
}

absl::StatusOr<base::Bytes> MpiRanks::Receive(uint32_t from, size_t max_bytes) {
  uint64_t length = 0;
  TACET_RETURN_IF_ERROR(ReceivePiece(&length, sizeof(length), from, kLengthTag));
  if (length > max_bytes) {
    return base::DataLoss("a message of rank {} has {} bytes, at most {} are expected", from,
                          length, max_bytes);
  }
  base::Bytes message(length);
  for (size_t at = 0; at < message.size(); at += kPieceBytes) {
    const std::span<uint8_t> piece =
        std::span(message).subspan(at, std::min(kPieceBytes, message.size() - at));
    TACET_RETURN_IF_ERROR(ReceivePiece(piece.data(), piece.size(), from, kPieceTag));
  }
  return message;
}

void MpiRanks::Abort() {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

}  // namespace tacet::transport::mpi
