#include "tuner/worker/compile_candidate.h"

#include "api/images.h"
#include "base/hash.h"
#include "driver/device.h"
#include "plan/variants.h"

namespace quern {

ImageMessage make_image(Runtime& runtime, const CompileMessage& message) {
  const AnyProblem problem = runtime.parse(message.problem);
  const Target target = parse_target(message.target);
  const Family& family = problem.family();
  const Step* const named = step_of_config(family, message.config);
  const Step& step = named == nullptr ? family.steps[0] : *named;
  const Variant variant =
      variants_of(family, step, problem.data(), target, model_by_name(message.device_model), message.config).front();
  const ObtainedImage image = obtain_image(runtime.state(), {&family, &step, problem.data(), target, variant, false});
  const Resources& r = image.info.resources;
  const cache::Entry& entry = *image.entry;
  ImageMessage made;
  made.key = image.info.key;
  made.digest = hash128(entry.cubin.empty() ? entry.ptx : entry.cubin).hex();
  made.registers = r.registers;
  made.shared_bytes = r.shared_bytes;
  made.stack_bytes = r.stack_bytes;
  made.spills = r.spill_store_bytes + r.spill_load_bytes;
  made.compile_ms = image.info.compile_ms;
  return made;
}

CompileOutcome compile_here(Runtime& runtime, const CompileMessage& message) {
  CompileOutcome outcome;
  try {
    outcome.image = make_image(runtime, message);
  } catch (const Error& error) {
    if (error.code != Code::compile) throw;
    outcome.why = error.sentence;
  }
  return outcome;
}

}  // namespace quern
