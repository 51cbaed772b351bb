// Running problems on the host driver and reading its access log.
#ifndef QUERN_TESTS_SUPPORT_HOST_RUN_H_
#define QUERN_TESTS_SUPPORT_HOST_RUN_H_

#include <string>
#include <vector>

#include "driver/driver.h"
#include "quern/runtime.h"
#include "support/check.h"

namespace quern::test {

struct AccessSite {
  std::string place;  // "rows/vectors.cuh:20"
  std::string kind;
  std::string memory;
  unsigned bytes = 0;
  unsigned long long requests = 0, sectors = 0, ideal_sectors = 0, asked_bytes = 0, unique_bytes = 0;
  unsigned long long half_lines = 0, unique_half_lines = 0;
};

// Logs accesses during its lifetime.
class LoggedAccesses {
 public:
  explicit LoggedAccesses(const Driver& driver) : driver_(driver) { driver.host().LogAccesses(1); }
  ~LoggedAccesses() { driver_.host().LogAccesses(0); }
  LoggedAccesses(const LoggedAccesses&) = delete;
  LoggedAccesses& operator=(const LoggedAccesses&) = delete;
  std::vector<AccessSite> sites() const {
    std::vector<AccessSite> sites;
    driver_.host().VisitAccesses(add, &sites);
    return sites;
  }
  // In place of a memory's name they have "".
  std::vector<AccessSite> totals() const {
    std::vector<AccessSite> totals;
    driver_.host().VisitAccessTotals(add, &totals);
    return totals;
  }

 private:
  static void add(void* sites, const quernHostAccess* a) {
    static_cast<std::vector<AccessSite>*>(sites)->push_back({std::string(a->file) + ":" + std::to_string(a->line),
                                                             a->kind, a->memory == nullptr ? "" : a->memory, a->bytes,
                                                             a->requests, a->sectors, a->ideal_sectors, a->asked_bytes,
                                                             a->unique_bytes, a->half_lines, a->unique_half_lines});
  }
  const Driver& driver_;
};

// One case on the host driver with exact allocations: "" or its error, including driver errors.
inline std::string run_on_host(Runtime& runtime, const Driver& driver, const std::string& problem, int offset = 0) {
  CheckOptions options;
  options.guards = false;
  Case c;
  c.problem = problem;
  c.offset = offset;
  try {
    return check_case(runtime, driver, c, options).failure;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace quern::test

#endif  // QUERN_TESTS_SUPPORT_HOST_RUN_H_
