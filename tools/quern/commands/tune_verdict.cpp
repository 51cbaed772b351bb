#include "commands/tune_verdict.h"

#include <cmath>

#include "base/files.h"
#include "base/text.h"

namespace quern::tool {
namespace {

std::string percent(double value) { return cat(fixed(value, 1), " %"); }

// "3.2 % faster than the default", from a difference that is negative if it is faster.
std::string against_default(double difference) {
  return cat(percent(std::abs(difference)), difference <= 0 ? " faster" : " slower", " than the default");
}

std::string interval(const SweepResult& result) {
  return cat(" (95 % interval ", fixed(-result.high, 1), " to ", percent(-result.low), ")");
}

// Quoted for a shell.
std::string quoted(const std::string& path) {
  const bool plain =
      path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%") ==
      std::string::npos;
  if (plain) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string verdict_text(const SweepResult& result) {
  const std::string band = cat("no config was faster by more than ", percent(result.band_percent));
  if (result.why == "default") return cat("kept the default: ", band);
  if (result.why == "incumbent")
    return cat("kept the recorded config, ", against_default(result.percent), interval(result), ": ", band);
  const char* const which = result.why == "first in order" ? "took the first of several configs that are as fast, "
                                                           : "found a config that is ";
  return cat(which, against_default(result.percent), interval(result));
}

std::string report_command(const std::vector<std::string>& files) {
  constexpr std::size_t kMost = 4;
  std::string command = "quern tune report";
  if (files.size() > kMost) {
    command += cat(" ", quoted(parent_directory(files.front())), "/*.jsonl");
  } else {
    for (const std::string& file : files) command += cat(" ", quoted(file));
  }
  return command + " --output report.html";
}

}  // namespace quern::tool
