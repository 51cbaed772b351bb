#include "support/cases.h"

#include "base/text.h"

namespace quern::test {
namespace {

const std::vector<int> kWidths = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 100, 1000, 4097};
const std::vector<int> kCounts = {0, 1, 2, 15, 16, 17, 127, 128, 129, 2049};

std::string gather(int rows, int width, int count, const std::string& rest) {
  return cat("gather rows=", rows, " count=", count, " width=", width, " ", rest);
}

void published_gathers(std::vector<Case>& cases) {
  cases.push_back({gather(1024, 4096, 512, "dtype=f16")});
  cases.push_back({gather(4096, 4096, 4096, "dtype=f16")});
  cases.push_back({gather(8192, 4096, 8192, "dtype=f16")});
  const int shapes[][3] = {{127, 257, 1023}, {127, 257, 1024},   {255, 129, 2049},
                           {255, 129, 2048}, {1024, 1024, 1024}, {1, 1, 5120}};
  for (const auto& [rows, count, width] : shapes) {
    for (const char* index : {"i32", "i64"})
      cases.push_back({gather(rows, width, count, cat("dtype=bf16 index=", index))});
  }
  for (int side = 128; side <= 16384; side *= 2) cases.push_back({gather(side, 5120, side, "dtype=bf16")});
  for (const int tokens : {0, 1, 128, 2048}) {
    for (const int width : {5120, 7168}) cases.push_back({gather(2048, width, tokens, "dtype=bf16")});
  }
}

void odd_gathers(std::vector<Case>& cases) {
  for (const char* type : {"u8", "f16", "f32", "f64"}) {
    for (const int width : kWidths) {
      for (const int offset : {0, 1, 3}) {
        const int count = kCounts[static_cast<std::size_t>(width + offset) % kCounts.size()];
        cases.push_back({gather(333, width, count, cat("dtype=", type)), offset});
      }
    }
  }
  for (const int count : kCounts) {
    for (const int width : {3, 64, 4097}) cases.push_back({gather(100, width, count, "dtype=bf16"), count % 2});
  }
  for (const char* type : {"e4m3", "e5m2", "e8m0", "bf16", "i16", "i8", "i32", "i64", "c64", "c128"}) {
    for (const int width : {1, 33, 256}) cases.push_back({gather(50, width, 77, cat("dtype=", type)), 1});
  }
  for (const char* strides :
       {"source_stride=40", "out_stride=64", "source_stride=41 out_stride=47", "source_stride=3"}) {
    for (const char* type : {"u8", "bf16", "f32"})
      cases.push_back({gather(90, 33, 130, cat("dtype=", type, " ", strides))});
    cases.push_back({gather(90, 32, 130, cat("dtype=bf16 ", strides)), 3});
  }
}

void gather_modes(std::vector<Case>& cases) {
  for (const char* mode : {"minus_one_is_zero", "zero", "clamp", "wrap_negative", "trap", "report"}) {
    for (const char* index : {"i64", "i32", "i16", "i8"}) {
      for (const int width : {1, 40, 77})
        cases.push_back({gather(100, width, 513, cat("dtype=bf16 mode=", mode, " index=", index))});
    }
    cases.push_back({gather(100, 40, 513, cat("dtype=bf16 mode=", mode, " index=u8"))});
  }
  for (const char* mode : {"minus_one_is_zero", "zero", "report"})
    cases.push_back({gather(0, 40, 65, cat("dtype=bf16 mode=", mode))});
  cases.push_back({gather(2, 0, 15, "dtype=bf16 mode=report")});
  for (const Indices indices : {Indices::all_equal, Indices::reversed}) {
    cases.push_back({gather(500, 4096, 500, "dtype=bf16"), 0, false, indices});
    cases.push_back({gather(500, 77, 500, "dtype=bf16 mode=zero"), 0, false, indices});
  }
}

// Windows of out with the end of one row and the start of the next, at every place; the last one is not full.
void packed_gathers(std::vector<Case>& cases) {
  for (const char* type : {"u8", "bf16", "f32"}) {
    for (int width = 1; width < 70; ++width) {
      const std::string mode = width % 3 == 0 ? " mode=zero" : width % 3 == 1 ? " mode=report index=i32" : "";
      const std::string text = gather(50, width, 40 + width, cat("dtype=", type, mode));
      cases.push_back({text, width % 5});
      if (width >= 16) cases.push_back(with("form=1,unroll=2", text));
    }
    for (const char* scale : {" scale=f32", " scale=bf16 mode=zero"}) {
      if (type == std::string("u8")) continue;
      for (const int width : {13, 14, 33, 1001}) cases.push_back({gather(50, width, 41, cat("dtype=", type, scale))});
      cases.push_back({gather(50, 13, 41, cat("dtype=", type, scale)), 1});
    }
  }
  cases.push_back(with("form=1,unroll=4,persistent=1,blocks_per_sm=1,threads=64", gather(50, 29, 2049, "dtype=bf16")));
  cases.push_back({gather(50, 46, 41, "dtype=bf16 source_stride=55")});
  cases.push_back({gather(50, 46, 41, "dtype=bf16 source_stride=45")});
}

void gather_scales(std::vector<Case>& cases) {
  for (const char* type : {"f64", "f32", "f16", "bf16", "e4m3", "e5m2"}) {
    for (const char* scale : {"f32", "f16", "bf16"}) {
      for (const int width : {5, 4096})
        cases.push_back({gather(60, width, 61, cat("dtype=", type, " scale=", scale)), width % 2});
    }
    cases.push_back({gather(60, 48, 61, cat("dtype=", type, " scale=f32 mode=zero"))});
  }
}

// Both forms with and without threads of a row: fewer than its accesses, as many, and more than a block has.
void gather_lanes(std::vector<Case>& cases) {
  for (const char* rest :
       {"dtype=u8", "dtype=bf16 mode=zero", "dtype=f32 mode=report index=i32", "dtype=f16 scale=f32",
        "dtype=i64 source_stride=1501 out_stride=1503", "dtype=bf16 mode=minus_one_is_zero outer=3"}) {
    for (const int width : {3, 29, 77, 1000}) {
      for (const int lanes : {0, 8, 32, 1024}) {
        if (lanes >= 2 * width && lanes > 8) continue;
        const std::string config = cat("form=1,threads=64,unroll=", lanes == 8 ? 4 : 2, ",row_threads=", lanes);
        cases.push_back(with(config, gather(100, width, 130, rest), lanes % 5));
      }
    }
    cases.push_back(with("form=0,unroll=2,threads=64,row_threads=8", gather(100, 1000, 130, rest)));
    cases.push_back(with("form=0,unroll=1,threads=64,row_threads=0", gather(100, 1000, 130, rest)));
  }
}

// The same index in several matrices, in every form and mode; the edges of a matrix are inside of windows.
void outer_gathers(std::vector<Case>& cases) {
  for (const char* outer : {"outer=0", "outer=2", "outer=7"}) {
    for (const char* type : {"u8", "bf16", "f32"}) {
      for (const int width : {1, 13, 40, 64, 77, 1001})
        cases.push_back({gather(50, width, 41, cat("dtype=", type, " ", outer)), width % 3});
      cases.push_back({gather(90, 33, 130, cat("dtype=", type, " source_stride=41 out_stride=47 ", outer))});
    }
    for (const char* mode : {"minus_one_is_zero", "zero", "clamp", "wrap_negative", "trap", "report"}) {
      for (const int width : {14, 64, 77})
        cases.push_back({gather(100, width, 130, cat("mode=", mode, " index=i32 scale=f32 ", outer))});
    }
    cases.push_back({gather(0, 40, 65, cat("mode=report ", outer))});
    cases.push_back({gather(20, 40, 0, outer)});
    cases.push_back(with("persistent=1,threads=64,blocks_per_sm=1", gather(20, 40, 513, outer)));
    cases.push_back(with("form=1,unroll=4", gather(20, 29, 513, outer)));
    Case packed =
        with("form=1,unroll=1,row_threads=0", gather(200, 25, 50, cat("dtype=u8 mode=zero index=i32 ", outer)));
    packed.offset = 3;  // the first window begins before out
    cases.push_back(packed);
  }
}

// Persistent kernels with far more tiles than blocks, equally many, and fewer.
void persistent_gathers(std::vector<Case>& cases) {
  for (const char* blocks : {"0", "1", "8"}) {
    const std::string config = cat("persistent=1,threads=64,blocks_per_sm=", blocks);
    for (const int width : {7, 40, 77, 4096}) {
      for (const int count : {0, 1, 513}) cases.push_back(with(config, gather(100, width, count, "dtype=bf16")));
      cases.push_back(with(config, gather(100, width, 513, "dtype=f32 mode=report scale=f32"), 1));
    }
    cases.push_back(with(config, gather(90, 32, 2049, "dtype=u8 source_stride=40 mode=zero")));
  }
}

}  // namespace

