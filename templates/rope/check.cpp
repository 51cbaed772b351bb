// Which problems rope refuses.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>

#include "base/text.h"
#include "rope/tensors.h"

namespace quern::rope {
namespace {

constexpr std::int64_t kMostDim = 1 << 20;
constexpr std::int64_t kMostComputed = 1 << 14;  // whose frequencies are in the source
constexpr std::int64_t kMostScaledDim = 1024;

std::string check_dims(const Rope& p) {
  if (p.head_dim < 1 || p.head_dim > kMostDim) return "head_dim must be from 1 to 2^20";
  const std::int64_t room = p.head_dim - p.rotary_offset;
  if (room >= 0 && rotary_dim(p) <= room && rotary_dim(p) % 2 == 0) return {};
  const std::string head = "head_dim=" + std::to_string(p.head_dim), dim = std::to_string(rotary_dim(p)),
                    offset = "rotary_offset=" + std::to_string(p.rotary_offset);
  if (p.rotary_offset > p.head_dim) return offset + " is above " + head;
  if (rotary_dim(p) > room)
    return head + " has no room for rotary_dim=" + dim + " elements from " + offset + " on: it has " +
           std::to_string(room);
  const std::string whole = p.rotary_offset == 0 ? " (all of the head)" : " (all from " + offset + " on)";
  return "rotary_dim=" + dim + (p.rotary_dim == 0 ? whole : "") + " is odd, and rotated elements are pairs: give " +
         (rotary_dim(p) == 1 ? "an even number" : "rotary_dim=" + std::to_string(rotary_dim(p) - 1));
}

// Whether there are more elements than 2^46; extents of 0 and open ones count as 1.
bool is_too_large(std::initializer_list<std::int64_t> extents) {
  std::int64_t all = 1;
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(all, std::max<std::int64_t>(extent, 1), &all) || all > kMaxExtent) return true;
  }
  return false;
}

std::string check_sizes(const Rope& p) {
  const Extents k_out = output_extents(p, kTensorK);
  if (is_too_large({p.head_dim, batches(p), p.seq, all_heads(p)}))
    return "q, k and v together are too large: batch * seq * heads * head_dim is at most 2^46";
  if (has_cache(p) && is_too_large({k_out.of[kBatch], k_out.of[kToken], p.kv_heads, p.head_dim}))
    return "the cache is too large: pages * page_size * kv_heads * head_dim is at most 2^46";
  if (is_too_large({p.batch, p.max_pages})) return "pages is too large: batch * max_pages is at most 2^46";
  if (is_too_large({table_rows(p), p.head_dim})) return "the table is too large: table_rows * head_dim is at most 2^46";
  return {};
}

// What `extent` steps of `stride` add to the elements that are spanned, or INT64_MAX.
std::int64_t further(std::int64_t reach, std::int64_t extent, std::int64_t stride) {
  std::int64_t steps = 0;
  if (__builtin_mul_overflow(extent - 1, stride, &steps) || __builtin_add_overflow(reach, steps, &reach))
    return std::numeric_limits<std::int64_t>::max();
  return reach;
}

// Elements from a tensor's first one to its last, gaps too; open extents count as 1.
std::int64_t span(const Rope& p, const Extents& extents, const Strides& strides) {
  std::int64_t reach = p.head_dim;
  for (int axis = 0; axis < kAxisCount; ++axis) {
    if (extents.of[axis] == 0) return 0;
    if (extents.of[axis] != kOpen) reach = further(reach, extents.of[axis], strides.of[axis]);
  }
  return reach;
}

// Whether two elements of a tensor share memory. Sufficient, and necessary for all strides that views of memory have:
// each axis steps over all that the axes with smaller strides reach.
bool overlaps(const Rope& p, const Extents& extents, const Strides& strides) {
  struct Step {
    std::int64_t stride, extent;
  };
  Step steps[kAxisCount];
  for (int axis = 0; axis < kAxisCount; ++axis) steps[axis] = {strides.of[axis], extents.of[axis]};
  std::sort(std::begin(steps), std::end(steps), [](const Step& a, const Step& b) { return a.stride < b.stride; });
  std::int64_t reach = p.head_dim;
  for (const Step& step : steps) {
    if (step.extent == 0) return false;
    if (step.extent == 1) continue;  // an open extent may be more
    if (step.stride < reach) return true;
    if (step.extent != kOpen) reach = further(reach, step.extent, step.stride);
  }
  return false;
}

