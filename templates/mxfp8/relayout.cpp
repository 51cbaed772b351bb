// Scales from the plain layout to the blocked one and back.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "common/host_types.h"
#include "mxfp8/params.h"
#include "mxfp8/parts.h"
#include "mxfp8/room.h"
#include "mxfp8/scale_order.h"

namespace quern::mxfp8 {
namespace {

constexpr std::int64_t kUnitBytes = 16;  // of an atom

bool to_blocked(const Mxfp8& p) { return p.op == Mxfp8Op::to_blocked; }
ScaleMatrix shape(const Mxfp8& p) { return scales_of_direction(p, col_made(p)); }

// The atoms of 128 lines are a strip; of a group in the col direction, those of 4 blocks, since it is a matrix of its
// own.
bool strips_of_blocks(const Mxfp8& p) { return p.groups > 0 && col_made(p); }
std::int64_t strips(const Mxfp8& p) {
  const ScaleMatrix m = shape(p);
  const std::int64_t whole = strips_of_blocks(p) ? round_up_to(m.blocks, 4) / 4 : round_up_to(m.lines, 128) / 128;
  return whole + p.groups;
}
std::int64_t atoms_of_strip(const Mxfp8& p) {
  const ScaleMatrix m = shape(p);
  return strips_of_blocks(p) ? round_up_to(m.lines, 128) / 128 : round_up_to(m.blocks, 4) / 4;
}
// Atoms whose plain scales lie together in rows, up to a sector.
std::int64_t beside(const Mxfp8& p) {
  if (col_made(p)) return 1;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(atoms_of_strip(p), 1, 8))));
}

std::string check(const Mxfp8& p) {
  const char* const op = kOps[static_cast<int>(p.op)];
  if (p.direction == Mxfp8Direction::both)
    return std::string("direction=both is for quantize; ") + op + " takes the scales of one direction: row or col";
  if (blocked(p))
    return std::string("scale_layout=blocked is for quantize and dequantize; ") + op + " has both layouts";
  if (p.source_stride != 0 || has_expert_stride(p))
    return std::string("source_stride and source_expert_stride are for numbers; the scales of ") + op + " have no gaps";
  return {};
}

Layout source_layout(const Mxfp8& p) {
  return to_blocked(p) ? plain_layout(p, col_made(p)) : blocked_layout(p, col_made(p));
}
Layout out_layout(const Mxfp8& p) {
  return to_blocked(p) ? blocked_layout(p, col_made(p)) : plain_layout(p, col_made(p));
}

// Of the blocked side.
std::int64_t natural_vector(const Mxfp8&, std::int64_t limit) { return std::min(limit, kUnitBytes); }
std::int64_t unit(const Mxfp8&) { return 1; }

Config preferred(const Mxfp8&, const Target&, const DeviceModel&) { return stream_config(kUnitBytes, 1); }

std::uint32_t alignment(const Mxfp8&, const Config& config) { return static_cast<std::uint32_t>(config[kVector]); }

// Blocks of a line that are neighbours wherever an atom begins.
int together(const Mxfp8& p, const Config& config) {
  const bool neighbours = !col_made(p) && shape(p).blocks % 4 == 0;
  return neighbours && config[kVector] >= 4 ? 4 : 1;
}

void specialize(const Mxfp8& p, const Config& config, Spec& spec) {
  spec.header("mxfp8/params.h");
  spec.integer("params_bytes", sizeof(RelayoutParams));
  spec.flag("to_blocked", to_blocked(p));
  spec.flag("col", col_made(p));
  spec.flag("groups", p.groups > 0);
  spec.flag("whole_groups", has_whole_groups(p));
  spec.type("Offset", common::spec_type(p.offset));
  spec.integer("together", together(p, config));
  spec.choice("mxfp8::ScaleOrder", "order", order_of(p, false));
  spec.part("mxfp8/relayout.cuh");
}

void launch(const Mxfp8& p, const Mxfp8Args& a, const DeviceModel&, const Config& config, Launch& launch) {
  const ScaleMatrix m = shape(p);
  const std::int64_t units = 32 * round_up_to(std::max<std::int64_t>(1, atoms_of_strip(p)), beside(p));
  const std::int64_t threads = std::min<std::int64_t>(config[kThreads], units),
                     pieces = (units + threads - 1) / threads;
  RelayoutParams params{};
  params.noop = a.noop.data;
  params.source = a.source.data;
  params.out = a.out.data;
  params.shape = {m.lines, m.blocks};
  params.rows = p.rows;
  params.pieces = static_cast<std::uint32_t>(pieces);
  params.strips = static_cast<std::uint32_t>(strips(p));
  params.beside = static_cast<std::uint32_t>(beside(p));
  params.by_pieces = common::make_divisor(static_cast<std::uint64_t>(pieces));
  params.by_strips = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, strips(p))));
  params.offsets = a.offsets.data;
  params.status = static_cast<std::int32_t*>(a.status.data);
  params.groups = static_cast<std::uint32_t>(p.groups);
  launch.set_params(params);
  launch.empty = is_empty(p);
  launch.block[0] = static_cast<std::uint32_t>(threads);
  launch.grid[0] = static_cast<std::uint32_t>(
      std::min<std::int64_t>(p.experts * strips(p) * pieces, std::numeric_limits<std::uint32_t>::max()));
  launch.shared_bytes = p.groups > 0 ? 64 : 0;
}

std::int64_t moved(const Mxfp8& p) { return source_layout(p).elements() + out_layout(p).elements(); }

void reference_of(const Part& part, bool to_blocked, const std::uint8_t* source, std::uint8_t* out) {
  const Mxfp8& p = part.problem;
  const bool col = col_made(p);
  const ScaleMatrix m = shape(p);
  if (to_blocked) std::memset(out, 0, static_cast<std::size_t>(blocked_bytes(m)));
  for (std::int64_t line = 0; line < m.lines; ++line) {
    // The first line speaks for a square.
    if (!to_blocked && p.block == Mxfp8Block::square && line % kBlockElements != 0) continue;
    for (std::int64_t block = 0; block < m.blocks; ++block) {
      const std::int64_t plain = scale_index(p, col, false, 0, line, block);
      const std::int64_t atom = scale_index(p, col, true, 0, line, block);
      out[to_blocked ? atom : plain] = source[to_blocked ? plain : atom];
    }
  }
}

void reference(const Mxfp8& p, const Mxfp8Args& a) {
  Mxfp8 in_atoms = p;
  in_atoms.scale_layout = Mxfp8Scales::blocked;
  const std::vector<Part> plain = parts_of(p, a), atoms = parts_of(in_atoms, a);
  const auto begin = [&](const Part& part) { return col_made(p) ? part.col_scales : part.row_scales; };
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::int64_t from = begin(to_blocked(p) ? plain[i] : atoms[i]),
                       to = begin(to_blocked(p) ? atoms[i] : plain[i]);
    reference_of(plain[i], to_blocked(p), static_cast<const std::uint8_t*>(a.source.data) + from,
                 static_cast<std::uint8_t*>(a.out.data) + to);
  }
}

}  // namespace

const Room kRelayout = {check,          matrix_of,  {.source = source_layout, .out = out_layout},
                        natural_vector, unit,       preferred,
                        alignment,      specialize, launch,
                        reference,      moved};

}  // namespace quern::mxfp8
