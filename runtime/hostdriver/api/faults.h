// Fault injection and call counts: quernHostInject sets faults, and `guarded` applies them at the start of each call.
#ifndef QUERN_HOSTDRIVER_API_FAULTS_H_
#define QUERN_HOSTDRIVER_API_FAULTS_H_

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace quern::host {

// One requested fault.
struct Fault {
  enum class Kind { fail, delay, kill, lose, clear };
  Kind kind = Kind::clear;
  std::string call;      // of fail and delay
  std::int64_t nth = 1;  // strikes at the nth call from now, starting at 1
  CUresult code = CUDA_ERROR_UNKNOWN;
  std::chrono::microseconds delay{0};
  int device = 0;
};

// Parses "fail cuMemAlloc_v2 nth=2 code=2" and similar. Throws Refusal (INVALID_VALUE) with the reason.
Fault parse_fault(const std::string& text);

// Thread-safe.
class Faults {
 public:
  // The faults of one call.
  struct WarpCollective {
    CUresult code = CUDA_SUCCESS;
    std::chrono::microseconds delay{0};
  };

  // Of the kinds fail, delay and kill.
  void add(Fault fault);
  void clear();
  WarpCollective enter(const char* call);
  // Counts a kernel; true if this one is to be killed.
  bool enter_kernel();
  std::uint64_t calls(const std::string& call) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> calls_;
  std::vector<Fault> faults_;
};

// Never destroyed.
Faults& faults();

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_FAULTS_H_
