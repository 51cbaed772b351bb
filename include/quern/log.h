// Logging: warnings by default, nothing else is printed unless asked.
#ifndef QUERN_LOG_H_
#define QUERN_LOG_H_

#include <functional>
#include <string_view>

namespace quern {

enum class LogLevel { debug, info, warning, error, off };

// Called with one line, without a newline. Must be thread-safe and must not call quern. Its exceptions are dropped. It
// must not wait for a thread that is in fork(), which may be waiting for the caller.
using LogSink = std::function<void(LogLevel, std::string_view)>;

}  // namespace quern

#endif  // QUERN_LOG_H_
