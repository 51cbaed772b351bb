#include "store/support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <thread>

#include "base/sanitizers.h"
#include "cache/budget.h"

namespace quern::cache {

// ---- sizes and figures

bool in_full() {
  const char* const asked = std::getenv("QUERN_TEST_FULL");
  return asked != nullptr && std::string_view(asked) == "1";
}

void figures(const std::string& line) {
  std::printf("figures: %s\n", line.c_str());
  std::fflush(stdout);
}

std::string Stopwatch::text() const {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", seconds());
  return text;
}

// ---- images

namespace {

// Content derived from key and build, so that a reader can verify it.
std::string bytes_of(const char* part, const std::string& what, const std::string& nonce) {
  std::string bytes = cat(part, " of ", what, " ", nonce);
  const std::size_t size = 1000 + std::hash<std::string>()(nonce) % 3000;
  while (bytes.size() < size) bytes += nonce;
  return bytes;
}

void append_line(const std::string& path, std::string line) {
  line += '\n';
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool done = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!done) std::perror(path.c_str());
  ::close(file);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Key key_of(int number) { return key_named(cat("kernel ", number)); }

std::vector<int> shuffled(int keys, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(keys));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

Entry image_of(int number) {
  const std::string nonce = staging_name();
  const std::string what = key_of(number).what;
  Entry entry = image(bytes_of("cubin", what, nonce));
  entry.ptx = bytes_of("ptx", what, nonce);
  entry.source = nonce;
  return entry;
}

std::string why_wrong(const Entry& entry, int number) {
  const Key key = key_of(number);
  if (entry.what != key.what || entry.who != key.who) return cat("another key's: ", entry.what);
  if (entry.cubin != bytes_of("cubin", key.what, entry.source)) return "not this build's cubin";
  if (entry.ptx != bytes_of("ptx", key.what, entry.source)) return "not this build's PTX";
  return {};
}

void BuildLog::add(int number) const { append_line(path_, cat(number, " by ", ::getpid())); }

std::map<int, int> BuildLog::counts() const {
  std::map<int, int> counts;
  for (const std::string& line : lines_of(path_)) ++counts[std::atoi(line.c_str())];
  return counts;
}

int BuildLog::total() const { return static_cast<int>(lines_of(path_).size()); }

Store::Build BuildLog::build(int number, std::chrono::microseconds time) const {
  return [this, number, time] {
    add(number);
    std::this_thread::sleep_for(time);
    return image_of(number);
  };
}

void Tally::add(const std::vector<std::pair<std::string, std::uint64_t>>& numbers) const {
  std::string line;
  for (const auto& [name, value] : numbers) line += cat(name, "=", value, " ");
  append_line(path_, line);
}

void Tally::add(const Counters& counters) const {
  std::vector<std::pair<std::string, std::uint64_t>> numbers;
#define QUERN_CACHE_COUNTER(name) numbers.emplace_back(#name, counters.name);
  QUERN_CACHE_COUNTERS(QUERN_CACHE_COUNTER)
#undef QUERN_CACHE_COUNTER
  add(numbers);
}

std::vector<std::uint64_t> Tally::values(const std::string& name) const {
  std::vector<std::uint64_t> values;
  const std::string start = name + "=";
  for (const std::string& line : lines_of(path_)) {
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word.starts_with(start)) values.push_back(std::stoull(word.substr(start.size())));
  }
  return values;
}

std::uint64_t Tally::sum(const std::string& name) const {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values(name)) sum += value;
  return sum;
}

std::uint64_t Tally::most(const std::string& name) const {
  std::uint64_t most = 0;
  for (const std::uint64_t value : values(name)) most = std::max(most, value);
  return most;
}

// ---- processes

namespace {

std::map<std::string, Worker>& workers() {
  static std::map<std::string, Worker> rows;
  return rows;
}

}  // namespace

WorkerRow::WorkerRow(const char* name, Worker worker) { workers()[name] = worker; }

