#include "commands/accesses.h"

#include "api/runtime_state.h"
#include "base/text.h"
#include "io/operand_files.h"
#include "testbench/device_case.h"
#include "testbench/open_device.h"

namespace quern::tool {
namespace {

// Rows that start anywhere cost a sector or two more than the fewest a request; a stride costs a multiple.
constexpr double kCoalesced = 1.5;

double ratio(unsigned long long a, unsigned long long b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string verdict(double sectors, double ideal) {
  return sectors <= kCoalesced * ideal ? "coalesced" : cat(fixed(sectors / ideal, 1), " times the sectors needed");
}

Row row_of(const quernHostAccess& access) {
  const double sectors = ratio(access.sectors, access.requests), ideal = ratio(access.ideal_sectors, access.requests);
  Row row;
  row.add("site", access.line == 0 ? access.file : cat(access.file, ":", access.line))
      .add("access", access.kind)
      .add("operand", access.memory);
  row.add("bytes", static_cast<std::int64_t>(access.bytes));
  row.add("requests", static_cast<std::int64_t>(access.requests));
  row.add("sectors_a_request", Value(sectors, 1)).add("ideal", Value(ideal, 1));
  row.add("moved_bytes", static_cast<std::int64_t>(32 * access.sectors));
  row.add("compulsory_bytes", static_cast<std::int64_t>(access.unique_bytes));
  return row.add("verdict", verdict(sectors, ideal));
}

void collect(void* rows, const quernHostAccess* access) {
  static_cast<std::vector<Row>*>(rows)->push_back(row_of(*access));
}

}  // namespace

std::vector<Row> access_rows(Runtime& runtime, const Subject& subject, const std::string& config,
                             const DeviceModel& model) {
  const OpenDevice device = open_host(runtime, model);
  const AnyProblem closed = OperandFiles(subject.family(), {}, {}).close(subject.problem);
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
  return rows;
}

}  // namespace quern::tool
