#include "compiler/nvrtc_compiler.h"

#include <chrono>

#include "base/text.h"

namespace quern {
namespace {

// NVRTC refuses an option that it does not know, so each carries the version that brought it. `key`: changes the image.
struct OptionRow {
  const char* text;
  int since;
  bool key;
};
constexpr OptionRow kOptions[] = {
    {"--std=c++17", 0, true},
    {"--fmad=false", 0, true},        // fma is written where it is meant
    {"--ptxas-options=-v", 0, true},  // resources are read from the log
    {"--no-cache", 12009, false},     // NVRTC's own cache would hide what a compile costs
    {"--no-source-include", 12009,
     false},  // else a header in the working directory, which no key covers, could be read
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
  // The size counts the terminating zero.
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
  error.log = std::move(log);
  error.lasting = result == NVRTC_ERROR_COMPILATION;  // not memory, not a crash of NVRTC
  return error;
}

std::string places(const std::vector<NvrtcCandidate>& candidates) {
  std::string text;
  for (const NvrtcCandidate& c : candidates) text += cat("\n  ", c.path, " (", c.why, "): ", c.verdict);
  return text.empty() ? "\n  nowhere: none of the folders searched exists" : text;
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(std::string explicit_path, Environment environment, const Log& log)
    : explicit_path_(std::move(explicit_path)), environment_(std::move(environment)), log_(log) {}

void NvrtcCompiler::search() {
  std::call_once(searched_, [this] {
    searched_places_ = find_nvrtc(explicit_path_, environment_, NvrtcSearch::until_found);
    for (const NvrtcCandidate& candidate : searched_places_) {
      if (!candidate.found) continue;
      chosen_ = candidate.path;
      identity_ = nvrtc_identity(chosen_);
      return;
    }
  });
}

const std::string& NvrtcCompiler::path() {
  search();
  return chosen_;
}

const std::string& NvrtcCompiler::identity() {
  search();
  return identity_;
}

const std::vector<NvrtcCandidate>& NvrtcCompiler::candidates() {
  std::call_once(listed_, [this] { candidates_ = find_nvrtc(explicit_path_, environment_); });
  return candidates_;
}

const Nvrtc& NvrtcCompiler::nvrtc() {
  search();
  const std::lock_guard lock(opening_);
  if (nvrtc_) return *nvrtc_;
  if (chosen_.empty())
    throw Error(Code::no_compiler, Stage::compile,
                cat("no NVRTC found. Install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or give the path of "
                    "libnvrtc.so in QUERN_NVRTC. Looked at:",
                    places(searched_places_)));
  nvrtc_ = open_nvrtc(chosen_);
  log_.debug(cat("NVRTC ", nvrtc_->version / 1000, ".", nvrtc_->version % 1000, " from ", nvrtc_->path));
  return *nvrtc_;
}

std::vector<std::string> NvrtcCompiler::options(const Target& target, bool lineinfo, int version) {
  std::vector<std::string> options = {cat("--gpu-architecture=", target.text())};
  for (const OptionRow& row : kOptions) {
    const bool wanted = version == 0 ? row.key : version >= row.since;
    if (wanted) options.emplace_back(row.text);
  }
  if (lineinfo) options.emplace_back("--generate-line-info");
  return options;
}

bool NvrtcCompiler::supports(const Target& target, int* fallback) {
  int below = 0;
  for (const int architecture : nvrtc().architectures) {
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
  const auto start = std::chrono::steady_clock::now();
  int fallback = 0;
  const bool native = supports(target, &fallback);
  std::vector<std::string> arguments = options(target, lineinfo, nvrtc().version);
  if (!native && fallback == 0) require(target);
  if (!native) arguments.front() = cat("--gpu-architecture=compute_", fallback);
  Program program(nvrtc(), unit);
  const nvrtcResult result = program.compile(arguments);
  std::string log = program.log();
  if (result != NVRTC_SUCCESS) throw refused(nvrtc(), result, unit, std::move(log));
  Image image;
  image.kernel = kernel;
  image.ptx = program.ptx();
  if (native) image.cubin = program.cubin();
  image.resources = parse_resources(log);
  image.log = std::move(log);
  image.compiler = cat("nvrtc ", nvrtc().version / 1000, ".", nvrtc().version % 1000);
  image.compiler_order = static_cast<std::uint64_t>(nvrtc().version);
  image.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return image;
}

void NvrtcCompiler::warm() {
  if (nvrtc().architectures.empty())
    throw Error(Code::no_compiler, Stage::compile, cat(nvrtc().path, " names no architecture that it compiles for"));
  const Unit unit{{"warm.cu", "extern \"C\" __global__ void quern_warm() {}"}, {}, {}};
  compile(unit, "quern_warm", {nvrtc().architectures.back(), ""}, false);
}

}  // namespace quern
