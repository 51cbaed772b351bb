#include "testbench/operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "base/text.h"
#include "common/host_types.h"
#include "plan/problem.h"

namespace quern {
namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr std::int64_t kGrain = 1 << 20;
constexpr std::int64_t kMostMemory = std::int64_t{1} << 40;
constexpr std::int64_t kBand = 1024;  // a multiple of 256, so that it moves no alignment

bool is_input(const Operand& operand) { return operand.role != Role::output; }
bool is_output(const Operand& operand) { return operand.role != Role::input; }

double wild_value(std::uint64_t random) {
  static constexpr double kValues[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1e-40, -6e-8, 448.0, -57344.0, 3e38};
  return kValues[random % std::size(kValues)];
}

double ordinary_value(std::uint64_t random) {
  return static_cast<double>(random >> 40) * (8.0 / static_cast<double>(1 << 24)) - 4.0;
}

void fill_floats(DType type, std::byte* data, std::int64_t elements, std::uint64_t seed, bool wild) {
  common::with_float(type, [&](auto x) {
    using T = decltype(x);
    T* out = reinterpret_cast<T*>(data);
    parallel_for(elements, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
        const bool odd = wild && random % 16 == 0;
        const double value = odd ? wild_value(random >> 8) : ordinary_value(random);
        out[i] = common::from_compute<T>(static_cast<common::ComputeOf<T>>(value));
      }
    });
  });
}

void fill_bytes(std::byte* data, std::int64_t bytes, std::uint64_t seed) {
  parallel_for((bytes + 7) / 8, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t random = random_at(seed, static_cast<std::uint64_t>(i));
      std::memcpy(data + 8 * i, &random, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - 8 * i)));
    }
  });
}

}  // namespace

AnyArgs::AnyArgs(const Family& family)
    : family_(family),
      bytes_(static_cast<const unsigned char*>(family.default_args),
             static_cast<const unsigned char*>(family.default_args) + family.args_bytes),
      lists_(static_cast<std::size_t>(family.operands.count)) {}

AnyArgs::AnyArgs(const AnyArgs& other) : family_(other.family_), bytes_(other.bytes_), lists_(other.lists_) {
  point_at_lists();
}

void AnyArgs::point_at_lists() {
  for (int i = 0; i < family_.operands.count; ++i) {
    if (family_.operands[i].count == nullptr) continue;
    const std::vector<In>& entries = lists_[static_cast<std::size_t>(i)];
    const InList list{entries.data(), static_cast<std::int64_t>(entries.size())};
    std::memcpy(bytes_.data() + family_.operands[i].offset, &list, sizeof(list));
  }
}

void AnyArgs::set_operand(int operand, const void* pointer, std::int64_t bytes, int entry) {
  const In value(pointer, bytes);
  if (family_.operands[operand].count != nullptr) {
    lists_[static_cast<std::size_t>(operand)].at(static_cast<std::size_t>(entry)) = value;
  } else {
    std::memcpy(bytes_.data() + family_.operands[operand].offset, &value, sizeof(value));
  }
}

const Scalar& AnyArgs::scalar(std::string_view name) const {
  std::vector<std::string> known;
  for (const Scalar& each : family_.scalars) {
    if (name == each.name) return each;
    known.emplace_back(each.name);
  }
  throw Error(Code::bad_input, Stage::problem,
              cat(family_.name, " has no run-time number \"", name, "\"",
                  known.empty() ? "" : cat("; it has ", join(known, ", "))));
}

void AnyArgs::set_scalar(std::string_view name, double value) {
  const Scalar& to = scalar(name);
  const auto single = static_cast<float>(value);
  const auto integer = static_cast<std::int64_t>(to.dtype == i64 ? value : 0);
  const void* const from = to.dtype == f32   ? static_cast<const void*>(&single)
                           : to.dtype == f64 ? static_cast<const void*>(&value)
                                             : &integer;
  std::memcpy(bytes_.data() + to.offset, from, static_cast<std::size_t>(bytes(to.dtype)));
}

