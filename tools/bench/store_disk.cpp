// Cost of a new Runtime that finds its images on disk.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "api/images.h"
#include "base/hash.h"
#include "base/text.h"
#include "cache/store.h"
#include "cache/transfer.h"
#include "driver/library.h"
#include "plan/unit.h"
#include "plan/variants.h"
#include "store_bench.h"

namespace quern::bench {
namespace {

// A problem and the files of its images.
struct Case {
  AnyProblem problem;
  std::vector<std::string> paths;
  std::vector<std::shared_ptr<const cache::Entry>> entries;
  std::uint64_t bytes = 0;
};

// The store chooses one of them. Their names all begin with the first half of the key.
void add_file(cache::Store& store, const std::string& key, Case& found) {
  for (const cache::Item& item : store.list()) {
    if (item.key.substr(0, item.key.find('/')) != key.substr(0, key.find('/'))) continue;
    std::string why_not;
    auto entry = store.load(item.key, &why_not);
    if (entry == nullptr) throw Error(Code::io, Stage::tool, why_not);
    found.paths.push_back(cat(item.layer, "/", item.key));
    found.entries.push_back(std::move(entry));
    found.bytes += item.bytes;
    return;
  }
  throw Error(Code::io, Stage::tool, cat("no image of ", key, " on disk"));
}

Case find_case(const Place& place, const Settings& settings, const std::string& text) {
  Runtime runtime(options_for(settings.images, place.driver));
  Case found{runtime.parse(text), {}, {}, 0};
  const AnyPlan plan = runtime.prepare_any(found.problem.family(), found.problem.data());
  for (const ImageInfo& image : plan.images()) {
    if (image.origin == ImageOrigin::compiled)
      throw Error(Code::io, Stage::tool, cat("no image of ", text, " for ", place.device.target.text()));
    add_file(runtime.state().store, image.key, found);
  }
  return found;
}

// ---- the floor

void read_and_hash(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  struct stat status {};
  ::fstat(file, &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  const auto bytes = std::make_unique_for_overwrite<char[]>(size);
  const ssize_t got = ::read(file, bytes.get(), size);
  ::close(file);
  if (got != status.st_size) throw Error(Code::io, Stage::tool, cat("cannot read ", path));
  const volatile auto first = hash128({bytes.get(), size}).bytes[0];
  static_cast<void>(first);
}

void read_files(const Case& measured) {
  for (const std::string& path : measured.paths) read_and_hash(path);
}

// cuLibraryLoadData of each image, after reading it or alone.
double load_libraries(const Place& place, const Case& measured, bool read) {
  const Driver& driver = *place.driver;
  std::vector<CUlibrary> libraries(measured.entries.size());
  const Stopwatch watch;
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    if (read) read_and_hash(measured.paths[i]);
    driver.check(driver->LibraryLoadData(&libraries[i], measured.entries[i]->cubin.data(), nullptr, nullptr, 0, nullptr,
                                         nullptr, 0),
                 Stage::tool, "cuLibraryLoadData");
  }
  const double us = watch.us();
  for (CUlibrary library : libraries) driver->LibraryUnload(library);
  return us;
}

// The same, plus loading the functions into the context, as for a plan.
double load_functions(const Place& place, const Case& measured) {
  std::vector<std::unique_ptr<Library>> libraries;
  const Stopwatch watch;
  for (std::size_t i = 0; i < measured.entries.size(); ++i) {
    read_and_hash(measured.paths[i]);
    const cache::Entry& entry = *measured.entries[i];
    libraries.push_back(std::make_unique<Library>(place.driver, entry.cubin, entry.kernel));
  }
  return watch.us();
}

// ---- a new Runtime

struct Start {
  double whole_us = 0;     // prepare
  double own_us = 0;       // without the time in the driver
  double identity_us = 0;  // identifying NVRTC, before prepare
};

Start start(const Place& place, const Options& options, const Case& measured) {
  Runtime runtime(options);
  Start result;
  const Stopwatch identity;
  runtime.state().compiler.identity(place.device.target);
  result.identity_us = identity.us();
  take_driver_us();
  const Stopwatch watch;
  const AnyPlan plan = runtime.prepare_any(measured.problem.family(), measured.problem.data());
  result.whole_us = watch.us();
  result.own_us = result.whole_us - take_driver_us();
  return result;
}

// Medians by name, in the order of first use.
class Medians {
 public:
  void add(const std::string& name, double value) {
    for (auto& [known, values] : all_) {
      if (known == name) return values.push_back(value);
    }
    all_.push_back({name, {value}});
  }
  double of(const std::string& name) const {
    for (const auto& [known, values] : all_) {
      if (known == name) return median(values);
    }
    return 0;
  }
  std::vector<Row> rows(const std::string& problem) const {
    std::vector<Row> rows;
    for (const auto& [name, values] : all_)
      rows.push_back(Row().add("problem", problem).add("phase", name).add("us", Value(median(values), 1)));
    return rows;
  }