std::optional<int> run_worker(int argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != "--worker") return std::nullopt;
  end_if_hung();
  try {
    return workers().at(argv[2])(Arguments(argv + 3, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker %s: %s\n", argv[2], error.what());
    return 98;
  }
}

pid_t start_worker(const std::string& name, const Arguments& arguments) {
  Arguments all{"quern_store_tests", "--worker", name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (std::string& argument : all) raw.push_back(argument.data());
  raw.push_back(nullptr);
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::execv("/proc/self/exe", raw.data());
  ::_exit(127);
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return 126;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void kill_and_wait(pid_t process) {
  ::kill(process, SIGKILL);
  wait_for(process);
}

// The state letter follows the thread's name, which may contain anything except a last parenthesis.
bool sleeps(std::istream& state) {
  std::string line;
  std::getline(state, line);  // an iterator over the stream's buffer throws if the thread has ended
  const std::size_t end = line.rfind(") ");
  return end == std::string::npos || line.at(end + 2) == 'S';
}

namespace {

bool others_sleep() {
  const std::string self = std::to_string(::gettid());
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::all_of(begin(tasks), end(tasks), [&](const auto& task) {
    std::ifstream state(task.path() / "stat");
    return task.path().filename() == self || sleeps(state);
  });
}

}  // namespace

void let_others_rest() {
  if (QUERN_ADDRESS_SANITIZER == 0) return;
  while (!others_sleep()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void end_if_hung() { ::alarm(sized(3600U, 120U)); }

// Closes this side's ends in a worker, or no worker would see the other side close.
ProcessBarrier::ProcessBarrier() {
  if (::pipe(ready_) != 0 || ::pipe(release_) != 0) std::abort();
  ::fcntl(ready_[0], F_SETFD, FD_CLOEXEC);
  ::fcntl(release_[1], F_SETFD, FD_CLOEXEC);
}

ProcessBarrier::~ProcessBarrier() {
  for (const int file : {ready_[0], ready_[1], release_[0], release_[1]})
    if (file >= 0) ::close(file);
}

std::string ProcessBarrier::argument() const { return cat(ready_[1], ",", release_[0]); }

void ProcessBarrier::let_through(int processes) {
  char byte = 0;
  ::close(std::exchange(ready_[1], -1));
  for (int here = 0; here < processes && ::read(ready_[0], &byte, 1) == 1;) ++here;
  ::close(std::exchange(release_[1], -1));
}

void ProcessBarrier::leave_to_parent() { ::close(std::exchange(release_[1], -1)); }

void pass_barrier(const std::string& argument) {
  const int ready = std::atoi(argument.c_str());
  const int release = std::atoi(argument.c_str() + argument.find(',') + 1);
  char byte = 0;
  if (::write(ready, &byte, 1) != 1 || ::read(release, &byte, 1) != 0) std::abort();
  ::close(ready);
}

// ---- directories

std::vector<std::string> left_behind(const std::string& dir) {
  std::vector<std::string> left;
  for (const std::string& path : files_below(dir)) {
    const bool staging = path.find(kStagingPrefix) != std::string::npos;
    if (staging || path.find("/.leases/") != std::string::npos) left.push_back(path);
  }
  return left;
}

Limits stored_in(const std::string& dir) {
  Limits stored{0, 0};
  for (const std::string& path : files_below(dir)) {
    const std::string name = path.substr(path.rfind('/') + 1);
    FileStatus status;
    if (!is_hash(name) && !is_failure(name)) continue;
    if (real_file_system().status(path, &status) != 0) continue;
    stored.bytes += status.bytes;
    stored.entries += 1;
  }
  return stored;
}

std::string why_account_short(const std::string& dir) {
  const auto usage = parse_usage(read_file(dir + "/.usage").value_or(""));
  const Limits there = stored_in(dir);
  if (!usage || (usage->bytes >= there.bytes && usage->entries >= there.entries)) return {};
  return cat("claims ", usage->bytes, " bytes in ", usage->entries, " files of ", there.bytes, " in ", there.entries);
}

StoreSettings sweeping(const std::string& dir) {
  StoreSettings settings = in(dir);
  settings.writer.staging_age = std::chrono::seconds(0);
  settings.writer.lease.longest = std::chrono::milliseconds(0);
  return settings;
}

namespace {

void expect_nothing_odd(const Store& store) {
  const Counters counters = store.counters();
  EXPECT_EQ(counters.damaged + counters.foreign + counters.untrusted + counters.unreadable, 0U);
  EXPECT_EQ(counters.failures + counters.not_stored + counters.refused, 0U);
}

void expect_building_goes_on(const StoreSettings& settings, int keys, FileSystem& files) {
  Store store(settings, silent(), files);
  for (int number = 0; number < keys; ++number)
    EXPECT_EQ(why_wrong(*store.get_or_build(key_of(number), [&] { return image_of(number); }).entry, number), "");
  expect_nothing_odd(store);
  Store later(settings, silent(), files);
  for (int number = 0; number < keys; ++number) EXPECT_NE(later.find(key_of(number)), nullptr);
}

}  // namespace

void expect_sound(const std::string& dir, int keys) {
  UnsyncedFiles files;
  const StoreSettings settings = sweeping(dir);
  Store store(settings, silent(), files);
  for (int number = 0; number < keys; ++number) {
    const auto entry = store.find(key_of(number));
    EXPECT_EQ(entry ? why_wrong(*entry, number) : "", "");
  }
  store.tidy(store.limits());
  EXPECT_EQ(left_behind(dir), std::vector<std::string>{});
  EXPECT_EQ(why_account_short(dir), "");
  expect_nothing_odd(store);
  expect_building_goes_on(settings, keys, files);
  EXPECT_EQ(left_behind(dir), std::vector<std::string>{});
}

}  // namespace quern::cache