void AnyArgs::parse_scalar(std::string_view name, std::string_view value) {
  const Scalar& to = scalar(name);
  const auto refuse = [&](const char* what) {
    return Error(Code::bad_input, Stage::problem, cat(name, "=", value, " is not ", what));
  };
  if (to.dtype == i64) {
    const auto integer = parse_integer(value);
    if (!integer) throw refuse("an integer of 64 bits");
    std::memcpy(bytes_.data() + to.offset, &*integer, sizeof(*integer));
    return;
  }
  const auto number = parse_number(value);
  if (!number) throw refuse("a number");
  set_scalar(name, *number);
}

void AnyArgs::set_extents(const void* problem) {
  for (const LaunchExtent& extent : family_.launch_extents) {
    const std::int64_t value = get_integer(*find_field(family_, extent.field), problem);
    std::memcpy(bytes_.data() + extent.offset, &value, sizeof(value));
  }
  for (int i = 0; i < family_.operands.count; ++i) {
    if (family_.operands[i].count != nullptr)
      lists_[static_cast<std::size_t>(i)].resize(static_cast<std::size_t>(entries_of(family_.operands[i], problem)));
  }
  point_at_lists();
}

std::vector<OperandEntry> operand_entries(const Family& family, const void* problem) {
  std::vector<OperandEntry> entries;
  for (int i = 0; i < family.operands.count; ++i) {
    for (int entry = 0; entry < entries_of(family.operands[i], problem); ++entry) entries.push_back({i, entry});
  }
  return entries;
}

std::int64_t operand_set_bytes(const Family& family, const void* problem) {
  constexpr std::int64_t kBands = 4096;  // of an operand, at most
  std::int64_t all = 0;
  for (const OperandEntry& each : operand_entries(family, problem))
    all += family.operands[each.operand].layout(problem, each.entry).span_bytes() + kBands;
  return all;
}

HostOperands::HostOperands(const Family& family, const void* problem)
    : family_(&family),
      problem_(static_cast<const unsigned char*>(problem),
               static_cast<const unsigned char*>(problem) + family.problem_bytes),
      entries_(operand_entries(family, problem)) {
  for (int i = 0; i < size(); ++i) {
    layouts_.push_back(operand(i).layout(problem, entries_[static_cast<std::size_t>(i)].entry));
    const std::int64_t span = layouts_.back().span_bytes();
    if (span < 0) throw problem_error(family, problem, cat(name(i), " would be larger than any memory"));
    const auto refuse = [&] {
      throw problem_error(family, problem, cat(name(i), " takes ", span, " bytes, more than there is memory"));
    };
    if (span > kMostMemory) refuse();  // sanitizers end the process where others throw bad_alloc
    try {
      memory_.emplace_back(static_cast<std::size_t>(span));
    } catch (const std::bad_alloc&) {
      refuse();
    }
  }
}

std::string HostOperands::name(int entry) const {
  return entry_name(operand(entry), entries_[static_cast<std::size_t>(entry)].entry);
}

int HostOperands::place(const OperandEntry& which) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const OperandEntry& each) {
    return each.operand == which.operand && each.entry == which.entry;
  });
  return static_cast<int>(found - entries_.begin());
}

void HostOperands::generate(std::uint64_t seed, bool wild) { generate(seed, wild, AnyArgs(*family_)); }

void HostOperands::generate(std::uint64_t seed, bool wild, const AnyArgs& scalars) {
  for (int i = 0; i < size(); ++i) {
    if (!present(i)) continue;
    const OperandEntry& which = entries_[static_cast<std::size_t>(i)];
    const std::uint64_t own_seed = seed * kSeedsOfProblem + static_cast<std::uint64_t>(i);
    const DType type = layout(i).dtype;
    if (operand(i).role == Role::workspace) {
      std::fill_n(data(i), bytes(i), std::byte{0});
    } else if (!is_input(operand(i))) {
      std::fill_n(data(i), bytes(i), std::byte{kPoison});
    } else if (family_->generate(problem(), scalars.data(), which.operand, which.entry, own_seed, data(i))) {
      continue;
    } else if (info(type).is_float) {
      fill_floats(type, data(i), bytes(i) / quern::bytes(type), own_seed, wild);
    } else {
      fill_bytes(data(i), bytes(i), own_seed);
    }
  }
}

