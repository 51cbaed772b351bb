#include "base/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/file_system.h"
#include "base/text.h"
#include "quern/error.h"
#include "quern/family.h"

namespace quern {
namespace {

constexpr std::array<VariableRow, static_cast<std::size_t>(Variable::count)> kRows = {{
    {"QUERN_CACHE_DIR", "where images are kept; default $XDG_CACHE_HOME/quern, then ~/.cache/quern"},
    {"QUERN_CACHE", "read-write (default), read-only or off"},
    {"QUERN_CACHE_MATCH", "which entries serve a key: default, exact or any"},
    {"QUERN_CACHE_LAYERS", "read-only packs and directories of images, separated by colons"},
    {"QUERN_CACHE_TRUST",
     "trusted owners of these layers: owner (default), uids=0,1000 or mode-only; and \",host\" for CPU code"},
    {"QUERN_CACHE_MAX_BYTES", "size limit of the cache directory, 500M or 2G; default 2G"},
    {"QUERN_CACHE_MAX_ENTRIES", "limit on its number of images; default 100000"},
    {"QUERN_WAIT_SECONDS",
     "how long one prepare waits for another process to compile the same image; default 30, 0: never"},
    {"QUERN_RECORDS", "file of tuning records; default $XDG_DATA_HOME/quern/records.jsonl, then below ~/.local/share"},
    {"QUERN_RECORD_LAYERS", "further record files, looked up after that one, separated by colons"},
    {"QUERN_TUNE", "where configs come from: lookup (default: a record where one fits), off, on-prepare or background"},
    {"QUERN_TUNE_SECONDS", "with on-prepare, how long one prepare may take to tune; default 10"},
    {"QUERN_TUNE_SHARE", "with background, the share of device time for tuning; default 0.05"},
    {"QUERN_TUNE_MEMORY", "with either, device memory for tuning, 2G; default 5 % of the free memory"},
    {"QUERN_WORKER", "with either, the program that measures, a path or a name in PATH; default quern"},
    {"QUERN_IN_WORKER", "set in a worker process, which looks up no records and tunes nothing"},
    {"QUERN_NVRTC", "path of libnvrtc.so; default: the search that `quern doctor` shows"},
    {"QUERN_CXX", "the C++ compiler for the target host; default: c++, g++ or clang++ of PATH"},
    {"QUERN_LIBCUDA", "path of libcuda.so.1; default: the loader's"},
    {"QUERN_HOSTDRIVER_LIBRARY",
     "path of libquern_hostdriver.so; default: next to the program or libquern, then the loader's"},
    {"QUERN_DEVICE", "for C and Python: cuda (default), or host, the CPU, for tests"},
    {"QUERN_LOG", "debug, info, warning (default), error or off"},
    {"QUERN_DUMP", "directory for the source, PTX and cubin of each image made"},
    {"QUERN_MANIFEST", "manifest to which each prepared problem is appended, once"},
    {"QUERN_ALIGNMENT", "alignment of all operands of all launches, 1 (default) to 256: no image is made for others"},
    {"CUDA_HOME", "a CUDA toolkit to look for NVRTC in"},
    {"CUDA_PATH", "the same, under another name"},
    {"CONDA_PREFIX", "a conda environment to look for NVRTC in"},
    {"VIRTUAL_ENV", "a Python environment with NVIDIA wheels to search for NVRTC"},
    {"PATH", "folders to search for the C++ compiler and the worker"},
    {"TMPDIR", "folder for temporary files of the C++ compiler; default /tmp"},
    {"LD_LIBRARY_PATH", "the loader's folders, also searched for NVRTC"},
    {"XDG_CACHE_HOME", "parent of the default cache directory"},
    {"XDG_DATA_HOME", "parent of the folder with the default file of records"},
    {"HOME", "its .cache and .local/share are the default parents of these two"},
}};

constexpr std::uint64_t kDefaultCacheBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kDefaultCacheEntries = 100'000;
constexpr std::uint64_t kUnsetAmount = std::numeric_limits<std::uint64_t>::max();
constexpr double kLeast = 0.001;  // of a time in seconds, and of a share
constexpr double kDay = 86400;    // in seconds
constexpr double kDefaultWaitSeconds = 30;
constexpr double kDefaultTuningSeconds = 10;
constexpr double kDefaultTuningShare = 0.05;

template <class T, class List>
T parse_choice(std::string_view text, std::string_view given, const List& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names.emplace_back(name);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("invalid value ", given, "=", text, "; expected one of ", join(names, ", ")));
}

constexpr std::array<std::pair<const char*, CacheMode>, 3> kCacheModes = {
    {{"read-write", CacheMode::read_write}, {"read-only", CacheMode::read_only}, {"off", CacheMode::off}}};
constexpr std::array<std::pair<const char*, CacheMatch>, 3> kCacheMatches = {
    {{"default", CacheMatch::standard}, {"exact", CacheMatch::exact}, {"any", CacheMatch::any}}};
constexpr std::array<std::pair<const char*, Tuning>, 4> kTunings = {{{"off", Tuning::off},
                                                                     {"lookup", Tuning::lookup},
                                                                     {"on-prepare", Tuning::on_prepare},
                                                                     {"background", Tuning::background}}};
constexpr std::array<std::pair<const char*, LogLevel>, 5> kLogLevels = {{{"debug", LogLevel::debug},
                                                                         {"info", LogLevel::info},
                                                                         {"warning", LogLevel::warning},
                                                                         {"error", LogLevel::error},
                                                                         {"off", LogLevel::off}}};

// `number`: the value of `text` if it parses.
double number_in(std::string_view given, std::string_view text, std::optional<double> number, double least,
                 double most) {
  if (number && *number >= least && *number <= most) return *number;
  throw Error(
      Code::bad_input, Stage::problem,
      cat("invalid value ", given, "=", text, "; expected a number from ", fixed(least, 3), " to ", fixed(most, 0)));
}

std::uint32_t alignment_in(std::string_view given, std::string_view text, std::optional<double> number) {
  for (std::uint32_t power = 1; power <= kMaxAlignment; power *= 2) {
    if (number == power) return power;
  }
  throw Error(Code::bad_input, Stage::problem,
              cat("invalid value ", given, "=", text, "; expected a power of two from 1 to ", kMaxAlignment));
}

// Fills options from variables. An invalid value adds a message, and the default is used.
class Filler {
 public:
  Filler(const Environment& environment, std::vector<std::string>* misread)
      : environment_(environment), misread_(misread) {}

