#include "io/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "io/output.h"

namespace quern::tool {
namespace {

constexpr double kPlainEvery = 10;  // seconds
constexpr std::string_view kFromTheLeft = "\r\033[K";

// "1.5/s", and where that would be 0.0 "20 s each".
std::string rate_text(double done, double seconds) {
  const double rate = done / seconds;
  return rate >= 0.1 ? cat(fixed(rate, rate < 10 ? 1 : 0), "/s") : cat(duration_text(1 / rate), " each");
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 90) return cat(fixed(seconds, 0), " s");
  if (seconds < 90 * 60) return cat(fixed(seconds / 60, 0), " min");
  return cat(fixed(seconds / 3600, 1), " h");
}

ProgressScreen stderr_screen(bool prints_rows) {
  const bool silent = prints_rows && output_columns() > 0;
  const char* const term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nothing here sets it
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return {dumb || silent ? 0 : error_columns(),
          [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); },
          [silent](std::string_view text) {
            if (!silent) std::fwrite(text.data(), 1, text.size(), stderr);
          }};
}

Progress::Progress(std::size_t total, std::size_t already, ProgressScreen screen)
    : total_(total), already_(already), screen_(std::move(screen)), start_(screen_.seconds()), last_(start_) {}

Progress::~Progress() {
  if (screen_.columns > 0) screen_.write(kFromTheLeft);
}

void Progress::show(std::size_t done, std::string_view what, double most_left) {
  if (screen_.columns > 0)
    return screen_.write(cat(kFromTheLeft, line(done, what, most_left).substr(0, screen_.columns - 1)));
  if (screen_.seconds() - last_ < kPlainEvery) return;
  last_ = screen_.seconds();
  screen_.write(cat(line(done, what, most_left), "\n"));
}

std::string Progress::line(std::size_t done, std::string_view what, double most_left) const {
  const double seconds = screen_.seconds() - start_;
  const auto here = static_cast<double>(done - std::min(done, already_));
  double left = most_left;
  if (here > 0 && done <= total_) {
    const double by_rate = seconds / here * static_cast<double>(total_ - done);
    left = most_left < 0 ? by_rate : std::min(most_left, by_rate);
  }
  std::string out = cat("[", done, "/", total_, "] ");
  if (here > 0 && seconds > 0) out += cat(rate_text(here, seconds), ", ");
  if (left >= 0) out += cat(duration_text(left), " left: ");
  return out + std::string(what);
}

}  // namespace quern::tool