std::string check_list(const Rope& p, const std::string& name, int tensor, const List<4>& strides) {
  if (strides.count == 0) return {};
  if (strides.count != 3 && (strides.count != 4 || tensor != kTensorQ))
    return name + " takes three numbers, for batch, seq and heads, or none" +
           (tensor == kTensorQ ? "; a fourth is for groups of heads" : "");
  if (*std::max_element(strides.values, strides.values + 4) > kMaxExtent) return name + " is above 2^46";
  if (strides.count == 4 && (p.kv_heads == 0 || p.heads % p.kv_heads != 0))
    return name + " has groups of heads / kv_heads heads, and kv_heads=" + std::to_string(p.kv_heads) +
           " does not divide heads=" + std::to_string(p.heads);
  return {};
}

std::string check_strides(const Rope& p, int tensor) {
  const std::string names[] = {"q", "k", "v"}, in = names[tensor] + "_strides", out = names[tensor] + "_out_strides";
  const List<4>&given = given_input_strides(p, tensor), &given_out = given_output_strides(p, tensor);
  if (!has_tensor(p, tensor) && given.count + given_out.count != 0)
    return in + " and " + out + " need " + (tensor == kTensorK ? "kv_heads above 0" : "values=copied");
  if (is_in_place(p, tensor) && given.count != 0)
    return "place=in_place has no " + names[tensor] + ": give " + out + " instead of " + in;
  if (std::string text = check_list(p, in, tensor, given); !text.empty()) return text;
  return check_list(p, out, tensor, given_out);
}

std::string check_overlaps(const Rope& p) {
  constexpr const char* kNames[] = {"q", "k", "v"};
  for (const int tensor : {kTensorQ, kTensorK, kTensorV}) {
    if (given_output_strides(p, tensor).count != 0 && overlaps(p, output_extents(p, tensor), output_strides(p, tensor)))
      return std::string(kNames[tensor]) + "_out_strides makes elements of the output share memory";
  }
  return {};
}

std::string check_span(const Rope& p, const char* name, const Extents& extents, const Strides& strides) {
  if (span(p, extents, strides) <= kMaxExtent) return {};
  return std::string(name) +
         " is too large: its tensor would span more than 2^46 elements, with the gaps between heads";
}

std::string check_spans(const Rope& p) {
  constexpr const char *kIn[] = {"q_strides", "k_strides", "v_strides"},
                       *kOut[] = {"q_out_strides", "k_out_strides", "v_out_strides"};
  for (const int tensor : {kTensorQ, kTensorK, kTensorV}) {
    if (!has_tensor(p, tensor)) continue;
    std::string text = check_span(p, kIn[tensor], input_extents(p, tensor), input_strides(p, tensor));
    if (text.empty()) text = check_span(p, kOut[tensor], output_extents(p, tensor), output_strides(p, tensor));
    if (!text.empty()) return text;
  }
  return {};
}

bool is_of_each_token(const Rope& p) { return p.position == RopePosition::ids || p.position == RopePosition::tokens; }

std::string check_packed(const Rope& p) {
  if (is_packed(p) && is_of_each_token(p))
    return "position=ids and tokens need no cu_seqlens: with layout=bshd batch=1 every token has its own" +
           std::string(p.cache == RopeCache::pages ? "; with it give cache=slots, as a batch has one row of pages"
                                                   : "");
  return {};
}

std::string check_ranks(const Rope& p) {
  if (!has_chunks(p)) return {};
  if (is_of_each_token(p)) return "cp_size is not for position=ids and tokens, where every token has its own";
  return {};
}

std::string seq_text(const Rope& p) {
  return "seq=" + std::to_string(p.seq) + (!has_chunks(p) ? "" : " times cp_size=" + std::to_string(p.cp_size));
}

std::string check_table(const Rope& p) {
  const bool is_given = p.position == RopePosition::starts || p.position == RopePosition::ids;
  if (is_given && has_table(p) && p.beyond != RopeBeyond::assume_valid && p.table_rows == 0)
    return "give table_rows, the positions that the table has: without it they are seq, and most of the positions that "
           "are given may be outside";
  return {};
}

// Of tokens, whose number a launch may give.
std::string check_seq(const Rope& p) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // cu_seqlens has i32
  if (is_packed(p) && (whole_seq(p) >= kMost || p.batch >= kMost))
    return "layout=thd takes fewer than 2^31 tokens and sequences";
  if (has_chunks(p) && !is_packed(p) && p.seq != kOpen && p.seq % 2 != 0)
    return "seq=" + std::to_string(p.seq) + " is odd, and with cp_size a rank has two equal chunks of a sequence";
  // Sequences of thd have lengths that the host does not know, and the kernel rotates nothing by what is not there.
  const bool counts =
      !is_packed(p) && (!is_of_each_token(p) || is_placed_by_position(p)) && p.beyond == RopeBeyond::assume_valid;
  if (counts && has_table(p) && p.table_rows != 0 && p.seq != kOpen && p.table_rows < whole_seq(p))
    return "table_rows=" + std::to_string(p.table_rows) + " is below " + seq_text(p) +
           ": give a longer table, or beyond=identity to leave tokens without an entry as they are";
  return {};
}

