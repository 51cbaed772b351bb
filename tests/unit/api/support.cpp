#include "unit/api/support.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "unit/driver/support.h"

namespace quern::test {
namespace {

std::mutex one_at_a_time;
std::atomic<int> calls{0};

// An entry point of the null driver, wrapped with the lock and the count.
template <auto Member, class Function>
struct Counted;
template <auto Member, class... Arguments>
struct Counted<Member, CUresult (*)(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    static const DriverTable table = null_driver_table();
    const std::lock_guard lock(one_at_a_time);
    ++calls;
    return (table.*Member)(arguments...);
  }
};

}  // namespace

std::shared_ptr<Driver> counting_driver() {
  DriverTable table;
#define QUERN_COUNTED(member, symbol) \
  table.member = &Counted<&DriverTable::member, decltype(DriverTable::member)>::call;
  QUERN_DRIVER_FUNCTIONS(QUERN_COUNTED)
#undef QUERN_COUNTED
  return std::make_shared<Driver>(table);
}

int driver_calls() { return calls; }

LogSink KeptLog::sink() {
  return [this](LogLevel level, std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, line);
  };
}

int KeptLog::count(LogLevel level, const std::string& words) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(
      lines_.begin(), lines_.end(), [&](const auto& line) { return line.first == level && has(line.second, words); }));
}

std::string KeptLog::all() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [level, line] : lines_) text += line + "\n";
  return text;
}

void ApiTest::SetUp() {
  if (fake_nvrtc().path.empty()) GTEST_SKIP() << fake_nvrtc().why_not;
  fake_nvrtc().reset();
  reset_null_driver();
}

void ApiTest::TearDown() {
  if (fake_nvrtc().control != nullptr) fake_nvrtc().reset();
  reset_null_driver();
}

Options ApiTest::options() {
  Options options;
  options.cache.mode = CacheMode::off;
  options.cache.match = CacheMatch::standard;
  options.compiler.nvrtc = fake_nvrtc().path;
  options.tuning.records = scratch_ / "records.jsonl";
  options.tuning.mode = Tuning::off;  // ignores shipped records
  options.driver = counting_driver();
  options.log.level = LogLevel::info;
  options.log.sink = log_.sink();
  return options;
}

Options ApiTest::options(const std::string& cache_dir) {
  Options options = this->options();
  options.cache.mode = CacheMode::read_write;
  options.cache.directory = cache_dir;
  return options;
}

void ApiTest::hold(const std::string& text) {
  const std::size_t length = text.copy(control().held_text, sizeof(control().held_text) - 1);
  control().held_text[length] = '\0';
  control().hold = 1;
}

bool ApiTest::wait_for_held(int count) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (control().held < count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::vector<std::string> keys(const std::vector<ImageInfo>& images) {
  std::vector<std::string> keys;
  for (const ImageInfo& image : images) keys.push_back(image.key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace quern::test
