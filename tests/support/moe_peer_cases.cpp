// As products of what the suites vary. Rows of models are many: those cases are `full`, and others stand for them. A
// number of rows below that of the routes (num_out_tokens) is a capacity. Their data are those of the families, in
// which probabilities of 0, tokens without routes and ids of other devices and of none occur.
#include "support/moe_peer_cases.h"

#include "base/text.h"

namespace quern::test {
namespace {

const std::vector<std::string> kDtypes = {"dtype=f32", "dtype=f16", "dtype=bf16"};

struct PeerShape {
  int tokens;
  int experts;
  int hidden;
  int topk;
};

std::string map(const PeerShape& s, const std::string& rest) {
  return cat("moe_map tokens=", s.tokens, " experts=", s.experts, " topk=", s.topk, " ", rest);
}
std::string rows(const std::string& family, const PeerShape& s, const std::string& rest) {
  return cat(family, " tokens=", s.tokens, " experts=", s.experts, " hidden=", s.hidden, " topk=", s.topk, " ", rest);
}

Case full(const std::string& problem) {
  Case c{problem};
  c.full = true;
  return c;
}

// ---- TransformerEngine: test_permutation

const PeerShape kPermuted[] = {{4096, 7, 4096, 2}, {4096, 7, 4096, 5}, {4096, 16, 4096, 2}, {4096, 16, 4096, 5}};
const PeerShape kPadded[] = {{4096, 8, 1280, 2}, {4096, 64, 4096, 6}, {4096, 256, 7168, 6}, {4096, 512, 9216, 8}};
const PeerShape kSmall = {12, 4, 16, 2}, kEmpty = {0, 8, 4096, 2}, kOneRoute = {4096, 7, 4096, 1};
// All routes, or 2039 rows.
const std::vector<std::string> kCapacities = {"", "capacity=2039"};
const std::vector<std::string> kMasks = {"map=mask", "map=mask index=i32", "map=mask row_id_map=write"};

void transformer_engine_maps(std::vector<Case>& cases) {
  for (const PeerShape& s : kPermuted) {
    for (const std::string& capacity : kCapacities) {
      for (const std::string& mask : kMasks) {
        cases.push_back({map(s, cat(mask, " ", capacity))});
        // 2039 routes anywhere: a token has from none to all experts.
        cases.push_back({map({s.tokens, s.experts, 0, s.experts}, cat(mask, " ", capacity))});
      }
      cases.push_back({map(s, cat("map=ids ", capacity))});
    }
  }
  for (const PeerShape& s : kPadded) {
    for (const std::string& mask : kMasks) cases.push_back({map(s, cat(mask, " align=16"))});
  }
  for (const char* kind : {"map=ids", "map=mask row_id_map=write"}) {
    cases.push_back({map(kSmall, cat(kind, " capacity=23"))});
    cases.push_back({map(kEmpty, kind)});
    cases.push_back({map(kOneRoute, kind)});
    for (const PeerShape& s : {PeerShape{4096, 256, 0, 8}, {16384, 128, 0, 6}, {16384, 4, 0, 1}})
      cases.push_back({map(s, cat(kind, " align=16"))});
  }
}

// `kinds`: passes, without and with probabilities as the suite has them; of rows that are quantized, `quantized`.
void transformer_engine_rows(const std::string& family, const std::vector<std::string>& kinds,
                             const std::string& quantized, std::vector<Case>& cases) {
  for (const std::string& kind : kinds) {
    for (const std::string& dtype : kDtypes) {
      const std::string rest = cat(kind, " ", dtype);
      for (const PeerShape& s : kPermuted) {
        for (const std::string& capacity : kCapacities)
          cases.push_back(full(rows(family, s, cat(rest, " ", capacity))));
      }
      for (const PeerShape& s : kPadded) cases.push_back(full(rows(family, s, cat(rest, " align=16"))));
      cases.push_back(full(rows(family, kOneRoute, rest)));
      cases.push_back({rows(family, kSmall, cat(rest, " capacity=23"))});
      cases.push_back({rows(family, kEmpty, rest)});
    }
  }
  for (const char* dtype : {"dtype=e4m3", "dtype=e5m2"}) {
    for (const char* scaling : {"", " scaling=block128", " scaling=mx"}) {
      const std::string rest = cat(quantized, " ", dtype, scaling);
      for (const PeerShape& s : kPermuted) {
        for (const std::string& capacity : kCapacities)
          cases.push_back(full(rows(family, s, cat(rest, " ", capacity))));
      }
      for (const PeerShape& s : kPadded) cases.push_back(full(rows(family, s, cat(rest, " align=16"))));
      cases.push_back({rows(family, kSmall, cat(rest, " capacity=23"))});
    }
  }
}

// Chunks of each expert on each of tp devices.
void transformer_engine_chunks(std::vector<Case>& cases) {
  for (const char* pass : {"pass=forward", "pass=backward"}) {
    for (const char* probs : {"", " probs=f32"}) {
      for (const std::string& dtype : kDtypes) {
        for (const int experts : {7, 16}) {
          for (const int tp : {1, 2, 8})
            cases.push_back(
                full(cat("chunk_sort rows=4096 hidden=4096 chunks=", experts * tp, " ", pass, probs, " ", dtype)));
        }
      }
    }
  }
}

// ---- vLLM: permute and unpermute, with expert parallelism

std::vector<PeerShape> vllm_shapes() {
  std::vector<PeerShape> shapes;
  for (const int tokens : {1, 33, 1024, 5000}) {
    for (const int hidden : {2048, 7168}) {
      for (const int experts : {16, 64, 256}) {
        for (const int topk : {2, 6, 8}) shapes.push_back({tokens, experts, hidden, topk});
      }
    }
  }
  return shapes;
}
const std::vector<int> kDevices = {1, 4, 16};

void vllm_maps(std::vector<Case>& cases) {
  for (const PeerShape& s : vllm_shapes()) {
    if (s.hidden != 2048) continue;
    for (const int devices : kDevices) {
      const std::string global = devices == 1 ? "" : cat(" global=", s.experts);
      for (const char* align : {"align=1", "align=128"})
        cases.push_back({map({s.tokens, s.experts / devices, 0, s.topk}, cat(align, " offset=i64", global))});
    }
  }
}

void vllm_rows(const std::string& problem, std::vector<Case>& cases) {
  for (const PeerShape& s : vllm_shapes()) {
    for (const int devices : kDevices)
      cases.push_back(full(rows(problem, {s.tokens, s.experts / devices, s.hidden, s.topk}, "")));
  }
}

// ---- FBGEMM's MoE grid: a token has one expert

std::vector<PeerShape> fbgemm_shapes() {
  std::vector<PeerShape> shapes;
  for (const int experts : {2, 4, 8}) {
    for (const int tokens : {0, 1, 128, 2048, 4096, 16384}) {
      for (const int hidden : {5120, 7168}) shapes.push_back({tokens, experts, hidden, 1});
    }
  }
  return shapes;
}

void fbgemm_maps(std::vector<Case>& cases) {
  for (const PeerShape& s : fbgemm_shapes()) {
    if (s.hidden == 5120) cases.push_back({map(s, "")});
  }
}

// The largest are many bytes and nothing new.
void fbgemm_rows(const std::string& problem, std::vector<Case>& cases) {
  for (const PeerShape& s : fbgemm_shapes()) {
    Case c{rows(problem, s, "")};
    c.full = s.tokens > 2048;
    cases.push_back(c);
  }
}

// ---- torchao's permute of MXFP8 rows, those that it moves and those that we make of bf16; an
// expert without tokens has rows too

void torchao_rows(std::vector<Case>& cases) {
  for (const int experts : {2, 4, 8}) {
    for (const char* kind : {"dtype=e4m3 scaling=mx", "element=e4m3 scaling=mx", "element=e4m3 scaling=mx mode=floor"})
      cases.push_back({rows("moe_permute", {64, experts, 128, 1}, cat(kind, " align=32 empty=fill"))});
  }
}

// ---- TileOPs, which has H200 figures, and torchtitan

const PeerShape kTileOps[] = {{512, 8, 4096, 2},  {2048, 8, 4096, 2},  {4096, 8, 4096, 2},  {512, 256, 7168, 8},
                              {32, 128, 7168, 8}, {128, 128, 7168, 8}, {512, 128, 7168, 8}, {4096, 128, 7168, 8}};

void tile_ops(const std::string& problem, std::vector<Case>& cases) {
  for (const PeerShape& s : kTileOps) cases.push_back(full(rows(problem, s, "")));
}

void torchtitan_maps(std::vector<Case>& cases) {
  for (const int tokens : {0, 1, 512, 4096}) {
    for (const int experts : {2, 4, 8}) {
      for (const int ranks : {1, 2, 4}) {
        for (const int align : {16, 32, 128})
          cases.push_back({map({tokens, experts, 0, 1}, cat("map=counts empty=fill ranks=", ranks, " align=", align))});
      }
    }
  }
}

}  // namespace

void add_peer_maps(std::vector<Case>& cases) {
  transformer_engine_maps(cases);
  vllm_maps(cases);
  torchtitan_maps(cases);
  fbgemm_maps(cases);
  for (const PeerShape& s : kTileOps) cases.push_back({map(s, "")});
}

void add_peer_permutes(std::vector<Case>& cases) {
  const std::string dense = " probs=f32 prob_layout=experts";
  transformer_engine_rows("moe_permute",
                          {"pass=forward", "pass=backward", "pass=forward" + dense, "pass=backward" + dense},
                          "pass=forward", cases);
  vllm_rows("moe_permute", cases);
  fbgemm_rows("moe_permute", cases);
  torchao_rows(cases);
  tile_ops("moe_permute", cases);
}

void add_peer_unpermutes(std::vector<Case>& cases) {
  const std::string dense = " probs=f32 prob_layout=experts";
  transformer_engine_rows("moe_unpermute",
                          {"pass=forward", "pass=backward", "pass=forward" + dense, "pass=backward" + dense},
                          "pass=backward", cases);
  vllm_rows("moe_unpermute probs=f32", cases);
  fbgemm_rows("moe_unpermute probs=bf16", cases);
  tile_ops("moe_unpermute", cases);
}

void add_peer_chunk_sorts(std::vector<Case>& cases) { transformer_engine_chunks(cases); }

}  // namespace quern::test
