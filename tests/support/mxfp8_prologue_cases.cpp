// Cases of mxfp8's prologues.
#include "base/text.h"
#include "common/activation_reference.h"
#include "support/mxfp8_text.h"

namespace quern::test {
namespace {

// Every activation's value and derivative; every prologue with some, in each type, direction, layout and tail.
void prologues(std::vector<Case>& cases) {
  for (const common::ActivationRow& activation : common::kActivationRows) {
    for (const char* rest : {"prologue=act", "prologue=act dtype=f32", "prologue=dact", "prologue=dact dtype=f32"})
      cases.push_back({mxfp8(96, 192, cat(rest, " activation=", activation.name))});
  }
  for (const char* prologue : {"act", "gated", "dact", "dgated"}) {
    const std::string made = cat("prologue=", prologue);
    // TransformerEngine's shapes of gated quantization, and some of its others.
    const int shapes[][2] = {{1, 32}, {16, 64}, {65, 96}, {128, 128}, {993, 512}, {577, 1632}, {33, 62}, {70, 36}};
    for (const auto& [rows, cols] : shapes) {
      for (const std::string& direction : kDirections)
        cases.push_back(
            {mxfp8(rows, cols, cat(made, " tail=pad activation=silu direction=", direction)), rows % 3 == 0 ? 1 : 0});
    }
    for (const std::string& direction : kDirections) {
      const std::string rest = cat(made, " direction=", direction, " activation=");
      for (const char* type : {"bf16", "f32", "f16"}) {
        for (const char* how : {"gelu mode=floor", "srelu policy=te", "relu block=square", "cos tail=pad"})
          cases.push_back({mxfp8(160, 288, cat(rest, how, " dtype=", type), 2)});
      }
      cases.push_back({mxfp8(256, 416, cat(rest, "silu scale_layout=blocked element=e5m2"), 2)});
      cases.push_back({mxfp8(96, 128, cat(rest, "relu source_stride=272"), 2)});
      cases.push_back({mxfp8(96, 128, cat(rest, "relu source_stride=259"), 2)});
      cases.push_back({mxfp8(1024, 160, cat(rest, "silu groups=4"))});
      cases.push_back({mxfp8(0, 64, cat(rest, "silu"))});
    }
    for (const char* config : {"cluster=8,stack=2,async_copies=0", "cluster=8,async_copies=1"})
      cases.push_back(with(cat("form=1,unroll=1,threads=128,rows=16,panel=0,", config),
                           mxfp8(416, 1184, cat(made, " direction=both activation=relu"), 2)));
    cases.push_back(with("unroll=4", mxfp8(96, 416, cat(made, " activation=leaky_relu"))));
  }
}

// Inputs by asynchronous copies, of tiles that the default would read through registers.
void copied_inputs(std::vector<Case>& cases) {
  for (const char* prologue : {"act", "gated", "dact"}) {
    for (const char* rest : {" direction=col", " direction=both scale_layout=blocked", " direction=both tail=pad",
                             " direction=row bias_gradient=sums", " direction=both scaling=block128 tail=pad"})
      cases.push_back(with("vector=16,rows=16,async_copies=1",
                           mxfp8(160, 288, cat("prologue=", prologue, " activation=silu", rest))));
  }
}

// Both gradients of a tile from one read, which asynchronous copies do; and three inputs of one gradient.
void copied_halves(std::vector<Case>& cases) {
  const std::string made = "prologue=dgated activation=silu direction=";
  for (const char* direction : {"col", "both"}) {
    const std::string rest = cat(made, direction);
    for (const char* how :
         {"", " experts=2 bias_gradient=sums", " scaling=tensor source_stride=296", " out_order=cols"})
      cases.push_back(with("vector=16,rows=16,async_copies=1", mxfp8(256, 576, cat(rest, how))));
    cases.push_back(with("vector=16,rows=16,async_copies=1", mxfp8(160, 256, cat(rest, " scale_layout=blocked"))));
    cases.push_back(with("vector=16,rows=16,async_copies=1", mxfp8(100, 192, cat(rest, " tail=pad"))));
    for (const char* how : {" tail=pad", " tail=pad experts=3 source_expert_stride=4000"})
      cases.push_back(with("vector=16,rows=16,async_copies=1", mxfp8(20, 192, cat(rest, how))));
    cases.push_back(with("vector=16,rows=16,async_copies=1,stack=2", mxfp8(384, 192, rest)));
    cases.push_back(with("vector=8,rows=32,async_copies=1,stack=2", mxfp8(384, 192, cat(rest, " dtype=f32"))));
    cases.push_back(with("vector=8,rows=16,async_copies=1", mxfp8(160, 288, cat(rest, " groups=2"))));
  }
}

}  // namespace

std::vector<Case> mxfp8_prologue_cases() {
  std::vector<Case> cases;
  prologues(cases);
  copied_inputs(cases);
  copied_halves(cases);
  return cases;
}

}  // namespace quern::test
