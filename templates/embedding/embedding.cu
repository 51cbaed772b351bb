// The kernel. The spec chooses its form: it includes rows.cuh or pooled.cuh.
#include "common/numbers.cuh"
#include "embedding/params.h"
#include "spec.cuh"

static_assert(sizeof(quern::embedding::Params) == quern::spec::params_bytes, "host and device disagree about Params");

namespace quern::embedding {

struct FillSlots {
  const Params& p;
  const Lane& lane;
  const Source& source;
  u32 number;
  template <class T>
  QUERN_DEVICE void operator()(T) const {
    fill_slots<T>(p, lane, source, number);
  }
};

QUERN_DEVICE void fill_out(const Params& p) {
  const Lane lane = lane_of(p);
  if (!lane.has(0)) return;
  if (lane.column < p.dense_columns) return copy_dense(p, lane);
  const u32 number = table_of(p, lane.column);
  const Source source = source_of(p, number, lane.column);
  with_type(source.table.type, FillSlots{p, lane, source, number});
}

}  // namespace quern::embedding

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_embedding(const __grid_constant__ quern::embedding::Params params) {
  quern::embedding::fill_out(params);
}
