// The launch path: arguments in, cuLaunchKernelEx out. No lock; no allocation and no string unless the launch is
// refused.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "plan/plan_state.h"
#include "plan/problem.h"

namespace quern {
namespace {

template <class T>
const T& member(const void* args, std::uint16_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const unsigned char*>(args) + offset);
}

// ---- At prepare: bind what launches read from the arguments

// Values for open extents. A layout that depends on one of them, or on how several are to each other, differs between
// 1, 2, 3, … and these: primes, each much larger or smaller than the one before.
constexpr std::int64_t kOtherExtents[] = {1048583, 1009, 524309, 4099, 262147, 16411};

std::vector<unsigned char> closed_small(std::vector<unsigned char> problem, const std::vector<const Field*>& open) {
  for (std::size_t i = 0; i < open.size(); ++i) set_integer(*open[i], problem.data(), static_cast<std::int64_t>(i) + 1);
  return problem;
}

std::vector<unsigned char> closed_large(std::vector<unsigned char> problem, const std::vector<const Field*>& open) {
  for (std::size_t i = 0; i < open.size(); ++i)
    set_integer(*open[i], problem.data(), kOtherExtents[i % std::size(kOtherExtents)]);
  return problem;
}

bool is_same(const Layout& a, const Layout& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.extents, a.extents + a.rank, b.extents) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

// Without the end of a problem that is a text's room for more letters.
std::size_t used_bytes(const Family& family, const void* problem) {
  for (const Field& field : family.fields) {
    if (field.kind != FieldKind::text || field.offset + bytes_of(field) != family.problem_bytes) continue;
    const std::int64_t letters = member<std::int64_t>(problem, field.offset);
    return field.offset + sizeof(letters) + static_cast<std::size_t>(letters);
  }
  return family.problem_bytes;
}

// `small` and `large`: the problem closed in two ways.
void bind_operand(PlanState& plan, int number, const void* small, const void* large) {
  const Operand& operand = plan.family->operands[number];
  const int count = entries_of(operand, plan.problem.data());
  if (operand.count != nullptr) plan.lists.push_back({&operand, count});
  for (int entry = 0; entry < count; ++entry) {
    const Layout layout = operand.layout(small, entry);
    if (layout.dtype == DType::none) continue;
    plan.operands.push_back({operand.offset, operand.count != nullptr, is_same(layout, operand.layout(large, entry)), 0,
                             layout.span_bytes(), static_cast<std::uintptr_t>(bytes(layout.dtype) - 1), &operand,
                             entry});
  }
}

std::uint32_t checked_alignment(const PlanState& plan, const Step& step, int operand, const Config& config) {
  const std::uint32_t alignment = step.alignment(plan.problem.data(), operand, config);
  if (alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= kMaxAlignment) return alignment;
  throw problem_error(*plan.family, plan.problem.data(),
                      cat("the family ", plan.family->name, " demands an alignment of ", alignment, " of ",
                          plan.family->operands[operand].name, "; it may be a power of two up to ", kMaxAlignment));
}

}  // namespace

void look_up_arguments(PlanState& plan) {
  const Family& family = *plan.family;
  plan.problem_used = used_bytes(family, plan.problem.data());
  for (const LaunchExtent& extent : family.launch_extents)
    plan.extents.push_back({find_field(family, extent.field), extent.offset,
                            extent.needed == nullptr || extent.needed(plan.problem.data())});
  const std::vector<const Field*> open = open_extents(family, plan.problem.data());
  plan.closed = open.empty();
  const std::vector<unsigned char> small = closed_small(plan.problem, open), large = closed_large(plan.problem, open);
  for (int i = 0; i < family.operands.count; ++i) bind_operand(plan, i, small.data(), large.data());
}

void add_step(PlanState& plan, const Step& step, std::vector<PlanState::Loaded> variants) {
  PlanState::PlannedStep planned{&step, plan.variants.size(), plan.variants.size() + variants.size(), {}};
  for (PlanState::BoundOperand& bound : plan.operands) {
    const auto number = static_cast<int>(bound.operand - plan.family->operands.begin());
    std::uint32_t masks = 0;
    for (std::size_t v = 0; bound.operand->bulk && v < variants.size(); ++v)
      masks |= (checked_alignment(plan, step, number, variants[v].variant.config) - 1) << 8 * v;
    planned.masks.push_back(masks);
    if (plan.steps.empty()) bound.masks = masks;
  }
  for (PlanState::Loaded& loaded : variants) plan.variants.push_back(std::move(loaded));
  plan.steps.push_back(std::move(planned));
}

// ---- At launch

