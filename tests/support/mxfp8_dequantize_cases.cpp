// Cases of mxfp8_dequantize: every order, type and layout of scales, tails, strides and configs.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {
namespace {

std::string number_matrix(int rows, int cols, const std::string& rest, int experts = 1) {
  return cat("mxfp8_dequantize rows=", rows, " cols=", cols, experts == 1 ? "" : cat(" experts=", experts), " ", rest);
}

void scales_of_mx(std::vector<Case>& cases) {
  const char* const orders[] = {"direction=row", "direction=col", "direction=col out_order=cols"};
  for (const char* order : orders) {
    for (const char* type : {"bf16", "f32", "f16"}) {
      for (const char* element : {"e4m3", "e5m2"})
        cases.push_back({number_matrix(96, 416, cat("", order, " dtype=", type, " element=", element), 2)});
    }
    for (const char* block : {"line", "square", "square_spread"}) {
      for (const char* scales : {"plain", "blocked"}) {
        const std::string rest = cat("", order, " block=", block, " scale_layout=", scales);
        cases.push_back({number_matrix(160, 224, rest, 3)});
        cases.push_back({number_matrix(57, 44, cat(rest, " tail=pad"), 2), 1});
        cases.push_back({number_matrix(65, 33, cat(rest, " tail=pad dtype=f32"))});
      }
    }
    for (const char* block : {"line", "square_spread"}) {
      const std::string rest = cat("scale_layout=padded ", order, " block=", block);
      cases.push_back({number_matrix(160, 224, rest, 3)});
      cases.push_back({number_matrix(128, 128, cat(rest, " dtype=f32"), 2)});
      cases.push_back({number_matrix(57, 44, cat(rest, " tail=pad"), 2), 1});
    }
    cases.push_back({number_matrix(64, 96, cat("source_stride=112 ", order), 2)});
    cases.push_back({number_matrix(0, 96, cat("", order))});
    for (const char* config :
         {"vector=4", "vector=8", "unroll=1", "unroll=8,threads=64", "persistent=1,blocks_per_sm=1"})
      cases.push_back(with(config, number_matrix(288, 320, cat("", order), 2)));
  }
}

void fp32_scales(std::vector<Case>& cases) {
  for (const char* type : {"bf16", "f32", "f16"}) {
    for (const char* element : {"e4m3", "e5m2"}) {
      const std::string rest = cat("dtype=", type, " element=", element, " scaling=");
      for (const char* order : {"direction=row", "direction=col", "direction=col out_order=cols"}) {
        cases.push_back({number_matrix(97, 200, cat(rest, "tensor tail=pad ", order), 2), 1});
        cases.push_back({number_matrix(96, 192, cat(rest, "tensor ", order), 2)});
        cases.push_back({number_matrix(384, 256, cat(rest, "block128 ", order), 2)});
        cases.push_back({number_matrix(97, 200, cat(rest, "block128 tail=pad ", order), 2)});
      }
      cases.push_back({number_matrix(97, 4100, cat(rest, "row"), 2)});
    }
  }
}

// Interleaved lines of the experts, and a gap after each line.
void strides(std::vector<Case>& cases) {
  for (const char* order : {"", "direction=col"}) {
    cases.push_back({number_matrix(96, 96, cat("source_stride=100 source_expert_stride=9700 ", order), 3)});
    cases.push_back({number_matrix(64, 64, cat("source_stride=128 source_expert_stride=64 ", order), 2)});
  }
  for (const int rows : {96, 128, 160, 192}) cases.push_back({number_matrix(rows, 160, "noop=flag")});
}

}  // namespace

std::vector<Case> mxfp8_dequantize_cases() {
  std::vector<Case> cases;
  scales_of_mx(cases);
  fp32_scales(cases);
  strides(cases);
  return cases;
}

}  // namespace quern::test
