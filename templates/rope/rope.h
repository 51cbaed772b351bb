// rope: rotary position embeddings. Pairs of elements of each head are rotated by angles that grow with the token's
// position: of one tensor, or of queries and keys in one launch, which may place keys and values into a cache; forward,
// backward and inverse.
#ifndef QUERN_ROPE_H_
#define QUERN_ROPE_H_

#include <cstdint>

#include "quern/export.h"
#include "quern/family.h"
#include "quern/rope_choices.h"
#include "quern/scale_choices.h"

namespace quern {

// Pointers to device memory; see Operand in family.h for ownership. Tensors are [batch, seq, heads, head_dim] whatever
// the order of their memory.
struct RopeArgs {
  In q = {};       // backward: the gradient of q_out. None where place=in_place
  In k = {};       // the same with kv_heads heads; none where kv_heads is 0. With a cache also where place=in_place
  In v = {};       // values=copied: as k
  Out q_out = {};  // no element may be one of another operand. place=in_place: holds q, and is rotated
  Out k_out = {};  // the same; a cache where there is one: [cache_pages, page_size, kv_heads, head_dim]
  Out v_out = {};
  In cos = {};     // the table, by field `table`: [positions, rotary_dim / 2] or [positions, rotary_dim] of table_dtype
  In sin = {};     // of the same shape; none where table=joined
  In angles = {};  // table=angles, instead of cos and sin: [positions, rotary_dim] of f32, in radians
  In positions = {};   // of `index`, position=starts: [batch]; position=ids: [batch, seq], [axes, batch, seq]
  In cu_seqlens = {};  // layout=thd, [batch + 1] of i32: where sequences begin, and where the last one ends
  In q_scale = {};     // scaling=tensor: each a float, by whose reciprocal everything of that tensor is multiplied
  In k_scale = {};
  In v_scale = {};
  In slots = {};  // cache=slots: [batch, seq] of `index`
  In pages = {};  // cache=pages: [batch, max_pages] of i32
  // Other scalings: the scales that are made, [batch, seq, heads or kv_heads, scales of a head], of a cache
  // [cache_pages, page_size, kv_heads, scales of a head]; in the order of memory that layout says, without gaps.
  Out q_scales = {};
  Out k_scales = {};
  Out v_scales = {};
  Out report = {};  // one i64 for beyond=report; the caller sets it to -1, and it stays -1 if every position was good
  // Added to every position, -2^62 to 2^62; refused where the host knows that one leaves the table.
  std::int64_t offset = 0;
  std::int64_t cp_rank = 0;  // cp_size > 1: from 0 to cp_size - 1
  std::int64_t batch = kOpen;
  std::int64_t seq = kOpen;
};

// For pair j of the rotary_dim / 2, with c and s the table's entry j at the token's position, in fp32, rounded at the
// end:
//   out0 = fma(x0, c, -(x1 * s))    out1 = fma(x1, c, x0 * s)      backward and inverse: with -s in the place of s
// style=half: x0 and x1 are elements j and j + rotary_dim / 2 of the rotated ones, style=interleaved: 2j and 2j + 1.
// The other elements of a head are copied; in place they are not touched. NaN payloads of copied elements stay. There
// are no gradients of the table and of positions.
//
// table=computed: c and s are within 2^-23 of the exact ones at positions below 2^36: the angle is a product of
// integers in units of 2^-64 turns, whose whole turns are lost without a rounding. Their bits are the same on every
// device.
//
// table=angles: c and s are within 2^-23 of the exact ones of any fp32 angle, NaN of infinities and NaN; their bits are
// the same on every device. The two elements of a pair have an angle each, c0 and s0, c1 and s1, which may differ:
//   forward:   out0 = fma(x0, c0, -(x1 * s0))    out1 = fma(x1, c1, x0 * s1)
//   backward:  out0 = fma(x0, c0, x1 * s1)       out1 = fma(x1, c1, -(x0 * s0))
//
// element: x * (1 / scale) of the fp32 result, of copied elements and of values too, then rounded to fp8; above its
// largest number it saturates. 1 / scale is rounded to fp32, and so is the product. scaling: what shares a scale, of
// which row, block128 and mx are made from its largest magnitude by `mode` and `policy`, as quern/mxfp8.h says; the
// last block of a head may be shorter.
//
// cache: k_out and v_out are caches, into which tokens are placed; q_out is as without one, and with place=in_place
// only q is in place, and k is an input. A token whose place is outside the cache, as with a slot below 0, is not
// placed. If two tokens have the same place, it has parts of either. layout=bhsd: in a page, heads come before tokens.
//
// layout=thd: tokens of no sequence are not written. If cu_seqlens decreases, begins below 0 or passes the end, which
// tokens are rotated by which angles, and whether and where they are placed in a cache, is undefined, but no access is
// out of bounds.
//
// sections: a token has several positions, of time, height and width for instance, and each pair is rotated by one of
// them. position=ids: positions[axis, b, s]; position=tokens: entry (axis * batch + b) * seq + s of the table.
//
// cp_size > 1, context parallelism: of the 2 cp_size equal chunks of a sequence a rank has the chunks cp_rank and
// 2 cp_size - 1 - cp_rank, one after the other, which are `seq` tokens; positions are those in the whole sequence.
// layout=thd: so of each sequence; cu_seqlens is of the whole ones, with lengths that 2 cp_size divides; tensors
// have the tokens of this rank, of which those of sequence b begin at cu_seqlens[b] / cp_size, rounded down.
//
// COST: one launch. Each element is read once and written once; entries of the table are read from memory once.
struct Rope {
  using Args = RopeArgs;

