// What only the host driver has beside the driver API: settings, fault injection, reports. Exported by
// libquern_hostdriver.so; a real libcuda has none of them, which is how a Driver knows that it runs host images.
#ifndef QUERN_DRIVER_HOST_CONTROLS_H_
#define QUERN_DRIVER_HOST_CONTROLS_H_

#include <cuda.h>

#include <cstddef>

extern "C" {

// One access of a template: all executions of one load, store or atomic, by all launches since accesses were last
// reset.
struct quernHostAccess {
  const char* file;  // as the template is named: "gather/vectors.cuh"
  int line;
  const char* kind;                  // "load", "store", "atomic"
  const char* memory;                // the name given to the allocation by quernHostNameMemory, or "?"
  unsigned bytes;                    // a thread
  unsigned long long requests;       // by warps
  unsigned long long sectors;        // of 32 bytes, summed over the requests
  unsigned long long ideal_sectors;  // as few as hold the bytes that each request asks for, were they consecutive
  unsigned long long asked_bytes;    // by all threads
  unsigned long long unique_bytes;   // different bytes touched: what had to move at least
};

// Settings as text, "seed=7 workers=2": see runtime/hostdriver/README.md. Devices can be changed only while no context
// is alive, else CUDA_ERROR_ILLEGAL_STATE. CUDA_ERROR_INVALID_VALUE and a report for anything it does not know. What
// was refused has changed nothing.
CUresult quernHostConfigure(const char* settings);
// Faults as text: "fail cuMemAlloc_v2 nth=2 code=2", "delay cuLaunchKernelEx nth=1 us=500", "kill kernel nth=1",
// "lose device=0", "clear". nth counts from the next call.
CUresult quernHostInject(const char* fault);
// 1 where a scripted clock tells the times of events ("memory_rate=…" in the settings): they are then a made-up
// device's, and not those of this CPU.
int quernHostTellsTime(void);
// How often an entry point was called since the library was loaded; "kernel" for kernels that ran.
unsigned long long quernHostCalls(const char* call);
// What is alive, as text for people, empty if nothing is: "contexts=1 libraries=2 allocations=3".
// `kind` as in that text gives the number of one.
unsigned long long quernHostAlive(const char* kind);
// The words of the last fault or refusal, for people; copied, cut to `bytes`, with a terminating zero. Returns its full
// length. Empty after quernHostConfigure.
std::size_t quernHostReport(char* text, std::size_t bytes);
// Names an allocation for reports. The name is copied.
CUresult quernHostNameMemory(CUdeviceptr memory, const char* name);
// Starts (1) or stops (0) the logging of accesses; starting forgets what was logged.
CUresult quernHostLogAccesses(int on);
// Calls `visit` for each access site, in the order of file and line. Pointers are valid during the call.
CUresult quernHostVisitAccesses(void (*visit)(void* data, const quernHostAccess* access), void* data);

}  // extern "C"

// ROW(member, symbol)
#define QUERN_HOST_FUNCTIONS(ROW)        \
  ROW(Configure, quernHostConfigure)     \
  ROW(Inject, quernHostInject)           \
  ROW(TellsTime, quernHostTellsTime)     \
  ROW(Calls, quernHostCalls)             \
  ROW(Alive, quernHostAlive)             \
  ROW(Report, quernHostReport)           \
  ROW(NameMemory, quernHostNameMemory)   \
  ROW(LogAccesses, quernHostLogAccesses) \
  ROW(VisitAccesses, quernHostVisitAccesses)

#endif  // QUERN_DRIVER_HOST_CONTROLS_H_
