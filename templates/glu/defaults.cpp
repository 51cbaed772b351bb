// The default configs, with the measurements that support them.
#include <algorithm>

#include "glu/matrix.h"
#include "glu/space.h"
#include "rows/elements.h"

namespace quern::glu {
namespace {

constexpr std::int64_t kManyBytes = std::int64_t{5} << 18;  // of gradients
constexpr std::int64_t kKeptOfThread = 112;  // bytes of shared memory: so many of each of 2048 threads fit

Config config_for(Forms form, std::int64_t vector, std::int64_t unroll) {
  Config config;
  config[kForm] = form;
  config[kVector] = form == kVectorForm ? static_cast<std::int32_t>(vector) : 16;
  config[kUnroll] = static_cast<std::int32_t>(unroll);
  config[kThreads] = 128;
  config[kRows] = 16;
  config[kCluster] = 1;
  return config;
}

// Rows of a tile on their way to a thread: two of fp32 take too many registers.
std::int64_t rows_ahead(const Glu& p) { return size_of(p) == 4 ? 1 : 2; }

// Open rows are many.
std::int64_t all_elements(const Glu& p) { return p.rows == kOpen ? kMaxExtent : all_rows(p) * p.width; }
bool is_elementwise(const Glu& p) {
  return !has_sums(p) && p.scaling == GluScaling::none && p.layout != GluLayout::interleaved;
}
bool has_many_gradients(const Glu& p) {
  return is_elementwise(p) && is_backward(p) && (p.rows == kOpen || all_elements(p) * size_of(p) >= kManyBytes);
}

// Bytes of an access, and vectors in flight. On an H200, gelu: 1166 x 640 2.72 us with two of 8 bytes, 3.10 with one of
// 16, 8192 x 11008 124.8 and 125.6; silu 3.14 and 3.08 (987 x 1024). Backward one of 8 bytes: silu 343 x 1472 2.83 us,
// of 16 2.93, of 4 2.97, with out 3.12, 3.14 and 3.23; gelu_tanh 222 x 1856 2.60 and 2.98; 2000 x 2048 11.34 and 11.52,
// with out 13.60 and 13.79; 8192 x 11008 with out 256.4 and 258.2; gelu of fp32 2947 x 128 3.59 and 3.74, gelu_tanh 39
// x 4456 2.41 and 2.85. Forward of fp32 1986 x 366 takes 3.71 us with two of 8 bytes, with four 3.86.
std::int64_t widest_useful(const Glu& p) {
  const bool computes_much = is_backward(p) || p.activation == Activation::gelu;
  return is_elementwise(p) && computes_much ? 8 : 32;
}
std::int64_t vectors_at_once(const Glu& p, std::int64_t vector, std::int64_t elements, const DeviceModel& model) {
  if (has_sums(p)) return rows_ahead(p);
  if (rows::is_small(all_elements(p) / 8, model) || p.scaling == GluScaling::row) return 1;
  if (widest_useful(p) == 8 && vector == 8) return is_backward(p) ? 1 : 2;
  return std::max<std::int64_t>(1, std::min<std::int64_t>(8 / elements, vector <= 4 ? 4 : 2));
}

// The widest vectors of two elements or more that divide the rows, several narrow ones in flight; where few rows
// would leave threads idle, narrower ones (on an H200 64 rows of 7168 take 2.25 us in 16 bytes, 2.28 in 8). `found`:
// whether there are any.
Config vectors(const Glu& p, const Target& target, const DeviceModel& model, bool* found) {
  // More elements backward take too many registers.
  const std::int64_t most =
      std::min(widest_useful(p), is_backward(p) ? kOfLane * size_of(p) * numbers_together(p) : 32);
  Config best;
  *found = false;
  for (std::int64_t vector = std::min(common::widest_access(target), most); vector >= 4; vector /= 2) {
    const std::int64_t elements = vector / size_of(p) / numbers_together(p);
    if (elements < 2) break;
    const Config config = config_for(kVectorForm, vector, vectors_at_once(p, vector, elements, model));
    if (!vectors_divide(p, elements) || !warp_has_blocks(p, target, config)) continue;
    best = config;
    *found = true;
    if (has_sums(p) || vector <= 8 || !rows::is_small(2 * (all_elements(p) / elements), model))
      break;  // else narrower ones, if there are
  }
  return best;
}

// Of a small problem reads are evict-first and stores are not: 0.03 us of 2 on an H200. Backward reads are so
// below 1.3 MB: 2947 x 128 of fp32 takes 3.52 us without the hint, 3.59 with it.
void choose_hints(const Glu& p, const DeviceModel& model, Config& config) {
  const std::int64_t together = config[kForm] == kElementForm ? 4 : 8;  // four one by one are for large problems
  const bool small = rows::is_small(all_elements(p) / together, model);
  config[kLoadStream] = small && !has_many_gradients(p) ? 1 : 0;
  config[kStoreStream] = small ? 0 : 1;
}

// At most four elements a thread: on an H200 112 rows of 6413 of fp32 take 3.71 us with four, 4.61 with eight, of bf16
// 2.71 and 2.83; 4000 x 1001 of fp32 12.88 and 14.03. Backward two where there are many of long rows: 3000 x 1001 of
// bf16 10.02 us for 10.54 with four, with out 11.87 for 12.77, 16384 x 2049 94.4 for 96.2, with out 113.9 for 120.4,
// 3000 x 1001 of fp32 15.96 for 16.82; but 300 x 1001 2.48 for 2.42, 100000 x 81 32.1 for 25.4. Across rows eight of
// two bytes: 200000 x 33 take 15.3 us with four, 14.9 with eight, 100000 x 81 18.4 and 17.9 in one run; backward four.
Config elements(const Glu& p, const DeviceModel& model) {
  constexpr std::int64_t kMost = 4, kLong = 512;
  if (has_sums(p)) return config_for(kElementForm, 16, 1);
  const std::int64_t least = has_blocks(p) ? std::max<std::int64_t>(1, elements_of_block(p) / 32) : 1;
  const auto of_width = [&](std::int64_t width, std::int64_t most) {
    return config_for(kElementForm, 16, rows::elements_of_thread(width, all_elements(p), least, most, model));
  };
  const Config of_row = of_width(p.width, kMost);
  if (is_across_rows(p, of_row)) return of_width(kMaxExtent, size_of(p) == 2 && !is_backward(p) ? 8 : kMost);
  const bool long_rows = p.width >= kLong && !rows::is_small(all_elements(p) / 8, model);
  return is_backward(p) && !has_blocks(p) && long_rows ? of_width(p.width, 2) : of_row;
}

// Rows of two-byte types that no vector divides are taken in 16 bytes across their ends, where there are many. On an
// H200 65536 x 1001 take 91.4 us for 106.1 with elements, 16384 x 4097 93.3 for 108.1, of gelu 101.2 for 112.4, 1000 x
// 2049 4.88 for 5.11, 200000 x 33 12.6 for 14.9, 20000 x 33 2.91 for 3.04, 300000 x 11 6.75 for 8.37; but 1234 x
// 1235 4.20 for 4.19, 2000 x 257 2.81 for 2.72, 10000 x 33 2.39 for 2.22. Where lanes would idle gelu has two windows
// a thread: 200000 x 33 14.6 us, with one 15.8. Of fp32 elements are as fast as a copy.
bool takes_packed(const Glu& p, const Target& target, const Config& one_by_one, Config& packed) {
  constexpr std::int64_t kMany = std::int64_t{5} << 18;
  const bool lanes_idle = is_across_rows(p, one_by_one);
  packed = config_for(kPackedForm, 16, lanes_idle && p.activation == Activation::gelu ? 2 : 1);
  return size_of(p) == 2 && all_elements(p) * (lanes_idle ? 2 : 1) >= kMany && rows_are_packed(p, target, packed);
}

// Of a block that keeps a row, as many as let a multiprocessor hold most of its threads.
std::int32_t threads(const Glu& p, const Config& config) {
  if (has_sums(p)) return rows::kTileThreads;
  if (p.scaling != GluScaling::row) return config[kThreads];
  std::int32_t threads = row_slots(p, config) <= 64 ? 64 : 128;
  while (threads < 512 && keeps_row(p, config) && row_bytes(p, config) > threads * kKeptOfThread) threads *= 2;
  return threads;
}

// Open rows may end within a block of scales, which takes bounds checks, narrower accesses and reads through registers;
// those that do not have an image of their own.
int matrix_variants(const Glu& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  int count = 0;
  if (has_open_rows(p)) {
    const Config whole = matrix_default(p, target, model, true);
    if (whole[kWholeBlocks] == 1 && blocks_are_whole(p, target, whole))
      out[count++] = {"whole", whole, &is_so<Glu, rows_are_whole>};
  }
  const Config any = matrix_default(p, target, model, false);
  out[count++] = {"tile", any};
  if (matrix_alignment(p, any) != 1) out[count++] = {"element", matrix_of_elements(p, any)};
  return count;
}

}  // namespace

int variants(const Glu& p, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  if (has_matrix(p)) return matrix_variants(p, target, model, out);
  int count = 0;
  bool found = false;
  const Config wide = vectors(p, target, model, &found);
  if (found) out[count++] = {"vector", wide};
  const Config one_by_one = elements(p, model);
  if (Config packed; !found && takes_packed(p, target, one_by_one, packed)) out[count++] = {"packed", packed};
  out[count++] = {"element", one_by_one};
  for (int i = 0; i < count; ++i) {
    out[i].config[kThreads] = threads(p, out[i].config);
    choose_hints(p, model, out[i].config);
  }
  return count;
}

}  // namespace quern::glu
