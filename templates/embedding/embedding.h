// embedding: rows of up to 64 tables, picked by ids that may be hashed first, side by side in one matrix behind a dense
// part; one row a table and sample, or a pooled bag of rows.
#ifndef QUERN_EMBEDDING_H_
#define QUERN_EMBEDDING_H_

#include <cstdint>

#include "quern/embedding_choices.h"
#include "quern/export.h"
#include "quern/family.h"
#include "quern/mx_choices.h"
#include "quern/scale_choices.h"

namespace quern {

// Pointers to device memory; see Operand in family.h for ownership. out must not overlap an input.
struct EmbeddingArgs {
  InList weights = {};  // the tables: [rows[t], dim[t]] of table_dtype[t], rows strides[t] elements apart
  In index = {};        // ids: [batch, tables], rows index_stride elements apart; pooled: [count], bag after bag
  In offsets = {};      // pooled: [tables * batch]: bag t * batch + b has the ids from offsets[bag] to below
                        // offsets[bag + 1], the last bag to below count. They rise, from 0 or more to count or less
  InList vocabularies = {};  // hash=index: [capacity[t], 2] of i64, which hash_table made of at most rows[t] keys
  In sample_weights = {};    // where the problem has them: [count], a factor for each id's row
  InList scales = {};        // where the problem has scale: [rows[t]] for each table of an 8-bit type, scale_strides[t]
                             // elements apart; its other entries are null
  In dense = {};             // [batch, dense] of dtype, rows dense_stride elements apart
  Out out = {};              // [batch, dense + all dims] of dtype, rows out_stride elements apart
  Out report = {};  // one i64 for modes report and report_first; the caller sets it to -1, and it stays -1 if every
                    // id was good. Of bad offsets it is `count` plus the bag's number
  // pass=backward takes index, offsets and sample_weights too:
  In gradient = {};                  // of out: [batch, dense + all dims] of dtype, rows out_stride elements apart
  OutList weights_gradient = {};     // optimizer=none: as weights. Rows without an id keep their contents
  OutList updated = {};              // another optimizer: the tables, as weights, updated in place
  OutList moments = {};              // row_adagrad: [rows[t]] of f32; adam: [rows[t], dim[t]] of f32
  OutList squares = {};              // adam: [rows[t], dim[t]] of f32
  Out dense_gradient = {};           // as dense: a copy
  Out sample_weights_gradient = {};  // as sample_weights
  Out workspace = {};                // backward, and bags=lengths: zeros before the first launch, then as the launch
                                     // before has left it; one launch at a time
  In given_scale = {};               // scaling=tensor: a float, by whose reciprocal everything is multiplied
  In lengths = {};      // bags=lengths: [tables * batch]: the ids of each bag, in the order of offsets. They
                        // are 0 or more, and together at most count
  Out out_scales = {};  // the other scalings: of out, a row of scales for each of its rows
  In packed = {};  // layout=packed, in place of weights: the memory of all tables, which may lie in it in any order
  In places = {};  // layout=packed: [tables, 2] of i64: the element of packed at which each table begins, and its
                   // rows, at most rows[t]; without rows it gives zeros. A begin is a multiple of each power of two, up
                   // to 16 bytes, that divides dense and all dims and strides, as where tables follow one another
  std::int64_t batch = kOpen;
  std::int64_t count = kOpen;
  float learning_rate = 0.01F;
  float epsilon = 1e-8F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  std::int64_t step = 1;  // adam: of this update, from 1 on
  std::int64_t seed = 0;  // rounding=stochastic: another one for each update
};

// out[b, :] = dense[b, :], then for each table t in turn weights[t][row, :] of row = hash(index[b, t]), or the pooled
// rows of bag (t, b). A row of out's own type is copied as bits, NaN payloads included; anything else is computed in
// fp32 and rounded once. A row of an 8-bit type is multiplied by its scale first, if the problem has scales. Rows of a
// bag are added in the order of their ids, with a weight by one fused multiplication and addition; an empty bag gives
// zeros. The modes are in quern/embedding_choices.h.
// With a scaling, rows of out are rounded to dtype and then quantized as mxfp8 does; its numbers have 8 bits.
// bags=lengths: offsets are made of them first, in a launch of their own that is cooperative.
// COST: one launch. A row is read once for each id that names it.
//
// pass=backward takes the gradient of out. Each id that named a row gives it its part of the gradient: times its
// weight, divided by the number of ids that a mean has counted, or of a maximum only the columns in which the row was
// the first to have it. Those of a row are added up in fp32 in the order of their ids, as groups of 32, chunks of 32
// groups, and chunks in sequence; the sum is rounded once, or updates the row. Bad ids are treated as forward, without
// a report. pooling=max reads the rows: weights where optimizer is none, else updated; and so does the gradient of
// sample_weights. COST: two launches, both cooperative; a third for pooling=max, for sample_weights, and for a mean
// with padding.
struct Embedding {
  using Args = EmbeddingArgs;

