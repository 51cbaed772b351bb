#include "support/taken.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "plan/config.h"
#include "plan/problem.h"
#include "plan/variants.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

// A step and the variant that a copy of it keeps. Step::variants is a function pointer without state, so each copy
// needs a function of its own: one of kFunctions, whose index is that of its entry here.
struct Only {
  const Step* step = nullptr;
  int variant = 0;
};
constexpr std::size_t kMostSteps = 512;
std::array<Only, kMostSteps> only;

template <std::size_t I>
int variants(const void* problem, const Target& target, const DeviceModel& model, Variant (&out)[kMaxVariants]) {
  Variant all[kMaxVariants];
  only[I].step->variants(problem, target, model, all);
  out[0] = all[only[I].variant];
  out[0].fits = nullptr;  // a plan's last variant has none; `taken` has called it
  return 1;
}

using Function = decltype(Step::variants);
template <std::size_t... I>
constexpr std::array<Function, sizeof...(I)> functions(std::index_sequence<I...> /*places*/) {
  return {&variants<I>...};
}
constexpr auto kFunctions = functions(std::make_index_sequence<kMostSteps>());

struct Copy {
  Family family;
  std::vector<Step> steps;
};

// The variant of each step; -1 for a step that the problem does not need.
using Kept = std::vector<int>;

// A copy of the family whose steps have these variants; the family itself once kMostSteps steps of copies exist.
const Family& with_only(const Family& family, const Kept& kept) {
  static std::mutex mutex;
  static std::map<std::pair<const Family*, Kept>, std::unique_ptr<Copy>> copies;
  static std::size_t used = 0;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Copy>& copy = copies[{&family, kept}];
  if (copy != nullptr) return copy->family;
  if (used + kept.size() > kMostSteps) return family;
  copy = std::make_unique<Copy>(Copy{family, {family.steps.begin(), family.steps.end()}});
  for (std::size_t s = 0; s < kept.size(); ++s) {
    if (kept[s] < 0) continue;
    only[used] = {&family.steps[static_cast<int>(s)], kept[s]};
    copy->steps[s].variants = kFunctions[used++];
  }
  copy->family.steps.rows = copy->steps.data();
  return copy->family;
}

// Whether the address of each bulk operand has the alignment that the config requires.
bool meets(const AnyProblem& asked, const AnyProblem& closed, int offset, const Step& step, const Config& config) {
  const Family& family = closed.family();
  for (const OperandEntry& each : operand_entries(family, closed.data())) {
    const Operand& operand = family.operands[each.operand];
    const DType dtype = operand.layout(closed.data(), each.entry).dtype;
    if (!operand.bulk || dtype == DType::none) continue;
    const auto address = static_cast<std::uint32_t>(offset) * static_cast<std::uint32_t>(bytes(dtype));
    if (address % step.alignment(asked.data(), each.operand, config) != 0) return false;
  }
  return true;
}

// As at launch: the first variant that fits and whose alignment is met; -1 if there is none.
int taken(const AnyProblem& asked, const AnyProblem& closed, int offset, const Step& step,
          const std::vector<Variant>& all) {
  for (std::size_t v = 0; v < all.size(); ++v) {
    const bool fits = all[v].fits == nullptr || all[v].fits(closed.data());
    if (fits && meets(asked, closed, offset, step, all[v].config)) return static_cast<int>(v);
  }
  return -1;
}

bool is_changed(const Step& step, const std::string& config) {
  for (const std::string_view change : changes_in(config)) {
    if (is_of_step(step, change)) return true;
  }
  return false;
}

}  // namespace

const Family& with_taken_variants(const AnyProblem& asked, const AnyProblem& closed, int offset, const Device& device,
                                  const std::string& config) {
  const Family& family = closed.family();
  const DeviceModel model = live_model(device);
  Kept kept(static_cast<std::size_t>(family.steps.count), -1);
  for (const Step* const step : steps_of(family, asked.data())) {
    const int variant =
        taken(asked, closed, offset, *step, variants_of(family, *step, asked.data(), device.target, model, config));
    if (variant < 0 || (variant > 0 && is_changed(*step, config))) return family;
    kept[static_cast<std::size_t>(step - family.steps.begin())] = variant;
  }
  return with_only(family, kept);
}

}  // namespace quern::test
