// The groups of a kernel's parameters, as mx/groups.cuh takes them.
#ifndef QUERN_MXFP8_GROUP_ENDS_CUH_
#define QUERN_MXFP8_GROUP_ENDS_CUH_

#include "mx/groups.cuh"
#include "spec.cuh"

namespace quern::mxfp8 {

using namespace mx;

template <class Kernel>
QUERN_DEVICE GroupEnds<spec::Offset, spec::whole_groups> ends_of(const Kernel& p) {
  return {p.offsets, p.status, p.rows, p.groups};
}

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_GROUP_ENDS_CUH_
