// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_CHUNK_SORT_PARAMS_H_
#define QUERN_CHUNK_SORT_PARAMS_H_

#include "moe/params.cuh"

namespace quern::chunk_sort {

using Params = moe::Params;

}  // namespace quern::chunk_sort

#endif  // QUERN_CHUNK_SORT_PARAMS_H_
