// Every case of every family against its reference, on the device at hand. On the host driver a part of each table that
// has all its pairs of settings, under sanitizers as many as fit; QUERN_TEST_FULL=1 takes whole tables there too.
// QUERN_TEST_COVER=1 takes that part on a GPU; QUERN_TEST_ONLY=TEXT takes all cases whose problem has the text in it.
// QUERN_TEST_SHARD=INDEX/COUNT then takes one of COUNT shards of the cases, for as many processes side by side.
// Without QUERN_TEST_FULL=1 no device runs the cases that are `full`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include "base/parallel.h"
#include "base/sanitizers.h"
#include "driver/device.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pairwise.h"
#include "support/taken.h"

namespace quern::test {
namespace {

// The most cases of a family, so that all families together take some minutes: below 500 images, ten under sanitizers.
#if QUERN_ADDRESS_SANITIZER
constexpr std::size_t kMostCases = 4;
#else
constexpr std::size_t kMostCases = 540;
#endif

bool set(const char* variable) { return std::getenv(variable) != nullptr; }  // NOLINT(concurrency-mt-unsafe)

// The cases whose problem has this text in it.
std::vector<Case> cases_with(const std::vector<Case>& table, const std::string& text) {
  std::vector<Case> cases;
  std::copy_if(table.begin(), table.end(), std::back_inserter(cases),
               [&](const Case& c) { return c.problem.find(text) != std::string::npos; });
  EXPECT_FALSE(cases.empty()) << "no case has " << text;
  return cases;
}

// The cases of this process's shard.
std::vector<Case> shard_of(const std::vector<Case>& cases) {
  const char* text = std::getenv("QUERN_TEST_SHARD");  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr) return cases;
  std::size_t index = 0;
  std::size_t count = 0;
  if (std::sscanf(text, "%zu/%zu", &index, &count) != 2 || index >= count) {  // NOLINT(cert-err34-c)
    ADD_FAILURE() << "QUERN_TEST_SHARD=" << text << " is not INDEX/COUNT with INDEX below COUNT, such as 0/4";
    return {};
  }
  std::vector<Case> shard;
  for (std::size_t i = index; i < cases.size(); i += count) shard.push_back(cases[i]);
  return shard;
}

// Without the cases that are `full`, unless all are asked for.
std::vector<Case> asked_for(const std::vector<Case>& table) {
  std::vector<Case> cases;
  std::copy_if(table.begin(), table.end(), std::back_inserter(cases),
               [](const Case& c) { return !c.full || set("QUERN_TEST_FULL"); });
  return cases;
}

// For the host driver, where larger extents only repeat the same work: some cases are then the same.
std::vector<Case> all_scaled_down(const std::vector<Case>& table) {
  std::vector<Case> cases;
  std::set<std::string> known;
  for (const Case& c : table) {
    const Case scaled = scaled_down(c);
    if (known.insert(cat(describe(scaled), scaled.multiplier)).second) cases.push_back(scaled);
  }
  return cases;
}

// All of a table, or those that QUERN_TEST_ONLY names.
std::vector<Case> named_here(const std::vector<Case>& table) {
  const char* text = std::getenv("QUERN_TEST_ONLY");  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? table : cases_with(table, text);
}

std::vector<Case> whole_here(const std::vector<Case>& whole) {
  std::vector<Case> table = asked_for(whole);
  if (set("QUERN_TEST_ONLY")) return named_here(table);
  if (!on_host() && !set("QUERN_TEST_COVER")) return table;
  std::vector<Case> cases = table;
  if (!set("QUERN_TEST_FULL")) {
    const Cover cover = pairwise(table, kMostCases);
    std::printf("%zu of %zu cases hold %zu of %zu pairs of settings\n", cover.cases.size(), table.size(), cover.covered,
                cover.pairs);
#if !QUERN_ADDRESS_SANITIZER
    EXPECT_EQ(cover.covered, cover.pairs);
#endif
    cases = cover.cases;
  }
  return on_host() ? all_scaled_down(cases) : cases;
}

std::vector<Case> cases_here(const std::vector<Case>& whole) { return shard_of(whole_here(whole)); }

// Lists of programs, whose texts have no settings to pair: whole, but every so many under sanitizers, which have so
// few of the other lists too.
std::vector<Case> programs_here(const std::vector<Case>& table) {
  const std::vector<Case> named = named_here(table);
#if QUERN_ADDRESS_SANITIZER
  std::vector<Case> some;
  const std::size_t step = (named.size() + kMostCases - 1) / kMostCases;
  for (std::size_t i = 0; i < named.size(); i += step) some.push_back(named[i]);
  return shard_of(some);
#else
  return shard_of(named);
#endif
}

class Conformance : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    Options aligned = options();
    aligned.alignment = kMaxAlignment;
    aligned_.emplace(aligned);
    aligned_->add(Skeleton::family());
  }

  static bool is_open(std::size_t i) { return i % 2 == 1; }

  // Without the images that no launch of the case could take.
  Runtime& runtime_of(const Case& c, bool open) { return open || c.offset != 0 ? runtime() : *aligned_; }

  // Every image on all cores; a failure shows again where the case runs.
  void prewarm(const std::vector<Case>& cases) {
    const Device device = describe_device(driver(), 0);
    const std::string arch = device.target.text();
    const std::string model = model_of(device).name;  // not what other GPUs of the architecture would take
    parallel_for(static_cast<std::int64_t>(cases.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Case& c = cases[static_cast<std::size_t>(i)];
        const bool open = is_open(static_cast<std::size_t>(i));
        const AnyProblem closed = runtime().parse(c.problem);
        const AnyProblem asked = open ? opened(closed) : closed;
        try {
          const Family& family =
              on_host() ? with_taken_variants(asked, closed, c.offset, device, c.config) : asked.family();
          runtime_of(c, open).prewarm(family, asked.data(), arch, model, c.config);
        } catch (const Error&) {
        }
      }
    });
  }

  // Under compute-sanitizer every so many cases, without guard bands, which would hide an access outside. The host
  // driver sees those by itself.
  static std::size_t step() {
    const char* stride = std::getenv("QUERN_TEST_SANITIZER_STRIDE");  // NOLINT(concurrency-mt-unsafe)
    return stride == nullptr ? 1 : static_cast<std::size_t>(std::max(1, std::atoi(stride)));
  }

  void check_all(const std::vector<Case>& cases, bool huge = false) {
    prewarm(cases);
    CheckOptions options;
    options.guards = !huge && !on_host() && !set("QUERN_TEST_SANITIZER_STRIDE");
    options.twice = options.guards || on_host();
    options.taken_only = on_host();
    double worst = 0;
    for (std::size_t i = 0; i < cases.size(); i += step()) {
      const Case& c = cases[i];
      ++options.seed;
      options.open = is_open(i);
      try {
        const CheckResult result = check_case(runtime_of(c, options.open), driver(), c, options);
        worst = std::max(worst, result.max_error);
        EXPECT_EQ(result.failure, "") << describe(c);
      } catch (const Error& error) {
        ADD_FAILURE() << describe(c) << ": " << error.what();
        if (on_host()) renew_context();  // a kernel that failed has broken it
      }
    }
    std::printf(
        "%zu cases, %llu images made, largest error %g ulp\n", cases.size(),
        static_cast<unsigned long long>(runtime().statistics().compiles.count + aligned_->statistics().compiles.count),
        worst);
  }

 private:
  std::optional<Runtime> aligned_;
};

