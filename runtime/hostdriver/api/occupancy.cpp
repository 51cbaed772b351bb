#include "hostdriver/api/occupancy.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "hostdriver/exec/report.h"

namespace quern::host {
namespace {

constexpr int kFirstClusterArch = 90;

std::string text(const twin::Dim3& extent) { return cat(extent.x, "x", extent.y, "x", extent.z); }

void check_grid(const twin::Dim3& grid) {
  if (volume(grid) == 0 || grid.x > 2147483647u || grid.y > 65535u || grid.z > 65535u)
    refuse(CUDA_ERROR_INVALID_VALUE, cat("a grid of ", text(grid), " blocks"));
}

void check_block(const twin::Dim3& block, int most) {
  if (volume(block) == 0 || block.x > 1024u || block.y > 1024u || block.z > 64u ||
      volume(block) > static_cast<std::uint64_t>(most))
    refuse(CUDA_ERROR_INVALID_VALUE, cat("a block of ", text(block), " threads; this kernel allows ", most));
}

void check_shared(unsigned dynamic_bytes, const Function& function, const DeviceSettings& device) {
  const unsigned static_bytes = (*function.library->image)->static_shared_bytes;
  if (static_bytes > static_cast<unsigned>(device.shared_per_block))
    refuse(CUDA_ERROR_INVALID_VALUE,
           cat("the kernel has ", static_bytes, " bytes of static shared memory; the device allows ",
               device.shared_per_block));
  if (dynamic_bytes > static_cast<unsigned>(function.dynamic_shared_limit))
    refuse(CUDA_ERROR_INVALID_VALUE,
           cat(dynamic_bytes, " bytes of dynamic shared memory; this kernel may have ", function.dynamic_shared_limit,
               " (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)"));
}

void check_cluster(const Grid& grid, const DeviceSettings& device) {
  if (volume(grid.cluster) == 1) return;
  require(device.arch >= kFirstClusterArch, CUDA_ERROR_NOT_SUPPORTED, "clusters need compute capability 9.0");
  const twin::Dim3& cluster = grid.cluster;
  if (volume(cluster) == 0 || volume(cluster) > kMaxClusterBlocks || grid.grid.x % cluster.x != 0 ||
      grid.grid.y % cluster.y != 0 || grid.grid.z % cluster.z != 0)
    refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, cat("clusters of ", text(cluster), " blocks (at most ", kMaxClusterBlocks,
                                                ") in a grid of ", text(grid.grid)));
}

void check_cooperative(const Grid& grid, const Function& function, const DeviceSettings& device) {
  if (!grid.cooperative) return;
  const int fitting =
      blocks_per_multiprocessor(function, device, static_cast<int>(volume(grid.block)), grid.dynamic_shared_bytes) *
      device.multiprocessors;
  if (volume(grid.grid) > static_cast<std::uint64_t>(fitting))
    refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
           cat("a cooperative grid of ", volume(grid.grid), " blocks; the device holds ", fitting, " at once"));
}

void apply_attribute(Grid& grid, const CUlaunchAttribute& attribute) {
  switch (attribute.id) {
    // The second allows a kernel to begin before the previous one has ended; beginning later is always correct.
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      return;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      grid.cooperative = attribute.value.cooperative != 0;
      return;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      grid.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
      return;
    default:
      refuse(CUDA_ERROR_NOT_SUPPORTED, cat("the launch attribute ", static_cast<int>(attribute.id)));
  }
}

}  // namespace

int reserved_shared_bytes(const DeviceSettings& device) { return device.arch >= 80 ? 1024 : 0; }

int max_threads(const Function& function, const DeviceSettings& device) {
  const int own = static_cast<int>((*function.library->image)->max_threads);
  return own == 0 ? device.threads_per_block : std::min(own, device.threads_per_block);
}

int blocks_per_multiprocessor(const Function& function, const DeviceSettings& device, int threads,
                              std::size_t dynamic_shared_bytes) {
  if (threads > max_threads(function, device)) return 0;
  const std::size_t shared = (*function.library->image)->static_shared_bytes + dynamic_shared_bytes;
  const std::size_t whole = (shared + 127) / 128 * 128 + static_cast<std::size_t>(reserved_shared_bytes(device));
  if (shared > static_cast<std::size_t>(device.shared_per_block_optin)) return 0;
  const int by_threads = device.threads_per_multiprocessor / ((threads + 31) / 32 * 32);
  const auto by_shared = static_cast<std::size_t>(device.shared_per_multiprocessor) / std::max<std::size_t>(whole, 1);
  return std::min({by_threads, static_cast<int>(by_shared), kMaxBlocksPerMultiprocessor});
}

Grid make_grid(const CUlaunchConfig& config, const Function& function, const DeviceSettings& device) {
  Grid grid;
  grid.image = &**function.library->image;
  grid.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  grid.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  grid.dynamic_shared_bytes = config.sharedMemBytes;
  if (config.numAttrs > 0) need(config.attrs, "config->attrs");
  for (const CUlaunchAttribute& attribute : std::span(config.attrs, config.numAttrs)) apply_attribute(grid, attribute);
  check_grid(grid.grid);
  check_block(grid.block, max_threads(function, device));
  check_shared(grid.dynamic_shared_bytes, function, device);
  check_cluster(grid, device);
  check_cooperative(grid, function, device);
  return grid;
}

}  // namespace quern::host