 private:
  std::vector<std::pair<std::string, std::vector<double>>> all_;
};

template <class Work>
void timed(Medians& medians, const std::string& name, const Work& work) {
  const Stopwatch watch;
  work();
  medians.add(name, watch.us());
}

// Work before the measured prepare, so that each floor starts with the same state of the CPU caches.
void begin(const Place& place, const Settings& settings) {
  Runtime runtime(options_for(settings.images, place.timed));
  runtime.state().compiler.identity(place.device.target);
}

// No directory; only a pack of the same images.
Options with_pack(const Place& place, const Settings& settings, cache::PackForm form) {
  const std::string path = cat(settings.images, form == cache::PackForm::plain ? ".plain" : ".compressed", ".pack");
  Runtime runtime(options_for(settings.images, place.driver));
  cache::export_pack(runtime.state().store, path, form);
  Options options = options_for(cat(settings.images, ".none"), place.timed);
  options.cache.mode = CacheMode::read_only;
  options.cache.layers = {path};
  return options;
}

Row warm_row(const Place& place, const Settings& settings, const Case& measured) {
  Medians medians;
  const Options directory = options_for(settings.images, place.timed);
  const Options plain = with_pack(place, settings, cache::PackForm::plain);
  const Options compressed = with_pack(place, settings, cache::PackForm::compressed);
  for (int i = 0; i < settings.samples; ++i) {
    begin(place, settings);
    timed(medians, "read", [&] { read_files(measured); });
    begin(place, settings);
    medians.add("load", load_libraries(place, measured, false));
    begin(place, settings);
    medians.add("floor", load_libraries(place, measured, true));
    begin(place, settings);
    medians.add("running", load_functions(place, measured));
    const Start begun = start(place, directory, measured);
    medians.add("prepare", begun.whole_us);
    medians.add("own", begun.own_us);
    medians.add("identity", begun.identity_us);
    medians.add("plain", start(place, plain, measured).whole_us);
    medians.add("compressed", start(place, compressed, measured).whole_us);
  }
  const auto us = [&](const char* name) { return Value(medians.of(name), 1); };
  return Row()
      .add("problem", measured.problem.text())
      .add("images", measured.paths.size())
      .add("bytes", static_cast<std::int64_t>(measured.bytes))
      .add("prepare_us", us("prepare"))
      .add("own_us", us("own"))
      .add("read_hash_us", us("read"))
      .add("load_us", us("load"))
      .add("floor_us", us("floor"))
      .add("floor_function_us", us("running"))
      .add("ratio", Value(medians.of("prepare") / medians.of("floor"), 2))
      .add("ratio_function", Value(medians.of("prepare") / medians.of("running"), 2))
      .add("identity_us", us("identity"))
      .add("pack_us", us("plain"))
      .add("compressed_pack_us", us("compressed"))
      .add("ratio_compressed", Value(medians.of("compressed") / medians.of("running"), 2));
}

// ---- phases

void measure_phases_once(const Place& place, const Settings& settings, const Case& measured, Medians& medians) {
  const Family& family = measured.problem.family();
  const void* problem = measured.problem.data();
  const Target& target = place.device.target;
  std::unique_ptr<Runtime> runtime;
  timed(medians, "Runtime", [&] { runtime = std::make_unique<Runtime>(options_for(settings.images, place.driver)); });
  RuntimeState& state = runtime->state();
  timed(medians, "NVRTC's identity", [&] { state.compiler.identity(target); });
  timed(medians, "device", [&] { describe_device(*place.driver, place.device.ordinal); });
  timed(medians, "records", [&] { state.records.count(family); });
  std::vector<Variant> variants;
  timed(medians, "variants",
        [&] { variants = variants_of(family, family.steps[0], problem, target, model_of(place.device), {}); });
  std::vector<Spec> specs(variants.size());
  std::vector<UnitSources> units;
  std::vector<cache::Key> keys;
  timed(medians, "specialize", [&] {
    for (std::size_t i = 0; i < specs.size(); ++i)
      family.steps[0].specialize(problem, target, variants[i].config, specs[i]);
  });
  timed(medians, "find_sources", [&] {
    for (const Spec& spec : specs) units.push_back(find_sources(family, family.steps[0], spec, target));
  });
  timed(medians, "image_key", [&] {
    for (std::size_t i = 0; i < specs.size(); ++i)
      keys.push_back(
          image_key(family, family.steps[0], units[i], specs[i], target, false, state.compiler.identity(target)));
  });
  timed(medians, "store, first hit", [&] { state.store.find(keys.front()); });
  timed(medians, "store, other hits", [&] {
    for (std::size_t i = 1; i < keys.size(); ++i) state.store.find(keys[i]);
  });
  timed(medians, "obtain_image, from memory", [&] {
    for (const Variant& variant : variants) obtain_image(state, {&family, &family.steps[0], problem, target, variant});
  });
  timed(medians, "prepare, images in memory", [&] { runtime->prepare_any(family, problem); });
}

// ---- cold starts

// A store with the images of the case and others, `entries` in all.
void fill(const std::string& folder, const Case& measured, std::size_t entries) {
  cache::StoreSettings settings;
  settings.dir = folder;
  cache::Store store(settings, Log(LogLevel::warning, {}));
  for (const auto& entry : measured.entries) {
    cache::Key key;
    key.what = entry->what;
    key.who = entry->who;
    key.what_hash = hash128(key.what);
    key.who_hash = hash128(key.who);
    store.put(key, *entry);
  }
  for (std::size_t i = measured.entries.size(); i < entries; ++i) {
    const auto what = cache::KeyText().field("family", "other").field("number", std::to_string(i)).text();
    store.put(cache::make_key(what, measured.entries.front()->who), *measured.entries.front());
  }
}

double cold_start(const Place& place, const std::string& folder, const Case& measured) {
  const Stopwatch watch;
  Runtime runtime(options_for(folder, place.driver));
  const AnyPlan plan = runtime.prepare_any(measured.problem.family(), measured.problem.data());
  return watch.us();
}

}  // namespace

Section measure_warm_disk(const Place& place, const Settings& settings) {
  Section section{"warm disk hit: prepare by a new Runtime", {}};
  for (const std::string& text : problems())
    section.rows.push_back(warm_row(place, settings, find_case(place, settings, text)));
  return section;
}

Section measure_phases(const Place& place, const Settings& settings) {
  Section section{"phases of a warm disk hit, for all images of the problem", {}};
  for (const std::string& text : problems()) {
    const Case measured = find_case(place, settings, text);
    Medians medians;
    for (int i = 0; i < settings.samples; ++i) measure_phases_once(place, settings, measured, medians);
    for (Row& row : medians.rows(text)) section.rows.push_back(std::move(row));
  }
  return section;
}

Section measure_cold_starts(const Place& place, const Settings& settings) {
  const Case measured = find_case(place, settings, problems().front());
  const Folder folder;
  fill(folder / "few", measured, 10);
  fill(folder / "many", measured, 1000);
  Medians medians;
  for (int i = 0; i < settings.samples; ++i) {
    medians.add("few", cold_start(place, folder / "few", measured));
    medians.add("many", cold_start(place, folder / "many", measured));
  }
  return {"cold start: a Runtime and its first prepare, by entries on disk",
          {Row()
               .add("us_10", Value(medians.of("few"), 1))
               .add("us_1000", Value(medians.of("many"), 1))
               .add("ratio", Value(medians.of("many") / medians.of("few"), 3))}};
}

}  // namespace quern::bench
