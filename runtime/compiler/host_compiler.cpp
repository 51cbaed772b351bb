#include "compiler/host_compiler.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/program.h"
#include "base/sanitizers.h"
#include "base/text.h"
#include "compiler/build_id.h"
#include "compiler/compiler_log.h"
#include "quern/error.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"c++", "g++", "clang++"};
constexpr const char* kPrelude = "common/twin.cuh";
constexpr std::string_view kElf{"\x7f\x45\x4c\x46", 4};  // the magic at the start of every image

// No -march: an image may be used on another machine. -Og compiles in two thirds of the time of -O1 and in half of that
// of -O2, which is what most launches here wait for: 0.24 s for a kernel of moe_map. Its code takes up to 1.8 times as
// long: 0.55 s for 0.31 with 1000 x 4096 of glu. With AddressSanitizer, which only tests have, -O0 is faster still.
constexpr const char* kHostOptions[] = {
    "-std=c++20",
    "-w",                      // the template's pragmas are nvcc's
    "-ffp-contract=off",       // templates write fma explicitly
    "-fmacro-prefix-map=./=",  // file names as in the unit
    "-fno-exceptions",
    "-fno-rtti",
    "-fPIC",
    "-fvisibility=hidden",
#if QUERN_ADDRESS_SANITIZER
    "-O0",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-g1",
#else
    "-Og",
    "-fsanitize=thread",  // instruments raw accesses: common/twin_raw.cuh
#endif
};

// Absolute, because the compiler runs in its own folder.
HostCandidate candidate(const fs::path& path, const std::string& why) {
  std::error_code error;
  const bool found = runnable(path.string());
  const bool there = fs::exists(path, error);
  const fs::path whole = fs::absolute(path, error);
  return {error ? path.string() : whole.string(), why,
          found   ? "found"
          : there ? "cannot be run"
                  : "no such file",
          found};
}

// The first folder of PATH that has `name`; if none has, a candidate with that verdict.
HostCandidate in_path(const std::string& name, const std::string& folders, const std::string& why) {
  const std::string path = find_program(name, folders);
  return path.empty() ? HostCandidate{name, why, "not in PATH", false} : candidate(path, why);
}

// Whether a failure to start it is transient.
bool start_may_pass(const Finished& finished) {
  constexpr int kPassing[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, EINTR};
  return finished.status == -1 && std::count(std::begin(kPassing), std::end(kPassing), finished.error) != 0;
}

Error not_started(const std::string& program, const Finished& finished) {
  return Error(start_may_pass(finished) ? Code::io : Code::compile, Stage::compile,
               cat(program, " could not be started: ", error_text(finished.error)));
}

std::string identity_of_program(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return file_identity(error ? path : real.string());
}

// The compiler's whole environment: CPATH and similar variables would change the image, and no key contains them. Its
// messages are in the language that is parsed here.
std::vector<std::string> clean_environment(const Environment& environment) {
  std::vector<std::string> all = {"LC_ALL=C"};
  for (const Variable variable : {Variable::path, Variable::ld_library_path, Variable::tmpdir, Variable::home}) {
    if (!environment[variable].empty()) all.push_back(cat(row(variable).name, "=", environment[variable]));
  }
  return all;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// A temporary folder, removed at the end.
class Scratch {
 public:
  explicit Scratch(const std::string& parent) : path_(cat(parent.empty() ? "/tmp" : parent, "/quern-XXXXXX")) {
    if (mkdtemp(path_.data()) == nullptr)
      throw Error(Code::compile, Stage::compile,
                  cat("cannot create a folder for the compiler at ", path_, ": ", error_text(errno), "; set TMPDIR"));
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    const std::string path = cat(path_, "/", name);
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    std::FILE* const file = std::fopen(path.c_str(), "wbe");
    const bool wrote = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file == nullptr || std::fclose(file) != 0 || !wrote)
      throw Error(Code::compile, Stage::compile, cat("cannot write ", path, " for the compiler"));
  }

 private:
  std::string path_;
};

}  // namespace

HostCompiler::HostCompiler(std::string explicit_path, Environment environment)
    : explicit_path_(std::move(explicit_path)), environment_(std::move(environment)) {}

