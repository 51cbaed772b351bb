// A bag of the backward pass, which a group of threads has.
#ifndef QUERN_EMBEDDING_BACKWARD_BAG_CUH_
#define QUERN_EMBEDDING_BACKWARD_BAG_CUH_

#include "embedding/backward_params.cuh"
#include "embedding/pooled.cuh"
#include "rows/lanes.cuh"

namespace quern::embedding {

using BagParams = BagParamsOf<spec::most>;
using rows::kLanes;
using rows::lane;
using rows::mask_of_group;

struct OwnBag {
  Bag ids;
  Source source;
  u32 sample;
  u32 first;    // slot of a row of out where its table begins
  u32 columns;  // slots of its table

  QUERN_DEVICE Row row_at(const BagParams& p, i64 position) const {
    const bool inside = position < ids.end;
    Report report;  // the forward pass has reported
    return row_of(source, load_id(p.ids.index, position, inside), static_cast<u64>(position), inside, report);
  }
};

QUERN_DEVICE OwnBag own_bag(const BagParams& p, u32 number) {
  const u32 table = divide32(number, p.by_batch), next = table + 1;
  const u32 first = p.ids.first[table];
  const u32 end = next < p.ids.number_of_tables ? p.ids.first[next < spec::most ? next : 0] : p.ids.columns;
  Report report;
  return {bag_of(p.ids, number, report), source_of(p.ids, table, ~0u), number - table * static_cast<u32>(p.ids.batch),
          first, end - first};
}

}  // namespace quern::embedding

#endif  // QUERN_EMBEDDING_BACKWARD_BAG_CUH_
