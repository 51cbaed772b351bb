#include "base/environment.h"

#include <cstdlib>

#include "base/text.h"
#include "quern/error.h"

namespace quern {
namespace {

constexpr std::array<VariableRow, static_cast<std::size_t>(Variable::count)> kRows = {{
    {"QUERN_CACHE_DIR", "where images are kept; default $XDG_CACHE_HOME/quern, then ~/.cache/quern"},
    {"QUERN_CACHE", "read-write (default), read-only or off"},
    {"QUERN_CACHE_MATCH", "which entries serve a key: standard (default), exact or any"},
    {"QUERN_NVRTC", "path of libnvrtc.so; default: the search that `quern doctor` shows"},
    {"QUERN_CXX", "the C++ compiler for the target host; default: c++, g++ or clang++ of PATH"},
    {"QUERN_LIBCUDA", "path of libcuda.so.1; default: the loader's"},
    {"QUERN_HOSTDRIVER_LIBRARY", "path of libquern_hostdriver.so; default: beside the program, then the loader's"},
    {"QUERN_LOG", "debug, info, warning (default), error or off"},
    {"QUERN_DUMP", "directory for the source, PTX and cubin of each image made"},
    {"QUERN_RECORD", "manifest to which each prepared problem is appended, once"},
    {"CUDA_HOME", "a CUDA toolkit to look for NVRTC in"},
    {"CUDA_PATH", "the same, by another name"},
    {"CONDA_PREFIX", "a conda environment to look for NVRTC in"},
    {"VIRTUAL_ENV", "a Python environment whose NVIDIA wheels are looked through for NVRTC"},
    {"PATH", "folders that are looked through for the C++ compiler"},
    {"TMPDIR", "where the C++ compiler's files are for a moment; default /tmp"},
    {"LD_LIBRARY_PATH", "the loader's folders, looked through for NVRTC"},
    {"XDG_CACHE_HOME", "parent of the default cache directory"},
    {"HOME", "its .cache is the parent of the default cache directory"},
}};

template <class T, std::size_t N>
T parse_choice(const Environment& environment, Variable variable, T fallback,
               const std::array<std::pair<const char*, T>, N>& choices) {
  const std::string& text = environment[variable];
  if (text.empty()) return fallback;
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names.emplace_back(name);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat(row(variable).name, "=", text, " means nothing; it takes ", join(names, ", ")));
}

constexpr std::array<std::pair<const char*, CacheMode>, 3> kCacheModes = {
    {{"read-write", CacheMode::read_write}, {"read-only", CacheMode::read_only}, {"off", CacheMode::off}}};
constexpr std::array<std::pair<const char*, CacheMatch>, 3> kCacheMatches = {
    {{"standard", CacheMatch::standard}, {"exact", CacheMatch::exact}, {"any", CacheMatch::any}}};
constexpr std::array<std::pair<const char*, LogLevel>, 5> kLogLevels = {{{"debug", LogLevel::debug},
                                                                         {"info", LogLevel::info},
                                                                         {"warning", LogLevel::warning},
                                                                         {"error", LogLevel::error},
                                                                         {"off", LogLevel::off}}};

std::string default_cache_dir(const Environment& environment) {
  if (!environment[Variable::cache_dir].empty()) return environment[Variable::cache_dir];
  if (!environment[Variable::xdg_cache_home].empty()) return environment[Variable::xdg_cache_home] + "/quern";
  if (!environment[Variable::home].empty()) return environment[Variable::home] + "/.cache/quern";
  return {};
}

void fill(std::string& option, const std::string& value) {
  if (option.empty()) option = value;
}

}  // namespace

const VariableRow& row(Variable variable) { return kRows[static_cast<std::size_t>(variable)]; }

Environment Environment::read() {
  Environment environment;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (const char* value = std::getenv(kRows[i].name))
      environment.values_[i] = value;  // NOLINT(concurrency-mt-unsafe)
  }
  return environment;
}

Options resolve(Options options, const Environment& environment) {
  fill(options.cache_dir, default_cache_dir(environment));
  fill(options.nvrtc, environment[Variable::nvrtc]);
  fill(options.cxx, environment[Variable::cxx]);
  fill(options.libcuda, environment[Variable::libcuda]);
  fill(options.dump_dir, environment[Variable::dump]);
  fill(options.record_file, environment[Variable::record]);
  if (!options.cache_mode)
    options.cache_mode = parse_choice(environment, Variable::cache, CacheMode::read_write, kCacheModes);
  if (!options.cache_match)
    options.cache_match = parse_choice(environment, Variable::cache_match, CacheMatch::standard, kCacheMatches);
  if (!options.log_level) options.log_level = parse_choice(environment, Variable::log, LogLevel::warning, kLogLevels);
  return options;
}

}  // namespace quern
