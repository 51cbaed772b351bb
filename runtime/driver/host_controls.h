// Functions that only the host driver has in addition to the driver API: settings, fault injection, reports. Exported
// by libquern_hostdriver.so; a real libcuda has none of them, which is how a Driver detects the host driver.
#ifndef QUERN_DRIVER_HOST_CONTROLS_H_
#define QUERN_DRIVER_HOST_CONTROLS_H_

#include <cuda.h>

#include <cstddef>

extern "C" {

// An access site of a template: all executions of one load, store or atomic, by all launches since accesses were last
// reset.
struct quernHostAccess {
  const char* file;  // as in the template: "rows/vectors.cuh"
  int line;
  const char* kind;                  // "load", "store", "atomic"
  const char* memory;                // the name given to the allocation by quernHostNameMemory, or "?"
  unsigned bytes;                    // per thread
  unsigned long long requests;       // warp-level requests
  unsigned long long sectors;        // 32-byte sectors, summed over the requests
  unsigned long long ideal_sectors;  // the minimum: sectors if each request's bytes were contiguous
  unsigned long long asked_bytes;    // requested bytes, by all threads
  unsigned long long unique_bytes;   // distinct bytes touched: the minimum traffic
  // Of loads; else 0. A load that misses fills half-lines of 64 bytes on sm_90, stores do not.
  unsigned long long half_lines;         // summed over the requests
  unsigned long long unique_half_lines;  // distinct ones touched
};

// Settings as text, "seed=7 workers=2": see runtime/hostdriver/README.md. Devices can be changed only while no context
// exists, else CUDA_ERROR_ILLEGAL_STATE. CUDA_ERROR_INVALID_VALUE and a report for an unknown setting. A refused text
// changes nothing.
CUresult quernHostConfigure(const char* settings);
// Faults as text: "fail cuMemAlloc_v2 nth=2 code=2", "delay cuLaunchKernelEx nth=1 us=500", "kill kernel nth=1",
// "lose device=0", "clear". nth counts from the next call.
CUresult quernHostInject(const char* fault);
// Returns 1 if a scripted clock gives the times of events ("memory_rate=…" in the settings): they are then those of a
// modelled device, not of this CPU.
int quernHostTellsTime(void);
// The number of calls of an entry point since the library was loaded; "kernel" counts executed kernels.
unsigned long long quernHostCalls(const char* call);
// The live objects as readable text, empty if there are none: "contexts=1 libraries=2 allocations=3".
// `kind` as in that text returns the number of one kind.
unsigned long long quernHostAlive(const char* kind);
// The message of the last fault or refusal; copied, truncated to `bytes`, with a terminating zero. Returns its full
// length. Empty after quernHostConfigure.
std::size_t quernHostReport(char* text, std::size_t bytes);
// Names an allocation for reports. The name is copied.
CUresult quernHostNameMemory(CUdeviceptr memory, const char* name);
// Starts (1) or stops (0) the logging of accesses; starting clears the log.
CUresult quernHostLogAccesses(int on);
// Calls `visit` for each access site, ordered by file and line. Pointers are valid during the call.
CUresult quernHostVisitAccesses(void (*visit)(void* data, const quernHostAccess* access), void* data);
// The same for the sum of each kind, with the file "total", no line, no memory (null) and no width (0). What is
// distinct is so among all of its sites.
CUresult quernHostVisitAccessTotals(void (*visit)(void* data, const quernHostAccess* access), void* data);

}  // extern "C"

// ROW(member, symbol)
#define QUERN_HOST_FUNCTIONS(ROW)            \
  ROW(Configure, quernHostConfigure)         \
  ROW(Inject, quernHostInject)               \
  ROW(TellsTime, quernHostTellsTime)         \
  ROW(Calls, quernHostCalls)                 \
  ROW(Alive, quernHostAlive)                 \
  ROW(Report, quernHostReport)               \
  ROW(NameMemory, quernHostNameMemory)       \
  ROW(LogAccesses, quernHostLogAccesses)     \
  ROW(VisitAccesses, quernHostVisitAccesses) \
  ROW(VisitAccessTotals, quernHostVisitAccessTotals)

#endif  // QUERN_DRIVER_HOST_CONTROLS_H_
