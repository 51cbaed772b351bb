// The launch path: arguments in, cuLaunchKernelEx out. No lock, no allocation, no string unless something is refused.
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "plan/plan_state.h"
#include "plan/problem.h"

namespace quern {
namespace {

template <class T>
const T& member(const void* args, std::uint16_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const unsigned char*>(args) + offset);
}

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

// What the arguments say of an extent that the problem leaves open, else kOpen. An extent given twice must be the same.
std::int64_t given_extent(const PlanState& state, const PlanState::Extent& extent, const void* args,
                          const void* problem) {
  const Field& field = *extent.field;
  const std::int64_t own = get_integer(field, problem);
  const std::int64_t given = member<std::int64_t>(args, extent.offset);
  if (given == own && own != kOpen) return kOpen;
  if (given == kOpen && (own != kOpen || !extent.needed)) return kOpen;
  if (given < field.min || given > field.max || own != kOpen) refuse_extent(state, problem, field, given);
  return given;
}

struct ClosedProblem {
  alignas(16) unsigned char bytes[kMaxProblemBytes];
};

// The problem with all its extents, in `room` where it is not the plan's own. Of one that was open all rules between
// fields must hold again.
const void* close_checked(const PlanState& state, const void* args, ClosedProblem& room) {
  const void* const own = state.problem.data();
  if (state.closed) {
    for (const PlanState::Extent& extent : state.extents) given_extent(state, extent, args, own);
    return own;
  }
  std::memcpy(room.bytes, own, state.problem.size());
  for (const PlanState::Extent& extent : state.extents) {
    const std::int64_t given = given_extent(state, extent, args, room.bytes);
    if (given != kOpen) set_integer(*extent.field, room.bytes, given);
  }
  if (std::string sentence = state.family->check(room.bytes); !sentence.empty())
    refuse(state, room.bytes, std::move(sentence));
  return room.bytes;
}

[[noreturn]] void refuse_operand(const PlanState& state, const void* problem, const Operand& operand, const In& given) {
  const Layout layout = operand.layout(problem);
  const std::int64_t span = layout.span_bytes();
  if (span < 0) refuse(state, problem, cat(operand.name, " would be larger than any memory"));
  if (given.data == nullptr) refuse(state, problem, cat(operand.name, " is null; it takes ", span, " bytes"));
  if (given.bytes != kOpen && given.bytes < span)
    refuse(state, problem, cat(operand.name, " has ", given.bytes, " bytes; ", operand.shape, " takes ", span));
  refuse(state, problem,
         cat(operand.name, " is not aligned to its element type ", name(layout.dtype), ", ", bytes(layout.dtype),
             " bytes"));
}

struct Addresses {
  std::uintptr_t bulk = 0;                 // the OR of the bulk operands' addresses
  const Operand* open_and_null = nullptr;  // size unknown and no address: legal where nothing is launched
};

Addresses check_operands(const PlanState& state, const void* args, const void* problem) {
  Addresses addresses;
  for (const PlanState::BoundOperand& each : state.operands) {
    const Operand& operand = *each.operand;
    const In& given = member<In>(args, operand.offset);
    const auto address = reinterpret_cast<std::uintptr_t>(given.data);
    const std::int64_t span = each.fixed ? each.span : operand.layout(problem).span_bytes();
    const bool small = given.bytes != kOpen && given.bytes < span;
    const bool missing = given.data == nullptr && span != 0;
    if (span < 0 || small || missing || (address & each.misaligned) != 0)
      refuse_operand(state, problem, operand, given);
    if (operand.bulk) addresses.bulk |= address;
    if (given.data == nullptr && !each.fixed && operand.layout(problem).open()) addresses.open_and_null = &operand;
  }
  return addresses;
}

const PlanState::Loaded* select_variant(const PlanState& state, std::uintptr_t addresses) {
  for (const PlanState::Loaded& loaded : state.variants) {
    if ((addresses & (loaded.variant.alignment - 1)) == 0) return &loaded;
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
  std::abort();  // not reached: a result that is no success is thrown
}

void allow_shared(const PlanState& state, const Library& library, std::uint32_t bytes) {
  const CUresult result = library.allow_shared(bytes);
  if (result != CUDA_SUCCESS) refuse_launch(state, result, "cuFuncSetAttribute");
}

void check_geometry(const PlanState& state, const void* problem, const Launch& launch) {
  constexpr std::uint32_t kMaxGridX = 0x7fffffff;
  if (launch.grid[0] <= kMaxGridX && launch.grid[1] <= 65535 && launch.grid[2] <= 65535) return;
  refuse(state, problem, "the problem needs more blocks than one launch can have; split it");
}

}  // namespace

void prepare_launch(const PlanState& state, const void* args, PreparedLaunch& out) {
  ClosedProblem room;
  const void* const problem = close_checked(state, args, room);
  const Addresses addresses = check_operands(state, args, problem);
  out.variant = select_variant(state, addresses.bulk);
  if (out.variant == nullptr) refuse(state, problem, "no image of this plan takes such addresses");
  state.family->launch(problem, args, state.model, out.variant->variant.config, out.launch);
  if (addresses.open_and_null != nullptr && !out.launch.empty)
    refuse(state, problem, cat(addresses.open_and_null->name, " is null"));
  check_geometry(state, problem, out.launch);
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
  PreparedLaunch prepared;
  prepare_launch(state, args, prepared);
  Launch& launch = prepared.launch;
  if (launch.empty) return false;
  DriverLaunch out;
  for_driver(launch, stream, out);
  void* params[] = {launch.params};
  const Driver& driver = *state.driver;
  if (!driver.survived_fork()) throw Driver::forked();
  const Library& library = *prepared.variant->library;
  if (launch.shared_bytes > Library::kSharedWithoutAsking) allow_shared(state, library, launch.shared_bytes);
  const CUresult result = driver->LaunchKernelEx(&out.config, library.function(), params, nullptr);
  if (result != CUDA_SUCCESS) refuse_launch(state, result, "cuLaunchKernelEx");
  return true;
}

}  // namespace quern
