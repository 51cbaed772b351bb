#ifndef QUERN_GATHER_NO_SCALE_CUH_
#define QUERN_GATHER_NO_SCALE_CUH_

#include "common/vector.cuh"
#include "gather/params.h"

namespace quern::gather {

template <int Bytes>
QUERN_DEVICE common::Vector<Bytes> scaled(const Params&, common::u64, const common::Vector<Bytes>& vector) {
  return vector;
}

}  // namespace quern::gather

#endif  // QUERN_GATHER_NO_SCALE_CUH_
