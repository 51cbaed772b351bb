#include "compiler/nvrtc_compiler.h"

#include <chrono>
#include <functional>

#include "base/large_stack.h"
#include "base/text.h"
#include "compiler/compiler_log.h"

namespace quern {
namespace {

// NVRTC refuses unknown options, so each has the version that introduced it. `key`: changes the image.
struct OptionRow {
  const char* text;
  int since;
  bool key;
};
constexpr OptionRow kNvrtcOptions[] = {
    {"--std=c++17", 0, true},
    {"--fmad=false", 0, true},        // templates write fma explicitly
    {"--ptxas-options=-v", 0, true},  // resources are parsed from the log
    {"--no-cache", 12009, false},     // NVRTC's own cache would hide the cost of a compile
    {"--no-source-include", 12009,
     false},  // else a header in the working directory, which is not part of the key, could be read
};

class Program {
 public:
  Program(const Nvrtc& nvrtc, const Unit& unit) : nvrtc_(nvrtc) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const SourceText& header : unit.headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    check(nvrtc.CreateProgram(&program_, unit.main.text.c_str(), unit.main.name.c_str(),
                              static_cast<int>(unit.headers.size()), texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  ~Program() { nvrtc_.DestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return nvrtc_.CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() { return text(nvrtc_.GetProgramLogSize, nvrtc_.GetProgramLog); }
  std::string ptx() { return text(nvrtc_.GetPTXSize, nvrtc_.GetPTX); }
  std::string cubin() {
    std::size_t bytes = 0;
    check(nvrtc_.GetCUBINSize(program_, &bytes), "nvrtcGetCUBINSize");
    std::string cubin(bytes, '\0');
    if (bytes != 0) check(nvrtc_.GetCUBIN(program_, cubin.data()), "nvrtcGetCUBIN");
    return cubin;
  }

 private:
  // The size includes the terminating zero.
  template <class Size, class Get>
  std::string text(Size size, Get get) {
    std::size_t bytes = 0;
    check(size(program_, &bytes), "NVRTC's size of a text");
    std::string out(bytes, '\0');
    if (bytes != 0) check(get(program_, out.data()), "NVRTC's text");
    while (!out.empty() && out.back() == '\0') out.pop_back();
    return out;
  }
  void check(nvrtcResult result, const char* call) const {
    if (result != NVRTC_SUCCESS)
      throw Error(Code::compile, Stage::compile, cat(call, " failed: ", nvrtc_.GetErrorString(result)));
  }
  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

Error refused(const Nvrtc& nvrtc, nvrtcResult result, const Unit& unit, std::string log) {
  Error error(Code::compile, Stage::compile,
              cat("NVRTC ", nvrtc.version / 1000, ".", nvrtc.version % 1000, " refused ", unit.main.name, ": ",
                  nvrtc.GetErrorString(result)));
  // NVRTC returns the same code when memory runs out, with another log or none.
  error.lasting = result == NVRTC_ERROR_COMPILATION && blames_source(unit, log, kNvrtcErrors);
  error.log = std::move(log);
  return error;
}

// All calls of NVRTC are made like this: it needs much stack, and the destructors of its thread-local objects, which
// run when a thread exits, take its locks.
void call_nvrtc(const std::function<void()>& calls) {
  const ForkSection section;
  run_on_large_stack([&] {
    const InheritedForkSection inherited;
    calls();
  });
}

Error none_found(const std::vector<NvrtcCandidate>& places) {
  std::string text;
  for (const NvrtcCandidate& c : places) text += cat("\n  ", c.path, " (", c.why, "): ", c.verdict);
  if (places.empty()) text = "\n  none of the searched folders exists";
  return Error(Code::no_compiler, Stage::compile,
               cat("no NVRTC found. Install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or give the path of "
                   "libnvrtc.so in QUERN_NVRTC. Looked at:",
                   text));
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(std::string explicit_path, Environment environment, const Log& log)
    : explicit_path_(std::move(explicit_path)), environment_(std::move(environment)), log_(log) {}

// ---- finding

bool NvrtcCompiler::usable(const NvrtcCandidate& candidate, int most_major) const {
  const bool too_new = most_major > 0 && explicit_path_.empty() && major_version(candidate) > most_major;
  return candidate.found && !too_new && unopenable_.count(candidate.path) == 0;
}

std::vector<NvrtcCandidate> NvrtcCompiler::search(const WantedNvrtc& wanted) const {
  auto places = find_nvrtc(explicit_path_, environment_, wanted);
  for (NvrtcCandidate& candidate : places) {
    if (const auto why = unopenable_.find(candidate.path); why != unopenable_.end()) candidate.verdict = why->second;
  }
  return places;
}

// Keeps nothing of a search that throws.
void NvrtcCompiler::find_once() {
  if (chosen_) return;
  const int most_major = driver_major_;
  auto places = search([&](const NvrtcCandidate& c) { return usable(c, most_major); });
  for (const int most : {most_major, 0}) {  // one that is too new is better than none
    for (const NvrtcCandidate& candidate : places) {
      if (!usable(candidate, most)) continue;
      identity_ = nvrtc_identity(candidate.path);
      chosen_ = candidate.path;
      places_ = std::move(places);
      if (most != most_major)
        log_.warning(cat(*chosen_, " is from a newer CUDA than the driver (", most_major,
                         ".x), which may refuse its images; install NVRTC ", most_major));
      return;
    }
  }
  chosen_ = "";
  identity_ = {};
  places_ = std::move(places);
}

// Keeps a suitable result, so that a search before the driver was known is not repeated.
void NvrtcCompiler::suit_driver(int cuda_version) {
  const std::lock_guard lock(mutex_);
  const int before = driver_major_.exchange(cuda_version / 1000);
  if (before == driver_major_) return;
  const bool stricter = before == 0 || driver_major_ < before;
  const bool kept = nvrtc_ != nullptr || (stricter && chosen_ && !chosen_->empty());
  if (kept && usable({*chosen_, "", "", true}, driver_major_)) return;
  nvrtc_ = nullptr;
  chosen_.reset();
}

std::string NvrtcCompiler::path() {
  const std::lock_guard lock(mutex_);
  find_once();
  return *chosen_;
}

std::string NvrtcCompiler::identity() {
  const std::lock_guard lock(mutex_);
  find_once();
  return identity_.text();
}

std::vector<NvrtcCandidate> NvrtcCompiler::candidates() {
  const std::lock_guard lock(mutex_);
  return search({});
}

// ---- opening

// Returns false if another one should be tried.
bool NvrtcCompiler::try_open() {
  try {
    call_nvrtc([&] { nvrtc_ = &opened_.emplace_back(open_nvrtc(*chosen_)); });
    return true;
  } catch (const Error& error) {
    if (error.code == Code::io || !explicit_path_.empty()) throw;
    log_.warning(cat("NVRTC: ", error.sentence, "; trying the next one"));
    unopenable_[*chosen_] = error.sentence;
    chosen_.reset();
    return false;
  }
}

const Nvrtc& NvrtcCompiler::nvrtc() {
  const std::lock_guard lock(mutex_);
  while (nvrtc_ == nullptr) {
    find_once();
    if (chosen_->empty()) {
      unopenable_.clear();  // the next call tries them again
      chosen_.reset();
      throw none_found(places_);
    }
    if (!try_open()) continue;
    log_.debug(cat("NVRTC ", nvrtc_->version / 1000, ".", nvrtc_->version % 1000, " from ", nvrtc_->path));
    check_identity();
  }
  return *nvrtc_;
}

// The first compile opens the builtins, so this is called after compiles too.
void NvrtcCompiler::check_identity() {
  if (correct_identity(*nvrtc_, identity_))
    log_.warning(cat("NVRTC was replaced after it was found: ", nvrtc_->path, " is now ", identity_.text(),
                     ", and its images are stored under that name"));
}

// ---- compiling

std::vector<std::string> NvrtcCompiler::options(const Target& target, bool lineinfo, int version) {
  std::vector<std::string> options = {cat("--gpu-architecture=", target.text())};
  for (const OptionRow& row : kNvrtcOptions) {
    const bool wanted = version == 0 ? row.key : version >= row.since;
    if (wanted) options.emplace_back(row.text);
  }
  if (lineinfo) options.emplace_back("--generate-line-info");
  return options;
}

bool NvrtcCompiler::supports(const Target& target, int* fallback) { return supports(nvrtc(), target, fallback); }

bool NvrtcCompiler::supports(const Nvrtc& nvrtc, const Target& target, int* fallback) {
  int below = 0;
  for (const int architecture : nvrtc.architectures) {
    if (architecture == target.arch) return true;
    if (architecture < target.arch) below = std::max(below, architecture);
  }
  if (fallback != nullptr) *fallback = below;
  return false;
}

void NvrtcCompiler::require(const Target& target) {
  if (supports(target)) return;
  std::vector<std::string> known;
  for (const int architecture : nvrtc().architectures) known.push_back(cat("sm_", architecture));
  throw Error(Code::unsupported, Stage::compile,
              cat("NVRTC ", nvrtc().path, " cannot compile for ", target.text(), "; it knows ", join(known, ", ")));
}

Image NvrtcCompiler::compile(const Unit& unit, const std::string& kernel, const Target& target, bool lineinfo) {
  Image image;
  call_nvrtc([&] {
    while (!compile_here(nvrtc(), unit, kernel, target, lineinfo, image)) image = {};
  });
  return image;
}

// Returns false if another NVRTC is in use now, to match a driver that was opened meanwhile.
bool NvrtcCompiler::compile_here(const Nvrtc& nvrtc, const Unit& unit, const std::string& kernel, const Target& target,
                                 bool lineinfo, Image& image) {
  const auto start = std::chrono::steady_clock::now();
  int fallback = 0;
  const bool native = supports(nvrtc, target, &fallback);
  std::vector<std::string> arguments = options(target, lineinfo, nvrtc.version);
  if (!native && fallback == 0) require(target);
  if (!native) arguments.front() = cat("--gpu-architecture=compute_", fallback);
  Program program(nvrtc, unit);
  const nvrtcResult result = program.compile(arguments);
  std::string log = program.log();
  {
    const std::lock_guard lock(mutex_);
    if (nvrtc_ != &nvrtc) return false;
    check_identity();
    image.identity = identity_.text();
  }
  if (result != NVRTC_SUCCESS) throw refused(nvrtc, result, unit, std::move(log));
  image.kernel = kernel;
  image.ptx = program.ptx();
  if (native) image.cubin = program.cubin();
  image.resources = parse_resources(log);
  image.log = std::move(log);
  image.compiler = cat("nvrtc ", nvrtc.version / 1000, ".", nvrtc.version % 1000);
  image.compiler_order = static_cast<std::uint64_t>(nvrtc.version);
  image.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return true;
}

void NvrtcCompiler::warm() {
  if (nvrtc().architectures.empty())
    throw Error(Code::no_compiler, Stage::compile, cat(nvrtc().path, " reports no supported architecture"));
  const Unit unit{{"warm.cu", "extern \"C\" __global__ void quern_warm() {}"}, {}, {}};
  compile(unit, "quern_warm", {nvrtc().architectures.back(), ""}, false);
}

}  // namespace quern