  std::int64_t batch = kOpen;   // rows of out
  std::int64_t tables = 26;     // 1 to 64
  List<64> dim = {16};          // elements in a row of each table; one entry: of every table
  List<64> rows = {1000000};    // rows of each table, packed the most that it may have; one entry: of every table
  std::int64_t dense = 0;       // numbers that a row of out begins with
  DType dtype = f32;            // of out and dense: f32, f16, bf16
  DTypes<64> table_dtype = {};  // of each table: f32, f16, bf16, e4m3, e5m2, i8; one entry: of every table; none: dtype
  DType index = i64;            // of the ids: i64, i32
  EmbeddingHash hash = EmbeddingHash::none;
  EmbeddingMode mode = EmbeddingMode::assume_valid;
  EmbeddingPooling pooling = EmbeddingPooling::none;
  std::int64_t count = 0;              // pooled: ids of all bags, or kOpen
  DType offsets = i64;                 // pooled: type of the offsets, or of lengths: i64, i32
  DType sample_weights = DType::none;  // pooling=sum: f32, f16 or bf16: multiply each id's row by its weight
  DType scale = DType::none;           // f32, f16 or bf16: multiply row r of an 8-bit table by its scale r
  List<64> capacity = {};  // hash=index: slots of each vocabulary's table, powers of two; one entry: of every table
  List<64> padding = {};   // pooled: a bag passes over ids of this row, or of -1, as if they were not there; backward
                           // without pooling: the row gets no gradient; one entry: of every table
  List<64> strides = {};   // elements between rows of each table; none, or 0: its dim
  List<64> scale_strides = {};    // elements between the scales of each table; none, or 0: 1
  std::int64_t index_stride = 0;  // without pooling: elements between rows of index; 0: tables
  std::int64_t dense_stride = 0;  // elements between rows of dense; 0: dense
  std::int64_t out_stride = 0;    // elements between rows of out; 0: dense and all dims
  EmbeddingPass pass = EmbeddingPass::forward;
  EmbeddingOptimizer optimizer = EmbeddingOptimizer::none;  // backward: what becomes of the gradients of rows
  EmbeddingRounding rounding = EmbeddingRounding::nearest;  // of updated rows of f16 and bf16
  EmbeddingScaling scaling = EmbeddingScaling::none;        // forward: of out, dense part and all
  DType element = DType::e4m3;                              // scaling: type of out: e4m3 or e5m2
  ScaleMode scale_mode = ScaleMode::rceil;                  // how a scale is made; see quern/scale_choices.h
  ScalePolicy policy = ScalePolicy::ao;
  MxScaleLayout scale_layout = MxScaleLayout::plain;  // plain: [batch, scales of a row]
  EmbeddingBags bags = EmbeddingBags::offsets;        // pooled: how ids are divided; lengths have the type of offsets
  EmbeddingLayout layout = EmbeddingLayout::list;     // forward; packed: one type for all tables, without scale

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_EMBEDDING_H_