HostCompiler::Found HostCompiler::look() const {
  Found found;
  const std::string& folders = environment_[Variable::path];
  if (explicit_path_.find('/') != std::string::npos) {
    found.candidates.push_back(candidate(explicit_path_, "QUERN_CXX or the option"));
  } else if (!explicit_path_.empty()) {
    found.candidates.push_back(in_path(explicit_path_, folders, "QUERN_CXX or the option"));
  } else {
    for (const char* name : kNames) found.candidates.push_back(in_path(name, folders, "PATH"));
  }
  for (HostCandidate& candidate : found.candidates) {
    if (!candidate.found) continue;
    const Finished said = run_program(candidate.path, {"--version"}, "", clean_environment(environment_));
    if (start_may_pass(said)) throw not_started(candidate.path, said);
    candidate.found = said.status == 0 && !first_line(said.output).empty();
    if (!candidate.found) {
      candidate.verdict = cat("is not a compiler: --version printed nothing, or ended with ", said.status);
      continue;
    }
    found.path = candidate.path;
    found.version = first_line(said.output);
    found.file = identity_of_program(found.path);
    found.identity = cat("c++ ", found.file, " ", found.version);
    break;
  }
  return found;
}

// Keeps nothing of a search that throws.
std::shared_ptr<const HostCompiler::Found> HostCompiler::found() {
  const std::lock_guard lock(mutex_);
  if (found_ == nullptr) found_ = std::make_shared<const Found>(look());
  return found_;
}

// Searches again if the compiler was replaced while the process runs.
std::shared_ptr<const HostCompiler::Found> HostCompiler::found_unchanged() {
  auto now = found();
  if (now->path.empty() || identity_of_program(now->path) == now->file) return now;
  {
    const std::lock_guard lock(mutex_);
    found_.reset();
  }
  return found();
}

std::vector<std::string> HostCompiler::options(const Target& target, bool lineinfo) {
  std::vector<std::string> options(std::begin(kHostOptions), std::end(kHostOptions));
  options.push_back(cat("-DQUERN_HOST_ARCH=", target.arch));
  if (lineinfo) options.emplace_back("-g1");
  return options;
}

std::vector<std::string> HostCompiler::prelude() { return {kPrelude}; }

void HostCompiler::require() {
  const auto found = this->found();
  if (!found->path.empty()) return;
  std::string tried;
  for (const HostCandidate& c : found->candidates) tried += cat("\n  ", c.path, " (", c.why, "): ", c.verdict);
  throw Error(
      Code::no_compiler, Stage::compile,
      cat("no C++ compiler found, which the target host needs. Install g++, or give one in QUERN_CXX. Looked at:",
          tried));
}

Image HostCompiler::compile(const Unit& unit, const std::string& kernel, const Target& target, bool lineinfo) {
  require();
  const auto start = std::chrono::steady_clock::now();
  const auto compiler = found_unchanged();
  const Scratch scratch(environment_[Variable::tmpdir]);
  for (const SourceText& header : unit.headers) scratch.write(header.name, header.text);
  scratch.write(unit.main.name, cat(unit.main.text, "\nQUERN_HOST_KERNEL(", kernel, ")\n"));
  std::vector<std::string> arguments = options(target, lineinfo);
  for (const std::string& header : unit.prelude) arguments.insert(arguments.end(), {"-include", header});
  // Without the usual start files, which an image of one function does not need, linking takes half as long. libgcc has
  // what the processor lacks, such as a count of bits: most programs have it loaded, but Python's does not.
  arguments.insert(arguments.end(), {"-pipe", "-shared", "-nostdlib", "-I.", "-x", "c++", unit.main.name, "-o",
                                     "image.so", "-lm", "-lc", "-lgcc"});
  Finished finished = run_program(compiler->path, arguments, scratch.path(), clean_environment(environment_));
  if (finished.status == -1) throw not_started(compiler->path, finished);
  Image image;
  image.kernel = kernel;
  image.cubin = read_file(cat(scratch.path(), "/image.so")).value_or("");
  if (finished.status != 0 || !image.cubin.starts_with(kElf)) {
    Error error(Code::compile, Stage::compile, cat(compiler->version, " produced no image of ", unit.main.name));
    error.lasting = finished.status == 1 && blames_source(unit, finished.output, kGccErrors);
    error.log = std::move(finished.output);
    throw error;
  }
  image.log = std::move(finished.output);
  image.identity = compiler->identity;
  image.compiler = compiler->version;
  image.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return image;
}

}  // namespace quern
