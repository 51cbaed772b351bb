// A libnvrtc for tests of everything except compiling: it is fast, counts its compiles, and can be paused during one.
#ifndef QUERN_TESTS_UNIT_API_FAKE_NVRTC_H_
#define QUERN_TESTS_UNIT_API_FAKE_NVRTC_H_

#include <string>
#include <vector>

#include "unit/api/fake_control.h"

namespace quern::test {

// Runs the C++ compiler of the build machine (CXX, else c++). False, with its output in `words`, if that failed.
bool run_compiler(const std::string& arguments, std::string* words);

struct FakeNvrtc {
  std::string path;  // of the library; empty: `why_not` has the reason
  std::string why_not;
  FakeControl* control = nullptr;  // the opened library's; shared by all Runtimes of this process
  // Resets everything: CUDA 13.0, sm_80 to sm_120, nothing held, refused or counted.
  void reset() const;
  void set_architectures(const std::vector<int>& architectures) const;
};

// Built at the first call, opened, and removed when the process ends.
const FakeNvrtc& fake_nvrtc();

// That library in `folder`, as libnvrtc.so.MAJOR; `another_build`: with another build id. A library opened from there
// has its own settings and counters, in their initial state. Returns its path.
std::string copy_of_compiler(const std::string& folder, bool another_build, int major = 13);
// The controls of a copy, which has its own.
FakeControl& control_of(const std::string& copy);

}  // namespace quern::test

#endif  // QUERN_TESTS_UNIT_API_FAKE_NVRTC_H_