std::string check_tokens(const Rope& p) {
  if (p.position != RopePosition::tokens) return {};
  if (!has_table(p)) return "position=tokens counts entries of a table, and table=computed has none: give position=ids";
  if (p.table_rows != 0 || p.beyond != RopeBeyond::assume_valid)
    return "position=tokens has a table with an entry for each token: leave out table_rows and beyond";
  return {};
}

std::string check_sections(const Rope& p) {
  const bool alternates = p.section_style == RopeSectionStyle::interleaved;
  if (p.sections.count == 0)
    return p.section_style == RopeSectionStyle::adjacent ? "" : "section_style says what sections are: give sections";
  if (!is_of_each_token(p)) return "sections need position=ids or tokens, with which a token has several positions";
  if (has_angles(p)) return "sections are not for table=angles, which has an angle for each element";
  std::int64_t pairs = 0;
  for (int i = 0; i < p.sections.count; ++i) {
    if (p.sections[i] > rotary_dim(p) / 2)
      return "a section has " + std::to_string(p.sections[i]) + " pairs, and a head has " +
             std::to_string(rotary_dim(p) / 2);
    pairs += p.sections[i];
    const std::int64_t last = (p.sections[i] - 1) * p.sections.count + i;
    if (alternates && i > 0 && p.sections[i] > 0 && last >= rotary_dim(p) / 2)
      return "section_style=interleaved: only the first section may have more than its part of the pairs";
  }
  if (pairs == rotary_dim(p) / 2) return {};
  return "sections have " + std::to_string(pairs) + " pairs together, and a head has " +
         std::to_string(rotary_dim(p) / 2);
}

std::string check_cache(const Rope& p) {
  if (has_values(p) && p.kv_heads == 0) return "values=copied needs kv_heads above 0, the heads of k and v";
  if (!has_cache(p))
    return p.cache_pages + p.page_size + p.max_pages == 0
               ? ""
               : "cache_pages, page_size and max_pages need cache=slots, pages or positions";
  if (p.kv_heads == 0) return "a cache needs kv_heads above 0, the heads of k and v";
  if (p.pass != RopePass::forward) return "a cache is for pass=forward";
  if (p.page_size == 0) return "page_size must say how many tokens a page of the cache has";
  if (p.cache != RopeCache::positions && p.cache_pages == 0) return "cache_pages must say how many pages the cache has";
  if (is_placed_by_position(p) && (p.position == RopePosition::tokens || axes(p) > 1))
    return "cache=positions and pages need one position a token: give cache=slots";
  if (p.cache == RopeCache::positions && p.cache_pages != 0)
    return "cache=positions has a page for each batch: leave out cache_pages";
  if (p.cache == RopeCache::pages && p.max_pages == 0) return "cache=pages needs max_pages, the columns of pages";
  if (p.cache != RopeCache::pages && p.max_pages != 0) return "max_pages is for cache=pages";
  if (p.cache == RopeCache::pages && p.cache_pages > std::numeric_limits<std::int32_t>::max())
    return "cache=pages has pages of i32: at most 2^31 - 1";
  return {};
}

std::string check_element(const Rope& p) {
  if (!is_quantized(p)) return p.quantized == RopeQuantized::kv ? "" : "quantized=all needs element=e4m3 or e5m2";
  if (p.pass != RopePass::forward) return "element is for pass=forward";
  if (p.quantized == RopeQuantized::kv && p.kv_heads == 0)
    return "element is the type of k_out and v_out, and kv_heads=0 has none: give quantized=all for q_out";
  for (const int tensor : {kTensorQ, kTensorK}) {
    if (is_quantized(p, tensor) && is_in_place(p, tensor))
      return "place=in_place holds dtype: a quantized output needs place=separate, or a cache for k and v";
  }
  return {};
}

std::string check_scales(const Rope& p) {
  const Rope d{};
  if (!makes_scales(p))
    return p.mode == d.mode && p.policy == d.policy
               ? ""
               : "mode and policy are for scales that are made: give scaling=row, block128 or mx too";
  if (!is_quantized(p)) return "scaling is of quantized outputs: give element=e4m3 or e5m2 too";
  if (p.policy == ScalePolicy::te && (p.scaling != RopeScales::mx || p.mode != ScaleMode::rceil))
    return "policy=te goes with scaling=mx and mode=rceil";
  if (p.mode == ScaleMode::exact && !has_fp32_scales(p))
    return "mode=exact is for fp32 scales: scaling=row or block128";
  if (p.head_dim > kMostScaledDim)
    return "head_dim=" + std::to_string(p.head_dim) +
           " is above 1024: a thread block that makes scales has whole heads";
  return {};
}