Case with(const std::string& config, const std::string& problem, int offset) {
  Case c{problem, offset};
  c.config = config;
  return c;
}

std::string describe(const Case& c) {
  return cat(c.problem, c.offset != 0 ? cat(" offset ", c.offset) : "", c.in_place ? " in place" : "",
             c.indices == Indices::generated   ? ""
             : c.indices == Indices::all_equal ? " all equal"
                                               : " reversed",
             c.config.empty() ? "" : cat(" with ", c.config), c.scalars.empty() ? "" : cat(" and ", c.scalars));
}

std::vector<Case> gather_cases() {
  std::vector<Case> cases;
  published_gathers(cases);
  odd_gathers(cases);
  gather_modes(cases);
  packed_gathers(cases);
  gather_scales(cases);
  gather_lanes(cases);
  outer_gathers(cases);
  persistent_gathers(cases);
  return cases;
}

// Whole and partial atoms, rows of blocks that are not a multiple of 4, and groups.
std::vector<Case> mx_scales_cases() {
  std::vector<Case> cases;
  for (const char* to : {"blocked", "plain"}) {
    const auto mx_scales = [&](int rows, int cols, const std::string& rest, int experts = 1) {
      return cat("mx_scales to=", to, " rows=", rows, " cols=", cols, " experts=", experts, " ", rest);
    };
    for (const char* direction : {"row", "col"}) {
      for (const char* block : {"line", "square", "square_spread"}) {
        const std::string rest = cat("direction=", direction, " block=", block);
        const int shapes[][3] = {{128, 128, 1}, {96, 416, 3},   {256, 4096, 2},
                                 {32, 32, 1},   {160, 1408, 5}, {1024, 96, 2}};
        for (const auto& [rows, cols, experts] : shapes) cases.push_back({mx_scales(rows, cols, rest, experts)});
        cases.push_back({mx_scales(57, 300, cat(rest, " tail=pad"), 2), 1});
        cases.push_back(with("vector=4", mx_scales(160, 512, rest, 2)));
        cases.push_back(with("vector=1,store_stream=1", mx_scales(160, 512, rest, 2)));
        cases.push_back(with("threads=64", mx_scales(416, 1184, rest, 2)));
      }
    }
    for (const char* rest : {"", " direction=col", " block=square_spread"}) {
      const std::string padded = cat("scale_layout=padded", rest);
      const int shapes[][3] = {{96, 416, 3}, {256, 4096, 2}, {32, 32, 1}};
      for (const auto& [rows, cols, experts] : shapes) cases.push_back({mx_scales(rows, cols, padded, experts)});
      cases.push_back({mx_scales(57, 300, cat(padded, " tail=pad"), 2), 1});
      cases.push_back({mx_scales(700, 1100, cat("tail=pad groups=4 ", padded))});
    }
    cases.push_back({mx_scales(0, 64, "")});
    for (const int rows : {96, 128, 160, 192}) cases.push_back({mx_scales(rows, 160, "noop=flag")});
    for (const char* rest : {"direction=row", "direction=col", "direction=row block=square",
                             "direction=col block=square", "direction=col block=square_spread offset=i64"}) {
      for (const int groups : {1, 4, 33}) {
        cases.push_back({mx_scales(2048, 288, cat(rest, " groups=", groups))});
        cases.push_back({mx_scales(700, 1100, cat("tail=pad ", rest, " groups=", groups)), 1});
      }
    }
  }
  return cases;
}