  std::int64_t batch = 1;
  std::int64_t seq = kOpen;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 0;  // heads of k; 0: q only
  std::int64_t head_dim = 128;
  std::int64_t rotary_dim = 0;  // elements of a head that are rotated, an even number; 0: all from rotary_offset on
  std::int64_t rotary_offset = 0;
  RopeLayout layout = RopeLayout::bshd;  // the order of memory, unless there are strides
  RopeStyle style = RopeStyle::half;
  RopePass pass = RopePass::forward;
  RopeTable table = RopeTable::separate;
  DType dtype = DType::bf16;                     // f32, f16 or bf16
  DType table_dtype = DType::f32;                // the same
  std::int64_t table_rows = 0;                   // positions that the table has; 0: seq, times cp_size
  double theta = 10000;                          // table=computed: the base of frequencies
  RopeScaling rope_scaling = RopeScaling::none;  // the same
  double factor = 0;                             // rope_scaling=linear: must be given; llama3: 0 is 8
  double low_factor = 1;                         // rope_scaling=llama3
  double high_factor = 4;
  std::int64_t old_context = 8192;
  RopePosition position = RopePosition::sequence;
  List<4> sections = {};  // pairs of each axis of positions, rotary_dim / 2 together; none: one axis
  RopeSectionStyle section_style = RopeSectionStyle::adjacent;
  std::int64_t cp_size = 1;  // ranks that share each sequence, as below
  DType index = DType::i64;  // of positions: i32 or i64
  RopeBeyond beyond = RopeBeyond::assume_valid;
  RopePlace place = RopePlace::separate;
  RopeValues values = RopeValues::none;
  DType element = DType::none;  // e4m3 or e5m2: of quantized outputs
  RopeQuantized quantized = RopeQuantized::kv;
  RopeScales scaling = RopeScales::tensor;
  ScaleMode mode = ScaleMode::rceil;     // of scales that are made
  ScalePolicy policy = ScalePolicy::ao;  // te: scaling=mx, mode=rceil
  RopeCache cache = RopeCache::none;
  std::int64_t cache_pages = 0;  // that the cache has; cache=positions: batch
  std::int64_t page_size = 0;    // tokens of a page
  std::int64_t max_pages = 0;    // cache=pages: of a batch, the columns of `pages`
  // Elements between batches, tokens and heads; none: as layout says, without gaps. That of an axis with one index, as
  // of the batches of thd, is not used. Of a cache: between pages, tokens and heads. Of q and q_out a fourth number may
  // follow, between groups of heads / kv_heads heads, which have the same key.
  List<4> q_strides = {};
  List<4> k_strides = {};
  List<4> v_strides = {};
  List<4> q_out_strides = {};
  List<4> k_out_strides = {};
  List<4> v_out_strides = {};

  QUERN_API static const Family& family();
};

}  // namespace quern

#endif  // QUERN_ROPE_H_