TEST_F(Conformance, Gather) { check_all(cases_here(gather_cases())); }
#if !QUERN_ADDRESS_SANITIZER  // 90 s there; the host tier runs them, with every access checked
// More than 32 tiles of 128 rows, which the host's smaller tables do not have, and more than 32 tiles of all.
TEST_F(Conformance, SumsOfSeveralChunks) {
  check_all({{"glu rows=4225 width=40 activation=relu pass=backward bias_gradient=f32 dtype=f32"},
             {"pointwise rows=4225 width=40 activation=relu pass=backward bias_gradient=f32"},
             {"pointwise rows=4500 width=300 op=add_mul_act pass=backward multiplier_gradient=f32"}});
}
// More rows than the 2^22 of a part, so windows of 16 bytes start again in the second part. Some seconds on the host.
TEST_F(Conformance, PackedWindowsOfSeveralParts) {
  Case c =
      with("form=1,unroll=1,row_threads=0", "gather rows=2000 count=4300000 width=15 dtype=u8 index=i32 mode=zero", 3);
  check_all({c});
}
#endif
TEST_F(Conformance, Scatter) { check_all(cases_here(scatter_cases())); }
TEST_F(Conformance, Pointwise) { check_all(cases_here(pointwise_cases())); }
TEST_F(Conformance, PointwisePrograms) { check_all(programs_here(pointwise_program_cases())); }
TEST_F(Conformance, PointwiseReductions) { check_all(programs_here(pointwise_reduction_cases())); }
TEST_F(Conformance, PointwiseScaled) { check_all(programs_here(pointwise_scaled_cases())); }
TEST_F(Conformance, Glu) { check_all(cases_here(glu_cases())); }
TEST_F(Conformance, Mxfp8Dequantize) { check_all(cases_here(mxfp8_dequantize_cases())); }
TEST_F(Conformance, MxScales) { check_all(cases_here(mx_scales_cases())); }
TEST_F(Conformance, MultiRowPad) { check_all(cases_here(multi_row_pad_cases())); }
TEST_F(Conformance, RowPad) { check_all(cases_here(row_pad_cases())); }
TEST_F(Conformance, MoeMap) { check_all(cases_here(moe_map_cases())); }
TEST_F(Conformance, MoePermute) { check_all(cases_here(moe_permute_cases())); }
TEST_F(Conformance, MoeUnpermute) { check_all(cases_here(moe_unpermute_cases())); }
TEST_F(Conformance, ChunkSort) { check_all(cases_here(chunk_sort_cases())); }
TEST_F(Conformance, IndexSort) { check_all(cases_here(index_sort_cases())); }
TEST_F(Conformance, Embedding) { check_all(cases_here(embedding_cases())); }
TEST_F(Conformance, EmbeddingScaling) { check_all(cases_here(embedding_scaling_cases())); }
TEST_F(Conformance, EmbeddingLengths) { check_all(cases_here(embedding_lengths_cases())); }
TEST_F(Conformance, HashTable) { check_all(cases_here(hash_table_cases())); }
TEST_F(Conformance, EmbeddingBackward) { check_all(cases_here(embedding_backward_cases())); }
TEST_F(Conformance, Concat) { check_all(cases_here(concat_cases())); }
TEST_F(Conformance, Interaction) { check_all(cases_here(interaction_cases())); }
TEST_F(Conformance, InteractionUpper) { check_all(cases_here(interaction_upper_cases())); }
TEST_F(Conformance, Rope) { check_all(cases_here(rope_cases())); }
TEST_F(Conformance, Mxfp8) { check_all(cases_here(mxfp8_cases())); }

