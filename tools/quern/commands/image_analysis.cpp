#include "commands/image_analysis.h"

#include <algorithm>

#include "api/runtime_state.h"
#include "base/text.h"
#include "compiler/ptx.h"
#include "io/operand_files.h"
#include "plan/problem.h"
#include "testbench/device_case.h"
#include "testbench/open_device.h"

namespace quern::tool {
namespace {

// ---- Widths

// The widest first.
std::vector<Access> accesses(const std::string& ptx, bool stores) {
  std::vector<Access> all = count_global_accesses(ptx);
  std::erase_if(all, [&](const Access& access) { return access.store != stores; });
  std::sort(all.begin(), all.end(), [](const Access& a, const Access& b) { return a.bytes > b.bytes; });
  return all;
}

int bulk_copies(const std::string& ptx, bool stores) {
  const BulkCopies copies = count_bulk_copies(ptx);
  return stores ? copies.stores : copies.loads;
}

// ---- Occupancy

constexpr std::int64_t kLarge = 1 << 16;
constexpr int kRegisters = 65536;           // per SM, on every architecture from sm_80 on
constexpr int kRegistersAUnit = 256;        // allocation unit of a warp's registers
constexpr int kSharedBytesOfSystem = 1024;  // per block, from sm_80 on

int most_blocks(int arch) {
  if (arch == 86) return 16;
  return arch == 89 || arch >= 120 ? 24 : 32;
}

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

// ---- Coalescing

// Unaligned rows add a sector or two to the minimum per request; a stride multiplies it.
constexpr double kCoalesced = 1.5;

double ratio(unsigned long long a, unsigned long long b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

constexpr std::int64_t kSectorBytes = 32, kHalfLineBytes = 64;

// Half-lines of the whole launch: two requests may share one.
std::string verdict(const quernHostAccess& access) {
  const double sectors = ratio(access.sectors, access.ideal_sectors);
  if (sectors > kCoalesced) return cat(fixed(sectors, 1), " times the sectors needed");
  const double half_lines =
      ratio(access.unique_half_lines, (access.unique_bytes + kHalfLineBytes - 1) / kHalfLineBytes);
  if (half_lines > kCoalesced) return cat(fixed(half_lines, 1), " times the half-lines needed");
  return "coalesced";
}

// A total has no operand and no width; stores have no half-lines.
Row row_of(const quernHostAccess& access) {
  const bool total = access.memory == nullptr, loads = access.half_lines > 0;
  const double sectors = ratio(access.sectors, access.requests), ideal = ratio(access.ideal_sectors, access.requests);
  Row row;
  row.add("site", access.line == 0 ? access.file : cat(access.file, ":", access.line))
      .add("access", access.kind)
      .add("operand", total ? Value() : Value(std::string(access.memory)));
  row.add("bytes", total ? Value() : Value(static_cast<std::int64_t>(access.bytes)));
  row.add("requests", static_cast<std::int64_t>(access.requests));
  row.add("sectors_a_request", Value(sectors, 1)).add("ideal", Value(ideal, 1));
  row.add("half_lines_a_request", loads ? Value(ratio(access.half_lines, access.requests), 1) : Value());
  row.add("moved_bytes", kSectorBytes * static_cast<std::int64_t>(access.sectors));
  row.add("compulsory_bytes", static_cast<std::int64_t>(access.unique_bytes));
  row.add("half_line_bytes",
          loads ? Value(kHalfLineBytes * static_cast<std::int64_t>(access.unique_half_lines)) : Value());
  return row.add("verdict", verdict(access));
}

void collect(void* rows, const quernHostAccess* access) {
  static_cast<std::vector<Row>*>(rows)->push_back(row_of(*access));
}

}  // namespace

std::string widths_text(const std::string& ptx, bool stores) {
  std::vector<std::string> parts;
  for (const Access& access : accesses(ptx, stores)) parts.push_back(cat(access.count, " × ", access.bytes, " B"));
  if (const int copies = bulk_copies(ptx, stores); copies > 0) parts.push_back(cat(copies, " × bulk"));
  return parts.empty() ? "none" : join(parts, ", ");
}

Row widths_row(const std::string& ptx, bool stores) {
  Row row;
  for (const Access& access : accesses(ptx, stores)) row.add(cat(access.bytes), access.count);
  if (const int copies = bulk_copies(ptx, stores); copies > 0) row.add("bulk", copies);
  return row;
}

// With large extents, of those that its family takes: a table may have fewer rows.
AnyProblem closed_problem(const AnyProblem& open) {
  AnyProblem closed = open;
  const std::vector<const Field*> extents = open_extents(open);
  std::int64_t extent = kLarge;
  do {
    for (const Field* field : extents) set_integer(*field, closed.data(), extent);
    extent /= 2;
  } while (extent > 0 && !extents.empty() && !open.family().check(closed.data()).empty());
  return closed;
}

Block block_of(const Subject& subject, const Step& step, const DeviceModel& model, const Config& config) {
  AnyProblem closed = closed_problem(subject.problem);
  AnyArgs args = subject.scalars;
  args.set_extents(closed.data());
  Launch launch;
  step.launch(closed.data(), args.data(), model, config, launch);
  return {static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]), static_cast<int>(launch.shared_bytes)};
}

int blocks_that_fit(const Resources& resources, const Block& block, const DeviceModel& model) {
  const int warps = (std::max(1, block.threads) + 31) / 32;
  const int registers_a_warp = round_up(std::max(1, resources.registers) * 32, kRegistersAUnit);
  const int by_registers = kRegisters / registers_a_warp / warps;
  const int by_threads = model.threads_per_multiprocessor / (32 * warps);
  const int shared = resources.shared_bytes + block.shared_bytes + kSharedBytesOfSystem;
  const auto by_shared = static_cast<int>(model.shared_bytes_per_multiprocessor / shared);
  return std::min({by_registers, by_threads, by_shared, most_blocks(model.arch)});
}

std::vector<Row> access_rows(Runtime& runtime, const Subject& subject, const std::string& config,
                             const DeviceModel& model) {
  const OpenDevice device = open_host(runtime, model);
  const AnyProblem closed = OperandFiles(subject.problem, {}, {}).close(subject.problem);
  HostOperands host(closed.family(), closed.data());
  host.generate(1, false);
  PrepareOptions options;
  options.config = config;
  const AnyPlan plan = runtime.prepare_any(subject.family(), subject.problem.data(), options);
  const DeviceCase data(*device.driver, device.device, host, subject.scalars, 0);
  const Driver& driver = *device.driver;
  driver.check(driver.host().LogAccesses(1), Stage::tool, "quernHostLogAccesses");
  data.launch(plan);
  driver.check(driver.host().LogAccesses(0), Stage::tool, "quernHostLogAccesses");
  std::vector<Row> rows;
  driver.check(driver.host().VisitAccesses(collect, &rows), Stage::tool, "quernHostVisitAccesses");
  driver.check(driver.host().VisitAccessTotals(collect, &rows), Stage::tool, "quernHostVisitAccessTotals");
  return rows;
}

}  // namespace quern::tool