std::string check_angles(const Rope& p) {
  if (!has_angles(p)) return {};
  if (p.table_dtype != f32)
    return "table=angles has f32, as fewer bits of an angle are no angle: leave out table_dtype";
  if (p.pass == RopePass::inverse)
    return "table=angles may have two angles for a pair, which is no rotation: pass=backward is its inverse where the "
           "two are equal";
  return {};
}

std::string check_computed(const Rope& p) {
  const Rope d{};
  const bool names_frequencies = p.theta != d.theta || p.rope_scaling != d.rope_scaling;
  if (has_table(p))
    return names_frequencies ? "theta and rope_scaling need table=computed; other tables have the angles" : "";
  if (p.beyond != RopeBeyond::assume_valid || p.table_rows != 0 || p.table_dtype != f32)
    return "table=computed has every position and no memory: leave out beyond, table_rows and table_dtype";
  if (rotary_dim(p) > kMostComputed) return "table=computed takes a rotary_dim of at most 16384";
  return {};
}

std::string check_scaling(const Rope& p) {
  const Rope d{};
  if (p.rope_scaling == RopeScaling::none && p.factor != 0)
    return "factor needs table=computed and rope_scaling=linear or llama3";
  if (p.rope_scaling == RopeScaling::linear && p.factor == 0)
    return "rope_scaling=linear needs factor, by which positions are divided";
  const bool names_range =
      p.low_factor != d.low_factor || p.high_factor != d.high_factor || p.old_context != d.old_context;
  if (p.rope_scaling != RopeScaling::llama3 && names_range)
    return "low_factor, high_factor and old_context need table=computed and rope_scaling=llama3";
  if (p.factor != 0 && p.factor < 1)
    return "factor=" + shortest(p.factor) + " is below 1: frequencies are divided by it, and are not to grow";
  if (p.low_factor >= p.high_factor)
    return "high_factor=" + shortest(p.high_factor) + " must be above low_factor=" + shortest(p.low_factor);
  return {};
}

// Where the host knows all positions, none may be outside the table. Far outside a position would not fit 64 bits.
std::string check_offset(const Rope& p, std::int64_t offset) {
  constexpr const char* kLeave = " or more, or beyond=identity to leave tokens outside the table as they are";
  if (p.position == RopePosition::tokens && offset != 0)
    return "position=tokens has an entry of the table for each token: leave out offset";
  constexpr std::int64_t kFarthest = std::int64_t{1} << 62;
  if (offset < -kFarthest || offset > kFarthest)
    return "offset=" + std::to_string(offset) + " is out of range: it takes -2^62 to 2^62";
  const bool knows_all = !is_packed(p) && p.position == RopePosition::sequence && p.beyond == RopeBeyond::assume_valid;
  if (!knows_all || !has_table(p) || p.seq == 0) return {};
  if (offset < 0) return "offset=" + std::to_string(offset) + " is before the table: give 0" + kLeave;
  if (offset <= table_rows(p) - whole_seq(p)) return {};
  const std::uint64_t rows = static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(whole_seq(p));
  return "offset=" + std::to_string(offset) + " and " + seq_text(p) +
         " pass the end of the table: give table_rows=" + std::to_string(rows) + kLeave;
}

std::string check_rank(const Rope& p, std::int64_t rank) {
  if (!has_chunks(p) || (rank >= 0 && rank < p.cp_size)) return {};
  return "cp_rank=" + std::to_string(rank) + " is out of range: with cp_size=" + std::to_string(p.cp_size) +
         " it takes 0 to " + std::to_string(p.cp_size - 1);
}

}  // namespace

std::string check_launch(const Rope& p, const RopeArgs& a) {
  const std::string text = check_rank(p, a.cp_rank);
  return text.empty() ? check_offset(p, a.offset) : text;
}

std::string check_extents(const Rope& p) {
  if (std::string text = check_sizes(p); !text.empty()) return text;
  if (std::string text = check_spans(p); !text.empty()) return text;
  if (std::string text = check_overlaps(p); !text.empty()) return text;
  return check_seq(p);
}

std::string check(const Rope& p) {
  if (std::string text = check_dims(p); !text.empty()) return text;
  for (const int tensor : {kTensorQ, kTensorK, kTensorV}) {
    if (std::string text = check_strides(p, tensor); !text.empty()) return text;
  }
  for (const std::string& text :
       {check_extents(p), check_packed(p), check_ranks(p), check_table(p), check_tokens(p), check_sections(p),
        check_cache(p), check_element(p), check_scales(p), check_angles(p), check_computed(p), check_scaling(p)}) {
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace quern::rope
