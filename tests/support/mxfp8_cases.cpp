// Cases of mxfp8: the published shapes, every legal pair of options, every layout, tails, strides and configs.
#include "base/text.h"
#include "support/mxfp8_text.h"

namespace quern::test {
namespace {

const std::vector<std::string> kMxfp8Types = {"bf16", "f32", "f16"};

// Shapes that torchao and TransformerEngine test, columns first where they say (experts, N, K).
void published_shapes(std::vector<Case>& cases) {
  const int experts[][3] = {{1, 32, 128},  {2, 64, 416}, {2, 96, 416},   {4, 64, 1024},  {2, 64, 1408},
                            {8, 256, 256}, {3, 96, 416}, {5, 160, 1408}, {2, 384, 1152}, {1, 5120, 1536}};
  for (const auto& [e, n, k] : experts) {
    for (const char* mode : {"floor", "rceil"}) {
      for (const char* order : {"cols", "rows"})
        cases.push_back({mxfp8(n, k, cat("direction=col source_order=", order, " mode=", mode), e)});
      for (const char* layout : {"plain", "blocked"})
        cases.push_back({mxfp8(n, k, cat("direction=col block=square scale_layout=", layout, " mode=", mode), e)});
    }
  }
  const int matrices[][2] = {{32, 32},    {32, 256},  {256, 32},  {128, 1536},
                             {384, 1408}, {128, 256}, {256, 384}, {8192, 7168}};
  for (const auto& [m, k] : matrices) {
    for (const std::string& direction : kDirections) cases.push_back({mxfp8(m, k, cat("direction=", direction))});
  }
}

// Every legal combination of policy, mode, element and source type, in each direction.
void numerics(std::vector<Case>& cases) {
  for (const std::string& type : kMxfp8Types) {
    for (const char* element : {"e4m3", "e5m2"}) {
      for (const char* how : {"mode=floor", "mode=rceil", "mode=ceil", "mode=even", "mode=rceil policy=te"}) {
        for (const std::string& direction : kDirections)
          cases.push_back(
              {mxfp8(256, 320, cat("direction=", direction, " dtype=", type, " element=", element, " ", how))});
      }
    }
  }
}

// Every layout of source, out and scales, in shapes that fill their atoms and in shapes that do not.
void layouts(std::vector<Case>& cases) {
  for (const std::string& direction : kDirections) {
    for (const char* block : {"line", "square", "square_spread"}) {
      for (const char* scales : {"plain", "blocked"}) {
        for (const char* orders : {"source_order=cols", "source_order=rows", "out_order=cols"}) {
          const std::string rest =
              cat("direction=", direction, " block=", block, " scale_layout=", scales, " ", orders);
          cases.push_back({mxfp8(96, 416, rest, 3)});
          cases.push_back({mxfp8(160, 224, cat(rest, " dtype=f32"))});
          cases.push_back({mxfp8(256, 512, cat(rest, " dtype=f16"), 2)});
          cases.push_back({mxfp8(57, 44, cat(rest, " tail=pad"), 2), 1});
        }
      }
    }
  }
}

// Dimensions that are not a multiple of 32, at every alignment; misaligned pointers.
void tails(std::vector<Case>& cases) {
  for (const std::string& type : kMxfp8Types) {
    for (const std::string& direction : kDirections) {
      const std::string rest = cat("direction=", direction, " dtype=", type);
      const int shapes[][2] = {{993, 512}, {16, 48}, {1, 16},     {1, 1},    {65, 80},
                               {127, 400}, {33, 31}, {130, 1001}, {31, 2050}};
      for (const auto& [rows, cols] : shapes) cases.push_back({mxfp8(rows, cols, cat(rest, " tail=pad")), rows % 2});
      for (const int offset : {1, 3}) cases.push_back({mxfp8(96, 96, rest, 2), offset});
      // Regression: several scales of a row were written with one access to unaligned addresses.
      if (direction != "col")
        cases.push_back(
            with(cat("form=1,unroll=1,threads=128,panel=0,cluster=8,rows=32,vector=", type == "f32" ? 4 : 2),
                 mxfp8(96, 288, rest, 2), 1));
      cases.push_back({mxfp8(0, 64, rest)});
      cases.push_back({mxfp8(64, 0, rest)});
      cases.push_back({mxfp8(64, 64, rest, 0)});
      cases.push_back({mxfp8(64, 96, cat(rest, " source_stride=112"), 2)});
      cases.push_back({mxfp8(64, 96, cat(rest, " source_stride=99"), 2)});
    }
  }
}

// Transposed lines at any alignment, with stacks of two tiles whose second tile is partial or absent.
void crooked_lines(std::vector<Case>& cases) {
  for (const char* stack : {"stack=1", "stack=2"}) {
    const std::string config = cat("form=1,unroll=1,threads=128,rows=16,vector=4,panel=0,", stack);
    for (const int rows : {1, 129, 250, 401}) {
      cases.push_back(with(config, mxfp8(rows, 96, "direction=col tail=pad", 2)));
      cases.push_back(with(config, mxfp8(rows, 96, "direction=both tail=pad", 2), 3));
    }
    cases.push_back(with(config, mxfp8(533, 200, "direction=both tail=pad groups=5")));
    cases.push_back(with(config, mxfp8(533, 200, "direction=col tail=pad groups=5 scale_layout=blocked")));
  }
}

// The columns form: matrices of at most 32 rows, as many as a thread has registers for and fewer; and the tile form on
// the same matrices.
void short_columns(std::vector<Case>& cases) {
  for (const std::string& type : kMxfp8Types) {
    for (const int rows : {1, 3, 8, 16, 21, 32}) {
      const std::string rest = cat("direction=col tail=pad dtype=", type);
      for (const int cols : {1, 96, 520, 1037}) {
        cases.push_back({mxfp8(rows, cols, rest, 3), rows % 2});
        cases.push_back({mxfp8(rows, cols, cat(rest, " scale_layout=blocked"), 3), rows % 3 == 0 ? 1 : 0});
      }
      cases.push_back(with("form=1,threads=128,vector=4,rows=32", mxfp8(rows, 96, rest, 3)));
      cases.push_back({mxfp8(rows, 160, cat(rest, " source_stride=176 source_expert_stride=9000"), 3), 1});
      cases.push_back({mxfp8(96, rows, cat("tail=pad source_order=rows dtype=", type), 2)});
    }
  }
  for (const char* rest : {"mode=floor", "policy=te", "element=e5m2", "noop=flag", "scale_layout=blocked"}) {
    for (const int rows : {7, 12}) cases.push_back({mxfp8(rows, 1040, cat("direction=col tail=pad ", rest), 5)});
    cases.push_back(with("form=2,vector=2", mxfp8(1040, 9, cat("tail=pad source_order=rows ", rest), 5)));
  }
}

// Experts with gaps between them, at every alignment, and interleaved experts.
void expert_strides(std::vector<Case>& cases) {
  for (const std::string& direction : kDirections) {
    const std::string made = cat("direction=", direction);
    for (const std::string& type : kMxfp8Types) {
      for (const char* strides : {"source_expert_stride=15424", "source_expert_stride=15364",
                                  "source_expert_stride=15361", "source_stride=480 source_expert_stride=160"})
        cases.push_back({mxfp8(96, 160, cat(made, " dtype=", type, " ", strides), 3)});
    }
    for (const char* rest : {"block=square", "scale_layout=blocked", "scaling=tensor", "out_order=cols tail=pad",
                             "source_order=rows source_stride=112", "tail=pad prologue=gated activation=relu",
                             "prologue=dact activation=relu bias_gradient=sums"})
      cases.push_back({mxfp8(std::string_view(rest).find("tail") == std::string_view::npos ? 96 : 100, 96,
                             cat(made, " source_expert_stride=20000 ", rest), 3),
                       1});
  }
  for (const char* rest : {"scaling=row", "scaling=block128"}) {
    cases.push_back({mxfp8(64, 256, cat(rest, " source_expert_stride=16640"), 3)});
    cases.push_back({mxfp8(64, 256, cat(rest, " source_stride=770 source_expert_stride=257"), 3)});
  }
}

// Outputs whose lines have gaps: pitches that divide a vector and that do not, in every direction, order and form.
void out_strides(std::vector<Case>& cases) {
  for (const std::string& type : kMxfp8Types) {
    for (const std::string& rest : {cat("dtype=", type), cat("tail=pad dtype=", type)}) {
      for (const char* stride : {"176", "168", "161"}) {
        cases.push_back({mxfp8(96, 160, cat(rest, " out_stride=", stride), 3)});
        cases.push_back({mxfp8(96, 160, cat(rest, " direction=col out_stride=", stride), 3)});
        cases.push_back({mxfp8(96, 160, cat(rest, " direction=col out_order=cols out_stride=", stride), 3)});
        cases.push_back({mxfp8(96, 160, cat(rest, " source_order=rows direction=both out_col_stride=", stride), 2)});
        cases.push_back(
            {mxfp8(160, 96, cat(rest, " direction=both out_stride=", stride, " out_col_stride=", stride), 2)});
      }
    }
    cases.push_back({mxfp8(67, 1000, cat("scaling=row out_stride=1008 dtype=", type), 2)});
    cases.push_back({mxfp8(67, 1000, cat("scaling=row out_stride=1001 dtype=", type), 2), 1});
    cases.push_back(
        {mxfp8(256, 384, cat("scaling=block128 out_stride=400 out_col_stride=272 direction=both dtype=", type), 2)});
  }
  for (const char* rest : {"block=square", "scale_layout=blocked", "scaling=tensor", "out_order=cols", "groups=3",
                           "groups=3 tail=pad", "prologue=gated activation=relu", "bias_gradient=sums"})
    cases.push_back({mxfp8(160, 288, cat("direction=both out_stride=304 out_col_stride=309 ", rest)), 1});
  cases.push_back({mxfp8(333, 200, "direction=col tail=pad groups=5 out_stride=400")});
  cases.push_back(with("form=1,unroll=1,threads=128,rows=16,panel=0,cluster=8,stack=2",
                       mxfp8(416, 1184, "direction=both out_stride=1200 out_col_stride=448", 2)));
  cases.push_back(with("persistent=1,blocks_per_sm=1", mxfp8(700, 1184, "out_stride=1200")));
}

// Scales with TransformerEngine's padding: dimensions below, at and above its multiples of 4 and 128; each matrix of
// experts and of groups has its own.
void padded_scales(std::vector<Case>& cases) {
  for (const std::string& direction : kDirections) {
    for (const char* block : {"line", "square_spread"}) {
      const std::string rest = cat("scale_layout=padded direction=", direction, " block=", block);
      for (const auto& [rows, cols] : {std::pair{32, 32}, {128, 128}, {160, 288}, {96, 1184}, {256, 416}}) {
        cases.push_back({mxfp8(rows, cols, rest)});
        cases.push_back({mxfp8(rows, cols, cat(rest, " dtype=f32"), 3)});
      }
      for (const auto& [rows, cols] : {std::pair{1, 1}, {65, 80}, {127, 400}, {993, 512}, {33, 62}})
        cases.push_back({mxfp8(rows, cols, cat(rest, " tail=pad"), 2), rows % 3 == 0 ? 1 : 0});
      for (const char* more : {"source_order=rows", "out_order=cols", "policy=te", "source_expert_stride=50000"})
        cases.push_back({mxfp8(96, 160, cat(rest, " ", more), 3), 1});
      for (const int count : {1, 5, 40}) {
        cases.push_back({mxfp8(1024, 288, cat(rest, " groups=", count))});
        cases.push_back({mxfp8(700, 200, cat(rest, " tail=pad groups=", count))});
      }
      for (const char* config : {"vector=2,rows=32", "vector=16,rows=16,stack=2"})
        cases.push_back(with(cat("form=1,unroll=1,threads=128,panel=0,", config), mxfp8(416, 352, rest, 2)));
    }
  }
  cases.push_back(with("form=1,unroll=1,threads=128,rows=16,panel=0,cluster=8",
                       mxfp8(416, 1184, "scale_layout=padded direction=both", 2)));
  cases.push_back(with("persistent=1,blocks_per_sm=1", mxfp8(700, 1184, "scale_layout=padded", 3)));
}

// Any number of rows is legal without blocks across rows. Regression: a band of fewer than 32 rows was written past its
// end.
void cut_bands(std::vector<Case>& cases) {
  for (const int lines : {1, 31, 33, 100, 129}) {
    for (const std::string& type : kMxfp8Types) {
      cases.push_back({mxfp8(96, lines, cat("direction=col source_order=rows dtype=", type), 2)});
      cases.push_back(
          with("form=1,vector=8,unroll=1,threads=128", mxfp8(lines, 96, cat("direction=row dtype=", type), 2)));
    }
    cases.push_back({mxfp8(lines, 96, "direction=row source_order=rows", 2)});
    cases.push_back({mxfp8(64, lines, "direction=col scale_layout=blocked", 2)});
  }
}

void stream_configs(std::vector<Case>& cases) {
  for (const char* stream : {"vector=2", "vector=4", "vector=8", "vector=16", "unroll=1", "unroll=4,threads=64",
                             "unroll=8", "persistent=1,threads=64,blocks_per_sm=1", "store_stream=1"}) {
    cases.push_back(with(stream, mxfp8(300, 416, "direction=row")));
    cases.push_back(with(stream, mxfp8(70, 288, "direction=row mode=floor", 3)));
  }
}

void tile_configs(std::vector<Case>& cases) {
  for (const char* tile : {"vector=2,rows=32", "vector=4", "vector=4,rows=32", "vector=8",
                           "vector=8,rows=32,resident=4", "vector=8,resident=3", "panel=1", "panel=2", "panel=32",
                           "stack=2", "stack=2,panel=0", "stack=2,vector=8,rows=32", "store_stream=1"}) {
    const std::string config = cat("form=1,unroll=1,threads=128,rows=16,", tile);
    for (const std::string& direction : kDirections) {
      cases.push_back(with(config, mxfp8(416, 1184, cat("direction=", direction), 2)));
      cases.push_back(
          with(config, mxfp8(160, 288, cat("direction=", direction, " scale_layout=blocked block=square_spread"))));
      cases.push_back(with(config, mxfp8(288, 352, cat("direction=", direction, " scale_layout=blocked"), 2)));
    }
  }
}

// Clusters that end inside a row and after it, with rows whose scales are written 1 to 16 at a time.
void clusters(std::vector<Case>& cases) {
  for (const char* cluster : {"cluster=2", "cluster=4", "cluster=8", "cluster=8,stack=2", "cluster=4,stack=2,panel=8",
                              "cluster=2,vector=8,rows=32", "cluster=8,vector=8"}) {
    const std::string config = cat("form=1,unroll=1,threads=128,rows=16,panel=0,", cluster);
    for (const char* direction : {"row", "both"}) {
      for (const char* block : {"line", "square_spread"}) {
        for (const int cols : {64, 1184, 2048, 4096})
          cases.push_back(with(config, mxfp8(416, cols, cat("direction=", direction, " block=", block), 2)));
      }
      cases.push_back(with(config, mxfp8(70, 1040, cat("direction=", direction, " tail=pad dtype=f32"))));
    }
  }
}

// Groups of rows whose ends are on the device, some of them empty: few, as many as a warp reads at once, and more.
void groups(std::vector<Case>& cases) {
  for (const std::string& direction : kDirections) {
    for (const char* block : {"line", "square", "square_spread"}) {
      for (const char* scales : {"plain", "blocked"}) {
        const std::string rest = cat("direction=", direction, " block=", block, " scale_layout=", scales);
        cases.push_back({mxfp8(1024, 160, cat(rest, " groups=4"))});
        cases.push_back({mxfp8(416, 288, cat(rest, " groups=3 out_order=cols offset=i64"))});
        cases.push_back({mxfp8(333, 200, cat(rest, " groups=5 tail=pad"), 1), 1});
      }
    }
    for (const int count : {1, 2, 31, 32, 33, 100}) {
      cases.push_back({mxfp8(2048, 64, cat("direction=", direction, " groups=", count))});
      cases.push_back({mxfp8(700, 96, cat("direction=", direction, " scale_layout=blocked tail=pad groups=", count))});
    }
    for (const char* config : {"stack=1,panel=2", "stack=2,panel=0", "vector=8,rows=32", "vector=2,rows=32"})
      cases.push_back(with(cat("form=1,unroll=1,threads=128,rows=16,", config),
                           mxfp8(1536, 416, cat("direction=", direction, " groups=6"))));
    cases.push_back({mxfp8(0, 96, cat("direction=", direction, " groups=2"))});
  }
  for (const char* config : {"cluster=8,stack=2", "cluster=4", "cluster=2"})
    cases.push_back(with(cat("form=1,unroll=1,threads=128,rows=16,panel=0,", config),
                         mxfp8(1536, 1184, "direction=both groups=6")));
  cases.push_back(with("persistent=1,blocks_per_sm=1", mxfp8(700, 1184, "groups=6")));
}

// Groups that are matrices of their own: ends of columns, or of rows and columns, on the device.
void varying_groups(std::vector<Case>& cases) {
  for (const char* varying : {"cols", "both"}) {
    for (const std::string& direction : kDirections) {
      const std::string made = cat("varying=", varying, " direction=", direction);
      for (const char* how : {"block=line", "block=square", "block=square_spread", "scale_layout=blocked",
                              "scale_layout=blocked block=square", "scale_layout=padded"}) {
        const std::string rest = cat(made, " ", how);
        cases.push_back({mxfp8(416, 1024, cat(rest, " groups=4"))});
        cases.push_back({mxfp8(160, 1184, cat(rest, " groups=3 out_order=cols offset=i64 dtype=f32"))});
        cases.push_back({mxfp8(333, 500, cat(rest, " groups=5 tail=pad"), 1), 1});
      }
      for (const int count : {1, 2, 31, 32, 33, 100}) {
        cases.push_back({mxfp8(96, 2048, cat(made, " groups=", count))});
        cases.push_back({mxfp8(700, 700, cat(made, " scale_layout=blocked tail=pad groups=", count))});
      }
      for (const char* config : {"stack=1,panel=2", "stack=2,panel=0", "vector=8,rows=32", "vector=2,rows=32"})
        cases.push_back(
            with(cat("form=1,unroll=1,threads=128,rows=16,", config), mxfp8(1536, 1664, cat(made, " groups=3"))));
      for (const char* more : {"policy=te", "mode=floor element=e5m2", "noop=flag", "dtype=f16"})
        cases.push_back({mxfp8(256, 416, cat(made, " groups=3 ", more)), 1});
      cases.push_back({mxfp8(0, 96, cat(made, " groups=2"))});
      cases.push_back({mxfp8(96, 0, cat(made, " groups=2"))});
    }
  }
  for (const std::string& direction : kDirections) {
    const std::string made = cat("varying=both groups=8 direction=", direction);
    cases.push_back({mxfp8(2048, 2048, cat(made, " capacity=524288"))});
    cases.push_back({mxfp8(999, 999, cat(made, " tail=pad capacity=130001"))});
  }
}

// Sums of columns: from fewer rows than a band up to several chunks of tiles, with each shape of tile.
void sums(std::vector<Case>& cases) {
  const std::string sums = "tail=pad bias_gradient=sums ";
  for (const std::string& direction : kDirections) {
    const std::string made = cat(sums, "direction=", direction);
    for (const auto& [rows, cols] : {std::pair{1, 32}, {16, 64}, {65, 96}, {128, 128}, {993, 512}, {577, 36}, {33, 62}})
      cases.push_back({mxfp8(rows, cols, made), rows % 3 == 0 ? 1 : 0});
    cases.push_back({mxfp8(4096, 32, made)});
    cases.push_back({mxfp8(4097, 40, made)});
    cases.push_back({mxfp8(13000, 32, cat(made, " prologue=dact activation=silu"))});
    cases.push_back({mxfp8(0, 64, made)});
    cases.push_back({mxfp8(96, 96, cat(made, " dtype=f32 prologue=act activation=gelu"))});
    cases.push_back({mxfp8(96, 96, cat(made, " dtype=f32 prologue=dgated activation=silu"))});
    for (const std::string& type : kMxfp8Types) {
      for (const char* rest : {"", " block=square", " scale_layout=blocked", " prologue=dgated activation=relu",
                               " prologue=gated activation=hardswish", " source_stride=1184", " noop=flag"})
        cases.push_back({mxfp8(160, 288, cat(made, rest, " experts=3 dtype=", type), 1)});
    }
    for (const char* config : {"form=1,vector=8,rows=32,unroll=1,threads=128,panel=4",
                               "form=1,vector=16,rows=16,unroll=1,threads=128,panel=2,stack=2",
                               "form=1,vector=2,rows=32,unroll=1,threads=128,panel=0"})
      cases.push_back(with(config, mxfp8(416, 320, cat("bias_gradient=sums experts=2 direction=", direction))));
  }
  cases.push_back(with("form=1,unroll=1,threads=128,rows=16,panel=0,cluster=8,stack=2",
                       mxfp8(416, 1184, "direction=both bias_gradient=sums")));
}

// fp32 scales: one for everything, per row or per 128 elements, with every legal type, direction, order, mode, tail and
// prologue.
void tensor_scales(std::vector<Case>& cases) {
  for (const std::string& direction : kDirections) {
    const std::string rest = cat("scaling=tensor direction=", direction);
    for (const std::string& type : kMxfp8Types) {
      for (const char* element : {"e4m3", "e5m2"}) {
        for (const auto& [rows, cols] : {std::pair{256, 320}, {33, 31}, {1, 1}, {127, 400}, {65, 2050}})
          cases.push_back(
              {mxfp8(rows, cols, cat(rest, " tail=pad dtype=", type, " element=", element)), rows % 3 == 0 ? 1 : 0});
        cases.push_back({mxfp8(96, 160, cat(rest, " dtype=", type, " element=", element), 2)});
      }
      for (const char* more :
           {"out_order=cols", "source_order=rows", "source_stride=299", "prologue=dact activation=silu",
            "prologue=gated activation=relu", "bias_gradient=sums", "noop=flag"})
        cases.push_back({mxfp8(97, 272, cat(rest, " tail=pad dtype=", type, " ", more), 2)});
    }
    for (const int count : {1, 5, 40}) {
      cases.push_back({mxfp8(700, 96, cat(rest, " tail=pad groups=", count))});
      cases.push_back({mxfp8(704, 96, cat(rest, " groups=", count))});
    }
    cases.push_back({mxfp8(0, 64, rest)});
  }
  cases.push_back(with("form=1,unroll=1,threads=128,panel=0,rows=16,vector=16", mxfp8(160, 416, "scaling=tensor", 2)));
}

void row_scales(std::vector<Case>& cases) {
  for (const std::string& type : kMxfp8Types) {
    for (const char* mode : {"exact", "rceil", "floor", "ceil", "even"}) {
      for (const char* element : {"e4m3", "e5m2"})
        cases.push_back({mxfp8(67, 1000, cat("scaling=row mode=", mode, " dtype=", type, " element=", element))});
    }
    const std::string rest = cat("scaling=row mode=exact dtype=", type);
    // Rows of a lane's vector, of a warp's, of all that a block's registers hold, and longer.
    for (const int cols : {1, 7, 8, 128, 2048, 4099, 7168, 20000, 70000})
      cases.push_back({mxfp8(cols > 10000 ? 3 : 37, cols, rest, 2), cols % 3 == 0 ? 1 : 0});
    for (const char* more : {"source_stride=299", "prologue=dact activation=silu", "prologue=gated activation=relu",
                             "prologue=dgated activation=relu", "noop=flag"})
      cases.push_back({mxfp8(97, 272, cat(rest, " ", more), 2)});
    cases.push_back({mxfp8(41, 20000, cat(rest, " prologue=act activation=relu"))});
    for (const char* more : {"", " prologue=dgated activation=relu", " prologue=gated activation=hardswish"})
      cases.push_back(with("unroll=1,threads=64", mxfp8(41, 2090, cat(rest, more)), 1));
  }
  for (const int count : {1, 5, 40}) cases.push_back({mxfp8(700, 96, cat("scaling=row groups=", count))});
  cases.push_back({mxfp8(0, 64, "scaling=row")});
  cases.push_back({mxfp8(64, 0, "scaling=row")});
  for (const char* config : {"vector=4", "unroll=1,threads=64", "unroll=8,threads=512", "store_stream=1"})
    cases.push_back(with(config, mxfp8(70, 1184, "scaling=row mode=exact")));
}

void block_scales(std::vector<Case>& cases) {
  for (const std::string& direction : kDirections) {
    for (const std::string& type : kMxfp8Types) {
      const std::string rest = cat("scaling=block128 direction=", direction, " dtype=", type);
      for (const char* mode : {"exact", "rceil", "floor", "ceil", "even"}) {
        for (const char* element : {"e4m3", "e5m2"})
          cases.push_back({mxfp8(256, 384, cat(rest, " mode=", mode, " element=", element))});
      }
      const std::string exact = cat(rest, " mode=exact ");
      for (const auto& [rows, cols] :
           {std::pair{1, 1}, {128, 128}, {33, 31}, {127, 400}, {129, 2050}, {200, 132}, {300, 1000}, {96, 160}})
        cases.push_back({mxfp8(rows, cols, cat(exact, "tail=pad"), 2), rows % 3 == 0 ? 1 : 0});
      for (const int offset : {1, 3}) cases.push_back({mxfp8(128, 256, exact, 2), offset});
      for (const char* more :
           {"out_order=cols", "source_stride=1184", "source_stride=1187", "prologue=dact activation=silu",
            "prologue=gated activation=relu", "prologue=dgated activation=relu", "bias_gradient=sums", "noop=flag"})
        cases.push_back({mxfp8(256, 256, cat(exact, more), 2)});
      for (const char* more : {"prologue=dgated activation=relu", "bias_gradient=sums", "out_order=cols"})
        cases.push_back({mxfp8(97, 270, cat(exact, "tail=pad ", more), 2), 1});
      cases.push_back({mxfp8(0, 128, exact)});
    }
    for (const char* config : {"rows=16,vector=16", "rows=16,vector=8", "rows=32,vector=8", "rows=32,vector=2",
                               "rows=16,vector=16,stack=2", "rows=16,vector=4,panel=2"})
      cases.push_back(with(cat("form=1,unroll=1,threads=128,panel=0,", config),
                           mxfp8(384, 640, cat("scaling=block128 direction=", direction), 2)));
  }
  for (const char* config :
       {"rows=16,vector=16", "rows=32,vector=16", "rows=16,vector=8", "rows=32,vector=4,stack=2"}) {
    const std::string wide = cat("form=1,unroll=1,threads=128,panel=0,", config);
    cases.push_back(with(wide, mxfp8(384, 640, "scaling=block128 direction=both dtype=f32", 2)));
    cases.push_back(with(wide, mxfp8(300, 168, "scaling=block128 direction=both dtype=f32 tail=pad mode=exact", 2)));
  }
  cases.push_back(with("form=1,unroll=1,threads=128,panel=0,rows=32,vector=8,stack=2",
                       mxfp8(300, 168, "scaling=block128 direction=both tail=pad bias_gradient=sums")));
  for (const int count : {1, 5, 40}) cases.push_back({mxfp8(700, 256, cat("scaling=block128 groups=", count))});
  cases.push_back(
      with("form=1,unroll=1,threads=128,panel=0,rows=16,vector=16", mxfp8(700, 256, "scaling=block128 groups=5")));
  for (const char* config : {"vector=2", "vector=4", "vector=8,unroll=4", "persistent=1,blocks_per_sm=1"})
    cases.push_back(with(config, mxfp8(300, 640, "scaling=block128 mode=exact")));
}

// The no-op flag is set or not, from the seed of a case.
void noops(std::vector<Case>& cases) {
  for (const char* rest : {"", "direction=col", "direction=both", "groups=3 direction=both"}) {
    for (const int rows : {96, 128, 160, 192}) cases.push_back({mxfp8(rows, 160, cat("noop=flag ", rest))});
  }
}

}  // namespace

std::vector<Case> mxfp8_cases() {
  std::vector<Case> cases;
  published_shapes(cases);
  numerics(cases);
  layouts(cases);
  tails(cases);
  crooked_lines(cases);
  short_columns(cases);
  expert_strides(cases);
  out_strides(cases);
  padded_scales(cases);
  cut_bands(cases);
  stream_configs(cases);
  tile_configs(cases);
  clusters(cases);
  groups(cases);
  varying_groups(cases);
  const std::vector<Case> made = mxfp8_prologue_cases();
  cases.insert(cases.end(), made.begin(), made.end());
  sums(cases);
  tensor_scales(cases);
  row_scales(cases);
  block_scales(cases);
  noops(cases);
  return cases;
}

}  // namespace quern::test
