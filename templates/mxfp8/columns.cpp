// The columns form: which problems have it, its config, constants and launch.
#include "mxfp8/columns.h"

#include <algorithm>
#include <limits>

#include "common/geometry.h"
#include "mxfp8/params.h"

namespace quern::mxfp8 {
namespace {

constexpr std::int64_t kMostRows = kBand;
constexpr std::int64_t kMostData = 256;                     // bytes of a thread: 64 registers
constexpr std::int64_t kUsualData = 128;                    // so that a multiprocessor has half of its threads
constexpr std::int64_t kMostRun = std::int64_t{48} * 1024;  // shared memory that every kernel may use

// So that few numbers of rows differ in the configs that they may have.
std::int64_t room_of_rows(const Mxfp8& p) { return common::power_of_two_from(matrix_of(p).rows, 8); }

std::int64_t thread_columns(const Mxfp8& p, const Config& c) { return c[kVector] / source_bytes(p); }

// Bytes of shared memory after the lines of a thread. An odd number of words from thread to thread is without bank
// conflicts; lines that are not whole words are so as they are.
std::int64_t gap_of(std::int64_t thread_bytes) { return thread_bytes % 8 == 0 ? 4 : 0; }

// Of a thread block: the lines of its threads, and the word after the last one, which unaligned units read.
std::int64_t run_bytes(const Mxfp8& p, const Config& c, std::int64_t threads) {
  const std::int64_t bytes = thread_columns(p, c) * matrix_of(p).rows;
  return threads * (bytes + gap_of(bytes)) + 4;
}

// Thread blocks of a matrix. Blocked scales have padding after the last column.
std::int64_t blocks_of_matrix(const Mxfp8& p, const Config& c, std::int64_t threads) {
  const std::int64_t cols = matrix_of(p).cols;
  return pieces(blocked(p) ? round_up_to(cols, 128) : cols, threads * thread_columns(p, c));
}

// Those of the config, unless a matrix has columns for half of them only, or multiprocessors would have fewer than
// two blocks each.
std::int64_t threads_of(const Mxfp8& p, const Config& c, const DeviceModel& model) {
  std::int64_t threads = c[kThreads];
  const auto blocks = [&](std::int64_t count) { return blocks_of_matrix(p, c, count); };
  while (threads > 32 &&
         (blocks(threads / 2) == 1 || p.experts * blocks(threads) < std::int64_t{2} * model.multiprocessors))
    threads /= 2;
  return threads;
}

}  // namespace

bool has_short_columns(const Mxfp8& p) {
  const Matrix m = matrix_of(p);
  const bool is_plain = p.scaling == Mxfp8Scaling::mx && !square(p) && !padded(p) && !has_out_strides(p);
  const bool is_alone = p.groups == 0 && p.prologue == Mxfp8Prologue::none && !has_sums(p);
  return transposed(p) && !m.along && is_plain && is_alone && m.rows > 0 && m.rows <= kMostRows;
}

bool columns_fit_registers(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] != kColumns || !has_short_columns(p) || room_of_rows(p) * c[kVector] <= kMostData;
}
bool columns_fit_shared(const Mxfp8& p, const Target&, const Config& c) {
  return c[kForm] != kColumns || !has_short_columns(p) || run_bytes(p, c, c[kThreads]) <= kMostRun;
}

// Two columns a thread, or one of many bytes or where there are few: 32 x 8192 in bf16 takes 2.2 us on an H200 with
// one, 2.45 with two; 16 such matrices 5.7 and 5.3, with four columns 5.7.
Config columns_default(const Mxfp8& p, const DeviceModel& model) {
  const Matrix m = matrix_of(p);
  const std::int64_t size = source_bytes(p);
  const bool few =
      p.experts != kOpen && m.cols != kOpen && p.experts * m.cols < std::int64_t{128} * model.multiprocessors;
  std::int64_t vector = few ? size : natural_vector(p, 2 * size);
  while (vector > size && m.rows * vector > kUsualData) vector /= 2;
  Config config = stream_config(vector, 1);
  config[kForm] = kColumns;
  config[kThreads] = 128;
  return config;
}

void specialize_columns(const Mxfp8& p, const Config& config, Spec& spec) {
  spec.integer("rows", matrix_of(p).rows);
  spec.integer("gap", gap_of(thread_columns(p, config) * matrix_of(p).rows));
  spec.part("mxfp8/columns.cuh");
}

void launch_columns(const Mxfp8& p, const DeviceModel& model, const Config& config, ColumnParams& params,
                    Launch& launch) {
  const std::int64_t threads = threads_of(p, config, model), blocks = blocks_of_matrix(p, config, threads);
  params.blocks = blocks;
  params.by_blocks = common::make_divisor(static_cast<std::uint64_t>(blocks));
  launch.empty = is_empty(p);
  launch.block[0] = static_cast<std::uint32_t>(threads);
  launch.grid[0] =
      static_cast<std::uint32_t>(std::min<std::int64_t>(p.experts * blocks, std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = static_cast<std::uint32_t>(run_bytes(p, config, threads));
}

}  // namespace quern::mxfp8
