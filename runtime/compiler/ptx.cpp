#include "compiler/ptx.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace quern {
namespace {

// The opcode of a line, "ld.global.nc.v4.u32": after an opening brace and a predicate.
std::string_view opcode(std::string_view line) {
  line = trim(line);
  while (!line.empty() && (line.front() == '{' || line.front() == '@')) {
    const std::size_t end = line.front() == '@' ? std::min(line.find_first_of(" \t"), line.size()) : 1;
    line = trim(line.substr(end));
  }
  return line.substr(0, line.find_first_of(" \t"));
}

// The bits of "u8", "b32", "bf16x2", "b128"; 0 if it is not a type.
int type_bits(std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  const std::string_view name = type.substr(0, digits);
  if (name != "b" && name != "u" && name != "s" && name != "f" && name != "bf") return 0;
  const std::size_t times = std::min(type.find('x', digits), type.size());
  const int bits = static_cast<int>(parse_integer(type.substr(digits, times - digits)).value_or(0));
  return times == type.size() ? bits : 2 * bits;
}

// "v4" is 4; anything else is not a vector and gives 1.
int vector_width(std::string_view part) {
  if (part.size() < 2 || part.front() != 'v') return 1;
  return static_cast<int>(parse_integer(part.substr(1)).value_or(1));
}

}  // namespace

std::vector<Access> count_global_accesses(std::string_view ptx) {
  std::map<std::pair<bool, int>, int> counts;
  for (const std::string_view line : split(ptx, '\n')) {
    const std::vector<std::string_view> parts = split(opcode(line), '.');
    if (parts.size() < 3 || (parts[0] != "ld" && parts[0] != "st")) continue;
    if (std::find(parts.begin(), parts.end(), "global") == parts.end()) continue;
    int elements = 1;
    for (const std::string_view part : parts) elements *= vector_width(part);
    const int bytes = elements * type_bits(parts.back()) / 8;
    if (bytes > 0) ++counts[{parts[0] == "st", bytes}];
  }
  std::vector<Access> accesses;
  for (const auto& [kind, count] : counts) accesses.push_back({kind.first, kind.second, count});
  return accesses;
}

// cp.async.bulk.TO.FROM, where shared memory is "shared::cta" or "shared::cluster"; for tensors
// cp.async.bulk.tensor.2d.
BulkCopies count_bulk_copies(std::string_view ptx) {
  BulkCopies copies;
  for (const std::string_view line : split(ptx, '\n')) {
    const std::vector<std::string_view> parts = split(opcode(line), '.');
    if (parts.size() < 5 || parts[0] != "cp" || parts[1] != "async" || parts[2] != "bulk") continue;
    const auto global = std::find(parts.begin(), parts.end(), "global");
    const auto shared =
        std::find_if(parts.begin(), parts.end(), [](std::string_view part) { return part.starts_with("shared"); });
    if (global == parts.end() || shared == parts.end()) continue;
    ++(global < shared ? copies.stores : copies.loads);
  }
  return copies;
}

}  // namespace quern
