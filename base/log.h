// A Runtime's log: a level and a sink. spdlog writes to stderr if the host set no sink.
#ifndef QUERN_BASE_LOG_H_
#define QUERN_BASE_LOG_H_

#include <string_view>
#include <utility>

#include "quern/log.h"

namespace quern {

class Log {
 public:
  Log(LogLevel level, LogSink sink);  // an empty sink: stderr
  bool on(LogLevel level) const { return level >= level_ && level_ != LogLevel::off; }
  // Does not throw: if the sink throws, its line is lost.
  void write(LogLevel level, std::string_view line) const noexcept;
  void debug(std::string_view line) const noexcept { write(LogLevel::debug, line); }
  void info(std::string_view line) const noexcept { write(LogLevel::info, line); }
  void warning(std::string_view line) const noexcept { write(LogLevel::warning, line); }

 private:
  LogLevel level_;
  LogSink sink_;
};

}  // namespace quern

#endif  // QUERN_BASE_LOG_H_
