// Scales from the plain layout to the blocked one and back.
#include <algorithm>
#include <cstring>

#include "common/geometry.h"
#include "mxfp8/params.h"
#include "mxfp8/room.h"
#include "mxfp8/scale_order.h"

namespace quern::mxfp8 {
namespace {

constexpr std::int64_t kUnitBytes = 16;  // of an atom

bool to_blocked(const Mxfp8& p) { return p.op == Mxfp8Op::to_blocked; }
ScaleMatrix shape(const Mxfp8& p) { return scales_of_direction(p, col_made(p)); }
std::int64_t atom_rows(const Mxfp8& p) { return round_up_to(shape(p).lines, 128) / 128; }

std::string check(const Mxfp8& p) {
  const std::string op = kOps[static_cast<int>(p.op)];
  if (p.direction == Mxfp8Direction::both)
    return "direction=both is for quantize; " + op + " takes the scales of one direction: row or col";
  if (blocked(p)) return "scale_layout=blocked is for quantize and dequantize; " + op + " has both layouts";
  if (p.source_stride != 0) return "source_stride is for numbers; the scales of " + op + " have no gaps";
  return {};
}

Operands operands(const Mxfp8& p) {
  const Layout plain = plain_layout(p, col_made(p)), atoms = blocked_layout(p, col_made(p));
  Operands o;
  o.source = to_blocked(p) ? plain : atoms;
  o.out = to_blocked(p) ? atoms : plain;
  return o;
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
  spec.flag("square", p.block == Mxfp8Block::square);
  spec.integer("together", together(p, config));
  spec.choice("mxfp8::ScaleOrder", "order", order_of(p, false));
  spec.part("mxfp8/relayout.cuh");
}

void launch(const Mxfp8& p, const Mxfp8Args& a, const DeviceModel& model, const Config& config, Launch& launch) {
  const ScaleMatrix m = shape(p);
  const std::int64_t units = round_up_to(m.blocks, 4) / 4 * (kAtomBytes / kUnitBytes);
  RelayoutParams params{};
  params.source = a.source.data;
  params.out = a.out.data;
  params.shape = {m.lines, m.blocks};
  params.atom_rows = atom_rows(p);
  params.slots = common::make_slots(is_empty(p) ? 0 : static_cast<std::uint64_t>(p.experts * atom_rows(p)),
                                    static_cast<std::uint64_t>(std::max<std::int64_t>(1, units)));
  params.by_atom_rows = common::make_divisor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, atom_rows(p))));
  launch.set_params(params);
  common::launch_slots(params.slots.count, config[kUnroll], config[kThreads], model, launch);
  common::limit_grid(config[kBlocksPerSm], model, launch);
}

std::int64_t moved(const Mxfp8& p) {
  const Operands o = operands(p);
  return o.source.elements() + o.out.elements();
}

void reference(const Mxfp8& p, const Mxfp8Args& a) {
  const ScaleMatrix m = shape(p);
  const auto* source = static_cast<const std::uint8_t*>(a.source.data);
  auto* out = static_cast<std::uint8_t*>(a.out.data);
  if (to_blocked(p)) std::memset(out, 0, static_cast<std::size_t>(p.experts * blocked_bytes(m)));
  for (std::int64_t expert = 0; expert < p.experts; ++expert) {
    for (std::int64_t line = 0; line < m.lines; ++line) {
      // The first line speaks for a square.
      if (!to_blocked(p) && p.block == Mxfp8Block::square && line % kBlockElements != 0) continue;
      for (std::int64_t block = 0; block < m.blocks; ++block) {
        const std::int64_t plain = scale_index(p, col_made(p), false, expert, line, block);
        const std::int64_t atom = scale_index(p, col_made(p), true, expert, line, block);
        out[to_blocked(p) ? atom : plain] = source[to_blocked(p) ? plain : atom];
      }
    }
  }
}

}  // namespace

const Room kRelayout = {check,     matrix_of,  operands, natural_vector, unit, preferred,
                        alignment, specialize, launch,   reference,      moved};

}  // namespace quern::mxfp8
