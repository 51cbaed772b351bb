#include "quern/runtime.h"

#include <exception>
#include <set>
#include <system_error>

#include "api/builtin_families.h"
#include "api/configs.h"
#include "api/images.h"
#include "api/prepare.h"
#include "api/runtime_state.h"
#include "base/border.h"
#include "base/text.h"
#include "driver/device.h"
#include "plan/check_family.h"
#include "plan/problem.h"

namespace quern {
namespace {

// An operator's typing error (in an environment variable) must not stop a server; one in the options must.
cache::Trust parse_trust(const Options& options, const Environment& environment, std::vector<std::string>* misread) {
  if (options.cache.trust.empty()) return {cache::Trust::Owners::owner, {}};
  try {
    return cache::parse_trust(options.cache.trust, "QUERN_CACHE_TRUST");
  } catch (const Error& error) {
    if (options.cache.trust != environment[Variable::cache_trust]) throw;
    misread->push_back(cat(error.sentence, "; the default is used"));
    return {cache::Trust::Owners::owner, {}};
  }
}

cache::Store::Settings store_settings(const Options& options, cache::Trust trust) {
  cache::StoreSettings settings;
  settings.dir = options.cache.directory;
  settings.mode = *options.cache.mode;
  settings.match = *options.cache.match;
  settings.layers = options.cache.layers;
  settings.trust = std::move(trust);
  settings.writer.limits = {*options.cache.max_bytes, *options.cache.max_entries};
  return settings;
}

// Splits "gather width=8192" into "gather" and the rest.
std::pair<std::string_view, std::string_view> split_problem(std::string_view text) {
  text = trim(text);
  const std::size_t space = std::min(text.find(' '), text.size());
  return {text.substr(0, space), text.substr(space)};
}

std::uint64_t bytes_of(const cache::Entry& entry) {
  return entry.cubin.size() + entry.ptx.size() + entry.source.size() + entry.log.size() + entry.what.size() +
         entry.who.size();
}

RecordLayers::Settings record_settings(const Options& options) {
  return {*options.tuning.mode, options.tuning.records, options.tuning.record_layers};
}

}  // namespace

RuntimeState::RuntimeState(Options given)
    : environment(Environment::read()),
      options(resolve(std::move(given), environment, &misread)),
      log(*options.log.level, options.log.sink),
      store(store_settings(options, parse_trust(options, environment, &misread)), log),
      compiler(options, environment, log),
      manifest(options.manifest, log),
      records(record_settings(options), log),
      driver_(options.driver),
      tuner(make_application_tuner(*this)) {
  for (const std::string& sentence : misread) log.warning(sentence);
  for (const Family* family : builtin_families()) families.emplace(family->name, family);
  if (options.compiler.warm) warm();
}

// If no thread can be started, or it fails, the first compile is as slow as without warming.
void RuntimeState::warm() {
  const auto work = [this]() noexcept {
    try {
      compiler.nvrtc().warm();
    } catch (const std::exception& error) {
      log.debug(error.what());
    }
  };
  try {
    warming_ = std::thread(work);
  } catch (const std::system_error& error) {
    log.debug(cat("NVRTC is not warmed: ", error.what()));
  }
}

RuntimeState::~RuntimeState() {
  if (warming_.joinable()) warming_.join();
}

const std::shared_ptr<Driver>& RuntimeState::driver() {
  const std::lock_guard lock(driver_mutex_);
  if (!driver_) driver_ = Driver::open(options.libcuda);
  if (!driver_->survived_fork()) throw Driver::forked();
  if (driver_if_open() == nullptr) {
    compiler.nvrtc().suit_driver(driver_->version());
    open_driver_.store(driver_.get(), std::memory_order_release);
  }
  return driver_;
}

void RuntimeState::drop_contexts(const std::vector<std::uint64_t>& gone) {
  for (const std::uint64_t context : gone) {
    plans.forget_context(context);
    kernels.drop_context(context);
  }
}

void RuntimeState::use(std::shared_ptr<Driver> driver) {
  const std::lock_guard lock(driver_mutex_);
  open_driver_.store(nullptr, std::memory_order_release);
  driver_ = std::move(driver);
}

Runtime::Runtime() : Runtime(Options{}) {}
Runtime::Runtime(Options options)
    : state_(with_errors(Stage::problem, [&] { return std::make_unique<RuntimeState>(std::move(options)); })) {}
Runtime::~Runtime() = default;
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

// Null if the plan must be made.
static std::shared_ptr<const PlanState> known_plan(RuntimeState& state, const Family& family, const void* problem,
                                                   const PrepareOptions& options) {
  const Driver* open = state.driver_if_open();
  if (open == nullptr || !open->survived_fork() || !options.config.empty()) return nullptr;
  auto plan = state.plans.find(PlanKey(family, problem, current_context_id(*open)));
  if (plan == nullptr || (options.device != kCurrentDevice && options.device != plan->device)) return nullptr;
  state.plan_hits.add();
  return plan;
}

static std::shared_ptr<const PlanState> new_plan(RuntimeState& state, const Family& family, const void* problem,
                                                 const PrepareOptions& options) {
  const Context context = current_context(*state.driver());
  if (options.device != kCurrentDevice && options.device != context.device)
    throw problem_error(family, problem,
                        cat("device ", options.device, " was asked for, but the current context is on device ",
                            context.device, "; make a context of that device current first"));
  state.drop_contexts(state.contexts.note(*state.driver(), context));
  if (!options.config.empty()) return make_plan(state, family, problem, context, options);
  const PlanKey key(family, problem, context.id);
  bool led = false;
  return state.planning.run(
      key,
      [&] {
        auto known = state.plans.find(key);
        return known != nullptr ? known : state.plans.add(key, make_plan(state, family, problem, context, options));
      },
      &led);
}

AnyPlan Runtime::prepare_any(const Family& family, const void* problem, const PrepareOptions& options) {
  return with_errors(Stage::problem, [&] {
    auto plan = known_plan(*state_, family, problem, options);
    return AnyPlan(plan != nullptr ? std::move(plan) : new_plan(*state_, family, problem, options));
  });
}

AnyPlan Runtime::prepare_text(std::string_view problem, const PrepareOptions& options) {
  const AnyProblem parsed = parse(problem);
  return prepare_any(parsed.family(), parsed.data(), options);
}

AnyProblem Runtime::parse(std::string_view problem) const {
  const auto [name, fields] = split_problem(problem);
  AnyProblem parsed(family(name));
  parse_fields(parsed.family(), fields, parsed.data());
  return parsed;
}

static Prewarmed make_ahead(RuntimeState& state, const Family& family, const void* problem, const Target& target,
                            std::string_view device_model, std::string_view config) {
  check_family(family);
  check_problem(family, problem);
  Prewarmed result;
  result.problem = problem_text(family, problem);
  result.arch = target.text();
  std::set<std::string> keys;
  for (const ConfigPlace& place : places_for(state, family, target, device_model)) {
    for (const Choice& choice : select_configs(state, family, problem, place, config)) {
      for (const Variant& variant : choice.variants) {
        ObtainedImage image = obtain_image(state, {&family, choice.step, problem, target, variant, true});
        if (!keys.insert(image.info.key).second) continue;
        result.images.push_back(std::move(image.info));
        result.sources.push_back(image.entry->source);
        result.ptx.push_back(image.entry->ptx);
      }
    }
  }
  state.store.flush();
  return result;
}

Prewarmed Runtime::prewarm(const Family& family, const void* problem, std::string_view arch,
                           std::string_view device_model, std::string_view config) {
  return with_errors(Stage::problem,
                     [&] { return make_ahead(*state_, family, problem, parse_target(arch), device_model, config); });
}

void Runtime::add(const Family& family) {
  check_family(family);
  const std::lock_guard lock(state_->families_mutex);
  if (!state_->families.emplace(family.name, &family).second)
    throw Error(Code::bad_input, Stage::problem, cat("a family named \"", family.name, "\" is there already"));
}

const Family& Runtime::family(std::string_view name) const {
  const std::lock_guard lock(state_->families_mutex);
  if (const auto found = state_->families.find(name); found != state_->families.end()) return *found->second;
  std::vector<std::string> names;
  for (const auto& [known, family] : state_->families) names.push_back(known);
  const std::string close = closest(name, names);
  throw Error(Code::bad_input, Stage::problem,
              cat("there is no family \"", name, "\"", close.empty() ? "." : cat("; did you mean ", close, "?"),
                  " Families are: ", join(names, ", ")));
}

std::vector<const Family*> Runtime::families() const {
  const std::lock_guard lock(state_->families_mutex);
  std::vector<const Family*> all;
  for (const auto& [name, family] : state_->families) all.push_back(family);
  return all;
}

std::size_t Runtime::forget_any(const Family& family, const void* problem) {
  PackedProblem packed;
  pack(family, problem, packed);
  const std::size_t forgotten = state_->plans.forget(family, packed);
  if (forgotten != 0) state_->kernels.drop_unused();
  return forgotten;
}

void Runtime::flush() { state_->store.flush(); }

void Runtime::trim() {
  if (const Driver* open = state_->driver_if_open(); open != nullptr && open->survived_fork())
    state_->drop_contexts(state_->contexts.take_gone(*open));
  state_->plans.forget_unused();
  state_->kernels.drop_unused();
  state_->store.drop_unused();
}

Statistics Runtime::statistics() const {
  const cache::Counters counters = state_->store.counters();
  Statistics statistics;
  statistics.hits.plan = state_->plan_hits.total();
  statistics.hits.memory = counters.memory_hits;
  statistics.hits.disk = counters.layer_hits;
  for (cache::LayerReport& layer : state_->store.layers())
    statistics.layers.push_back(
        {std::move(layer.path), std::move(layer.kind), layer.writable, layer.hits, std::move(layer.unusable)});
  statistics.compiles.count = state_->compiles;
  statistics.compiles.seconds = static_cast<double>(state_->compile_nanoseconds) * 1e-9;
  statistics.compiles.waits = counters.waits;
  statistics.compiles.process_waits = counters.lease_waits;
  statistics.compiles.process_timeouts = counters.lease_timeouts;
  statistics.compiles.remembered_failures = counters.remembered;
  statistics.misses.all = counters.misses;
  statistics.misses.absent = counters.absent;
  statistics.misses.other_compiler = counters.other_compiler;
  statistics.misses.rejected = counters.rejected;
  statistics.refused.damaged = counters.damaged;
  statistics.refused.foreign = counters.foreign;
  statistics.refused.untrusted = counters.untrusted;
  statistics.refused.unreadable = counters.unreadable;
  statistics.store.bytes_read = counters.bytes_read;
  statistics.store.bytes_written = counters.bytes_written;
  statistics.store.not_stored = counters.not_stored;
  statistics.store.evictions = counters.evictions;
  statistics.store.evicted_bytes = counters.evicted_bytes;
  statistics.refused.layers = counters.refused;
  statistics.store.failures = counters.failures;
  statistics.held.plans = state_->plans.size();
  const LoadedKernels::Total kernels = state_->kernels.total();
  statistics.held.libraries = kernels.libraries;
  statistics.held.library_bytes = kernels.bytes;
  for (const cache::EntryPointer& image : state_->store.resident()) {
    ++statistics.held.images;
    statistics.held.image_bytes += bytes_of(*image);
  }
  statistics.tuning.sweeps = state_->sweeps;
  statistics.tuning.better_plans = state_->better_plans;
  return statistics;
}

}  // namespace quern
