// Matrices side by side: DLRM's features and others, at every width and misalignment, and their inverses.
#include "base/text.h"
#include "support/cases.h"

namespace quern::test {
namespace {

std::string columns(int rows, const std::string& widths, const std::string& rest = {}) {
  return cat("concat rows=", rows, " widths=", widths, rest.empty() ? "" : " ", rest);
}
std::string flat(const std::string& counts, const std::string& widths, const std::string& rest = {}) {
  return cat("concat layout=flat counts=", counts, " widths=", widths, rest.empty() ? "" : " ", rest);
}
std::string repeated(const std::string& width, int count) {
  std::string widths = width;
  for (int i = 1; i < count; ++i) widths += cat(",", width);
  return widths;
}

const std::vector<std::string> kConcatTypes = {"dtype=u8", "dtype=bf16", "dtype=f32", "dtype=f64", "dtype=c128"};
const std::vector<std::string> kConcatPasses = {"pass=forward", "pass=backward"};

// As it is, and in the ragged form, which small problems take only where their rows are open.
void add(std::vector<Case>& cases, const std::string& problem, int offset = 0) {
  cases.push_back({problem, offset});
  const char* const vectors[][2] = {{"u8", "1"}, {"bf16", "2"}, {"f32", "4"}, {"f64", "8"}};
  for (const auto& [type, vector] : vectors) {
    if (problem.find(cat("dtype=", type)) == std::string::npos) continue;
    const char* const rest = cases.size() % 4 == 0 ? ",unroll=2,threads=64" : ",unroll=4";
    cases.push_back(with(cat("form=1,vector=", vector, rest), problem, offset));
  }
}

// A DLRM's, torchrec's and xformers' shapes.
void published_concats(std::vector<Case>& cases) {
  for (const std::string& pass : kConcatPasses) {
    for (const int rows : {1, 2, 64, 128, 513}) {
      cases.push_back({columns(rows, repeated("16", 27), cat("dtype=f32 ", pass))});
      cases.push_back({columns(rows, cat("13,", repeated("16", 26)), cat("dtype=f32 ", pass))});
    }
    cases.push_back({columns(129, "64,128,64,32,256,128,64,64", pass)});
    cases.push_back({columns(200, "512,128,128", pass)});
    cases.push_back({flat("48,17", "1536,384", pass)});
  }
  // xformers' index_select_cat, and its gradient.
  for (const std::string& pass : kConcatPasses) {
    cases.push_back({flat("28,115", "38400,76800", cat("index=i64 source_rows=48,192 dtype=f16 ", pass))});
    for (const char* width : {"64", "128", "256", "512"})
      cases.push_back({flat("1024", width, cat("index=i64 source_rows=4096 dtype=f16 ", pass))});
    cases.push_back({flat("48,17", "1536,384", cat("index=i64 source_rows=50,60 dtype=f16 ", pass))});
  }
}

// Every width around a vector, with sources of no width at the start, between others and at the end.
void odd_concats(std::vector<Case>& cases) {
  for (const std::string& type : kConcatTypes) {
    for (const std::string& pass : kConcatPasses) {
      const std::string rest = cat(type, " ", pass);
      for (const int rows : {0, 1, 15, 33, 300}) {
        add(cases, columns(rows, "13,64,1,33", rest), rows % 3);
        add(cases, columns(rows, "0,5,0,0,3,0", rest), rows % 2);
        add(cases, columns(rows, "1,1,1", rest), 1);
      }
      for (int width = 1; width < 40; width += width < 18 ? 1 : 7)
        add(cases, columns(70, cat(width, ",", 40 - width), rest), width % 4);
      add(cases, columns(17, "0,0", rest));
      add(cases, columns(3, "1000,777,2049", rest));
      add(cases, columns(40, "257", rest), 1);
      add(cases, columns(700, repeated("1", 64), rest));
      add(cases, columns(50, cat(repeated("2", 33), ",", repeated("3", 31)), rest), 1);
      add(cases, columns(50, repeated("7", 9), rest));
      add(cases, columns(50, repeated("7", 8), rest));
      add(cases, columns(50, repeated("4", 32), rest));
    }
  }
  for (const char* type : {"e4m3", "e5m2", "e8m0", "f16", "i16", "i8", "i32", "i64", "c64"})
    add(cases, columns(60, "5,8,3", cat("dtype=", type)), 1);
}

// Gaps in sources and in out, which stay as they were, and rows that are far apart.
void strided_concats(std::vector<Case>& cases) {
  for (const std::string& type : kConcatTypes) {
    for (const std::string& pass : kConcatPasses) {
      const std::string rest = cat(type, " ", pass);
      add(cases, columns(90, "13,64,1,33", cat(rest, " out_stride=112")));
      add(cases, columns(90, "13,64,1,33", cat(rest, " out_stride=115 strides=0,67,9,33")), 1);
      add(cases, columns(90, "16,64,32", cat(rest, " out_stride=128 strides=32,64,48")));
      add(cases, columns(300, "2,1", cat(rest, " out_stride=5 strides=3,4")));
      for (const int stride : {65, 68}) cases.push_back({columns(9, "16,48", cat(rest, " out_stride=", stride))});
      add(cases, columns(20, "16,600", cat(rest, " out_stride=1001 strides=5000,10007")));
      add(cases, flat("90,7,0,33", "13,64,1,33", cat(rest, " strides=0,67,9,40")), 1);
      add(cases, flat("90,7", "16,64", cat(rest, " strides=32,96")));
    }
  }
  add(cases, columns(9, "8,40", "strides=3,1"));  // rows that overlap
}

void flat_concats(std::vector<Case>& cases) {
  for (const std::string& type : kConcatTypes) {
    for (const std::string& pass : kConcatPasses) {
      const std::string rest = cat(type, " ", pass);
      for (const char* counts : {"90,7,0,33", "1,0,0,1", "0,0,0,0", "513,2049,1,5"}) {
        add(cases, flat(counts, "13,64,1,33", rest));
        add(cases, flat(counts, "0,5,3,1", rest), 1);
      }
      for (const int rows : {0, 1, 77}) add(cases, cat("concat layout=flat rows=", rows, " widths=5,16,5 ", rest));
      add(cases, flat("64,16,64", "33,7,1", rest));
      add(cases, flat("3000", "9", rest), 3);
    }
  }
}

void picked_concats(std::vector<Case>& cases) {
  for (const std::string& type : kConcatTypes) {
    for (const char* index : {"index=i32", "index=i64"}) {
      for (const char* mode : {"assume_valid", "minus_one_is_zero", "zero"}) {
        const std::string rest = cat(type, " ", index, " mode=", mode);
        add(cases, columns(100, "13,64,1,33", cat(rest, " source_rows=50,1000,7,100")));
        add(cases, columns(300, "16,0,32", cat(rest, " source_rows=500,3,1")), 1);
        add(cases, columns(33, "4,8", cat(rest, " source_rows=9,9 strides=8,12 out_stride=20")));
        add(cases, flat("100,0,33,2", "13,64,600,33", cat(rest, " source_rows=50,9,40,100")));
        add(cases, flat("513,70", "4,16", cat(rest, " source_rows=60,90 strides=8,16")));
        const std::string back = cat(rest, " pass=backward");
        add(cases, columns(100, "13,64,1,33", cat(back, " source_rows=150,1000,100,101")));
        add(cases, columns(300, "16,0,32", cat(back, " source_rows=500,300,301")), 1);
        add(cases, columns(33, "4,8", cat(back, " source_rows=39,33 strides=8,12 out_stride=20")));
        add(cases, flat("100,0,33,2", "13,64,600,33", cat(back, " source_rows=150,9,40,100")));
        add(cases, flat("513,70", "4,16", cat(back, " source_rows=600,90 strides=8,16")));
        if (mode == std::string("assume_valid")) continue;
        add(cases, columns(60, "3,8", cat(rest, " pass=backward source_rows=0,4")));
        add(cases, columns(60, "3,8", cat(rest, " source_rows=0,4")));
        add(cases, flat("60,9", "3,8", cat(rest, " source_rows=0,4")));
      }
    }
  }
  add(cases, columns(50, repeated("3", 64), cat("index=i32 mode=zero source_rows=", repeated("20", 64))));
  add(cases, flat(repeated("9", 64), repeated("5", 64), cat("index=i64 source_rows=", repeated("20", 64))));
}

void configured_concats(std::vector<Case>& cases) {
  for (const std::string& pass : kConcatPasses) {
    for (const char* config :
         {"form=0,unroll=1,threads=64", "form=0,unroll=8,threads=512", "form=1,unroll=1,threads=512",
          "form=1,unroll=16,threads=128", "form=1,unroll=2,threads=64,load_once=1,store_stream=1"}) {
      cases.push_back(with(config, columns(700, "13,64,1,33", pass)));
      cases.push_back(with(config, columns(700, "3,700", cat("out_stride=719 ", pass)), 1));
      cases.push_back(with(config, flat("700,3,90", "7,8,1", pass)));
      cases.push_back(with(cat(config, ",vector=4"), columns(300, "6,14", pass)));
      cases.push_back(with(cat(config, ",vector=4"), columns(300, "12,20", cat("dtype=u8 ", pass))));
      cases.push_back(with(cat(config, ",vector=8"), columns(300, "8,40", pass)));
    }
  }
}

}  // namespace

std::vector<Case> concat_cases() {
  std::vector<Case> cases;
  published_concats(cases);
  odd_concats(cases);
  strided_concats(cases);
  flat_concats(cases);
  picked_concats(cases);
  configured_concats(cases);
  return cases;
}

}  // namespace quern::test