namespace {

[[noreturn]] void refuse(const PlanState& state, const void* problem, std::string sentence) {
  Error error = problem_error(*state.family, problem, std::move(sentence));
  error.stage = Stage::launch;
  throw error;
}

[[noreturn]] void refuse_extent(const PlanState& state, const void* problem, const Field& field, std::int64_t given) {
  const std::int64_t own = get_integer(field, problem);
  if (given == kOpen) refuse(state, problem, cat(field.name, " is open in the problem, so the launch must give it"));
  if (given < field.min || given > field.max)
    refuse(state, problem, cat(field.name, "=", given, " is out of range; it takes ", accepted_text(field)));
  refuse(state, problem, cat(field.name, "=", given, " contradicts the problem, which says ", own));
}

// The value that the arguments give for an extent that the problem leaves open, else kOpen.
std::int64_t given_extent(const PlanState& state, const PlanState::Extent& extent, const void* args,
                          const void* problem) {
  const Field& field = *extent.field;
  const std::int64_t own = member<std::int64_t>(problem, field.offset),
                     given = member<std::int64_t>(args, extent.offset);
  if (given == own && own != kOpen) return kOpen;
  if (given == kOpen && (own != kOpen || !extent.needed)) return kOpen;
  if (given < field.min || given > field.max || own != kOpen) refuse_extent(state, problem, field, given);
  return given;
}

struct ClosedProblem {
  alignas(16) unsigned char bytes[kMaxProblemBytes];
};

// The problem with all extents closed, in `room` unless it is the plan's own. For a problem that was open, the rules
// that its extents can break are checked.
const void* close_checked(const PlanState& state, const void* args, ClosedProblem& room) {
  const void* const own = state.problem.data();
  if (state.closed) {
    for (const PlanState::Extent& extent : state.extents) given_extent(state, extent, args, own);
    return own;
  }
  std::memcpy(room.bytes, own, state.problem_used);
  for (const PlanState::Extent& extent : state.extents) {
    const std::int64_t given = given_extent(state, extent, args, own);  // not the copy, which is still being stored
    if (given != kOpen) set_integer(*extent.field, room.bytes, given);
  }
  if (std::string sentence = state.family->check_extents(room.bytes); !sentence.empty())
    refuse(state, room.bytes, std::move(sentence));
  return room.bytes;
}

[[noreturn]] void refuse_operand(const PlanState& state, const void* problem, const PlanState::BoundOperand& bound,
                                 const In& given) {
  const Operand& operand = *bound.operand;
  const std::string name_of_it = entry_text(operand, problem, bound.entry);
  const Layout layout = operand.layout(problem, bound.entry);
  const std::int64_t span = layout.span_bytes();
  if (span < 0) refuse(state, problem, cat(name_of_it, " would be larger than any memory"));
  if (given.data == nullptr) refuse(state, problem, cat(name_of_it, " is null; it takes ", span, " bytes"));
  if (given.bytes != kOpen && given.bytes < span)
    refuse(state, problem, cat(name_of_it, " has ", given.bytes, " bytes; ", operand.shape, " takes ", span));
  refuse(
      state, problem,
      cat(name_of_it, " is not aligned to its element type ", name(layout.dtype), ", ", bytes(layout.dtype), " bytes"));
}

// The arguments of a launch once they are checked. The launch of each step is computed from them.
struct CheckedArgs {
  const void* problem = nullptr;           // with all its extents; in `closed` if it is not the plan's own
  const Operand* open_and_null = nullptr;  // its size is unknown and its address null: legal if nothing is launched
  std::uint32_t unmet = 0;                 // byte v: not 0 if an address does not meet the first step's variant v
  ClosedProblem closed;
};

void check_lists(const PlanState& state, const void* args, const void* problem) {
  for (const PlanState::BoundList& list : state.lists) {
    const InList& given = member<InList>(args, list.operand->offset);
    if (given.count == list.count && (given.entries != nullptr || list.count == 0)) continue;
    refuse(state, problem,
           cat(list.operand->name, " is a list of ", list.count, " for this problem; the launch gives ",
               given.entries == nullptr ? "none" : std::to_string(given.count)));
  }
}

const In& given_operand(const PlanState::BoundOperand& bound, const void* args) {
  return bound.list ? member<InList>(args, bound.offset).entries[bound.entry] : member<In>(args, bound.offset);
}

// What an address does not meet, of all variants at once: a byte each.
std::uint32_t unmet_demands(std::uintptr_t address, std::uint32_t masks) {
  return (static_cast<std::uint32_t>(address) & 0xff) * 0x01010101U & masks;
}

void check_operands(const PlanState& state, const void* args, CheckedArgs& checked) {
  const void* const problem = checked.problem;
  std::uint32_t unmet = 0;
  for (const PlanState::BoundOperand& each : state.operands) {
    const In& given = given_operand(each, args);
    const auto address = reinterpret_cast<std::uintptr_t>(given.data);
    const std::int64_t span = each.fixed ? each.span : each.operand->layout(problem, each.entry).span_bytes();
    const bool small = given.bytes != kOpen && given.bytes < span;
    const bool missing = given.data == nullptr && span != 0;
    if (span < 0 || small || missing || (address & each.misaligned) != 0) refuse_operand(state, problem, each, given);
    unmet |= unmet_demands(address, each.masks);
    if (given.data == nullptr && !each.fixed && each.operand->layout(problem, each.entry).open())
      checked.open_and_null = each.operand;
  }
  checked.unmet = unmet;
}

void check_args(const PlanState& state, const void* args, CheckedArgs& checked) {
  checked.problem = close_checked(state, args, checked.closed);
  if (!state.lists.empty()) check_lists(state, args, checked.problem);
  check_operands(state, args, checked);
}

// Of a later step; the first step's are collected while the operands are checked.
std::uint32_t unmet_demands(const PlanState& state, const PlanState::PlannedStep& step, const void* args) {
  std::uint32_t unmet = 0;
  for (std::size_t i = 0; i < state.operands.size(); ++i) {
    const In& given = given_operand(state.operands[i], args);
    unmet |= unmet_demands(reinterpret_cast<std::uintptr_t>(given.data), step.masks[i]);
  }
  return unmet;
}

// The first variant whose demands every address meets, and that fits the problem.
const PlanState::Loaded* select_variant(const PlanState& state, const PlanState::PlannedStep& step, const void* args,
                                        const CheckedArgs& checked) {
  std::uint32_t unmet = &step == &state.steps.front() ? checked.unmet : unmet_demands(state, step, args);
  for (std::size_t i = step.begin; i < step.end; ++i, unmet >>= 8) {
    const PlanState::Loaded& loaded = state.variants[i];
    if ((unmet & 0xff) == 0 && (loaded.variant.fits == nullptr || loaded.variant.fits(checked.problem))) return &loaded;
  }
  return nullptr;
}

[[noreturn]] void refuse_launch(const PlanState& state, CUresult result, const char* call) {
  try {
    state.driver->check(result, Stage::launch, call);
  } catch (Error& error) {
    error.family = state.family->name;
    error.problem = state.text;
    throw;
  }
  std::abort();  // not reached: check() throws for every error
}

void allow_shared(const PlanState& state, const Library& library, std::uint32_t bytes) {
  const CUresult result = library.allow_shared(bytes);
  if (result != CUDA_SUCCESS) refuse_launch(state, result, "cuFuncSetAttribute");
}

// A dimension of 0 wraps around, so one comparison refuses both ends.
bool has_blocks(const Launch& launch) {
  constexpr std::uint32_t kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535;
  return launch.grid[0] - 1 < kMaxGridX && launch.grid[1] - 1 < kMaxGridYZ && launch.grid[2] - 1 < kMaxGridYZ;
}

[[noreturn]] void refuse_geometry(const PlanState& state, const void* problem, const Launch& launch) {
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0)
    refuse(state, problem, "the family gives a launch without a block; an empty one says so");
  refuse(state, problem, "the problem needs more blocks than one launch can have; split it");
}

