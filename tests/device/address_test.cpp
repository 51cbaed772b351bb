// Each operand alone at an address that is some elements off, the others aligned: the variant must follow from all of
// them.
#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/stream.h"
#include "quern/quern.h"
#include "support/device.h"
#include "testbench/comparison.h"
#include "testbench/operands.h"

namespace quern::test {
namespace {

class Addresses : public DeviceTest {
 protected:
  // With operand `off` of the entries some elements further.
  void expect_same(const AnyProblem& problem, const AnyPlan& plan, int off, int elements) {
    HostOperands host(problem.family(), problem.data());
    host.generate(static_cast<std::uint64_t>(off) + 1, true);
    const auto bytes = static_cast<std::size_t>(host.bytes(off));
    const auto further = static_cast<std::size_t>(std::int64_t{elements} * quern::bytes(host.layout(off).dtype));
    DeviceOperands device(driver(), host);
    const DeviceMemory memory(driver(), bytes + further);
    const AnyArgs scalars(problem.family());
    AnyArgs args = device.args(scalars);
    const OperandEntry& entry = host.entries()[static_cast<std::size_t>(off)];
    args.set_operand(entry.operand, static_cast<std::byte*>(memory.data()) + further, host.bytes(off), entry.entry);
    device.upload(host);
    driver().check(driver()->MemcpyHtoD(memory.get() + further, host.data(off), bytes), Stage::tool, "cuMemcpyHtoD");
    plan.launch(nullptr, args.data());
    synchronize();
    HostOperands got = host;
    device.download(got);
    driver().check(driver()->MemcpyDtoH(got.data(off), memory.get() + further, bytes), Stage::tool, "cuMemcpyDtoH");
    EXPECT_EQ(compare(got, host.reference(scalars)).difference, "") << problem.text() << ", " << host.name(off);
  }

  void expect_each(const std::string& text, int elements = 1) {
    const AnyProblem problem = runtime().parse(text);
    const AnyPlan plan = runtime().prepare_any(problem.family(), problem.data(), {});
    const HostOperands host(problem.family(), problem.data());
    for (int i = 0; i < host.size(); ++i) {
      if (host.bytes(i) > 0) expect_same(problem, plan, i, elements);
    }
  }
};

TEST_F(Addresses, OfScatterMayBeOffOneByOne) {
  for (const char* fields : {"", "op=add", "op=add scale=f32", "op=add scale=f16 scale_of=rows",
                             "order=given rest=zero", "op=add order=given scale=bf16 factor=alpha",
                             "op=add pass=backward scale=f32", "op=add pass=backward scale=f16 scale_of=rows"}) {
    for (const char* type : {"bf16", "f32"}) {
      for (const int elements : {1, 2})
        expect_each(cat("scatter rows=90 count=70 width=64 index=i32 dtype=", type, " ", fields), elements);
    }
  }
}

// Rows of vectors, and rows that begin at any element.
TEST_F(Addresses, OfRowsThatMoveMayBeOffOneByOne) {
  for (const char* form : {"moe_permute probs=f32", "moe_permute pass=backward", "moe_unpermute probs=f32 residual=add",
                           "moe_unpermute pass=backward probs=f32", "moe_permute element=e4m3 scaling=row"}) {
    for (const char* hidden : {"hidden=64", "hidden=77"}) {
      for (const int elements : {1, 2})
        expect_each(cat(form, " tokens=50 experts=6 topk=4 align=8 ", hidden), elements);
    }
  }
}

TEST_F(Addresses, OfConcatMayBeOffOneByOne) {
  for (const char* fields : {"", "pass=backward", "index=i32 source_rows=90,80,70",
                             "index=i32 source_rows=90,80,70 pass=backward", "layout=flat"}) {
    for (const char* type : {"u8", "bf16", "f32"})
      for (const int elements : {1, 2, 4})
        expect_each(cat("concat rows=70 widths=64,16,32 dtype=", type, " ", fields), elements);
  }
}

TEST_F(Addresses, OfInteractionMayBeOffOneByOne) {
  for (const char* fields : {"dense=16", "pass=backward dense=16", "form=outer", "form=outer pass=backward"}) {
    for (const char* type : {"bf16", "f32"}) {
      for (const int elements : {1, 2, 4})
        expect_each(cat("interaction batch=20 features=5 dim=16 dtype=", type, " ", fields), elements);
    }
  }
}

TEST_F(Addresses, OfIndexSortMayBeOffOneByOne) {
  for (const char* index : {"i32", "i64"}) {
    for (const char* rows : {"100", "1000000"}) expect_each(cat("index_sort rows=", rows, " count=5000 index=", index));
  }
}

TEST_F(Addresses, OfHashTableMayBeOffOneByOne) {
  for (const char* dtype : {"i32", "i64"}) {
    for (const char* fields : {"", "op=find capacity=1024"})
      expect_each(cat("hash_table count=500 dtype=", dtype, " ", fields));
  }
}

}  // namespace
}  // namespace quern::test