HostOperands HostOperands::reference(const AnyArgs& scalars) const {
  HostOperands result = *this;
  AnyArgs args = scalars;
  args.set_extents(problem());
  for (int i = 0; i < size(); ++i) {
    const OperandEntry& which = entries_[static_cast<std::size_t>(i)];
    args.set_operand(which.operand, result.data(i), kOpen, which.entry);
  }
  family_->reference(problem(), args.data());
  result.numbers_ = std::make_shared<const AnyArgs>(scalars);
  return result;
}

std::vector<double> HostOperands::allowance(int operand) const {
  if (family_->allowance == nullptr || numbers_ == nullptr) return {};
  AnyArgs args = *numbers_;
  args.set_extents(problem());
  for (int i = 0; i < size(); ++i) {
    const OperandEntry& each = entries_[static_cast<std::size_t>(i)];
    args.set_operand(each.operand, data(i), kOpen, each.entry);
  }
  const OperandEntry& which = entries_[static_cast<std::size_t>(operand)];
  std::vector<double> made(static_cast<std::size_t>(bytes(operand) / quern::bytes(layout(operand).dtype)));
  const bool some = family_->allowance(problem(), args.data(), which.operand, which.entry, made.data());
  return some ? made : std::vector<double>();
}

DeviceOperands::DeviceOperands(const Driver& driver, const HostOperands& host, int offset_elements, Guards guards)
    : driver_(driver), family_(host.family()), entries_(host.entries()), guards_(guards) {
  const auto* problem = static_cast<const unsigned char*>(host.problem());
  problem_.assign(problem, problem + family_.problem_bytes);
  blocks_.resize(entries_.size());
  const std::int64_t band = guards == Guards::bands ? kBand : 0;
  std::int64_t all = 0;
  for (int i = 0; i < host.size(); ++i) {
    if (!host.present(i)) continue;
    Block& block = blocks_[static_cast<std::size_t>(i)];
    block.bytes = host.bytes(i);
    block.offset = band + std::int64_t{offset_elements} * bytes(host.layout(i).dtype);
    block.total = std::max<std::int64_t>(1, block.offset + block.bytes + band);
    block.base = static_cast<CUdeviceptr>(all);
    all += (block.total + 255) / 256 * 256;
  }
  if (guards == Guards::bands) {
    const CUdeviceptr base = allocate(all);
    total_ = all;
    driver.check(driver->MemsetD8Async(base, kPoison, static_cast<std::size_t>(all), nullptr), Stage::tool,
                 "cuMemsetD8Async");
    for (Block& block : blocks_) block.base += base;
  } else {
    for (int i = 0; i < host.size(); ++i) {
      Block& block = blocks_[static_cast<std::size_t>(i)];
      if (block.total == 0) continue;
      block.base = allocate(block.total);
      driver.name_memory(block.base, host.name(i).c_str());
    }
  }
  upload(host);
}

std::vector<InPlace> outputs_in_place(const HostOperands& host) {
  const auto name = [&](int i) {
    const OperandEntry& entry = host.entries()[static_cast<std::size_t>(i)];
    const auto of_entry = host.operand(i).name_of_entry;
    return of_entry == nullptr ? std::string() : of_entry(host.problem(), entry.entry);
  };
  std::vector<InPlace> found;
  for (int output = 0; output < host.size(); ++output) {
    for (int input = 0; input < host.size(); ++input) {
      if (host.operand(output).role == Role::output && host.operand(input).role == Role::input &&
          !name(output).empty() && name(output) == name(input) &&
          host.layout(output).dtype == host.layout(input).dtype && host.bytes(output) == host.bytes(input))
        found.push_back({output, input});
    }
  }
  return found;
}

void DeviceOperands::share(const InPlace& place) {
  Block& input = blocks_[static_cast<std::size_t>(place.input)];
  input.shared = true;
  blocks_[static_cast<std::size_t>(place.output)] = input;
}

