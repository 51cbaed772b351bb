// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_ROPE_PARAMS_H_
#define QUERN_ROPE_PARAMS_H_

#include "common/divide.cuh"

namespace quern::rope {

// What counts rows and bytes, with offsets of so many bits.
template <int kBits>
struct Sizes;
template <>
struct Sizes<64> {
  using Count = unsigned long long;
  using Stride = long long;
  using Divisor = common::Divisor;
};
template <>
struct Sizes<32> {
  using Count = unsigned;
  using Stride = unsigned;
  using Divisor = common::Divisor32;
};

// Strides in bytes, by axis. Axes are numbered from the one that varies fastest in memory, as the layout says.
template <int kBits>
struct TensorOf {
  const void* from;
  void* to;
  typename Sizes<kBits>::Stride from_strides[3];
  typename Sizes<kBits>::Stride to_strides[3];
};

// Of p.tensors.
enum { kTensorQ, kTensorK, kTensorV, kTensors };

// Of rows, the two that vary fastest.
template <int kBits>
struct AxesOf {
  typename Sizes<kBits>::Divisor by[2];
  typename Sizes<kBits>::Stride extents[2];
};

// Slots are numbered through rows: a row is a token's group of heads, and its slots are `spec::units` parts of a head.
// What every launch reads comes first: a launch waits for each line of its parameters that it reads. With offsets of 32
// bits two lines have all that one tensor and a table need, and each further tensor has most of one.
template <int kBits>
struct ParamsOf {
  typename Sizes<kBits>::Count slots;  // of all rows
  AxesOf<kBits> axes;
  unsigned heads;      // of q
  unsigned kv_heads;   // of k, and of v
  unsigned all_heads;  // of q, k and v
  unsigned groups;     // of heads
  unsigned rounds;     // of a thread
  const void* cos;
  const void* sin;
  long long offset;
  TensorOf<kBits> tensors[kTensors];
  const float* scales[kTensors];              // of quantized outputs
  typename Sizes<kBits>::Stride from_groups;  // of q, between groups of heads
  typename Sizes<kBits>::Stride to_groups;
  unsigned heads_of_key;  // of q, that are a group
  int sequences;          // of cu_seqlens
  common::Divisor32 by_key;
  const void* angles;
  const void* positions;
  const int* cu_seqlens;
  unsigned long long* report;
  long long table_rows;
  long long seq;
  long long tokens;  // of all batches
  int cp_size;
  int cp_rank;
  const void* slots_of_tokens;  // cache=slots
  const int* pages;             // cache=pages
  long long cache_pages;
  long long page_size;
  long long max_pages;
  common::Divisor by_page;
};

// Of a tensor of the staged form: runs are of heads that are adjacent in memory, and numbered through its lines.
struct Runs {
  AxesOf<64> axes;  // of heads
  long long line;   // heads one after the other without gaps
  long long runs;   // of a line
  common::Divisor by_line;
};

// Of the staged form, where a row is a head.
struct StagedParams {
  ParamsOf<64> all;
  long long unused[4];  // so that the axes of the first runs are in one line
  Runs runs[2];         // by tensor
  unsigned runs_of_q;
  unsigned heads_of_run;
  unsigned heads_of_thread;
};

// The scales of an output that are made. Strides in bytes, by axis.
struct MadeScales {
  void* to;
  long long strides[3];
};

// Of the form that makes them, where a row is as many heads of a token as a thread has.
template <int kBits>
struct ScaledParamsOf {
  ParamsOf<kBits> all;
  MadeScales scales[kTensors];
  unsigned long long rows;
};

// A kernel's parameters begin 16 bytes after a line of 64. With the axes in two lines 2 x 4096 x 32 x 82 took 26.4 us
// on an H200, with them in one 25.7.
static_assert((16 + sizeof(ParamsOf<64>) + 4 * sizeof(long long)) % 64 + sizeof(AxesOf<64>) <= 64,
              "the axes of the first runs are in one line");

}  // namespace quern::rope

#endif  // QUERN_ROPE_PARAMS_H_
