// File descriptor that is closed with its object.
#ifndef TACET_TRANSPORT_HTTP_DESCRIPTOR_H_
#define TACET_TRANSPORT_HTTP_DESCRIPTOR_H_

#include <utility>

#include <unistd.h>

namespace tacet::transport::http {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool ok() const { return number_ >= 0; }
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_DESCRIPTOR_H_
