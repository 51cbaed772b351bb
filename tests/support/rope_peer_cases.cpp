// As products of what the suites vary. Sizes are scaled down for the host, as each token and each head is computed
// alike: sequences of 2048 and 4096 tokens are 32 and 64, 781 are 61, 8192 are 24; batches of 32 are 3, of 19, 99 and
// 989 are 3, 7 and 13 with 204 tokens as 44; 64 heads are 4. Lengths of packed sequences, parts of a head and margins
// are the suites' own. Not here are views whose heads have elements apart (TransformerEngine's transpose of heads and
// elements), which rope does not take.
#include "support/rope_peer_cases.h"

#include "base/text.h"

namespace quern::test {
namespace {

const std::vector<std::string> kBothStyles = {"half", "interleaved"};
const std::vector<std::string> kBothPasses = {"forward", "backward"};
const std::vector<std::string> kSuiteTypes = {"f32", "bf16", "f16"};
const std::vector<std::string> kShortTypes = {"f16", "bf16"};

// One case in `step`, which has no factor of any number of choices, so that choices take turns in those that stay.
void keep_one_in(std::size_t step, std::vector<Case>& grid) {
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i].full = i % step != 0;
}

void append(const std::vector<Case>& grid, std::vector<Case>& cases) {
  cases.insert(cases.end(), grid.begin(), grid.end());
}

// A rank of `size` that share sequences.
struct Rank {
  int number, size;
};
const std::vector<Rank> kRanks = {{0, 1}, {0, 2}, {1, 2}};

// Each rank, style and pass of a problem.
void each_rank(const std::string& problem, const Rank& rank, const std::vector<int>& cu_seqlens,
               std::vector<Case>& grid) {
  for (const std::string& style : kBothStyles) {
    for (const std::string& pass : kBothPasses) {
      Case c{cat(problem, " style=", style, " pass=", pass)};
      if (rank.size > 1) c.problem += cat(" cp_size=", rank.size);
      if (rank.size > 1) c.scalars = cat("cp_rank=", rank.number);
      c.cu_seqlens = cu_seqlens;
      grid.push_back(c);
    }
  }
}

// ---- TransformerEngine: test_fused_rope

// A table that is longer than the sequence by a margin, which has room for sequences that begin later.
struct Margin {
  int tokens;
  const char* position;
};
const std::vector<Margin> kMargins = {{0, "sequence"}, {10, "sequence"}, {10, "starts index=i32"}};

// As the other one of sbhd and bshd in memory, where the output has no gaps.
std::string transposed(const std::string& layout, int batch, int seq, int heads, int dim) {
  const int row = heads * dim;
  return layout == "sbhd" ? cat(" q_strides=", seq * row, ",", row, ",", dim)
                          : cat(" q_strides=", row, ",", batch * row, ",", dim);
}

void transformer_engine(std::vector<Case>& cases) {
  constexpr int kBatch = 2, kHeads = 4;
  std::vector<Case> grid;
  for (const std::string& dtype : kSuiteTypes) {
    for (const int whole : {32, 64}) {
      for (const int dim : {128, 256}) {
        for (const int part : {2, 1}) {
          for (const Margin& margin : kMargins) {
            for (const bool is_transposed : {false, true}) {
              for (const char* layout : {"sbhd", "bshd"}) {
                for (const Rank& rank : kRanks) {
                  const int seq = whole - margin.tokens;
                  each_rank(cat("rope batch=", kBatch, " seq=", seq, " heads=", kHeads, " head_dim=", dim,
                                " rotary_dim=", dim / part, " table=angles table_rows=", whole * rank.size,
                                " position=", margin.position, " layout=", layout, " dtype=", dtype,
                                is_transposed ? transposed(layout, kBatch, seq, kHeads, dim) : ""),
                            rank, {}, grid);
                }
              }
            }
          }
        }
      }
    }
  }
  keep_one_in(305, grid);
  append(grid, cases);
}

const std::vector<int> kCuSeqlens = {0, 400, 542, 711, 727, 752, 1270, 1426, 1450, 1954, 2044, 2048};

// With lengths that ranks can share.
std::vector<int> padded(const std::vector<int>& cu_seqlens, int step) {
  std::vector<int> begins = {0};
  for (std::size_t i = 1; i < cu_seqlens.size(); ++i)
    begins.push_back(begins.back() + (cu_seqlens[i] - cu_seqlens[i - 1] + step - 1) / step * step);
  return begins;
}

void transformer_engine_packed(std::vector<Case>& cases) {
  std::vector<Case> grid;
  for (const std::string& dtype : kSuiteTypes) {
    for (const int dim : {128, 256}) {
      for (const int part : {2, 1}) {
        for (const char* position : {"sequence", "starts index=i32"}) {
          for (const Rank& rank : kRanks) {
            const std::vector<int> begins = rank.size == 1 ? kCuSeqlens : padded(kCuSeqlens, 2 * rank.size);
            each_rank(cat("rope batch=", begins.size() - 1, " seq=", begins.back() / rank.size,
                          " heads=2 head_dim=", dim, " rotary_dim=", dim / part, " table=angles table_rows=2100",
                          " position=", position, " layout=thd dtype=", dtype),
                      rank, begins, grid);
          }
        }
      }
    }
  }
  keep_one_in(23, grid);
  append(grid, cases);
}

// [s, b, keys x (2 q + k + v)] to q, k and v; the gradient is the way back.
void transformer_engine_fused(std::vector<Case>& cases) {
  constexpr int kBatch = 2, kKeys = 2;
  std::vector<Case> grid;
  for (const std::string& dtype : kSuiteTypes) {
    for (const int seq : {2, 8, 32, 64}) {
      for (const int dim : {64, 128, 256}) {
        const int group = 4 * dim, row = kKeys * group;
        const std::string outer = cat(row, ",", kBatch * row, ",");
        for (const std::string& pass : kBothPasses) {
          const std::string to = pass == "forward" ? "" : "_out";
          const std::string strides = cat(" q", to, "_strides=", outer, dim, ",", group, " k", to, "_strides=", outer,
                                          group, " v", to, "_strides=", outer, group);
          for (const std::string& style : kBothStyles)
            grid.push_back({cat("rope batch=", kBatch, " seq=", seq, " heads=", 2 * kKeys, " kv_heads=", kKeys,
                                " head_dim=", dim, " values=copied layout=sbhd table=angles style=", style,
                                " pass=", pass, " dtype=", dtype, strides)});
        }
      }
    }
  }
  keep_one_in(31, grid);
  append(grid, cases);
}

// ---- flash-attention: test_rotary

// An offset that is none, of all sequences or of each. The table has twice as many positions as a sequence.
struct Offset {
  const char* position;
  const char* scalars;
};
const std::vector<Offset> kOffsets = {{"sequence", ""}, {"sequence", "offset=101"}, {"starts index=i32", ""}};

void flash_attention(const std::string& problem, std::size_t step, std::vector<Case>& cases) {
  std::vector<Case> grid;
  for (const std::string& dtype : kShortTypes) {
    for (const char* rotary_dim : {"", " rotary_dim=32"}) {
      for (const Offset& offset : kOffsets) {
        for (const std::string& style : kBothStyles) {
          for (const std::string& pass : kBothPasses) {
            grid.push_back({cat(problem, rotary_dim, " position=", offset.position, " table_rows=434 style=", style,
                                " pass=", pass, " dtype=", dtype, " table_dtype=", dtype)});
            grid.back().scalars = offset.scalars;
          }
        }
      }
    }
  }
  keep_one_in(step, grid);
  append(grid, cases);
}

void flash_attention(std::vector<Case>& cases) {
  for (const char* place : {"separate", "in_place"})
    flash_attention(cat("rope batch=3 seq=217 heads=4 head_dim=128 place=", place), 17, cases);
  for (const int keys : {4, 2}) {  // [b, s, queries + 2 keys, d]
    const int row = (4 + 2 * keys) * 128;
    const std::string strides = cat(64 * row, ",", row, ",128");
    flash_attention(cat("rope batch=3 seq=64 heads=4 kv_heads=", keys,
                        " head_dim=128 place=in_place q_out_strides=", strides, " k_out_strides=", strides),
                    29, cases);
  }
  flash_attention(  // [b, s, 2, heads, d]
      "rope batch=3 seq=61 heads=0 kv_heads=4 head_dim=64 place=in_place k_out_strides=31232,512,64", 29, cases);
}

// ---- FlashInfer: test_rope

const std::vector<std::string> kFlashInferTables = {"table=computed", "table=computed rope_scaling=llama3 theta=500000",
                                                    "table=joined table_rows=200"};

void flash_infer(std::vector<Case>& cases) {
  std::vector<Case> grid;
  for (const int batch : {1, 3, 7, 13}) {
    for (const int seq : {1, 4, 19, 44}) {
      for (const int heads : {8, 16}) {
        for (const int offset : {0, 15, 99}) {
          for (const int dim : {64, 128, 256}) {
            for (const int quarters : {1, 2, 3, 4}) {
              for (const char* place : {"separate", "in_place"}) {
                for (const std::string& style : kBothStyles) {
                  const std::string& table = kFlashInferTables[grid.size() / 7 % kFlashInferTables.size()];
                  grid.push_back({cat("rope batch=", batch, " seq=", seq, " heads=", heads,
                                      " kv_heads=8 head_dim=", dim, " rotary_dim=", dim / 4 * quarters, " ", table,
                                      " place=", place, " style=", style, " dtype=f16")});
                  grid.back().scalars = cat("offset=", offset);
                }
              }
            }
          }
        }
      }
    }
  }
  keep_one_in(485, grid);
  append(grid, cases);
}

// ---- vLLM: test_pos_encoding

void vllm(std::vector<Case>& cases) {
  constexpr int kBatch = 5, kHeads = 17;
  std::vector<Case> grid;
  for (const int dim : {64, 80, 120, 256}) {
    for (const int rotary_dim : {dim, 32}) {
      for (const int seq : {11, 24}) {
        const int gap = dim + 64, row = kHeads * gap;
        const std::string strides = cat(seq * row, ",", row, ",", gap);
        const std::string batched = cat("batch=", kBatch, " seq=", seq);
        for (const std::string& tensors : {cat("batch=1 seq=", kBatch * seq), batched,
                                           cat(batched, " q_out_strides=", strides, " k_out_strides=", strides)}) {
          for (const std::string& style : kBothStyles) {
            for (const std::string& dtype : kSuiteTypes)
              grid.push_back({cat("rope ", tensors, " heads=", kHeads, " kv_heads=", kHeads, " head_dim=", dim,
                                  " rotary_dim=", rotary_dim, " place=in_place position=ids table=joined",
                                  " table_rows=8192 table_dtype=", dtype, " style=", style, " dtype=", dtype)});
          }
        }
      }
    }
  }
  keep_one_in(49, grid);
  append(grid, cases);
}

}  // namespace

std::vector<Case> peer_grids() {
  std::vector<Case> cases;
  transformer_engine(cases);
  transformer_engine_packed(cases);
  transformer_engine_fused(cases);
  flash_attention(cases);
  flash_infer(cases);
  vllm(cases);
  return cases;
}

}  // namespace quern::test
