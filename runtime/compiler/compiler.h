// The compiler: one translation unit in, one image out. The target selects one of two back ends.
#ifndef QUERN_COMPILER_COMPILER_H_
#define QUERN_COMPILER_COMPILER_H_

#include <string>
#include <vector>

#include "compiler/compilation.h"
#include "compiler/host_compiler.h"
#include "compiler/nvrtc_compiler.h"

namespace quern {

// Thread-safe; several threads can compile concurrently. A back end is searched for when it is first needed for a
// target.
class Compiler {
 public:
  Compiler(const Options& options, const Environment& environment, const Log& log)
      : nvrtc_(options.compiler.nvrtc, environment, log), host_(options.compiler.cxx, environment) {}

  // The exact build, for the key; "" if there is no compiler. Changes when the compiler is replaced. Throws Error (io)
  // on a transient failure to look for it.
  std::string identity(const Target& target) { return target.host ? host_.identity() : nvrtc_.identity(); }

  // The options of one compile in canonical form and order, for the key.
  static std::vector<std::string> options(const Target& target, bool lineinfo) {
    return target.host ? HostCompiler::options(target, lineinfo) : NvrtcCompiler::options(target, lineinfo);
  }

  // The headers that precede the template.
  static std::vector<std::string> prelude(const Target& target) {
    return target.host ? HostCompiler::prelude() : std::vector<std::string>();
  }

  // Throws Error (unsupported, no_compiler) unless `target` itself can be compiled for.
  void require(const Target& target) { target.host ? host_.require() : nvrtc_.require(target); }

  // Throws Error (compile) with the log; its lines name the template's files.
  Image compile(const Unit& unit, const std::string& kernel, const Target& target, bool lineinfo) {
    return target.host ? host_.compile(unit, kernel, target, lineinfo) : nvrtc_.compile(unit, kernel, target, lineinfo);
  }

  NvrtcCompiler& nvrtc() { return nvrtc_; }
  HostCompiler& host() { return host_; }

 private:
  NvrtcCompiler nvrtc_;
  HostCompiler host_;
};

}  // namespace quern

#endif  // QUERN_COMPILER_COMPILER_H_