// Types and widths from 1 byte to many vectors.
std::vector<Case> row_pad_cases() {
  const auto row_pad = [](int rows, int cols, const std::string& rest) {
    return cat("row_pad rows=", rows, " cols=", cols, " ", rest);
  };
  std::vector<Case> cases;
  for (const char* direction : {"direction=pad", "direction=unpad"}) {
    for (const int rows : {0, 1, 128, 157, 1000}) {
      for (const int cols : {0, 1, 43, 256, 768})
        cases.push_back({row_pad(rows, cols, cat(direction, " groups=", 1 + rows % 9)), cols % 2});
    }
    for (const char* type :
         {"f32", "f16", "bf16", "e4m3", "e5m2", "e8m0", "u8", "i8", "f64", "i64", "i16", "i32", "c64", "c128"}) {
      for (const int align : {1, 16, 100, 128})
        cases.push_back({row_pad(300, 448, cat(direction, " groups=8 align=", align, " dtype=", type))});
    }
    for (const int groups : {1, 2, 32, 33, 70})
      cases.push_back({row_pad(500, 96, cat(direction, " align=16 offset=i64 groups=", groups))});
    for (const char* config : {"vector=2", "vector=4", "vector=8", "unroll=1", "threads=64", "threads=512"})
      cases.push_back(with(config, row_pad(300, 512, cat(direction, " groups=4"))));
    for (const int rows : {96, 128, 160, 192})
      cases.push_back({row_pad(rows, 160, cat(direction, " noop=flag groups=3"))});
  }
  return cases;
}