CUdeviceptr DeviceOperands::allocate(std::int64_t bytes) {
  CUdeviceptr base = 0;
  driver_.check(driver_->MemAlloc(&base, static_cast<std::size_t>(std::max<std::int64_t>(1, bytes))), Stage::tool,
                "cuMemAlloc");
  allocations_.push_back(base);
  return base;
}

DeviceOperands::~DeviceOperands() {
  for (const CUdeviceptr base : allocations_) driver_->MemFree(base);
}

// Waits at the end: a copy from pageable memory returns before the device has it, and streams of kernels do not wait
// for the default one. A late copy of a workspace's zeros let blocks of index_sort wait for each other for ever.
void DeviceOperands::upload(const HostOperands& host) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.bytes == 0 || (block.shared && operand(i).role == Role::output)) continue;
    driver_.check(driver_->MemcpyHtoD(block.base + static_cast<CUdeviceptr>(block.offset),
                                      host.data(static_cast<int>(i)), static_cast<std::size_t>(block.bytes)),
                  Stage::tool, "cuMemcpyHtoD");
  }
  driver_.check(driver_->StreamSynchronize(nullptr), Stage::tool, "cuStreamSynchronize");
}

void DeviceOperands::download(HostOperands& host) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.bytes == 0 || !is_output(operand(i))) continue;
    driver_.check(
        driver_->MemcpyDtoH(host.data(static_cast<int>(i)), block.base + static_cast<CUdeviceptr>(block.offset),
                            static_cast<std::size_t>(block.bytes)),
        Stage::tool, "cuMemcpyDtoH");
  }
}

std::string DeviceOperands::damage(const HostOperands& host) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.total == 0) continue;
    std::vector<std::byte> copy(static_cast<std::size_t>(block.total));
    driver_.check(driver_->MemcpyDtoH(copy.data(), block.base, copy.size()), Stage::tool, "cuMemcpyDtoH");
    const auto poisoned = [](std::byte b) { return b == std::byte{kPoison}; };
    const auto begin = copy.begin() + block.offset;
    const auto end = begin + block.bytes;
    const bool bands = guards_ == Guards::bands;
    if (bands && !std::all_of(copy.begin(), begin, poisoned))
      return cat("the bytes before ", host.name(static_cast<int>(i)));
    if (bands && !std::all_of(end, copy.end(), poisoned))
      return cat("the bytes after ", host.name(static_cast<int>(i)));
    if (!is_output(operand(i)) && !block.shared && !std::equal(begin, end, host.data(static_cast<int>(i))))
      return host.name(static_cast<int>(i));
  }
  return {};
}

AnyArgs DeviceOperands::args(const AnyArgs& scalars) const {
  AnyArgs args = scalars;
  args.set_extents(problem_.data());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.total != 0)
      args.set_operand(entries_[i].operand, pointer(static_cast<int>(i)), block.bytes, entries_[i].entry);
  }
  return args;
}

void* DeviceOperands::pointer(int operand) const {
  const Block& block = blocks_[static_cast<std::size_t>(operand)];
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a device address
  return reinterpret_cast<void*>(block.base + static_cast<CUdeviceptr>(block.offset));
}

void DeviceOperands::fill_outputs(unsigned char value) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.bytes == 0 || operand(i).role != Role::output) continue;
    driver_.check(driver_->MemsetD8Async(block.base + static_cast<CUdeviceptr>(block.offset), value,
                                         static_cast<std::size_t>(block.bytes), nullptr),
                  Stage::tool, "cuMemsetD8Async");
  }
}

DeviceOperands::Place DeviceOperands::place(std::int64_t byte) const {
  const CUdeviceptr address = base() + static_cast<CUdeviceptr>(byte);
  std::size_t found = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.total != 0 && block.base <= address) found = i;
  }
  const Block& block = blocks_[found];
  const std::int64_t offset = static_cast<std::int64_t>(address - block.base) - block.offset;
  return {static_cast<int>(found), offset < 0 || offset >= block.bytes, offset};
}

}  // namespace quern
