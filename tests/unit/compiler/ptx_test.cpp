#include "compiler/ptx.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

using Accesses = std::vector<Access>;

TEST(CompilerPtx, CountsAccessesByWidth) {
  EXPECT_EQ(count_global_accesses("\tld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\n"
                                  "\tld.global.nc.L1::no_allocate.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2+16];\n"
                                  "\tld.global.nc.L1::evict_last.v2.u32 {%r9, %r10}, [%rd3];\n"
                                  "\tst.global.cs.v4.u32 [%rd4], {%r1, %r2, %r3, %r4};\n"
                                  "\tst.global.u8 [%rd5], %r1;\n"),
            Accesses({{false, 8, 1}, {false, 16, 2}, {true, 1, 1}, {true, 16, 1}}));
}

TEST(CompilerPtx, KnowsEveryTypeAndVector) {
  EXPECT_EQ(count_global_accesses("ld.global.s8 %r1, [%rd1];"), Accesses({{false, 1, 1}}));
  EXPECT_EQ(count_global_accesses("ld.global.bf16 %rs1, [%rd1];"), Accesses({{false, 2, 1}}));
  EXPECT_EQ(count_global_accesses("ld.global.f16x2 %r1, [%rd1];"), Accesses({{false, 4, 1}}));
  EXPECT_EQ(count_global_accesses("ld.global.f64 %fd1, [%rd1];"), Accesses({{false, 8, 1}}));
  EXPECT_EQ(count_global_accesses("st.global.b128 [%rd1], %rq1;"), Accesses({{true, 16, 1}}));
  EXPECT_EQ(count_global_accesses("st.global.v2.f64 [%rd1], {%fd1, %fd2};"), Accesses({{true, 16, 1}}));
  EXPECT_EQ(count_global_accesses("ld.global.L1::no_allocate.L2::evict_first.v8.b32 {%r1, %r2}, [%rd1];"),
            Accesses({{false, 32, 1}}));
}

TEST(CompilerPtx, SeesThroughPredicatesAndOrderings) {
  EXPECT_EQ(count_global_accesses("  @%p1 ld.global.u32 %r1, [%rd1];\r\n@!%p2\tst.global.u16 [%rd1], %rs1;"),
            Accesses({{false, 4, 1}, {true, 2, 1}}));
  EXPECT_EQ(count_global_accesses("{ ld.global.u32 %r1, [%rd1]; }"), Accesses({{false, 4, 1}}));
  EXPECT_EQ(count_global_accesses("ld.volatile.global.u32 %r1, [%rd1];\nld.relaxed.gpu.global.u64 %rd2, [%rd1];"),
            Accesses({{false, 4, 1}, {false, 8, 1}}));
}

TEST(CompilerPtx, LeavesOutOtherSpacesAndWords) {
  for (const char* line :
       {"ld.param.u64 %rd1, [p];", "ld.shared.v4.u32 {%r1}, [s];", "st.local.u32 [%rd1], %r1;",
        "atom.global.min.u64 %rd1, [%rd2], %rd3;", "red.global.add.u32 [%rd1], %r1;", ".global .align 4 .u32 x;",
        "cvta.to.global.u64 %rd1, %rd2;", "// ld.global.u32 %r1, [%rd1];", "prefetch.global.L2 [%rd1];", "", "ld"})
    EXPECT_EQ(count_global_accesses(line), Accesses()) << line;
}

TEST(CompilerPtx, BulkCopiesAreCountedByTheirDirection) {
  EXPECT_EQ(
      count_bulk_copies("\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, "
                        "[%r3];\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;\n"
                        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [t];\n"
                        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
                        "cp.async.bulk.prefetch.L2.global [%rd1], %r2;\ncp.async.ca.shared.global [%r1], [%rd1], 4;"),
      (BulkCopies{2, 1}));
}

}  // namespace
}  // namespace quern
