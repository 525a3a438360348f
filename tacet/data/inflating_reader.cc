#include "tacet/data/inflating_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <zlib.h>

#include "tacet/base/status.h"

namespace tacet::data {
namespace {
constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr int kGzipWindow = 16 + 15;  // zlib: gzip wrapper, 32 kB window
}  // namespace

struct InflatingReader::Inflater {
  z_stream stream{};
  bool started = false;          // inflateInit2 succeeded
  bool between_members = false;  // the last member is complete
};

InflatingReader::InflatingReader(std::istream& in, std::string_view name)
    : in_(in), name_(name), buffer_(kBufferBytes) {
  Refill();
  if (rest_.size() >= 2 && rest_[0] == 0x1f && rest_[1] == 0x8b) {
    inflater_ = std::make_unique<Inflater>();
    inflater_->started = inflateInit2(&inflater_->stream, kGzipWindow) == Z_OK;
  }
}

InflatingReader::~InflatingReader() {
  if (inflater_ != nullptr && inflater_->started) inflateEnd(&inflater_->stream);
}

bool InflatingReader::Refill() {
  in_.read(reinterpret_cast<char*>(buffer_.data()), static_cast<std::streamsize>(buffer_.size()));
  rest_ = std::span(buffer_).first(static_cast<size_t>(in_.gcount()));
  return !rest_.empty();
}

absl::StatusOr<size_t> InflatingReader::Read(std::span<uint8_t> bytes) {
  if (inflater_ != nullptr) return Inflate(bytes);
  size_t done = 0;
  while (done < bytes.size() && (!rest_.empty() || Refill())) {
    const size_t count = std::min(rest_.size(), bytes.size() - done);
    std::memcpy(bytes.data() + done, rest_.data(), count);
    rest_ = rest_.subspan(count);
    done += count;
  }
  return done;
}

absl::StatusOr<size_t> InflatingReader::Inflate(std::span<uint8_t> bytes) {
  if (!inflater_->started) return base::Unavailable("{}: zlib could not be started", name_);
  z_stream& stream = inflater_->stream;
  size_t done = 0;
  while (done < bytes.size()) {
    if (rest_.empty() && !Refill()) {
      if (inflater_->between_members) break;
      return base::DataLoss("{}: the gzip data are cut short", name_);
    }
    if (inflater_->between_members) {
      inflateReset(&stream);
      inflater_->between_members = false;
    }
    const size_t wanted = std::min<size_t>(bytes.size() - done, std::numeric_limits<uInt>::max());
    stream.next_in = const_cast<Bytef*>(rest_.data());
    stream.avail_in = static_cast<uInt>(rest_.size());
    stream.next_out = bytes.data() + done;
    stream.avail_out = static_cast<uInt>(wanted);
    const int code = inflate(&stream, Z_NO_FLUSH);
    rest_ = rest_.last(stream.avail_in);
    done += wanted - stream.avail_out;
    if (code == Z_STREAM_END) {
      inflater_->between_members = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return base::DataLoss("{}: the gzip data are malformed: {}", name_,
                            stream.msg != nullptr ? stream.msg : "unknown error");
    }
  }
  return done;
}

}  // namespace tacet::data
