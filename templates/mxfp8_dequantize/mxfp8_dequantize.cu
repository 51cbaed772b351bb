// Elements and scales to numbers, one vector of them per slot.
#include "common/numbers.cuh"
#include "common/slots.cuh"
#include "mx/scale_places.cuh"
#include "mxfp8_dequantize/params.h"
#include "spec.cuh"

namespace quern::mxfp8_dequantize {

using namespace common;
using namespace mx;

using Element = spec::Element;
using Out = spec::Out;

constexpr int kElements = spec::vector / sizeof(Out);
constexpr int kBlock = spec::block_length;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

using Elements = Vector<kElements>;

QUERN_DEVICE float scale_at(const Params& p, u64 expert, i64 line, i64 block) {
  const i64 place = scale_place<spec::order>(p.shape, expert, line, block);
  if constexpr (spec::fp32_scales) return bit_cast<float>(load<4>(static_cast<const float*>(p.scales) + place));
  return E8m0::decode(code_at<u8>(load<1>(static_cast<const u8*>(p.scales) + place), 0));
}

// The scales of a vector's elements: one for all if blocks lie along memory or a square has one.
QUERN_DEVICE void find_scales(const Params& p, u64 expert, i64 row, i64 column, float (&scales)[kElements]) {
  if constexpr (spec::along || spec::square) {
    const float one =
        spec::along ? scale_at(p, expert, row, column / kBlock) : scale_at(p, expert, column, row / kBlock);
#pragma unroll
    for (int i = 0; i < kElements; ++i) scales[i] = one;
  } else {
#pragma unroll
    for (int i = 0; i < kElements; ++i) scales[i] = scale_at(p, expert, column + i, row / kBlock);
  }
}

QUERN_DEVICE void write(const Params& p, const Slot& slot, const Elements& elements) {
  if (!slot.inside) return;
  const u64 expert = divide(slot.row, p.by_rows);
  const i64 column = static_cast<i64>(slot.column) * kElements;
  float values[kElements], scales[kElements];
  unpack<Element, kElements>(elements, values);
  find_scales(p, expert, static_cast<i64>(slot.row - expert * p.rows), column, scales);
#pragma unroll
  for (int i = 0; i < kElements; ++i) values[i] *= scales[i];
  store<spec::vector, kStore>(static_cast<Out*>(p.out) + slot.row * p.cols + column, pack<Out, kElements>(values));
}

QUERN_DEVICE const u8* row_of_source(const Params& p, u64 row) {
  const u8* const begin = static_cast<const u8*>(p.source) + row * p.source_stride;
  return spec::expert_stride ? begin + static_cast<i64>(divide(row, p.by_rows)) * p.expert_gap : begin;
}

QUERN_DEVICE void run_tile(const Params& p, const Tile<spec::unroll>& tile) {
  Elements elements[spec::unroll] = {};
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    if (slot.inside)
      elements[i] = load<kElements>(row_of_source(p, slot.row) + static_cast<i64>(slot.column) * kElements);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) write(p, tile[i], elements[i]);
}

QUERN_DEVICE void dequantize(const Params& p) {
  for_tiles<spec::unroll, spec::persistent>(p.slots, [&](const Tile<spec::unroll>& tile) { run_tile(p, tile); });
}

}  // namespace quern::mxfp8_dequantize

static_assert(sizeof(quern::mxfp8_dequantize::Params) == quern::spec::params_bytes,
              "host and device disagree about Params");

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_mxfp8_dequantize(const __grid_constant__ quern::mxfp8_dequantize::Params params) {
  if constexpr (quern::spec::noop) {
    if (quern::common::bit_cast<float>(quern::common::load<4>(params.noop)) == 1.0f) return;
  }
  quern::mxfp8_dequantize::dequantize(params);
}
