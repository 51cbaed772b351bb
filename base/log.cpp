#include "base/log.h"

#include <memory>

#include "base/fork_barrier.h"
#include "base/text.h"

#ifdef QUERN_WITH_SPDLOG
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#else
#include <cstdio>
#endif

namespace quern {
namespace {

#ifdef QUERN_WITH_SPDLOG
// Escapes control characters: paths and texts of files are untrusted and must not control a terminal. A sink set by the
// host gets the line unchanged.
// A private logger, never one of the process-wide registry: the host's loggers and levels stay untouched.
LogSink standard_error() {
  auto logger = std::make_shared<spdlog::logger>("quern", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_level(spdlog::level::trace);
  logger->set_pattern("%H:%M:%S.%e %n %^%l%$: %v");
  return [logger](LogLevel level, std::string_view line) {
    static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                            spdlog::level::warn, spdlog::level::err};
    const ForkSection section;  // the logger has a mutex
    const std::string shown = printable_lines(line);
    logger->log(kLevels[static_cast<int>(level)], spdlog::string_view_t(shown.data(), shown.size()));
  };
}
#else
// The static library contains no spdlog: its weak symbols would merge with those of the host's copy.
LogSink standard_error() {
  return [](LogLevel level, std::string_view line) {
    static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
    std::fprintf(stderr, "quern %s: %s\n", kNames[static_cast<int>(level)], printable_lines(line).c_str());
  };
}
#endif

}  // namespace

Log::Log(LogLevel level, LogSink sink) : level_(level), sink_(sink ? std::move(sink) : standard_error()) {}

void Log::write(LogLevel level, std::string_view line) const noexcept {
  if (!on(level)) return;
  try {
    sink_(level, line);
  } catch (...) {  // a log line must not fail the caller
  }
}

}  // namespace quern
