// The environment, read once when a Runtime is made. One table drives parsing, documentation and `quern doctor`.
#ifndef QUERN_BASE_ENVIRONMENT_H_
#define QUERN_BASE_ENVIRONMENT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/options.h"

namespace quern {

enum class Variable {
  cache_dir,
  cache,
  cache_match,
  cache_layers,
  cache_trust,
  cache_max_bytes,
  cache_max_entries,
  wait_seconds,
  records,
  record_layers,
  tune,
  tune_seconds,
  tune_share,
  tune_memory,
  worker,
  in_worker,
  nvrtc,
  cxx,
  libcuda,
  hostdriver,
  device,
  log,
  dump,
  manifest,
  alignment,
  cuda_home,
  cuda_path,
  conda_prefix,
  virtual_env,
  path,
  tmpdir,
  ld_library_path,
  xdg_cache_home,
  xdg_data_home,
  home,
  count
};

struct VariableRow {
  const char* name;
  const char* sentence;
};
const VariableRow& row(Variable variable);

// A snapshot. Unset and empty are the same.
class Environment {
 public:
  static Environment read();
  const std::string& operator[](Variable variable) const { return values_[static_cast<std::size_t>(variable)]; }
  std::string& operator[](Variable variable) { return values_[static_cast<std::size_t>(variable)]; }

 private:
  std::array<std::string, static_cast<std::size_t>(Variable::count)> values_;
};

// "2G" -> 2147483648; the suffix K, M, G or T is optional. Throws Error (bad_input) that names `given`, the option or
// variable ("--max-bytes").
std::uint64_t parse_amount(std::string_view text, std::string_view given);

// In the form of QUERN_TUNE.
const char* name(Tuning tuning);

// Returns the options with every empty field filled from the environment or with its default. A variable with an
// invalid value counts as unset and adds a message to `misread`: an operator's typing error must not stop a server.
// Throws Error (bad_input) if a value of the options themselves is out of range.
Options resolve(Options options, const Environment& environment, std::vector<std::string>* misread);

}  // namespace quern

#endif  // QUERN_BASE_ENVIRONMENT_H_
