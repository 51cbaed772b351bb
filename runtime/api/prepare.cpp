#include "api/prepare.h"

#include <chrono>
#include <future>
#include <system_error>

#include "api/application_tuner.h"
#include "api/configs.h"
#include "api/images.h"
#include "base/process_state.h"
#include "base/text.h"
#include "plan/check_family.h"
#include "plan/problem.h"
#include "plan/variants.h"

namespace quern {
namespace {

// None of the driver calls in prepare is forbidden while a stream is captured. If a driver still refuses one, the
// message names the cause in the user's terms.
bool capture_error(int code) {
  return code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || code == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD ||
         code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

constexpr std::size_t kMostThreads = 8;  // that compile for one prepare, in addition to its own

// Obtains images one after the other while they are cache hits, since starting a thread takes longer than a hit. When
// the first one must be compiled, or another process compiles it, the others are started in parallel; if no thread can
// be started, they are made one after the other.
class ImagesInMaking {
 public:
  ImagesInMaking(RuntimeState& state, const std::vector<ImageRequest>& requests, const cache::Patience& patience)
      : state_(state), requests_(requests), patience_(patience), images_(requests.size()) {}

  std::vector<ObtainedImage> all() {
    cache::Patience first = patience_;
    first.begins = [this] { start_others(); };
    while (next_ < requests_.size()) make(next_++, first);
    for (std::future<void>& other : others_) other.get();
    return std::move(images_);
  }

 private:
  void make(std::size_t i, const cache::Patience& patience) {
    images_[i] = obtain_image(state_, requests_[i], patience);
  }
  void start_others() {
    try {
      for (; next_ < requests_.size() && others_.size() < kMostThreads; ++next_)
        others_.push_back(std::async(std::launch::async, [this, i = next_] { make(i, patience_); }));
    } catch (const std::system_error& error) {
      state_.log.debug(cat("no thread for an image: ", error.what()));
    }
  }

  RuntimeState& state_;
  const std::vector<ImageRequest>& requests_;
  const cache::Patience patience_;
  std::vector<ObtainedImage> images_;
  std::size_t next_ = 0;  // the first that is not started
  std::vector<std::future<void>> others_;
};

// One deadline for all images of a prepare, starting now.
cache::Patience patience_of(const RuntimeState& state) {
  const std::chrono::duration<double> wait(*state.options.cache.wait_seconds);
  const auto now = std::chrono::steady_clock::now();
  return {now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(wait), {}};
}

std::shared_ptr<const Library> load_image(RuntimeState& state, const Context& context, const ObtainedImage& image) {
  try {
    return state.kernels.get(state.driver(), context, image.entry);
  } catch (Error& error) {
    error.key = image.info.key;
    throw;
  }
}

// Logs why an image was not loaded, and throws unless another image may be tried.
void note_rejected(RuntimeState& state, const ImageRequest& request, const ObtainedImage& image, const Error& error) {
  if (capture_error(error.driver_code))
    throw problem_error(*request.family, request.problem,
                        "the driver does not load kernels while a stream is captured; prepare before the capture");
  if (!image_rejected(static_cast<CUresult>(error.driver_code))) throw Error(error);
  state.log.warning(cat("the driver rejected the image ", image.info.key, ": ", error.sentence,
                        "; another compiler's is looked for, else it is built again"));
}

// If the driver rejects an image, the next candidate in the store is tried, and finally one that is built. If that is
// rejected too, prepare fails.
std::shared_ptr<const Library> load(RuntimeState& state, const Context& context, const ImageRequest& request,
                                    const cache::Patience& patience, ObtainedImage& image) {
  for (bool again = false;; again = true) {
    try {
      return load_image(state, context, image);
    } catch (const Error& error) {
      if (again && image.info.origin == ImageOrigin::compiled) throw;
      note_rejected(state, request, image, error);
    }
    state.store.reject(image.key, image.entry);
    image = obtain_image(state, request, patience);
  }
}

std::string why_text(const PlanState& plan, const std::vector<Choice>& choices) {
  std::string why;
  std::size_t i = 0;
  for (const Choice& choice : choices) {
    for (std::size_t v = 0; v < choice.variants.size(); ++v, ++i) {
      const ImageInfo& image = plan.images[i];
      why += cat(i == 0 ? "" : "\n", image.step, image.step.empty() ? "" : ", ", image.variant,
                 " (addresses aligned to ", static_cast<int>(image.alignment), "): ", image.config, ", ",
                 v == 0 ? choice.from : cat("default for ", plan.model.name), "; image from ", name(image.origin));
    }
  }
  return why;
}

// If the family has records, but none for this problem, the default is logged too.
void log_choice(RuntimeState& state, const PlanState& plan, const Choice& choice, const std::string& config) {
  if (choice.record) {
    state.log.info(cat(plan.text, ": ", choice.from));
    if (!choice.hint.empty()) state.log.debug(cat(plan.text, ": the record is a hint: ", choice.hint));
  } else if (config.empty() && state.records.count(*plan.family) != 0) {
    state.log.info(cat(plan.text, ": ", choice.from));
  }
}

bool for_this_very_problem(const Choice& choice) {
  return choice.record && choice.record->exact && !choice.record->sibling;
}

// Whether the application tunes this problem. Only `quern tune --step` tunes a plan of several steps.
bool is_to_be_tuned(const RuntimeState& state, const std::vector<Choice>& choices, const PrepareOptions& options) {
  return state.tuner != nullptr && options.config.empty() && choices.size() == 1 &&
         !for_this_very_problem(choices.front());
}

// Whether a sweep found a config now; false if the mode does not sweep in prepare.
bool tune_now(RuntimeState& state, const PlanState& plan, const Device& device, const ConfigPlace& place,
              Choice& choice) {
  const auto tuned = state.tuner->before_plan(*plan.family, plan.problem.data(), device);
  if (!tuned) return false;
  const void* const problem = plan.problem.data();
  choice.variants = up_to_always_taken(
      *plan.family, *choice.step, problem,
      variants_of(*plan.family, *choice.step, problem, place.target, place.model, tuned->config), plan.alignment);
  choice.record.reset();
  choice.from = tuned->from;
  state.log.info(cat(plan.text, ": ", choice.from));
  return true;
}

void require_supported(const Device& device, const Family& family, const void* problem) {
  if (device.arch >= kOldestArch) return;
  Error error = problem_error(family, problem,
                              cat(device.name, " has the compute capability ", device.arch / 10, ".", device.arch % 10,
                                  "; quern's kernels need ", kOldestArch / 10, ".", kOldestArch % 10, " or newer"));
  error.code = Code::unsupported;
  throw error;
}

// A plan without its images.
std::shared_ptr<PlanState> begin_plan(RuntimeState& state, const Family& family, const void* problem,
                                      const Device& device) {
  auto plan = std::make_shared<PlanState>();
  plan->family = &family;
  const auto* bytes = static_cast<const unsigned char*>(problem);
  plan->problem.assign(bytes, bytes + family.problem_bytes);
  plan->text = problem_text(family, problem);
  plan->model = live_model(device);
  plan->device = device.ordinal;
  plan->driver = state.driver();
  plan->alignment = *state.options.alignment;
  look_up_arguments(*plan);
  return plan;
}

// Makes and loads the images of all steps. Missing images are compiled in parallel.
void add_images(RuntimeState& state, const Context& context, const Target& target, const std::vector<Choice>& choices,
                PlanState& plan) {
  std::vector<ImageRequest> requests;
  for (const Choice& choice : choices) {
    for (const Variant& variant : choice.variants)
      requests.push_back({plan.family, choice.step, plan.problem.data(), target, variant, false, true});
  }
  const cache::Patience patience = patience_of(state);
  std::vector<ObtainedImage> images = ImagesInMaking(state, requests, patience).all();
  std::size_t i = 0;
  for (const Choice& choice : choices) {
    std::vector<PlanState::Loaded> loaded;
    for (const Variant& variant : choice.variants) {
      loaded.push_back({variant, load(state, context, requests[i], patience, images[i])});
      plan.images.push_back(images[i].info);
      plan.entries.push_back(std::move(images[i].entry));
      ++i;
    }
    add_step(plan, *choice.step, std::move(loaded));
  }
}

std::shared_ptr<const PlanState> build_plan(RuntimeState& state, const Family& family, const void* problem,
                                            const Context& context, const PrepareOptions& options,
                                            std::string_view from) {
  check_problem(family, problem);
  const Device device = describe_device(*state.driver(), context.device);
  require_supported(device, family, problem);
  const std::shared_ptr<PlanState> plan = begin_plan(state, family, problem, device);
  const ConfigPlace place{device.target, model_of(device), device.name};
  std::vector<Choice> choices =
      select_configs(state, family, problem, place, options.config, driver_text(plan->driver->version()));
  if (!from.empty()) choices.front().from = from;
  const bool tunes = is_to_be_tuned(state, choices, options);
  if (!tunes || !tune_now(state, *plan, device, place, choices.front())) {
    for (const Choice& choice : choices) log_choice(state, *plan, choice, options.config);
  }
  add_images(state, context, device.target, choices, *plan);
  plan->why = why_text(*plan, choices);
  state.manifest.add(plan->text, device.target.text(), options.config);
  if (tunes) state.tuner->after_plan(plan, context);
  return plan;
}

}  // namespace

std::shared_ptr<const PlanState> make_plan(RuntimeState& state, const Family& family, const void* problem,
                                           const Context& context, const PrepareOptions& options,
                                           std::string_view from) {
  watch_process();
  check_family(family);
  try {
    return build_plan(state, family, problem, context, options, from);
  } catch (Error& error) {
    error.family = family.name;
    if (error.problem.empty()) error.problem = problem_text(family, problem);
    throw;
  }
}

}  // namespace quern