// Why no variant of a step was taken: the last one fits every problem, so an address does not meet its demand.
std::string unknown_address(const PlanState& state, const PlanState::PlannedStep& step, const void* args) {
  const std::size_t last = step.end - step.begin - 1;
  for (std::size_t i = 0; i < state.operands.size(); ++i) {
    const PlanState::BoundOperand& bound = state.operands[i];
    const auto address = reinterpret_cast<std::uintptr_t>(given_operand(bound, args).data);
    const std::uintptr_t mask = step.masks[i] >> 8 * last & 0xff;
    if ((address & mask) == 0) continue;
    return cat(
        "no image of this plan takes such addresses: ", entry_text(*bound.operand, state.problem.data(), bound.entry),
        " is aligned to ", address & -address, " bytes, for ", mask + 1,
        state.alignment == 1 ? "" : "; Options::alignment or QUERN_ALIGNMENT says that no image for others is needed");
  }
  return "no image of this plan takes such addresses";
}

void prepare_step(const PlanState& state, const PlanState::PlannedStep& step, const void* args,
                  const CheckedArgs& checked, PreparedLaunch& out) {
  out.variant = select_variant(state, step, args, checked);
  if (out.variant == nullptr) refuse(state, checked.problem, unknown_address(state, step, args));
  try {
    step.step->launch(checked.problem, args, state.model, out.variant->variant.config, out.launch);
  } catch (Error& error) {
    error.family = state.family->name;
    error.problem = problem_text(*state.family, checked.problem);
    throw;
  }
  if (checked.open_and_null != nullptr && !out.launch.empty)
    refuse(state, checked.problem, cat(checked.open_and_null->name, " is null"));
  if (!has_blocks(out.launch) && !out.launch.empty) refuse_geometry(state, checked.problem, out.launch);
}

