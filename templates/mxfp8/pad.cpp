// Groups of rows padded to multiples of `align`, as matrix products of groups want them, and back.
#include <algorithm>
#include <cstring>
#include <limits>

#include "common/geometry.h"
#include "common/host_types.h"
#include "mxfp8/params.h"
#include "mxfp8/parts.h"
#include "mxfp8/room.h"

namespace quern::mxfp8 {
namespace {

bool pads(const Mxfp8& p) { return p.op == Mxfp8Op::pad; }
std::int64_t unit(const Mxfp8& p) { return quern::bytes(p.dtype); }
std::int64_t row_bytes(const Mxfp8& p) { return p.cols * unit(p); }
// As many as all groups can need.
std::int64_t padded_rows(const Mxfp8& p) { return round_up_to(p.rows + p.groups * p.align, p.align); }

std::string check(const Mxfp8& p) {
  const char* const op = kOps[static_cast<int>(p.op)];
  if (p.groups == 0) return std::string(op) + " needs groups, whose rows it moves";
  if (pads(p) && p.offset == DType::i32 && p.rows != kOpen && p.rows + p.groups * p.align >= std::int64_t{1} << 31)
    return "offset=i32 does not hold the ends of so many padded rows; use offset=i64";
  if (p.direction != Mxfp8Direction::row || square(p) || blocked(p) || p.source_order != Mxfp8Order::cols ||
      p.source_stride != 0)
    return std::string(op) +
           " moves rows as they are: direction=row, block=line, source_order=cols, scale_layout=plain and "
           "source_stride=0 go with it";
  return {};
}

Layout source_layout(const Mxfp8& p) { return experts_layout(p.dtype, 1, pads(p) ? p.rows : padded_rows(p), p.cols); }
Layout out_layout(const Mxfp8& p) { return experts_layout(p.dtype, 1, pads(p) ? padded_rows(p) : p.rows, p.cols); }
Layout places_layout(const Mxfp8& p) { return pads(p) ? offsets_layout(p) : Layout{}; }

std::int64_t natural_vector(const Mxfp8& p, std::int64_t limit) {
  return common::common_alignment({p.cols == kOpen ? unit(p) : row_bytes(p)}, limit);
}

Config preferred(const Mxfp8& p, const Target& target, const DeviceModel&) {
  return stream_config(natural_vector(p, widest_access(target)), 4);
}

std::uint32_t alignment(const Mxfp8& p, const Config& config) { return vector_alignment(unit(p), config); }

void specialize(const Mxfp8& p, const Config&, Spec& spec) {
  spec.header("mxfp8/params.h");
  spec.integer("params_bytes", sizeof(PadParams));
  spec.flag("pads", pads(p));
  spec.flag("whole_groups", false);
  spec.type("Offset", common::spec_type(p.offset));
  spec.part("mxfp8/pad.cuh");
}

void launch(const Mxfp8& p, const Mxfp8Args& a, const DeviceModel&, const Config& config, Launch& launch) {
  const std::int64_t at_once = std::int64_t{config[kThreads]} * config[kUnroll] * config[kVector];
  const std::int64_t pieces = std::max<std::int64_t>(1, (p.align * row_bytes(p) + at_once - 1) / at_once);
  PadParams params{};
  params.noop = a.noop.data;
  params.source = a.source.data;
  params.out = a.out.data;
  params.starts = a.starts.data;
  params.ends = a.ends.data;
  params.rows = p.rows;
  params.row_bytes = row_bytes(p);
  params.align = p.align;
  params.by_align = common::make_divisor(static_cast<std::uint64_t>(p.align));
  params.by_pieces = common::make_divisor(static_cast<std::uint64_t>(pieces));
  params.pieces = static_cast<std::uint32_t>(pieces);
  params.offsets = a.offsets.data;
  params.status = static_cast<std::int32_t*>(a.status.data);
  params.groups = static_cast<std::uint32_t>(p.groups);
  launch.set_params(params);
  launch.block[0] = static_cast<std::uint32_t>(config[kThreads]);
  launch.grid[0] = static_cast<std::uint32_t>(
      std::min<std::int64_t>(padded_rows(p) / p.align * pieces, std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = 64;
}

std::int64_t moved(const Mxfp8& p) { return 2 * p.rows * row_bytes(p); }

void reference(const Mxfp8& p, const Mxfp8Args& a) {
  const std::vector<Part> parts = parts_of(p, a);
  if (parts.empty()) return;
  const auto* source = static_cast<const char*>(a.source.data);
  auto* out = static_cast<char*>(a.out.data);
  if (pads(p) && p.cols > 0) std::memset(out, 0, static_cast<std::size_t>(padded_rows(p) * row_bytes(p)));
  std::int64_t padded = 0;
  for (std::size_t g = 0; g < parts.size(); ++g) {
    const std::int64_t rows = parts[g].problem.rows, plain = parts[g].source_row;
    if (rows > 0 && p.cols > 0)
      std::memcpy(out + (pads(p) ? padded : plain) * row_bytes(p), source + (pads(p) ? plain : padded) * row_bytes(p),
                  static_cast<std::size_t>(rows * row_bytes(p)));
    const std::int64_t next = padded + round_up_to(rows, p.align);
    if (pads(p)) {
      common::write_integer(p.offset, a.starts.data, static_cast<std::int64_t>(g), padded);
      common::write_integer(p.offset, a.ends.data, static_cast<std::int64_t>(g), next);
    }
    padded = next;
  }
}

}  // namespace

const Room kPad = {check,
                   matrix_of,
                   {.source = source_layout, .out = out_layout, .starts = places_layout, .ends = places_layout},
                   natural_vector,
                   unit,
                   preferred,
                   alignment,
                   specialize,
                   launch,
                   reference,
                   moved};

}  // namespace quern::mxfp8
