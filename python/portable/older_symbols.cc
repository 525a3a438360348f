// Functions of which the C and C++ libraries have two versions, bound to the older one. Wheels that
// are built with glibc 2.36 and GCC 12 then load with glibc 2.34 and GCC 11's libraries, too.
//
// Linked with -Wl,--wrap=NAME, which turns each call of NAME into one of __wrap_NAME. Both versions
// compute the same. They differ in errno (hypot) and in a noexcept (wait).
#include <condition_variable>
#include <mutex>

#if defined(__x86_64__)
#define TACET_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define TACET_FIRST_GLIBC "GLIBC_2.17"
#endif

extern "C" {

double OlderHypot(double x, double y);
void OlderWait(std::condition_variable* changed, std::unique_lock<std::mutex>* lock);
__asm__(".symver OlderHypot,hypot@" TACET_FIRST_GLIBC);
__asm__(
    ".symver OlderWait,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

double WrappedHypot(double x, double y) __asm__("__wrap_hypot");
double WrappedHypot(double x, double y) { return OlderHypot(x, y); }

void WrappedWait(std::condition_variable* changed, std::unique_lock<std::mutex>* lock) __asm__(
    "__wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void WrappedWait(std::condition_variable* changed, std::unique_lock<std::mutex>* lock) {
  OlderWait(changed, lock);
}

}  // extern "C"
