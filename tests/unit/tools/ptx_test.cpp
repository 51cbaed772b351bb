#include "ptx.h"

#include <gtest/gtest.h>

namespace quern::tool {
namespace {

TEST(Ptx, CountsAccessesByWidth) {
  const Accesses accesses = count_accesses(
      "\tld.param.u64 \t%rd1, [p];\n"
      "\tld.global.nc.v4.u32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n"
      "\tld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];\n"
      "@%p1 ld.global.u16 %rs1, [%rd1];\n"
      "\tst.shared.v4.f32 [%r1], {%f1, %f2, %f3, %f4};\n"
      "\tst.global.cs.v2.b64 [%rd2], {%rd3, %rd4};\n"
      "\tst.global.v8.f32 [%rd2], {};\n"
      "\tst.global.u8 [%rd2], %rs1;\n"
      "\tbar.sync 0;\n");
  EXPECT_EQ(accesses.loads, (Widths{{2, 1}, {16, 2}}));
  EXPECT_EQ(accesses.stores, (Widths{{1, 1}, {16, 1}, {32, 1}}));
  EXPECT_EQ(widths_text(accesses.loads), "2 × 16 B, 1 × 2 B");
}

TEST(Ptx, NothingIsNone) { EXPECT_EQ(widths_text(count_accesses("").loads), "none"); }

}  // namespace
}  // namespace quern::tool
