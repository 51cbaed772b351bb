// Bias, multiply-add and activations: every activation, mix of types and spread, gradients with their sums, and the
// peers' lists.
#include <utility>

#include "base/text.h"
#include "quern/activation_table.h"
#include "support/cases.h"

namespace quern::test {
namespace {

const std::vector<int> kPointwiseWidths = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 100, 1000, 4097};

std::string pointwise(int rows, int width, const std::string& rest) {
  return cat("pointwise rows=", rows, " width=", width, " ", rest);
}

void published_pointwise(std::vector<Case>& cases) {
  for (int i = 1; i <= 8; ++i) {
    for (const char* act : {"relu", "sigmoid"})
      cases.push_back(
          {pointwise(1 << (2 * i), 2 << i, cat("op=add_mul_act dtype=f32 activation=", act)), 0, i % 2 == 0});
  }
  cases.push_back({pointwise(8, 8, "dtype=f32")});
  cases.push_back({pointwise(128, 512, "op=add_mul_act dtype=f32")});
  // A DLRM's layers at the batch that it is published with: ReLU, and the sigmoid of its one result.
  for (const int width : {512, 256, 64})
    cases.push_back({pointwise(128, width, "op=bias_act activation=relu dtype=f32")});
  cases.push_back({pointwise(128, 1, "op=bias_act activation=sigmoid dtype=f32")});
}

void all_activations(std::vector<Case>& cases) {
#define QUERN_ACTIVATION_NAME(name, ...) #name,
  for (const char* act : {QUERN_ACTIVATIONS(QUERN_ACTIVATION_NAME)}) {
    for (const char* type : {"f32", "f16", "bf16"}) {
      for (const char* rounding : {"single", "torch"}) {
        cases.push_back({pointwise(61, 264, cat("dtype=", type, " activation=", act, " rounding=", rounding))});
        cases.push_back(
            {pointwise(61, 264, cat("op=add_mul_act dtype=", type, " activation=", act, " rounding=", rounding))});
      }
    }
  }
#undef QUERN_ACTIVATION_NAME
}

void odd_pointwise(std::vector<Case>& cases) {
  for (const char* type : {"f32", "bf16"}) {
    for (const int width : kPointwiseWidths) {
      for (const int offset : {0, 1, 3}) {
        const std::string rest = cat("op=add_mul_act dtype=", type);
        cases.push_back({pointwise(37, width, rest), offset});
        cases.push_back({pointwise(37, width, rest + " bias_spread=none"), offset, true});
      }
    }
  }
  for (const int rows : {0, 1, 2, 15, 129}) cases.push_back({pointwise(rows, 100, "dtype=f16")});
  cases.push_back({pointwise(5, 0, "dtype=f16")});
  for (const char* strides : {"x_stride=40", "y_stride=41 out_stride=35", "x_stride=48 y_stride=48 out_stride=64"}) {
    for (const char* type : {"f32", "bf16"}) {
      cases.push_back({pointwise(50, 33, cat("op=add_mul_act dtype=", type, " ", strides))});
      cases.push_back({pointwise(50, 32, cat("op=add_mul_act dtype=", type, " ", strides)), 1});
    }
  }
}

void pointwise_mixes(std::vector<Case>& cases) {
  const char* types[] = {"f32", "f16", "bf16"};
  for (const char* x : types) {
    for (const char* y : types) {
      for (const char* rest : {"bias_dtype=f32 out_dtype=bf16", "bias_dtype=bf16 out_dtype=f32", "bias_dtype=f16"}) {
        for (const char* rounding : {"single", "torch"}) {
          const std::string text = cat("op=add_mul_act dtype=", x, " y_dtype=", y, " ", rest, " rounding=", rounding);
          cases.push_back({pointwise(23, 88, text)});
          cases.push_back({pointwise(23, 51, text), 1});
        }
      }
    }
  }
  for (const char* x : {"full", "row", "column", "scalar"}) {
    for (const char* y : {"full", "row", "column", "scalar"}) {
      for (const char* bias : {"full", "row", "column", "scalar", "none"}) {
        const std::string text =
            cat("op=add_mul_act dtype=bf16 bias_dtype=f32 x_spread=", x, " y_spread=", y, " bias_spread=", bias);
        cases.push_back({pointwise(19, 72, text)});
        cases.push_back({pointwise(19, 43, text)});
        cases.push_back({pointwise(19, 43, text), 1});
      }
    }
  }
}

void persistent_pointwise(std::vector<Case>& cases) {
  for (const char* blocks : {"0", "1", "8"}) {
    const std::string config = cat("persistent=1,threads=64,blocks_per_sm=", blocks);
    for (const char* rest : {"dtype=f32", "dtype=bf16 bias_spread=none", "dtype=bf16 op=add_mul_act y_spread=row",
                             "dtype=f16 bias_spread=full x_stride=4200"}) {
      for (const int width : {8, 77, 4096}) {
        for (const int rows : {0, 1, 300}) cases.push_back(with(config, pointwise(rows, width, rest), rows % 3 == 1));
      }
    }
  }
}

// Gradients of every activation, of every width around a vector and around a warp's elements, with and without sums.
void pointwise_gradients(std::vector<Case>& cases) {
  const char* const types[] = {"f32", "f16", "bf16"};
  const char* const sums[] = {"", " bias_gradient=f32", " op=add_mul_act multiplier_gradient=f32",
                              " op=add_mul_act bias_gradient=bf16 multiplier_gradient=f32"};
  const auto turn = [&](std::size_t count) { return (cases.size() * 2654435761U >> 16) % count; };
#define QUERN_ACTIVATION_NAME(name, ...) #name,
  for (const char* act : {QUERN_ACTIVATIONS(QUERN_ACTIVATION_NAME)}) {
    for (const char* type : types) {
      for (const char* rounding : {"single", "torch"}) {
        const std::string rest = cat("pass=backward dtype=", type, " activation=", act, " rounding=", rounding);
        cases.push_back({pointwise(61, 264, rest + sums[turn(4)])});
        cases.push_back({pointwise(61, 101, cat(rest, " op=add_mul_act"))});
      }
    }
  }
#undef QUERN_ACTIVATION_NAME
  for (const char* sum : sums) {
    for (const int width : {0, 1, 2, 7, 8, 31, 32, 33, 100, 255, 256, 257, 600}) {
      const char* const act = turn(2) == 0 ? "relu" : "silu";
      const std::string rest = cat("pass=backward activation=", act, " dtype=", types[turn(3)], sum);
      cases.push_back({pointwise(37, width, rest), static_cast<int>(turn(3))});
      cases.push_back({pointwise(300, width, cat(rest, " y_dtype=f32 out_dtype=f16")), static_cast<int>(turn(2))});
    }
    for (const int rows : {0, 1, 16, 17, 128, 129, 4225})
      cases.push_back({pointwise(rows, 40, cat("pass=backward activation=relu dtype=f32", sum))});
    for (const char* rest : {"x_stride=80", "x_stride=72 out_stride=80", "out_stride=65", "bias_dtype=f32"})
      cases.push_back({pointwise(50, 64, cat("pass=backward activation=tanh ", rest, sum))});
    for (const char* config :
         {"form=0,vector=4,unroll=1", "form=0,vector=8,unroll=2", "form=2,unroll=1", "form=2,unroll=2"})
      cases.push_back(with(config, pointwise(150, 320, cat("pass=backward activation=relu", sum))));
  }
  for (const char* spread : {"none", "row", "column", "scalar", "full"}) {
    for (const int width : {64, 67})
      cases.push_back({pointwise(37, width, cat("pass=backward activation=gelu bias_dtype=f32 bias_spread=", spread))});
  }
  cases.push_back({pointwise(40, 3000, "pass=backward activation=relu op=add_mul_act multiplier_gradient=f32")});
  cases.push_back({pointwise(9000, 300, "pass=backward activation=relu op=add_mul_act multiplier_gradient=f32")});
  for (const char* mix :
       {"dtype=f16 out_dtype=f32", "dtype=bf16 y_dtype=f32", "dtype=f32 out_dtype=bf16 y_dtype=f16"}) {
    for (const char* act : {"leaky_relu", "gelu", "identity"})
      cases.push_back(
          {pointwise(37, 96, cat("pass=backward op=add_mul_act rounding=torch activation=", act, " ", mix))});
  }
  for (Case& c : cases) {  // one whose products are rounded
    if (c.problem.find("pass=backward") != std::string::npos) c.multiplier = 0.7F;
  }
}

// Plain activations of the peers' tests: vLLM's exact ones, Liger's squared relu, TransformerEngine's test_act grid.
// fp8 outputs are mxfp8's. Of all these the host takes a cover, with smaller extents, and the largest are `full`.
void peer_activations(std::vector<Case>& cases) {
  constexpr int kMostOfUsual = 1 << 22;
  const auto add = [&](int rows, int width, const std::string& rest) {
    cases.push_back({pointwise(rows, width, cat("bias_spread=none ", rest))});
    cases.back().full = rows * width > kMostOfUsual;
  };
  for (const char* type : {"f32", "f16", "bf16"}) {
    for (const char* act : {"gelu_new", "gelu_fast", "qgelu"}) {
      for (const int rows : {7, 83, 2048}) {
        for (const int width : {512, 13824}) add(rows, width, cat("rounding=torch dtype=", type, " activation=", act));
      }
    }
  }
  for (const char* pass : {"forward", "backward"}) {
    for (const char* type : {"f32", "bf16"}) {
      for (const auto& [rows, width] : {std::pair(2 * 8, 4096), std::pair(4 * 16, 2048), std::pair(1, 1023),
                                        std::pair(3 * 7, 256), std::pair(2, 8), std::pair(1, 4096)})
        add(rows, width, cat("dtype=", type, " activation=srelu pass=", pass));
    }
    for (const char* act : {"gelu_tanh", "silu", "relu", "qgelu", "srelu"}) {
      const std::string rest = cat("activation=", act, " pass=", pass, " dtype=");
      for (const auto& [rows, width] :
           {std::pair(2048, 12288), std::pair(768, 2816), std::pair(256, 65536), std::pair(65536, 128),
            std::pair(256, 256), std::pair(257, 259), std::pair(128, 129)}) {
        for (const char* out : {"bf16", "f16", "f32"}) add(rows, width, cat(rest, "bf16 out_dtype=", out));
      }
      for (const char* type : {"f32", "f16"}) add(768, 2816, cat(rest, type));
    }
  }
}

}  // namespace

std::vector<Case> pointwise_cases() {
  std::vector<Case> cases;
  published_pointwise(cases);
  all_activations(cases);
  odd_pointwise(cases);
  pointwise_mixes(cases);
  persistent_pointwise(cases);
  pointwise_gradients(cases);
  peer_activations(cases);
  return cases;
}

}  // namespace quern::test
