// The parts of DLPack's interface that Python objects give: a C function table on their type, or capsules. Written from
// the specification; quern_tensor is its DLTensor.
#ifndef QUERN_PYTHON_DLPACK_H_
#define QUERN_PYTHON_DLPACK_H_

#include <cstdint>

#include "quern/c.h"

namespace quern::python {

struct DlpackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

// In a capsule "dltensor".
struct DlpackManaged {
  quern_tensor tensor;
  void* context;
  void (*deleter)(DlpackManaged* self);
};

// In a capsule "dltensor_versioned".
struct DlpackVersioned {
  DlpackVersion version;
  void* context;
  void (*deleter)(DlpackVersioned* self);
  std::uint64_t flags;
  quern_tensor tensor;
};
inline constexpr std::uint64_t kDlpackReadOnly = 1;

// In the capsule "dlpack_exchange_api" that is the attribute __dlpack_c_exchange_api__ of a type. Functions return 0,
// or -1 with a Python exception set.
struct ExchangeTable {
  DlpackVersion version;
  ExchangeTable* older;
  // `refuse` is called if it returns -1.
  int (*allocate)(quern_tensor* prototype, DlpackVersioned** out, void* context,
                  void (*refuse)(void* context, const char* kind, const char* message));
  int (*from_object)(void* object, DlpackVersioned** out);
  int (*to_object)(DlpackVersioned* tensor, void** object);
  int (*view_object)(void* object, quern_tensor* out);  // may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** stream);
};

}  // namespace quern::python

#endif  // QUERN_PYTHON_DLPACK_H_
