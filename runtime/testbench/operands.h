// The data of one problem, generated or given, on the host and on the device, with the reference's result. Shared by
// `quern run`, the benchmarks, the tests and the tuner.
#ifndef QUERN_TESTBENCH_OPERANDS_H_
#define QUERN_TESTBENCH_OPERANDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "quern/family.h"

namespace quern {

// A family's argument struct with its storage.
class AnyArgs {
 public:
  explicit AnyArgs(const Family& family);
  AnyArgs(const AnyArgs& other);
  AnyArgs& operator=(const AnyArgs&) = delete;
  AnyArgs(AnyArgs&&) noexcept = default;

  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  // `entry`: index in a list, whose length was set by set_extents.
  void set_operand(int operand, const void* pointer, std::int64_t bytes = kOpen, int entry = 0);
  // Both throw Error (bad_input) for an unknown name, the second for a text that is not a number of the scalar's type.
  void set_scalar(std::string_view name, double value);
  void parse_scalar(std::string_view name, std::string_view value);
  // Sets the launch's extents and the lengths of lists, from a problem with closed extents.
  void set_extents(const void* problem);

 private:
  const Scalar& scalar(std::string_view name) const;
  void point_at_lists();
  const Family& family_;
  std::vector<unsigned char> bytes_;
  std::vector<std::vector<In>> lists_;  // an operand's entries; empty where it is not a list
};

// One In or Out of a problem: an operand, or an entry of a list.
struct OperandEntry {
  int operand;  // in the family's table
  int entry;    // of the list, else 0
};
std::vector<OperandEntry> operand_entries(const Family& family, const void* problem);
// Device memory of all operands, with guard bands.
std::int64_t operand_set_bytes(const Family& family, const void* problem);

// Host memory of each operand, indexed as in operand_entries, which is the index in the family's table if no list comes
// before it. The problem must be closed: no open extent that a layout needs.
class HostOperands {
 public:
  HostOperands(const Family& family, const void* problem);

  // Fills each input: by the family's own generator, else with numbers of its type: floats in [-4, 4), and if `wild`,
  // an occasional zero, infinity, NaN, denormal or largest value; any byte for integers. Outputs are filled with 0xA5,
  // a workspace with 0.
  void generate(std::uint64_t seed, bool wild);
  // The same for a launch with these numbers, of which a family's data may depend.
  void generate(std::uint64_t seed, bool wild, const AnyArgs& scalars);
  // Runs the reference on the inputs and returns its outputs; this object is not changed.
  HostOperands reference(const AnyArgs& scalars) const;
  // Of what `reference` returned: the family's allowance for each element of an output, in the order of memory. Empty:
  // there is none.
  std::vector<double> allowance(int operand) const;

  int size() const { return static_cast<int>(entries_.size()); }
  const std::vector<OperandEntry>& entries() const { return entries_; }
  const Operand& operand(int entry) const {
    return family_->operands[entries_[static_cast<std::size_t>(entry)].operand];
  }
  // REQUIRES: the problem has it.
  int place(const OperandEntry& which) const;
  std::string name(int entry) const;  // "out", "source.2"
  const Layout& layout(int operand) const { return layouts_[static_cast<std::size_t>(operand)]; }
  bool present(int operand) const { return layout(operand).dtype != DType::none; }
  std::int64_t bytes(int operand) const { return layout(operand).span_bytes(); }
  std::byte* data(int operand) { return memory_[static_cast<std::size_t>(operand)].data(); }
  const std::byte* data(int operand) const { return memory_[static_cast<std::size_t>(operand)].data(); }
  const Family& family() const { return *family_; }
  const void* problem() const { return problem_.data(); }

 private:
  const Family* family_;
  std::vector<unsigned char> problem_;
  std::vector<OperandEntry> entries_;
  std::vector<Layout> layouts_;
  std::vector<std::vector<std::byte>> memory_;
  std::shared_ptr<const AnyArgs> numbers_;  // of the launch that the reference is of
};

// Device copies. Each operand starts `offset_elements` elements past a 256-byte boundary. With guard bands there are
// 1024 bytes of 0xA5 before and after it; without, the allocation ends with the operand and only the operand is
// initialized, so that compute-sanitizer detects every access outside.
enum class Guards { bands, none };
// An output in the memory of an input, by their places in operand_entries.
struct InPlace {
  int output;
  int input;
};
// Of a problem whose outputs may have the names of inputs: those that do.
std::vector<InPlace> outputs_in_place(const HostOperands& host);

class DeviceOperands {
 public:
  // Allocates in the current context. Throws Error (driver), also if out of memory.
  DeviceOperands(const Driver& driver, const HostOperands& host, int offset_elements = 0,
                 Guards guards = Guards::bands);
  ~DeviceOperands();
  DeviceOperands(const DeviceOperands&) = delete;
  DeviceOperands& operator=(const DeviceOperands&) = delete;

  // REQUIRES: both are of one type and shape. A launch overwrites the input, so `damage` does not compare it.
  void share(const InPlace& place);
  // Copies everything to the device; outputs with the host's contents (poisoned by generate).
  void upload(const HostOperands& host);
  // Copies outputs and updates back to the host.
  void download(HostOperands& host) const;
  // The name of an operand whose guard bands were written, or of an input that was changed; "" if there is none.
  std::string damage(const HostOperands& host) const;
  // Arguments with these pointers and sizes, the problem's extents, and the run-time numbers of `scalars`.
  AnyArgs args(const AnyArgs& scalars) const;
  void* pointer(int operand) const;

  // With guard bands: all of the memory (operands and bands) as one range.
  CUdeviceptr base() const { return allocations_.front(); }
  std::int64_t total() const { return total_; }
  // Fills every byte of each output's span, on the default stream. Updates are not changed.
  void fill_outputs(unsigned char value) const;
  // The location of a byte in that range: its operand, or a band of that operand.
  struct Place {
    int operand = 0;          // by its place in operand_entries
    bool band = false;        // before or after the operand
    std::int64_t offset = 0;  // in the operand, in bytes; below 0 or beyond its size in a band
  };
  Place place(std::int64_t byte) const;

 private:
  const Operand& operand(std::size_t entry) const { return family_.operands[entries_[entry].operand]; }

  const Driver& driver_;
  const Family& family_;
  std::vector<unsigned char> problem_;
  const std::vector<OperandEntry> entries_;
  CUdeviceptr allocate(std::int64_t bytes);
  // With guard bands all operands share one allocation, so that their addresses, and with them the cost of address
  // translation in a small kernel, do not depend on earlier allocations.
  struct Block {
    CUdeviceptr base = 0;
    std::int64_t offset = 0;  // of the operand in the block
    std::int64_t bytes = 0;   // of the operand
    std::int64_t total = 0;   // of the block
    bool shared = false;      // an output that is in an input's block, or that input
  };
  Guards guards_;
  std::vector<Block> blocks_;
  std::vector<CUdeviceptr> allocations_;
  std::int64_t total_ = 0;
};

}  // namespace quern

#endif  // QUERN_TESTBENCH_OPERANDS_H_