  template <class T, class Parse>
  void fill(std::optional<T>& option, Variable variable, const T& otherwise, const Parse& parse) const {
    const std::string& text = environment_[variable];
    if (option || text.empty()) {
      option = option.value_or(otherwise);
      return;
    }
    option = otherwise;
    try {
      option = parse(text, row(variable).name);
    } catch (const Error& error) {
      misread_->push_back(cat(error.sentence, "; the default is used"));
    }
  }
  template <class T, class List>
  void choice(std::optional<T>& option, Variable variable, T otherwise, const List& choices) const {
    fill(option, variable, otherwise,
         [&](const std::string& text, const char* given) { return parse_choice<T>(text, given, choices); });
  }
  void amount(std::optional<std::uint64_t>& option, Variable variable, std::uint64_t otherwise) const {
    fill(option, variable, otherwise, parse_amount);
  }
  void number(std::optional<double>& option, Variable variable, double least, double most, double otherwise) const {
    if (option) number_in(row(variable).name, std::to_string(*option), option, least, most);
    fill(option, variable, otherwise, [&](const std::string& text, const char* given) {
      return number_in(given, text, parse_number(text), least, most);
    });
  }
  void alignment(std::optional<std::uint32_t>& option) const {
    const char* const name = row(Variable::alignment).name;
    if (option) alignment_in(name, std::to_string(*option), option);
    fill(option, Variable::alignment, std::uint32_t{1},
         [&](const std::string& text, const char* given) { return alignment_in(given, text, parse_number(text)); });
  }

 private:
  const Environment& environment_;
  std::vector<std::string>* misread_;
};

// A list separated by colons. "\:" is a colon within a path. A URL keeps its colons and ends before ":/".
std::vector<std::string> parse_paths(const std::string& text) {
  std::vector<std::string> paths(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    std::string& path = paths.back();
    const bool in_url = rest.starts_with("://") ? !path.empty() : path.find("://") != std::string::npos;
    if (rest.starts_with("\\:")) {
      path += text[++i];
    } else if (text[i] != ':' || (in_url && (rest.starts_with("://") || !rest.starts_with(":/")))) {
      path += text[i];
    } else {
      paths.emplace_back();
    }
  }
  std::erase(paths, "");
  return paths;
}

// Layers are files: a URL is reported, not looked for as a path.
std::vector<std::string> parse_layers(const std::string& text, Variable variable, std::vector<std::string>* misread) {
  std::vector<std::string> paths = parse_paths(text);
  std::erase_if(paths, [&](const std::string& path) {
    if (path.find("://") == std::string::npos) return false;
    misread->push_back(cat(row(variable).name, ": ", path,
                           " is a URL, and a layer is a file or directory; download it and give its path"));
    return true;
  });
  return paths;
}

// With a sudo that keeps HOME, root would create files there that the owner can neither use nor remove.
bool is_another_users(const std::string& home) {
  FileStatus status;
  FileSystem& files = real_file_system();
  std::string canonical;
  return files.user() == 0 && files.resolve(home, &canonical) == 0 && files.status(canonical, &status) == 0 &&
         status.owner != 0;
}

std::string default_cache_dir(const Environment& environment) {
  if (!environment[Variable::cache_dir].empty()) return environment[Variable::cache_dir];
  // As the XDG specification requires, a relative path is invalid and ignored.
  const std::string& xdg = environment[Variable::xdg_cache_home];
  const std::string& home = environment[Variable::home];
  if (xdg.starts_with('/')) return is_another_users(xdg) ? "" : xdg + "/quern";
  return home.empty() || is_another_users(home) ? "" : home + "/.cache/quern";
}

std::string default_records(const Environment& environment) {
  if (!environment[Variable::records].empty()) return environment[Variable::records];
  if (!environment[Variable::xdg_data_home].empty())
    return environment[Variable::xdg_data_home] + "/quern/records.jsonl";
  if (!environment[Variable::home].empty()) return environment[Variable::home] + "/.local/share/quern/records.jsonl";
  return {};
}

void fill(std::string& option, const std::string& value) {
  if (option.empty()) option = value;
}

}  // namespace

