// What the memory of a GPU gives a kernel that reads a bf16 matrix once and writes it twice in bytes, as it is and
// transposed: the streams of `mxfp8 direction=both` without its arithmetic, shared memory and scales. The bytes written
// are not a conversion. Prints, for tiles and clusters, the speed as percent of a copy of the same bytes.
//
//   nvcc -arch=sm_90a -O3 -std=c++17 -o two_streams tools/bench/two_streams.cu && ./two_streams
#include <cooperative_groups.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "two_streams: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

struct Matrix {
  const char* source;
  char* rows_out;     // [rows, columns]
  char* columns_out;  // [columns, rows]
  std::int64_t rows;
  std::int64_t columns;
};

// Words without a pattern: a copy of equal words may be faster than it is.
__global__ void fill(uint4* to, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  const auto word = [&](unsigned k) {
    return (static_cast<unsigned>(i) * 4 + k) * 2654435761u ^ (k + 1) * 2246822519u;
  };
  if (i < count) to[i] = {word(0), word(1), word(2), word(3)};
}

__device__ uint4 read(const char* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

// Needs all of both: what nothing needs is not read.
__device__ uint4 mixed(uint4 a, uint4 b) { return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w}; }

template <bool kEvictFirst>
__device__ void write(char* to, uint4 v) {
  if constexpr (kEvictFirst) {
    __stcs(reinterpret_cast<uint4*>(to), v);
  } else {
    *reinterpret_cast<uint4*>(to) = v;
  }
}

// One tile a block, rows of tiles first. All reads, then all writes; with a cluster barrier between them adjacent
// blocks write at the same time.
template <int kRows, int kColumns, int kThreads, bool kEvictFirst>
__global__ void __launch_bounds__(kThreads) write_twice(Matrix m, bool cluster_barrier) {
  const int across = static_cast<int>(m.columns / kColumns);
  const std::int64_t row = blockIdx.x / across * std::int64_t{kRows}, column = blockIdx.x % across * kColumns;
  constexpr int kReads = kRows * kColumns * 2 / 16 / kThreads;
  uint4 values[kReads];
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
    const int k = i * kThreads + static_cast<int>(threadIdx.x), in_row = k % (kColumns / 8);
    values[i] = read(m.source + ((row + k / (kColumns / 8)) * m.columns + column) * 2 + in_row * 16);
  }
#pragma unroll
  for (int i = 0; i < kReads / 2; ++i) values[i] = mixed(values[i], values[i + kReads / 2]);
  if (cluster_barrier) {
    cooperative_groups::this_cluster().sync();
  } else {
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kReads / 2; ++i) {
    const int k = i * kThreads + static_cast<int>(threadIdx.x), in_row = k % (kColumns / 16);
    write<kEvictFirst>(m.rows_out + (row + k / (kColumns / 16)) * m.columns + column + in_row * 16, values[i]);
  }
#pragma unroll
  for (int i = 0; i < kReads / 2; ++i) {
    const int k = i * kThreads + static_cast<int>(threadIdx.x), in_line = k % (kRows / 16);
    write<kEvictFirst>(m.columns_out + (column + k / (kRows / 16)) * m.rows + row + in_line * 16, values[i]);
  }
}

// Median time of a call, of several in sequence on rotating sets.
double us_of(int calls, const std::function<void(int)>& call) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int sample = 0; sample < 9; ++sample) {
    check(cudaEventRecord(begin));
    for (int i = 0; i < calls; ++i) call(i);
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    times.push_back(ms * 1e3f / static_cast<float>(calls));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <int kRows, int kColumns, int kThreads, bool kEvictFirst>
void measure(const std::vector<Matrix>& sets, int calls, double copy_us) {
  const Matrix& m = sets[0];
  if (m.rows % kRows != 0 || m.columns % kColumns != 0) return;
  for (const unsigned cluster : {1u, 2u, 4u, 8u}) {
    const auto across = static_cast<unsigned>(m.columns / kColumns);
    if (across % cluster != 0) continue;
    for (const bool barrier : {false, true}) {
      if (barrier && cluster == 1) continue;
      cudaLaunchAttribute attribute = {};
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim = {cluster, 1, 1};
      cudaLaunchConfig_t launch = {};
      launch.gridDim = dim3(static_cast<unsigned>(m.rows / kRows) * across);
      launch.blockDim = dim3(kThreads);
      launch.attrs = &attribute;
      launch.numAttrs = 1;
      const double us = us_of(calls, [&](int i) {
        check(cudaLaunchKernelEx(&launch, write_twice<kRows, kColumns, kThreads, kEvictFirst>, sets[i % sets.size()],
                                 barrier));
      });
      std::printf("| %d x %d | %u%s | %s | %.1f |\n", kRows, kColumns, cluster, barrier ? ", barrier" : "",
                  kEvictFirst ? "evict-first" : "plain", 100 * copy_us / us);
    }
  }
}

void measure_shape(std::int64_t rows, std::int64_t columns) {
  const auto bytes = static_cast<std::size_t>(rows * columns);
  const int calls = std::max(3, static_cast<int>(400'000'000 / bytes));
  std::vector<Matrix> sets(4 * bytes > 600'000'000 ? 1 : 3, Matrix{nullptr, nullptr, nullptr, rows, columns});
  std::vector<char*> memory;
  for (Matrix& m : sets) {
    for (const std::size_t size : {2 * bytes, bytes, bytes, 2 * bytes}) {
      memory.push_back(nullptr);
      check(cudaMalloc(&memory.back(), size));
      fill<<<static_cast<unsigned>((size / 16 + 255) / 256), 256>>>(reinterpret_cast<uint4*>(memory.back()), size / 16);
      check(cudaGetLastError());
    }
    m.source = memory[memory.size() - 4];
    m.rows_out = memory[memory.size() - 3];
    m.columns_out = memory[memory.size() - 2];
  }
  const double copy_us = us_of(calls, [&](int i) {
    const std::size_t set = static_cast<std::size_t>(i) % sets.size();
    check(cudaMemcpyAsync(memory[4 * set + 3], memory[4 * set], 2 * bytes, cudaMemcpyDeviceToDevice));
  });
  std::printf("\n%lld x %lld, copy %.1f us\n\n| tile | cluster | writes | %% of copy |\n|---|---|---|---:|\n",
              static_cast<long long>(rows), static_cast<long long>(columns), copy_us);
  measure<128, 128, 256, false>(sets, calls, copy_us);
  measure<128, 128, 256, true>(sets, calls, copy_us);
  measure<256, 128, 256, false>(sets, calls, copy_us);
  measure<256, 128, 256, true>(sets, calls, copy_us);
  measure<256, 256, 512, false>(sets, calls, copy_us);
  measure<256, 256, 512, true>(sets, calls, copy_us);
  for (char* const each : memory) check(cudaFree(each));
}

}  // namespace

int main() {
  measure_shape(16384, 16384);
  measure_shape(131072, 7168);
  measure_shape(8192, 5120);
}
