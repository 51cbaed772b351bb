// Names and descriptions of the codes that this driver returns, and of those from real kernels and images; others are
// shown as numbers.
#include <map>
#include <mutex>

#include "base/text.h"
#include "hostdriver/exec/report.h"

namespace quern::host {
namespace {

struct Row {
  CUresult code;
  const char* name;
  const char* words;
};

#define QUERN_ROW(code, words) \
  { code, #code, words }
constexpr Row kRows[] = {
    QUERN_ROW(CUDA_SUCCESS, "no error"),
    QUERN_ROW(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    QUERN_ROW(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    QUERN_ROW(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    QUERN_ROW(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    QUERN_ROW(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    QUERN_ROW(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    QUERN_ROW(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    QUERN_ROW(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    QUERN_ROW(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    QUERN_ROW(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    QUERN_ROW(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    QUERN_ROW(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    QUERN_ROW(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    QUERN_ROW(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."),
    QUERN_ROW(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    QUERN_ROW(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    QUERN_ROW(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    QUERN_ROW(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    QUERN_ROW(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    QUERN_ROW(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    QUERN_ROW(CUDA_ERROR_NOT_READY, "device not ready"),
    QUERN_ROW(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    QUERN_ROW(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    QUERN_ROW(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    QUERN_ROW(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    QUERN_ROW(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    QUERN_ROW(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    QUERN_ROW(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    QUERN_ROW(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    QUERN_ROW(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    QUERN_ROW(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"),
    QUERN_ROW(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    QUERN_ROW(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    QUERN_ROW(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    QUERN_ROW(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              "operation would make the legacy stream depend on a capturing blocking stream"),
    QUERN_ROW(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    QUERN_ROW(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
              "attempt to terminate a thread-local capture sequence from "
              "another thread"),
    QUERN_ROW(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cluster misconfiguration"),
    QUERN_ROW(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef QUERN_ROW

const Row* find(CUresult code) {
  for (const Row& row : kRows)
    if (row.code == code) return &row;
  return nullptr;
}

// Callers keep the returned texts, so each is stored.
const char* numbered(CUresult code) {
  static auto* const mutex = new std::mutex;
  static auto* const names = new std::map<int, std::string>;
  const std::lock_guard lock(*mutex);
  std::string& name = (*names)[static_cast<int>(code)];
  if (name.empty()) name = cat("CUDA error ", static_cast<int>(code));
  return name.c_str();
}

}  // namespace

const char* error_name(CUresult code) {
  const Row* row = find(code);
  return row != nullptr ? row->name : numbered(code);
}

const char* error_words(CUresult code) {
  const Row* row = find(code);
  return row != nullptr ? row->words : numbered(code);
}

}  // namespace quern::host