const VariableRow& row(Variable variable) { return kRows[static_cast<std::size_t>(variable)]; }

const char* name(Tuning tuning) {
  return std::find_if(kTunings.begin(), kTunings.end(), [&](const auto& row) { return row.second == tuning; })->first;
}

std::uint64_t parse_amount(std::string_view text, std::string_view given) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] =
      std::from_chars(text.data(), end, number);  // NOLINT(bugprone-suspicious-stringview-data-usage): `end` is its end
  const std::size_t unit = rest + 1 == end ? kUnits.find(*rest) : std::string_view::npos;
  const unsigned shift = rest == end ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
  const bool understood = status == std::errc() && (rest == end || unit != std::string_view::npos);
  if (understood && number <= std::numeric_limits<std::uint64_t>::max() >> shift) return number << shift;
  throw Error(Code::bad_input, Stage::problem,
              cat("invalid value ", given, "=", text, "; expected a number, optionally followed by K, M, G or T"));
}

Environment Environment::read() {
  Environment environment;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    // Libraries are opened from paths in these variables, so a setuid program ignores all of them.
    if (const char* value = secure_getenv(kRows[i].name))
      environment.values_[i] = value;  // NOLINT(concurrency-mt-unsafe)
  }
  return environment;
}

Options resolve(Options options, const Environment& environment, std::vector<std::string>* misread) {
  const Filler filler(environment, misread);
  fill(options.cache.directory, default_cache_dir(environment));
  fill(options.cache.trust, environment[Variable::cache_trust]);
  if (options.cache.layers.empty())
    options.cache.layers = parse_layers(environment[Variable::cache_layers], Variable::cache_layers, misread);
  filler.amount(options.cache.max_bytes, Variable::cache_max_bytes, kDefaultCacheBytes);
  filler.amount(options.cache.max_entries, Variable::cache_max_entries, kDefaultCacheEntries);
  filler.number(options.cache.wait_seconds, Variable::wait_seconds, 0, kDay, kDefaultWaitSeconds);
  fill(options.tuning.records, default_records(environment));
  if (options.tuning.record_layers.empty())
    options.tuning.record_layers = parse_layers(environment[Variable::record_layers], Variable::record_layers, misread);
  fill(options.compiler.nvrtc, environment[Variable::nvrtc]);
  fill(options.compiler.cxx, environment[Variable::cxx]);
  fill(options.libcuda, environment[Variable::libcuda]);
  fill(options.compiler.dump_dir, environment[Variable::dump]);
  fill(options.manifest, environment[Variable::manifest]);
  filler.alignment(options.alignment);
  filler.choice(options.cache.mode, Variable::cache, CacheMode::read_write, kCacheModes);
  filler.choice(options.cache.match, Variable::cache_match, CacheMatch::standard, kCacheMatches);
  // This overrides the host's options: an application that is its own worker and tunes would start itself endlessly.
  if (!environment[Variable::in_worker].empty()) options.tuning.mode = Tuning::off;
  filler.choice(options.tuning.mode, Variable::tune, Tuning::lookup, kTunings);
  filler.number(options.tuning.seconds, Variable::tune_seconds, kLeast, kDay, kDefaultTuningSeconds);
  filler.number(options.tuning.share, Variable::tune_share, kLeast, 1, kDefaultTuningShare);
  filler.amount(options.tuning.memory_bytes, Variable::tune_memory, kUnsetAmount);
  if (*options.tuning.memory_bytes == kUnsetAmount) options.tuning.memory_bytes.reset();
  fill(options.tuning.worker, environment[Variable::worker]);
  filler.choice(options.log.level, Variable::log, LogLevel::warning, kLogLevels);
  return options;
}

}  // namespace quern
