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

QUERN_DEVICE i64 load_index(const Params& p, u64 position) {
  using Index = spec::Index;
  const auto raw = load<sizeof(Index), LoadHint::keep>(static_cast<const Index*>(p.index) + position);
  return bit_cast<Index>(raw);
}

// Which row of source a position of index means.
QUERN_DEVICE SourceRow resolve(const Params& p, u64 position) {
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
QUERN_DEVICE Vector<Bytes> scaled(const Params& p, u64 position, const Vector<Bytes>& vector) {
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

QUERN_DEVICE u8* out_row(const Params& p, u64 row) { return static_cast<u8*>(p.out) + row * p.out_stride; }

QUERN_DEVICE void gather_vectors(const Params& p) {
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

// A slot of the ragged form: bytes [begin, end) of a row, 16 of them unless the window crosses an end of the row.
struct Window {
  u64 row;
  i64 begin;
  i64 end;
};

QUERN_DEVICE Window window(const Params& p, const Slot& slot) {
  const i64 lead = static_cast<i64>(reinterpret_cast<u64>(out_row(p, slot.row)) & 15);
  const i64 begin = static_cast<i64>(slot.column) * 16 - lead;
  const i64 end = slot.inside && begin + 16 < p.row_bytes ? begin + 16 : p.row_bytes;
  return {slot.row, begin < 0 ? 0 : begin, slot.inside ? end : 0};
}

// The two aligned reads that hold a whole window, where in them it starts, and where it goes.
struct Halves {
  u8* to;
  Vector<16> low;
  Vector<16> high;
  u32 offset;
};

// False where the window is not whole or its reads would leave the source row.
QUERN_DEVICE bool read_halves(const Params& p, const Window& w, Halves& h) {
  if (w.end - w.begin != 16) return false;
  const SourceRow source = resolve(p, w.row);
  const u8* const from = source.data + w.begin;
  h.to = out_row(p, w.row) + w.begin;
  h.offset = static_cast<u32>(reinterpret_cast<u64>(from) & 15);
  const i64 at = w.begin - h.offset;
  if (at < 0 || at + (h.offset != 0 ? 32 : 16) > p.row_bytes) return false;
  h.low = {};
  h.high = {};
  if (source.zero) return true;
  h.low = load<16, kLoad>(from - h.offset);
  if (h.offset != 0) h.high = load<16, kLoad>(from - h.offset + 16);
  return true;
}

QUERN_DEVICE void copy_elements(const Params& p, const Window& w) {
  if (w.begin >= w.end) return;
  const SourceRow source = resolve(p, w.row);
  constexpr int kBytes = spec::element_bytes;
#pragma unroll 1
  for (i64 i = w.begin; i < w.end; i += kBytes) {
    Vector<kBytes> value = {};
    if (!source.zero) value = load<kBytes, LoadHint::plain>(source.data + i);
    store<kBytes, StoreHint::plain>(out_row(p, w.row) + i, scaled(p, w.row, value));
  }
}

QUERN_DEVICE void gather_windows(const Params& p) {
  const Tile<spec::unroll> tile(p.slots);
  Halves halves[spec::unroll];
  u32 left = 0;
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) left |= read_halves(p, window(p, tile[i]), halves[i]) ? 0u : 1u << i;
#pragma unroll
  for (int i = 0; i < spec::unroll; ++i) {
    if ((left >> i & 1) != 0) continue;
    const Vector<16> value = realign(halves[i].low, halves[i].high, halves[i].offset);
    store<16, kStore>(halves[i].to, scaled(p, tile[i].row, value));
  }
#pragma unroll 1
  for (int i = 0; left != 0; ++i, left >>= 1) {
    if ((left & 1) != 0) copy_elements(p, window(p, tile[i]));
  }
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
