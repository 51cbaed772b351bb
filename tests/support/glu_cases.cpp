// Gated activations: every activation, layout and gating, both passes, and the gradients' sums.
#include <utility>

#include "base/text.h"
#include "quern/activation_table.h"
#include "support/cases.h"

namespace quern::test {
namespace {

std::string glu(int rows, int width, const std::string& rest) {
  return cat("glu rows=", rows, " width=", width, " ", rest);
}

const std::vector<std::string> kGluTypes = {"dtype=f32", "dtype=f16", "dtype=bf16"};
const std::vector<std::string> kGluLayouts = {"layout=halves", "layout=swapped", "layout=interleaved", "layout=blocks",
                                              "layout=split"};
// The next of so many settings, so that those of several loops meet each other.
std::size_t turn(const std::vector<Case>& cases, std::size_t count) {
  return (cases.size() * 2654435761U >> 16) % count;
}

const std::vector<std::string> kGluPasses = {"pass=forward", "pass=backward", "pass=backward recompute=out"};

// Shapes of FlashInfer's, vLLM's, TransformerEngine's and Liger's tests; the largest are `full`.
void published_glus(std::vector<Case>& cases) {
  for (const int width : {128, 256, 512, 2048, 4096, 11008, 13824, 16384}) {
    for (const char* activation : {"silu", "gelu_tanh", "gelu"})
      cases.push_back({glu(width < 2000 ? 83 : 7, width, cat("dtype=f16 activation=", activation))});
  }
  for (const std::string& type : kGluTypes) {
    for (const int rows : {7, 83, 2048}) {
      for (const char* kind :
           {"activation=silu", "activation=silu layout=swapped", "activation=gelu", "activation=gelu_tanh",
            "activation=fatrelu", "activation=qgelu gating=clamped layout=interleaved"})
        cases.push_back({glu(rows, 512, cat(type, " rounding=torch ", kind))});
    }
    for (const std::string& pass : kGluPasses) {
      for (const char* activation : {"gelu_tanh", "silu", "relu", "qgelu", "srelu", "sigmoid"}) {
        const std::string rest = cat(type, " ", pass, " activation=", activation);
        cases.push_back({glu(257, 259, rest)});
        cases.push_back({glu(128, 129, rest)});
        cases.push_back({glu(256, 256, rest)});
      }
      cases.push_back({glu(768, 2816, cat(type, " ", pass))});
      for (const auto& [rows, width] : {std::pair(2048, 12288), std::pair(256, 65536), std::pair(65536, 128)}) {
        cases.push_back({glu(rows, width, cat(type, " ", pass))});
        cases.back().full = true;
      }
      cases.push_back({glu(6 * 42, 431, cat(type, " layout=split ", pass))});
      cases.push_back({glu(9 * 41, 341, cat(type, " layout=split activation=gelu_tanh ", pass))});
      cases.push_back({glu(9, 4231, cat(type, " layout=split activation=gelu_tanh ", pass))});
      cases.push_back({glu(4, 8, cat(type, " layout=split ", pass))});
    }
  }
}

// Each with a gate of each kind, in both roundings.
void gated_activations(std::vector<Case>& cases) {
#define QUERN_ACTIVATION_NAME(name, ...) #name,
  for (const char* act : {QUERN_ACTIVATIONS(QUERN_ACTIVATION_NAME)}) {
    for (const char* gating : {"product", "clamped", "tanh"}) {
      for (const std::string& type : kGluTypes) {
        for (const char* rounding : {"single", "torch"}) {
          const std::string rest = cat(type, " activation=", act, " gating=", gating, " rounding=", rounding, " ");
          cases.push_back({glu(31, 264, cat(rest, kGluPasses[turn(cases, 3)]))});
          cases.push_back({glu(31, 100, cat(rest, kGluPasses[turn(cases, 3)]))});
        }
      }
    }
  }
#undef QUERN_ACTIVATION_NAME
}

// Every width around a vector and around a warp's elements, misaligned, and with gaps.
void odd_glus(std::vector<Case>& cases) {
  for (const std::string& type : kGluTypes) {
    for (const std::string& layout : kGluLayouts) {
      for (const std::string& pass : kGluPasses) {
        const std::string rest = cat(type, " ", layout, " ", pass);
        for (const int width : {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 100, 255, 257, 600, 1001, 4097}) {
          const std::string block = layout != "layout=blocks" ? "" : width % 4 == 0 ? " block=4" : " block=1";
          cases.push_back({glu(width < 600 ? 37 : 5, width, rest + block), width % 3});
        }
        for (const int rows : {0, 1, 2, 129}) cases.push_back({glu(rows, 96, rest)});
        const bool split = layout == "layout=split", writes = pass != "pass=backward";
        const std::string strides = cat(" x_stride=", split ? 72 : 136, writes ? " out_stride=80" : "",
                                        pass == "pass=forward" ? "" : " gradient_stride=96 x_gradient_stride=144");
        cases.push_back({glu(50, 64, rest + strides)});
        cases.push_back({glu(50, 64, rest + strides), 1});
        cases.push_back({glu(50, 64, cat(rest, " x_stride=", split ? 65 : 129))});
      }
    }
  }
}

void biased_and_scaled_glus(std::vector<Case>& cases) {
  for (const std::string& layout : kGluLayouts) {
    for (const std::string& pass : kGluPasses) {
      for (const char* type : {"f32", "f16", "bf16"}) {
        for (const char* dtype : {"f32", "bf16"}) {
          const std::string rest = cat("dtype=", dtype, " ", layout, " ", pass, " ");
          cases.push_back({glu(37, 64, cat(rest, "bias=", type))});
          cases.push_back({glu(37, 64, cat(rest, "scale=", type)), 1});
          cases.push_back({glu(37, 96, cat(rest, "rounding=torch bias=", dtype, " scale=", dtype))});
          cases.push_back({glu(37, 96, cat(rest, "activation=relu rounding=torch bias=", dtype, " scale=", dtype))});
        }
      }
      for (const char* counts : {"counts=i32", "counts=i64"}) {
        cases.push_back({glu(19, 64, cat(layout, " ", pass, " groups=5 ", counts))});
        cases.push_back({glu(19, 96, cat(layout, " ", pass, " groups=70 scale=f32 ", counts)), 1});
      }
    }
  }
}

// Rows in one tile and in several, in more than one chunk; columns in one tile and in several.
void summed_glus(std::vector<Case>& cases) {
  for (const std::string& layout : kGluLayouts) {
    for (const char* sums : {"bias_gradient=f32", "scale=f32", "bias_gradient=f32 scale=f16 bias=bf16",
                             "bias_gradient=bf16 recompute=out", "bias_gradient=f16 rounding=torch"}) {
      const std::string rest = cat("pass=backward ", layout, " ", sums);
      for (const int rows : {0, 1, 16, 17, 128, 129, 300}) {
        for (const int width : {0, 32, 96, 256, 288, 320}) {
          const std::string& type = kGluTypes[turn(cases, 3)];
          const char* const activation = turn(cases, 5) < 2 ? " activation=relu" : "";  // sums are exact
          cases.push_back({glu(rows, width, cat(rest, " ", type, activation)), static_cast<int>(turn(cases, 2))});
        }
      }
      if (layout != "layout=blocks") cases.push_back({glu(150, 257, rest)});
      cases.push_back({glu(50, 64, cat(rest, " groups=4 counts=i32"))});
      cases.push_back({glu(40, 64, cat(rest, " gradient_stride=72"))});
    }
  }
  for (const char* sums : {"bias_gradient=f32", "scale=f32"}) {
    cases.push_back({glu(4225, 40, cat("pass=backward activation=relu dtype=f32 ", sums))});
    cases.push_back({glu(9000, 8, cat("pass=backward activation=identity ", sums))});
    cases.push_back({glu(20, 9000, cat("pass=backward activation=relu ", sums))});
  }
}

// With every kind of scale, of both passes; where gradients are quantized, blocks have whole parts.
void quantized_glus(std::vector<Case>& cases) {
  const char* const scalings[] = {"scaling=mx",
                                  "scaling=mx scale_layout=blocked",
                                  "scaling=mx element=e5m2 mode=floor",
                                  "scaling=mx mode=ceil policy=ao",
                                  "scaling=mx mode=even scale_layout=blocked",
                                  "scaling=mx policy=te",
                                  "scaling=tensor",
                                  "scaling=tensor element=e5m2",
                                  "scaling=row",
                                  "scaling=row mode=exact element=e5m2",
                                  "scaling=block128",
                                  "scaling=block128 mode=exact element=e5m2"};
  const char* const kinds[] = {"activation=relu",
                               "activation=silu",
                               "activation=gelu_tanh gating=clamped",
                               "activation=gelu scale=f32",
                               "activation=identity bias=f32",
                               "activation=silu rounding=torch"};
  for (const std::string& layout : kGluLayouts) {
    for (const char* scaling : scalings) {
      const std::string rest = cat(layout, " ", scaling, " ");
      for (const char* kind : kinds) {
        const std::string& type = kGluTypes[turn(cases, 3)];
        const std::string block = layout == "layout=blocks" ? " block=4" : "";
        const int width = turn(cases, 2) == 0 ? 260 : 128;
        cases.push_back({glu(37, width, cat(rest, type, " ", kind, block)), turn(cases, 5) == 0 ? 1 : 0});
        const std::string_view view = kind;
        if (layout == "layout=split" || view.find("scale") != view.npos) continue;
        const std::string whole = layout == "layout=blocks" ? " block=128" : "";
        const char* const pass = turn(cases, 2) == 0 ? " pass=backward recompute=out" : " pass=backward";
        cases.push_back({glu(21, 256, cat(rest, type, " ", kind, whole, pass)), turn(cases, 4) == 0 ? 1 : 0});
      }
      for (const int rows : {0, 1, 129}) cases.push_back({glu(rows, 32, cat(rest, "activation=relu"))});
      cases.push_back({glu(9, 0, cat(rest, "activation=relu"))});
      cases.push_back({glu(40, 64, cat(rest, "activation=relu groups=3 counts=i32"))});
      if (layout != "layout=split")
        cases.push_back({glu(40, 256,
                             cat(rest, "activation=relu groups=3 counts=i64 pass=backward",
                                 layout == "layout=blocks" ? " block=128" : ""))});
      cases.push_back({glu(40, 96, cat(rest, "activation=relu out_stride=112"))});
      cases.push_back({glu(12, 33, cat(rest, "activation=relu", layout == "layout=blocks" ? " block=3" : ""))});
    }
  }
  for (const int width : {16, 48, 80, 100, 176})
    cases.push_back({glu(30, width, "layout=interleaved scaling=mx scale_layout=blocked pass=backward")});
  for (const int width : {32, 64, 96, 160})
    cases.push_back({glu(130, width, "scaling=mx scale_layout=blocked pass=backward")});
  for (const char* scaling : {"scaling=mx", "scaling=block128", "scaling=row"}) {
    for (const char* config : {"form=0,vector=8,unroll=1", "form=0,vector=16,unroll=1,threads=64", "form=1,unroll=4",
                               "form=1,unroll=8,threads=512"}) {
      cases.push_back(with(config, glu(50, 384, scaling)));
      cases.push_back(with(config, glu(50, 384, cat(scaling, " pass=backward layout=interleaved"))));
    }
  }
}

// Along columns, by mxfp8's tiles: every layout, scale and gating, with bands and blocks that are cut.
void column_glus(std::vector<Case>& cases) {
  const char* const scalings[] = {"scaling=mx",
                                  "scaling=mx scale_layout=blocked mode=floor",
                                  "scaling=mx policy=te element=e5m2",
                                  "scaling=tensor",
                                  "scaling=block128",
                                  "scaling=block128 mode=exact element=e5m2"};
  const char* const kinds[] = {"activation=relu", "activation=silu", "activation=gelu_tanh gating=clamped",
                               "activation=identity bias=f32", "activation=silu rounding=torch"};
  for (const std::string& layout : kGluLayouts) {
    for (const char* direction : {"direction=col", "direction=both"}) {
      for (const char* scaling : scalings) {
        for (const char* kind : kinds) {
          const std::size_t n = cases.size() / 2;  // two cases a turn; not split ones
          const std::string rest = cat(layout, " ", direction, " ", scaling, " ", kind, " ", kGluTypes[n % 3]);
          const std::string block = layout == "layout=blocks" ? " block=4" : "";
          const int rows = n / 3 % 2 == 0 ? 128 : 37, width = n % 5 < 2 ? 260 : 128;
          const char* const scale = n % 4 == 0 && kind[11] != 's' ? " scale=f32" : "";
          cases.push_back({glu(rows, width, cat(rest, block, scale)), turn(cases, 5) == 0 ? 1 : 0});
          if (layout == "layout=split") continue;
          const std::string whole = layout == "layout=blocks" ? " block=128" : "";
          const char* const sums = turn(cases, 2) == 0 ? " bias_gradient=f32" : "";
          cases.push_back({glu(rows, 256, cat(rest, whole, " pass=backward", sums)), turn(cases, 4) == 0 ? 1 : 0});
        }
        const std::string rest = cat(layout, " ", direction, " ", scaling, " activation=relu ");
        const std::string one = layout == "layout=blocks" ? "block=1 " : "";
        for (const int rows : {0, 1, 129}) cases.push_back({glu(rows, 33, cat(rest, one))});
        cases.push_back({glu(9, 0, rest)});
        cases.push_back({glu(40, 96, cat(rest, "x_stride=", layout == "layout=split" ? 112 : 208))});
      }
    }
  }
  for (const char* sums : {"", " bias_gradient=f32"}) {
    for (const int rows : {0, 128, 4225})
      cases.push_back({glu(rows, 32, cat("direction=both scaling=mx pass=backward activation=relu dtype=f32", sums))});
    cases.push_back({glu(70, 33, cat("direction=both scaling=mx pass=backward layout=interleaved", sums))});
    cases.push_back({glu(70, 96, cat("direction=both scaling=mx pass=backward gradient_stride=104", sums))});
    cases.push_back({glu(70, 33, cat("direction=col scaling=mx pass=backward", sums))});
    cases.push_back({glu(256, 64, cat("direction=col scaling=mx pass=backward layout=blocks block=4", sums))});
  }
  // By asynchronous copies, where the default would read through registers.
  const std::string copies = "vector=16,rows=16,async_copies=1";
  for (const char* layout : {"layout=halves", "layout=swapped", "layout=split", "layout=blocks block=8"}) {
    for (const char* how :
         {"direction=col scaling=mx", "direction=both scaling=mx scale=f32 bias=f32",
          "direction=both scaling=block128 rounding=torch", "direction=both scaling=tensor dtype=f32"})
      cases.push_back(with(copies, glu(128, 288, cat(layout, " ", how))));
  }
  for (const char* how :
       {"direction=both", "direction=col bias_gradient=f32 x_stride=592", "direction=both dtype=f32"}) {
    const std::string pairs = cat("layout=interleaved pass=backward scaling=mx ", how);
    cases.push_back(with(copies, glu(128, 288, pairs)));
    cases.push_back(with("vector=8,rows=16,async_copies=1", glu(100, 288, pairs)));
  }
  for (const char* direction : {"direction=col", "direction=both"})
    cases.push_back(with(copies, glu(20, 96, cat(direction, " pass=backward scaling=mx"))));
  // Both gradients of a tile from one read: halves of an odd number of blocks, too, whose scales lie at odd addresses.
  for (const char* layout : {"layout=halves", "layout=swapped"}) {
    for (const char* direction : {" direction=col", " direction=both"}) {
      const std::string rest = cat(layout, direction, " pass=backward scaling=");
      for (const char* how : {"mx", "tensor bias=f32 bias_gradient=f32", "mx dtype=f32 gradient_stride=296"})
        cases.push_back(with("vector=16,rows=16,async_copies=1", glu(256, 288, cat(rest, how))));
      cases.push_back(with("vector=16,rows=16,async_copies=1", glu(160, 128, cat(rest, "mx scale_layout=blocked"))));
    }
  }
  // Of open rows, whole blocks and cut ones have images of their own, and a config is of the first one.
  for (const char* config :
       {"vector=8", "vector=2,rows=32,async_copies=0", "vector=8,rows=32", "cluster=2,panel=4", "resident=3"}) {
    for (const int rows : {300, 320}) {
      cases.push_back(with(config, glu(rows, 256, "direction=both scaling=mx pass=backward layout=interleaved")));
      cases.push_back(with(config, glu(620 - rows, 256, "direction=both scaling=mx")));
    }
  }
}

// Quantized along rows together with the bias gradient, which mxfp8's tiles make.
void summed_rows(std::vector<Case>& cases) {
  for (const char* layout : {"layout=halves", "layout=swapped", "layout=interleaved", "layout=blocks block=128"}) {
    for (const char* scaling : {"mx", "mx scale_layout=blocked mode=floor", "mx policy=te element=e5m2", "tensor",
                                "block128", "block128 mode=exact element=e5m2"}) {
      const std::string rest = cat(layout, " pass=backward bias_gradient=f32 scaling=", scaling, " ");
      for (const char* kind : {"activation=relu", "activation=silu", "activation=gelu_tanh gating=clamped",
                               "activation=identity bias=f32", "activation=silu rounding=torch"})
        cases.push_back({glu(turn(cases, 2) == 0 ? 128 : 37, 256, cat(rest, kind, " ", kGluTypes[turn(cases, 3)])),
                         turn(cases, 4) == 0 ? 1 : 0});
      for (const int rows : {0, 1, 129, 160}) cases.push_back({glu(rows, 128, cat(rest, "activation=relu"))});
      cases.push_back({glu(70, 128, cat(rest, "activation=relu x_stride=264 gradient_stride=136"))});
    }
  }
  const std::string sums = "pass=backward bias_gradient=f32 scaling=";
  cases.push_back({glu(4225, 32, cat(sums, "mx activation=relu dtype=f32"))});
  cases.push_back({glu(70, 33, cat(sums, "mx layout=interleaved"))});
  cases.push_back({glu(70, 33, cat(sums, "tensor"))});
  cases.push_back({glu(9, 0, cat(sums, "mx"))});
  for (const char* layout : {" layout=halves", " layout=swapped", " layout=interleaved"}) {
    for (const char* how : {"mx", "tensor bias=f32", "mx dtype=f32", "mx scale_layout=blocked"}) {
      const std::string rest = cat(sums, how, layout);
      for (const char* config :
           {"vector=16,rows=16,async_copies=1", "vector=8,rows=16,async_copies=0", "vector=4,rows=32,async_copies=0"})
        cases.push_back(with(config, glu(160, 128, rest)));
      cases.push_back(with("vector=16,rows=16,async_copies=0", glu(300, 128, rest)));
    }
  }
}

void configured_glus(std::vector<Case>& cases) {
  for (const std::string& pass : kGluPasses) {
    for (const std::string& layout : kGluLayouts) {
      const std::string rest = cat(layout, " ", pass);
      for (const char* config :
           {"form=0,vector=4,unroll=4,threads=64", "form=0,vector=8,unroll=2,threads=512",
            "form=0,vector=16,unroll=2,threads=64,load_stream=1,store_stream=0", "form=1,unroll=1,threads=64",
            "form=1,unroll=2", "form=1,unroll=4", "form=1,unroll=8,threads=512,load_stream=1"}) {
        cases.push_back(with(config, glu(50, 128, rest)));
        cases.push_back(with(config, glu(77, 64, cat(rest, " bias=f32"))));
      }
    }
  }
  for (const char* config : {"form=0,vector=4,unroll=1", "form=0,vector=8,unroll=2", "form=0,vector=16,unroll=1",
                             "form=1,unroll=2", "form=1,unroll=1,load_stream=1"}) {
    cases.push_back(with(config, glu(150, 320, "pass=backward activation=relu bias_gradient=f32")));
    cases.push_back(with(config, glu(150, 320, "pass=backward scale=f32 layout=interleaved")));
    cases.push_back(with(config, glu(150, 320, "pass=backward activation=relu scale=f32 dtype=f32 bias_gradient=f32")));
  }
}

// Windows of 16 bytes across rows: one row, two, and enough that some are read in aligned blocks.
void packed_glus(std::vector<Case>& cases) {
  for (const char* rest : {"dtype=bf16", "dtype=f16 layout=swapped activation=gelu", "dtype=f32",
                           "dtype=bf16 layout=swapped gating=clamped", "dtype=bf16 rounding=torch activation=mish"}) {
    for (const char* config : {"form=3,unroll=1,threads=64", "form=3,unroll=2,load_stream=1,store_stream=0"}) {
      for (const int width : {8, 9, 11, 15, 16, 17, 31, 33, 81, 1001})
        cases.push_back(with(config, glu(width < 81 ? 301 : 37, width, rest)));
      for (const int rows : {1, 2, 3}) cases.push_back(with(config, glu(rows, 13, rest)));
      cases.push_back(with(config, glu(4097, 12, rest)));
    }
  }
}

// The rest of the peers' lists. Of them the host takes a cover, with smaller extents: widths of models and rows of
// tokens only repeat the same work there.
void peer_glus(std::vector<Case>& cases) {
  const auto large = [&](int rows, int width, const std::string& rest) {
    cases.push_back({glu(rows, width, rest)});
    cases.back().full = true;
  };
  for (const std::string& type : kGluTypes) {
    for (const char* kind :
         {"activation=silu", "activation=silu layout=swapped", "activation=gelu", "activation=gelu_tanh",
          "activation=fatrelu", "activation=qgelu gating=clamped layout=interleaved"}) {  // vLLM's exact ones
      const std::string rest = cat(type, " rounding=torch ", kind);
      for (const int rows : {7, 83}) cases.push_back({glu(rows, 13824, rest)});
      large(2048, 13824, rest);
    }
    for (const int width : {128, 256, 512, 2048, 4096, 11008, 13824, 16384}) {
      for (const char* activation : {"silu", "gelu_tanh", "gelu"}) {
        const std::string rest = cat(type, " activation=", activation, " ");
        for (const int rows : {1, 7, 83}) cases.push_back({glu(rows, width, rest + kGluPasses[turn(cases, 3)])});
        large(8192, width, rest + kGluPasses[turn(cases, 3)]);
      }
    }
    for (const std::string& pass : kGluPasses) {
      const std::string liger = cat(type, " layout=split rounding=torch ", pass);
      cases.push_back({glu(2 * 256, 512, liger)});
      for (const auto& [rows, width] : {std::pair(2 * 2, 8), std::pair(9 * 7, 41)}) {
        cases.push_back({glu(rows, width, liger)});
        cases.push_back({glu(rows, width, cat(liger, " activation=gelu_tanh"))});
      }
      large(2 * 2048, 4096, cat(liger, " activation=gelu_tanh"));
    }
  }
}

}  // namespace

std::vector<Case> glu_cases() {
  std::vector<Case> cases;
  published_glus(cases);
  gated_activations(cases);
  odd_glus(cases);
  biased_and_scaled_glus(cases);
  summed_glus(cases);
  quantized_glus(cases);
  column_glus(cases);
  configured_glus(cases);
  packed_glus(cases);
  summed_rows(cases);
  peer_glus(cases);
  return cases;
}

}  // namespace quern::test
