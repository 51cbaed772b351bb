// Two forms. `vector`: rows, strides and addresses are multiples of the vector, and every slot is one vector. `ragged`:
// any element-aligned rows; a slot is a 16-byte aligned window of out, whose bytes come from two aligned reads of
// source that are shifted together, and element by element at the ends of a row.
#include "common/numbers.cuh"
#include "common/realign.cuh"
#include "common/slots.cuh"
#include "common/vector.cuh"
#include "gather/params.h"
#include "spec.cuh"

namespace quern::gather {

using namespace common;

static_assert(sizeof(Params) == spec::params_bytes, "host and device disagree about Params");

constexpr LoadHint kLoad = spec::load_once ? LoadHint::once : LoadHint::plain;
constexpr StoreHint kStore = spec::store_stream ? StoreHint::stream : StoreHint::plain;

struct SourceRow {
  const u8* data;
  bool zero;
};

__device__ __forceinline__ i64 load_index(const Params& p, u64 position) {
  using Index = spec::Index;
  const auto raw = load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(p.index) + position);
  return bit_cast<Index>(raw);
}

// Which row of source a position of index means.
__device__ __forceinline__ SourceRow resolve(const Params& p, u64 position) {
  i64 row = load_index(p, position);
  bool zero = false;
  if constexpr (spec::mode == Mode::minus_one_is_zero) {
    zero = row == -1;
  } else if constexpr (spec::mode == Mode::wrap_negative) {
    row += row < 0 ? p.rows : 0;
  } else if constexpr (spec::mode == Mode::clamp) {
    row = row < 0 ? 0 : row >= p.rows ? p.rows - 1 : row;
  } else if constexpr (spec::mode != Mode::assume_valid) {
    zero = row < 0 || row >= p.rows;
  }
  if constexpr (spec::mode == Mode::trap) {
    if (zero) __assertfail("gather: an index names no row of source", __FILE__, __LINE__, "quern_gather", 1);
  }
  if constexpr (spec::mode == Mode::report) {
    if (zero) atomicMin(p.report, position);
  }
  return {static_cast<const u8*>(p.source) + (zero ? 0 : row) * p.source_stride, zero};
}

// The row's scale, where there is one, applied to a vector of elements.
template <int Bytes>
__device__ __forceinline__ Vector<Bytes> scaled(const Params& p, u64 position, const Vector<Bytes>& vector) {
  if constexpr (!spec::has_scale) {
    return vector;
  } else {
    using Element = spec::Element;
    constexpr int kElements = Bytes / sizeof(Element);
    using Scale = spec::Scale;
    const auto raw = load<sizeof(Scale), LoadHint::keep>(static_cast<const Scale*>(p.scale) + position);
    const ComputeOf<Element> scale = to_compute(bit_cast<Scale>(raw));
    ComputeOf<Element> values[kElements];
    unpack<Element, kElements>(vector, values);
#pragma unroll
    for (int i = 0; i < kElements; ++i) values[i] *= scale;
    return pack<Element, kElements>(values);
  }
}

__device__ __forceinline__ u8* out_row(const Params& p, u64 row) { return static_cast<u8*>(p.out) + row * p.out_stride; }

__device__ __forceinline__ void gather_vectors(const Params& p) {
  constexpr int kBytes = spec::vector;
  const Tile<spec::unroll> tile(p.slots);
  Vector<kBytes> values[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    values[i] = {};
    if (!slot.inside) continue;
    const SourceRow row = resolve(p, slot.row);
    if (!row.zero) values[i] = load<kBytes, kLoad>(row.data + static_cast<u64>(slot.column) * kBytes);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    if (!slot.inside) continue;
    store<kBytes, kStore>(out_row(p, slot.row) + static_cast<u64>(slot.column) * kBytes,
                          scaled(p, slot.row, values[i]));
  }
}

// A window of out: bytes [begin, end) of the row, and the two aligned reads that hold them if it is whole.
struct Window {
  u8* to;
  const u8* from;  // the byte of source that belongs to `to`
  int bytes;       // 16: a whole window whose reads stay inside the source row
  bool zero;
  Vector<16> low;
  Vector<16> high;
};

__device__ __forceinline__ Window load_window(const Params& p, const Slot& slot) {
  Window w = {};
  u8* const row = out_row(p, slot.row);
  const i64 lead = reinterpret_cast<u64>(row) & 15;
  const i64 at = static_cast<i64>(slot.column) * 16 - lead;  // of the window, from the row's first byte
  const i64 begin = at < 0 ? 0 : at;
  const i64 end = at + 16 < p.row_bytes ? at + 16 : p.row_bytes;
  if (begin >= end) return w;
  const SourceRow source = resolve(p, slot.row);
  w.to = row + begin;
  w.from = source.data + begin;
  w.bytes = static_cast<int>(end - begin);
  w.zero = source.zero;
  const u32 offset = reinterpret_cast<u64>(w.from) & 15;
  const u8* const aligned = w.from - offset;
  const bool safe = offset <= begin && (offset == 0 || begin - offset + 32 <= p.row_bytes);
  if (w.bytes == 16 && !safe) w.bytes = -16;
  if (w.bytes == 16 && !w.zero) {
    w.low = load<16, LoadHint::plain>(aligned);
    if (offset != 0) w.high = load<16, LoadHint::plain>(aligned + 16);
  }
  return w;
}

__device__ __forceinline__ void store_window(const Params& p, u64 position, const Window& w) {
  if (w.bytes == 16) {
    const Vector<16> value = realign(w.low, w.high, reinterpret_cast<u64>(w.from) & 15);
    store<16, kStore>(w.to, scaled(p, position, value));
    return;
  }
  constexpr int kBytes = spec::element_bytes;
  const int bytes = w.bytes < 0 ? -w.bytes : w.bytes;
  for (int i = 0; i < bytes; i += kBytes) {
    Vector<kBytes> value = {};
    if (!w.zero) value = load<kBytes, LoadHint::plain>(w.from + i);
    store<kBytes, StoreHint::plain>(w.to + i, scaled(p, position, value));
  }
}

__device__ __forceinline__ void gather_windows(const Params& p) {
  const Tile<spec::unroll> tile(p.slots);
  Window windows[spec::unroll];
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    const Slot slot = tile[i];
    windows[i] = {};
    if (slot.inside) windows[i] = load_window(p, slot);
  }
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) store_window(p, tile[i].row, windows[i]);
}

}  // namespace quern::gather

extern "C" __global__ void __launch_bounds__(quern::spec::max_threads)
    quern_gather(const __grid_constant__ quern::gather::Params params) {
  if constexpr (quern::spec::ragged) {
    quern::gather::gather_windows(params);
  } else {
    quern::gather::gather_vectors(params);
  }
}