// TransformerEngine's sizes, as one list of eight and one by one; as many matrices as there can be, some without rows
// or columns; every type, alignment and width of access.
std::vector<Case> multi_row_pad_cases() {
  const auto pad = [](const std::string& rows, const std::string& cols, const std::string& rest) {
    return cat("multi_row_pad rows=", rows, " cols=", cols, " ", rest);
  };
  std::string many = "1", many_cols = "5";
  for (int i = 1; i < 64; ++i)
    many += cat(",", i * 7 % 40), many_cols += cat(",", i % 11 == 0 ? 0 : i % 5 * 30 + i % 3);
  std::vector<Case> cases;
  for (const char* direction : {"direction=pad", "direction=unpad"}) {
    for (const char* type :
         {"f32", "f16", "bf16", "e4m3", "e5m2", "e8m0", "u8", "i8", "f64", "i64", "i16", "i32", "c64", "c128"}) {
      for (const int align : {1, 16, 32, 100}) {
        const std::string rest = cat(direction, " align=", align, " dtype=", type);
        for (const int offset : {0, 1, 2})
          cases.push_back({pad("1,1,768,768,43,43,256,256", "1,768,1,768,43,256,43,256", rest), offset});
        cases.push_back({pad("43", "43", rest), align % 3});
        cases.push_back({pad("0,3,0,65,0", "96", rest)});
      }
      const std::string rest = cat(direction, " dtype=", type);
      cases.push_back({pad(many, many_cols, rest)});
      cases.push_back({pad(many, "33", rest), 1});
      cases.push_back({pad("1,2,3,4,5,6,7,8,9", "640", rest)});
      cases.push_back({pad("0,7,9,100", "13,5,0,77", cat(rest, " padded_rows=5,7,32,101"))});
    }
    for (const char* config :
         {"vector=2", "vector=4", "vector=8", "unroll=1", "unroll=8,threads=512", "threads=64", "store_stream=1"})
      cases.push_back(with(config, pad("300,77,5000", "512,33,40", direction)));
    cases.push_back({pad("0,0", "64", cat(direction, " padded_rows=0,0"))});
  }
  return cases;
}

std::vector<Case> skeleton_cases() {
  return {{"skeleton rows=0 width=4096"},
          {"skeleton rows=5 width=0 dtype=f32"},
          {"skeleton rows=1 width=1 dtype=bf16"},
          {"skeleton rows=33 width=2 dtype=f16"},
          {"skeleton rows=7 width=3 dtype=f32", 1},
          {"skeleton rows=64 width=4096 dtype=bf16"},
          {"skeleton rows=64 width=4096 dtype=bf16", 1},
          {"skeleton rows=64 width=4096 dtype=f32", 2},
          {"skeleton rows=300 width=255 dtype=f16"},
          {"skeleton rows=300 width=256 dtype=bf16"},
          {"skeleton rows=300 width=257 dtype=bf16", 1},
          {"skeleton rows=129 width=127 dtype=f32"},
          {"skeleton rows=129 width=128 dtype=f32"},
          {"skeleton rows=1000 width=1000 dtype=bf16", 3},
          {"skeleton rows=17 width=4100 dtype=f32"},
          {"skeleton rows=2113 width=72 dtype=f16"},
          {"skeleton rows=3 width=131071 dtype=bf16"},
          {"skeleton rows=3 width=262144 dtype=f32"},
          {"skeleton rows=20000 width=40 dtype=bf16"},
          with("persistent=1,warps=2,blocks_per_sm=1", "skeleton rows=2113 width=72 dtype=f16"),
          with("persistent=1,warps=2,blocks_per_sm=1", "skeleton rows=0 width=72 dtype=f16"),
          with("persistent=1,blocks_per_sm=8", "skeleton rows=300 width=257 dtype=bf16", 1),
          with("persistent=1", "skeleton rows=17 width=4100 dtype=f32")};
}

}  // namespace quern::test