// Lines that end before their first 16 aligned bytes, in them, behind them or with them; and with the first or the
// second tile of a stack.
TEST_F(Conformance, Mxfp8LinesOfEveryLength) {
  std::vector<Case> cases;
  const auto add = [&](int rows, const char* config) {
    cases.push_back({cat("mxfp8 rows=", rows, " cols=34 experts=2 direction=col tail=pad")});
    cases.back().config = config;
  };
  const auto add_all = [&](int from, int to, const char* config) {
    for (int rows = from; rows <= to; ++rows) add(rows, config);
  };
  const auto closed_and_open = [&](int from, int to, const char* closed, const char* open) {
    for (int rows = from; rows <= to; ++rows) {
      add(rows, closed);
      add(rows, open);
    }
  };
  closed_and_open(1, 34, "", "");
  closed_and_open(1, 32, "form=2,threads=128,vector=4", "form=1,threads=128,rows=16,vector=4");  // two columns a thread
  add_all(35, 50, "");
  add_all(112, 160, "form=1,unroll=1,threads=128,rows=16,stack=2,panel=0,cluster=1,vector=4");
  add_all(240, 260, "form=1,unroll=1,threads=128,rows=16,stack=2,panel=0,cluster=1,vector=4");
#if QUERN_ADDRESS_SANITIZER  // the host tier has every length; here every third, of each form closed and open
  for (std::size_t i = 0; i < cases.size() / 3; ++i) cases[i] = cases[3 * i];
  cases.resize(cases.size() / 3);
#endif
  check_all(cases);
}

// Rows that end inside of a slot, in every warp and in some: broadcasts go around their ends.
TEST_F(Conformance, PointwiseRowsOfEveryLength) {
  std::vector<Case> cases;
  for (const char* rest : {"dtype=f32", "dtype=bf16", "dtype=bf16 bias_spread=column", "dtype=f16 bias_dtype=f32"}) {
    const auto add = [&](int from, int to) {
      for (int width = from; width <= to; ++width)
        cases.push_back({cat("pointwise rows=37 width=", width, " ", rest), width % 3 == 0 ? 1 : 0});
    };
    add(1, 20);
    add(125, 132);
    add(253, 260);
  }
  check_all(cases);
}

TEST_F(Conformance, Skeleton) { check_all(cases_here(skeleton_cases())); }

TEST_F(Conformance, MoreThanTwoToTheThirtyOneElements) {
  if (!set("QUERN_TEST_HUGE") || on_host()) GTEST_SKIP() << "set QUERN_TEST_HUGE=1 on a GPU: takes tens of GB";
  check_all(shard_of(named_here(huge_cases())), true);
}

}  // namespace
}  // namespace quern::test
