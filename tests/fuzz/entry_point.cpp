// libFuzzer's entry point, with QUERN_FUZZ_TARGET for the target's name. An exception that escapes is a finding.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quern::fuzz::QUERN_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
