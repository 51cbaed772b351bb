// Rows that are scattered: the shapes that FBGEMM and xformers test, and the edges of windows, groups and chunks.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {
namespace {

std::string scatter(int rows, int count, int width, const std::string& rest) {
  return cat("scatter rows=", rows, " count=", count, " width=", width, " ", rest);
}

// The rows of every kind of problem: what is written, in which order, and what becomes of the others.
const std::vector<std::string> kUnordered = {"",
                                             "mode=skip index=i32",
                                             "op=add",
                                             "op=add mode=skip",
                                             "rest=zero indices=unique",
                                             "rest=zero indices=unique mode=skip index=i32",
                                             "op=add rest=zero indices=unique mode=skip"};
const std::vector<std::string> kOrdered = {
    "order=given",
    "order=given rest=zero mode=skip",
    "op=add order=given",
    "op=add order=given mode=skip index=i32",
    "op=add order=given rest=zero",
    "op=add order=given rest=zero mode=skip",
};

// FBGEMM's scatter_add_along_first_dim, where indices of other numbers of rows repeat.
void fbgemm_scatters(std::vector<Case>& cases) {
  const int shapes[][3] = {{257, 127, 1023}, {257, 127, 1024}, {129, 255, 2049}, {129, 255, 2048}};
  for (const char* index : {"i32", "i64"}) {
    for (const int rows : {0, 10, 257}) cases.push_back({scatter(rows, rows, 5120, cat("op=add index=", index))});
    cases.push_back({scatter(1024, 1024, 1024, cat("op=add index=", index))});
    for (const auto& [rows, count, width] : shapes)
      cases.push_back({scatter(rows, count, width, cat("op=add order=given index=", index))});
  }
}

// xformers' scaled_index_add of [rows, inner, width], six tenths of the rows, alpha 0.73, and its gradients. Where
// inner is not 1 a row has as many indices.
void xformers_scatters(std::vector<Case>& cases) {
  const int shapes[][3] = {{48, 1, 257 * 1536}, {48, 257, 1536}, {192, 50, 1536}, {48, 257, 128}, {48, 32, 64}};
  for (const auto& [rows, inner, width] : shapes) {
    for (const char* pass : {"", " pass=backward"}) {
      for (const char* scale : {"", " scale=f16"}) {
        const std::string rest = cat("op=add dtype=f16 factor=alpha", scale, pass);
        cases.push_back({scatter(rows * inner, rows * 6 / 10 * inner, width, rest)});
        cases.back().multiplier = 0.73F;
      }
    }
  }
}

void odd_scatters(std::vector<Case>& cases) {
  for (const std::string& kind : kUnordered) {
    for (const int width : {1, 2, 3, 7, 8, 15, 17, 33, 100, 1000, 4097}) {
      for (const char* type : {"f16", "bf16", "f32"})
        cases.push_back({scatter(333, width % 2 == 0 ? 333 : 129, width, cat(kind, " dtype=", type)), width % 4});
    }
    for (const int count : {0, 1, 2, 33}) cases.push_back({scatter(50, count, 72, kind)});
  }
  for (const char* kind : {"rest=zero indices=unique", "op=add rest=zero indices=unique mode=skip"}) {
    for (const int width : {8, 100, 101}) cases.push_back({scatter(9000, 700, width, kind)});  // several of a group
    for (const int width : {1000, 20001}) cases.push_back({scatter(3, 2, width, kind)});  // several groups of a row
  }
  for (const char* type : {"u8", "e4m3", "f64", "i64", "c64", "c128"}) {
    for (const int width : {1, 5, 33, 256}) {
      for (const char* kind :
           {"mode=skip", "order=given rest=zero", "order=given mode=skip", "rest=zero indices=unique"})
        cases.push_back({scatter(200, 77, width, cat(kind, " dtype=", type)), width % 2});
    }
  }
}

// Segments of every length, by the seeds of the cases: see templates/scatter/data.cpp.
void ordered_scatters(std::vector<Case>& cases) {
  for (const std::string& kind : kOrdered) {
    for (const char* type : {"f16", "bf16", "f32"}) {
      for (const int width : {1, 3, 8, 16, 31, 64, 100, 257, 264, 1000}) {
        for (const int count : {100, 2049}) cases.push_back({scatter(300, count, width, cat(kind, " dtype=", type))});
        cases.push_back({scatter(300, 513, width, cat(kind, " dtype=", type)), 1 + width % 3});
      }
    }
    for (const int count : {0, 1, 2, 31, 32, 33, 64, 65, 1023, 1024, 1025, 2113}) {
      for (const int rows : {1, 2, 33, 2049}) cases.push_back({scatter(rows, count, 24, kind)});
    }
    cases.push_back({scatter(2113, 3, 40, kind)});
    cases.push_back({scatter(2113, 3, 41, kind)});
    cases.push_back({scatter(3, 0, 0, kind)});
  }
  for (const char* kind : {"mode=skip", "op=add mode=skip", "order=given mode=skip rest=zero",
                           "op=add order=given mode=skip", "rest=zero indices=unique mode=skip"})
    cases.push_back({scatter(0, 65, 40, kind)});
}

void scatter_strides(std::vector<Case>& cases) {
  for (const char* strides :
       {"source_stride=40", "out_stride=64", "source_stride=41 out_stride=47", "source_stride=3"}) {
    for (const char* kind : {"", "op=add", "op=add order=given", "op=add order=given rest=zero",
                             "order=given rest=zero", "rest=zero indices=unique", "op=add rest=zero indices=unique"}) {
      for (const char* type : {"bf16", "f32"})
        cases.push_back({scatter(130, 90, 33, cat(kind, " dtype=", type, " ", strides))});
      cases.push_back({scatter(130, 90, 32, cat(kind, " ", strides)), 3});
      cases.push_back({scatter(130, 90, 32, cat(kind, " ", strides))});
    }
  }
}

void scatter_factors(std::vector<Case>& cases) {
  for (const char* kind :
       {"op=add", "op=add order=given", "op=add order=given rest=zero mode=skip", "op=add rest=zero indices=unique"}) {
    for (const char* type : {"f32", "f16", "bf16"}) {
      for (const char* factor : {"factor=alpha", "scale=f32", "scale=f16 factor=alpha", "scale=bf16",
                                 "scale=f32 scale_of=rows", "scale=bf16 scale_of=rows factor=alpha"}) {
        for (const int width : {5, 128, 515})
          cases.push_back({scatter(120, 110, width, cat(kind, " dtype=", type, " ", factor)), width % 2});
        cases.push_back({scatter(40, 110, 64, cat("op=add order=given dtype=", type, " ", factor))});
      }
    }
  }
}

// The gradients of source and scale: rows of any length, groups and chunks of rows with edges, and each way to read.
void scatter_gradients(std::vector<Case>& cases) {
  const std::vector<std::string> factors = {"",
                                            "factor=alpha",
                                            "scale=f32",
                                            "scale=f16 factor=alpha mode=skip",
                                            "scale=f32 scale_of=rows",
                                            "scale=bf16 scale_of=rows factor=alpha mode=skip index=i32"};
  for (const std::string& factor : factors) {
    const std::string rest = cat("op=add pass=backward ", factor);
    for (const char* type : {"f32", "f16", "bf16"}) {
      for (const int width : {1, 3, 8, 31, 64, 100, 257, 264, 1000, 2052})
        cases.push_back({scatter(120, 110, width, cat(rest, " dtype=", type)), width % 3});
      cases.push_back({scatter(130, 90, 33, cat(rest, " dtype=", type, " source_stride=41 out_stride=47"))});
      cases.push_back({scatter(130, 90, 32, cat(rest, " dtype=", type, " source_stride=64 out_stride=40"))});
    }
    for (const int count : {0, 1, 2, 31, 32, 33, 64, 1023, 1024, 1025, 2113})
      cases.push_back({scatter(70, count, 24, rest)});
    const bool of_rows = rest.find("scale_of=rows") != std::string::npos;
    for (const char* config :
         {"vector=4", of_rows ? "unroll=1" : "unroll=2,batch=2", "threads=64", "load_once=0,store_stream=0"})
      cases.push_back(with(config, scatter(70, 1100, 1032, rest)));
    if (of_rows) continue;
    for (const char* config : {"lanes=32", "lanes=4", "lanes=8", "batch=1", "batch=8,vector=8,lanes=8"})
      cases.push_back(with(config, scatter(70, 1100, 32, rest)));
  }
  for (const char* scale : {"scale=f16", "scale=f32 scale_of=rows"}) {
    cases.push_back({scatter(5, 20, 0, cat("op=add pass=backward ", scale))});
    cases.push_back({scatter(0, 65, 40, cat("op=add pass=backward mode=skip ", scale))});
  }
}

// The same index in several matrices.
void outer_scatters(std::vector<Case>& cases) {
  for (const char* outer : {"outer=0", "outer=2", "outer=5"}) {
    for (const std::vector<std::string>* kinds : {&kUnordered, &kOrdered}) {
      for (const std::string& kind : *kinds) {
        for (const int width : {3, 40, 257})
          cases.push_back({scatter(60, kinds == &kOrdered ? 130 : 41, width, cat(kind, " ", outer)), width % 2});
        cases.push_back({scatter(60, 0, 24, cat(kind, " ", outer))});
        cases.push_back({scatter(70, 50, 33, cat(kind, " source_stride=41 out_stride=47 ", outer))});
      }
    }
    for (const char* factor : {"factor=alpha", "scale=f16", "scale=f32 scale_of=rows", "scale=f32 mode=skip"}) {
      for (const int count : {9, 130})
        cases.push_back({scatter(60, count, 40, cat("op=add pass=backward ", factor, " ", outer))});
      cases.push_back({scatter(60, 41, 300, cat("op=add pass=backward dtype=f32 ", factor, " ", outer)), 1});
    }
    cases.push_back({scatter(60, 41, 40, cat("op=add scale=f32 scale_of=rows ", outer))});
    cases.push_back({scatter(60, 1100, 40, cat("op=add order=given scale=f32 scale_of=rows ", outer))});
  }
}

// Each parameter of the tuning space, on segments of all kinds.
void scatter_configs(std::vector<Case>& cases) {
  for (const char* config :
       {"vector=4", "unroll=1", "unroll=4", "threads=64", "load_once=0,store_stream=0", "form=1,unroll=1"}) {
    for (const char* kind : {"", "mode=skip", "op=add", "rest=zero indices=unique", "op=add rest=zero indices=unique"})
      cases.push_back(with(config, scatter(300, 200, 264, kind)));
  }
  for (const char* lanes : {"lanes=4", "lanes=8", "lanes=16", "lanes=32"}) {
    for (const char* kind : {"rest=zero indices=unique", "op=add rest=zero indices=unique mode=skip"})
      cases.push_back(with(lanes, scatter(300, 200, 32, kind)));
  }
  for (const char* positions : {"1", "2", "4", "8", "16", "32"}) {
    for (const char* rest : {"lanes=32", "lanes=32,batch=1", "lanes=32,vector=4,unroll=4", "form=1,batch=2,unroll=1"}) {
      for (const std::string& kind : kOrdered) {
        const bool sums = kind.find("add") != std::string::npos;
        if (!sums && cat(rest).find("batch") != std::string::npos) continue;
        for (const int rows : {5, 900})
          cases.push_back(with(cat("positions=", positions, ",", rest), scatter(rows, 2100, 72, kind)));
      }
    }
    for (const char* lanes : {"4", "8", "16"}) {
      for (const std::string& kind : kOrdered)
        cases.push_back(with(cat("positions=", positions, ",lanes=", lanes), scatter(70, 1500, 32, kind)));
    }
  }
}

}  // namespace

std::vector<Case> scatter_cases() {
  std::vector<Case> cases;
  fbgemm_scatters(cases);
  xformers_scatters(cases);
  odd_scatters(cases);
  ordered_scatters(cases);
  scatter_strides(cases);
  scatter_factors(cases);
  scatter_gradients(cases);
  outer_scatters(cases);
  scatter_configs(cases);
  return cases;
}

}  // namespace quern::test