void allow_shared_of(const PlanState& state, const PreparedLaunch& prepared) {
  if (prepared.launch.shared_bytes > Library::kSharedWithoutAsking)
    allow_shared(state, *prepared.variant->library, prepared.launch.shared_bytes);
}

// Whether a kernel was launched.
bool launch_step(const PlanState& state, const PlanState::PlannedStep& step, Stream stream, const void* args,
                 const CheckedArgs& checked) {
  PreparedLaunch prepared;
  prepare_step(state, step, args, checked, prepared);
  Launch& launch = prepared.launch;
  if (launch.empty) return false;
  DriverLaunch out;
  for_driver(launch, stream, out);
  void* params[] = {launch.params};
  const Driver& driver = *state.driver;
  if (!driver.survived_fork()) throw Driver::forked();
  allow_shared_of(state, prepared);
  const CUresult result = driver->LaunchKernelEx(&out.config, prepared.variant->library->function(), params, nullptr);
  if (result != CUDA_SUCCESS) refuse_launch(state, result, "cuLaunchKernelEx");
  return true;
}

// Works out every step of several before the first is enqueued, so that a refusal has enqueued nothing. What only
// cuLaunchKernelEx itself can find (a cooperative grid that does not fit the device) is found at its step.
void check_steps(const PlanState& state, const void* args, const CheckedArgs& checked) {
  if (!state.driver->survived_fork()) throw Driver::forked();
  for (const PlanState::PlannedStep& step : state.steps) {
    PreparedLaunch prepared;
    prepare_step(state, step, args, checked, prepared);
    if (!prepared.launch.empty) allow_shared_of(state, prepared);
  }
}

}  // namespace

void prepare_launch(const PlanState& state, const void* args, PreparedLaunch& out, std::size_t step) {
  CheckedArgs checked;
  check_args(state, args, checked);
  prepare_step(state, state.steps[step], args, checked, out);
}

std::int64_t workspace_bytes(const PlanState& state, const void* args) {
  ClosedProblem room;
  const void* const problem = close_checked(state, args, room);
  for (const PlanState::BoundOperand& each : state.operands) {
    if (each.operand->role != Role::workspace) continue;
    const std::int64_t span = each.operand->layout(problem).span_bytes();
    if (span < 0) refuse(state, problem, cat(each.operand->name, " would be larger than any memory"));
    return span;
  }
  return 0;
}

void for_driver(const Launch& launch, Stream stream, DriverLaunch& out) {
  CUlaunchConfig& config = out.config;
  config = {};
  config.gridDimX = launch.grid[0];
  config.gridDimY = launch.grid[1];
  config.gridDimZ = launch.grid[2];
  config.blockDimX = launch.block[0];
  config.blockDimY = launch.block[1];
  config.blockDimZ = launch.block[2];
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = stream;
  if (launch.cluster == 1 && !launch.cooperative && !launch.programmatic) return;
  config.attrs = out.attributes;
  const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    CUlaunchAttribute& attribute = out.attributes[config.numAttrs++];
    attribute.id = id;
    return attribute.value;
  };
  if (launch.cluster != 1) add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {launch.cluster, 1, 1};
  if (launch.cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (launch.programmatic)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).programmaticStreamSerializationAllowed = 1;
}

bool enqueue(const PlanState& state, Stream stream, const void* args) {
  CheckedArgs checked;
  check_args(state, args, checked);
  if (state.steps.size() > 1) check_steps(state, args, checked);
  bool launched = false;
  for (const PlanState::PlannedStep& step : state.steps)
    launched = launch_step(state, step, stream, args, checked) || launched;
  return launched;
}

static Error empty_plan() {
  return Error(Code::bad_input, Stage::launch,
               "this plan is empty (default-constructed); obtain one from Runtime::prepare");
}

// A thread that still launches while the process exits must not terminate it with an uncaught exception.
void AnyPlan::launch(Stream stream, const void* args) const {
  if (state_ == nullptr) throw empty_plan();
  try {
    enqueue(state_->newest(), stream, args);
  } catch (const Error& error) {
    if (error.driver_code != CUDA_ERROR_DEINITIALIZED) throw;
  }
}

Result<bool> AnyPlan::try_launch(Stream stream, const void* args) const {
  if (state_ == nullptr) return empty_plan();
  try {
    return enqueue(state_->newest(), stream, args);
  } catch (const Error& error) {
    return error;
  }
}

std::int64_t AnyPlan::workspace_bytes(const void* args) const { return quern::workspace_bytes(*state_, args); }

}  // namespace quern
