// quern_store_bench: cost of the image store and the plan table, each time with its floor in the same run. A standalone
// program, so that it runs on a machine with a GPU and nothing else installed.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "base/text.h"
#include "store_bench.h"
#include "testbench/null_driver.h"

namespace quern::bench {
namespace {

// ---- a driver that measures its time

std::atomic<std::int64_t> driver_ns{0};
const DriverTable* plain_table = nullptr;

template <auto Member, class Function>
struct Timed;
template <auto Member, class... Arguments>
struct Timed<Member, CUresult (*)(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    const Stopwatch watch;
    const CUresult result = (plain_table->*Member)(arguments...);
    driver_ns.fetch_add(static_cast<std::int64_t>(watch.ns()), std::memory_order_relaxed);
    return result;
  }
};

std::shared_ptr<Driver> timed_driver(const Driver& plain) {
  plain_table = plain.operator->();
  DriverTable table;
#define QUERN_TIMED(member, symbol) table.member = &Timed<&DriverTable::member, decltype(DriverTable::member)>::call;
  QUERN_DRIVER_FUNCTIONS(QUERN_TIMED)
#undef QUERN_TIMED
  return std::make_shared<Driver>(table, plain.origin());
}

// ---- the images

// Throws Error.
void make_images(const std::string& folder, const std::string& arch) {
  Runtime runtime(options_for(folder, nullptr));
  for (const std::string& text : problems()) {
    const AnyProblem problem = runtime.parse(text);
    runtime.prewarm(problem.family(), problem.data(), arch);
  }
}

// In a separate process, so that this one does not load NVRTC, as in a warm start.
void make_images_beside(const std::string& folder, const std::string& arch) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "quern_store_bench", "--make-images", folder.c_str(), "--arch", arch.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0)
    throw Error(
        Code::no_compiler, Stage::tool,
        cat("the images could not be compiled here; compile them on a machine with NVRTC (--make-images DIR --arch ",
            arch, ") and pass them with --images DIR"));
}

// A copy that only this user may write, as the store demands.
void copy_images(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  fs::copy(from, to, fs::copy_options::recursive);
  ::chmod(to.c_str(), 0700);
  for (const auto& file : fs::recursive_directory_iterator(to))
    ::chmod(file.path().c_str(), file.is_directory() ? 0700 : 0600);
}

// ---- the program

struct Typed {
  std::string device = "null";
  std::string images;
  std::string make_images;
  std::string arch = "sm_90a";
  bool json = false;
  Settings settings;
};

void declare(CLI::App& app, Typed& typed) {
  app.add_option("--device", typed.device, "null (default), a driver that returns at once, or cuda:N");
  app.add_option("--images", typed.images, "A directory from --make-images; default: compile the images now");
  app.add_option("--make-images", typed.make_images, "Only compile the images into this directory");
  app.add_option("--arch", typed.arch, "For --make-images; default sm_90a");
  app.add_option("--threads", typed.settings.threads,
                 "Maximum number of threads; default 16, limited by the number of cores");
  app.add_option("--samples", typed.settings.samples, "Samples of each disk time; default 201");
  app.add_flag("--json", typed.json, "Print JSON lines");
}

void print(const Section& section, bool json) {
  if (!json) tool::print_line(cat("\n", section.title));
  std::vector<Row> rows;
  for (const Row& row : section.rows) {
    rows.emplace_back();
    if (json) rows.back().add("section", section.title);
    rows.back().fields.insert(rows.back().fields.end(), row.fields.begin(), row.fields.end());
  }
  tool::print_rows("quern.store_bench/1", rows, json);
  std::fflush(stdout);
}

int run(Typed typed) {
  if (!typed.make_images.empty()) return make_images(typed.make_images, typed.arch), 0;
  const Folder folder;
  const Place place = open_place(typed.device);
  Settings& settings = typed.settings;
  settings.images = folder / "images";
  if (typed.images.empty())
    make_images_beside(settings.images, place.device.target.text());
  else
    copy_images(typed.images, settings.images);
  if (!typed.json) tool::print_line(cat(place.device.name, ", ", place.device.target.text()));
  const auto sections = {measure_memory_hits, measure_known_problems, measure_warm_disk, measure_phases,
                         measure_cold_starts};
  for (const auto& measure : sections) print(measure(place, settings), typed.json);
  return 0;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Folder::Folder() : path_((std::filesystem::temp_directory_path() / "quern-bench-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) throw Error(Code::io, Stage::tool, cat("cannot make ", path_));
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Place open_place(const std::string& name) {
  const auto ordinal = parse_integer(name.substr(std::min(name.find(':') + 1, name.size())));
  if (name != "null" && (name.rfind("cuda:", 0) != 0 || !ordinal))
    throw Error(Code::bad_input, Stage::tool, cat("--device ", name, " is invalid; it takes null or cuda:N"));
  Place place;
  place.driver = name == "null" ? std::make_shared<Driver>(null_driver_table()) : Driver::open("");
  const int number = name == "null" ? 0 : static_cast<int>(*ordinal);
  place.device = describe_device(*place.driver, number);
  if (name != "null") place.primary = std::make_unique<PrimaryContext>(*place.driver, number);
  place.context = current_context(*place.driver).handle;
  place.timed = timed_driver(*place.driver);
  return place;
}

double take_driver_us() { return static_cast<double>(driver_ns.exchange(0)) * 1e-3; }

Options options_for(const std::string& cache_dir, const std::shared_ptr<Driver>& driver) {
  Options options;
  options.cache.directory = cache_dir;
  options.cache.mode = CacheMode::read_write;
  options.cache.match = CacheMatch::standard;
  options.driver = driver;
  return options;
}

std::vector<std::string> problems() { return {"gather width=8192 dtype=bf16", "pointwise width=8192 activation=silu"}; }

}  // namespace quern::bench

int main(int argc, char** argv) {
  quern::bench::Typed typed;
  CLI::App app("Cost of the image store and the plan table");
  quern::bench::declare(app, typed);
  CLI11_PARSE(app, argc, argv);
  try {
    return quern::bench::run(typed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quern_store_bench: %s\n", error.what());
    return 1;
  }
}
