// moe_permute, moe_unpermute, chunk_sort and index_sort in a graph, and the first two with the routings that moe_map
// makes.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/random.h"
#include "base/text.h"
#include "driver/stream.h"
#include "quern/quern.h"
#include "support/differences.h"
#include "support/replay.h"

namespace quern::test {
namespace {

// The seeds give uniform and skewed routings, and other padding rows.
class MoeMovementOnDevice : public ReplayTest {};

TEST_F(MoeMovementOnDevice, AReplayMovesTheRowsOfANewRouting) {
  for (const char* form :
       {"moe_permute probs=f32", "moe_permute pass=backward probs=f32", "moe_unpermute probs=f32",
        "moe_unpermute pass=backward", "moe_unpermute pass=backward probs=f32", "moe_permute element=e4m3 scaling=mx",
        "moe_permute scale=f32 pass=backward", "moe_permute scale=f32 scale_of=routes",
        "moe_permute probs=f32 prob_layout=experts", "moe_permute pass=backward probs=f32 prob_layout=experts",
        "moe_unpermute pass=backward probs=f32 prob_layout=experts", "moe_permute dtype=e4m3 scaling=row probs=f32",
        "moe_permute dtype=e4m3 scaling=block128", "moe_permute dtype=e4m3 scaling=mx",
        "moe_permute element=e4m3 scaling=row probs=f32", "moe_permute element=e4m3 scaling=block128",
        "moe_unpermute pass=backward dtype=e4m3 scaling=mx"}) {
    expect_replays(cat(form, " tokens=150 experts=20 hidden=264 topk=4 align=8"));
    expect_replays(cat(form, " tokens=150 experts=20 hidden=264 topk=4 align=8 tail=list capacity=500"));
  }
}

// Rows at any address, of other routings.
TEST_F(MoeMovementOnDevice, AReplayMovesTheRaggedRowsOfANewRouting) {
  for (const char* form :
       {"moe_permute probs=f32", "moe_permute pass=backward probs=f32", "moe_unpermute probs=f32 residual=add",
        "moe_unpermute pass=backward", "moe_unpermute pass=backward probs=f32"})
    expect_replays(cat(form, " tokens=150 experts=20 hidden=1283 topk=4 align=8 tail=list capacity=500"));
}

// A row is zeros where its probability is 0, which the data of another seed have elsewhere.
TEST_F(MoeMovementOnDevice, AReplayReadsOtherProbabilitiesOfZero) {
  for (const char* form :
       {"moe_permute probs=f32", "moe_permute probs=bf16 prob_layout=experts", "moe_permute pass=backward probs=f32",
        "moe_unpermute probs=f16", "moe_unpermute pass=backward probs=f32 prob_layout=experts",
        "moe_permute probs=f32 element=e4m3 scaling=row", "moe_permute probs=f32 dtype=e4m3 scaling=mx",
        "moe_permute probs=f32 element=e4m3 scaling=mx scale_layout=blocked"})
    expect_replays(cat(form, " tokens=150 experts=20 hidden=264 topk=4 align=128"), true);
}

// In a used workspace: the launch before has left zeros. Blocks of the grid wait for each other.
TEST_F(MoeMovementOnDevice, AReplayWritesTheBlockedScalesOfANewRouting) {
  for (const char* rest : {"", " probs=f32", " capacity=768", " empty=fill"})
    expect_replays(
        cat("moe_permute tokens=150 experts=20 hidden=1056 topk=4 align=128 element=e4m3 scaling=mx "
            "scale_layout=blocked",
            rest));
}

// No map of moe_map leaves a part of 128 rows out.
TEST_F(MoeMovementOnDevice, BlockedScalesOfUnlistedRowsStayAsTheyWere) {
  for (const char* hidden : {"hidden=256", "hidden=129"}) {
    const AnyProblem problem = runtime().parse(
        cat("moe_permute tokens=60 experts=3 topk=2 align=128 element=e4m3 scaling=mx scale_layout=blocked ", hidden));
    HostOperands host(problem.family(), problem.data());
    host.generate(1, false);
    for (int i = 0; i < host.size(); ++i) {
      auto* const numbers = reinterpret_cast<std::int32_t*>(host.data(i));
      for (std::int64_t r = 5; host.name(i) == "pads" && r < host.bytes(i) / 4; ++r) numbers[r] = -1;
      for (std::int64_t r = 0; host.name(i) == "token_rows" && r < host.bytes(i) / 4; r += 3) numbers[r] = -1;
    }
    const HostOperands expected = host.reference(AnyArgs(problem.family()));
    HostOperands got = host;
    run(problem, got);
    EXPECT_EQ(compare(got, expected).difference, "") << hidden;
  }
}

// The bytes of the operand of this name.
std::vector<std::byte> operand_of(const HostOperands& host, std::string_view name) {
  for (int i = 0; i < host.size(); ++i) {
    if (host.name(i) == name) return {host.data(i), host.data(i) + host.bytes(i)};
  }
  return {};
}

void set_operand(HostOperands& host, std::string_view name, const std::vector<std::byte>& bytes) {
  for (int i = 0; i < host.size(); ++i) {
    if (host.name(i) == name && host.bytes(i) == static_cast<std::int64_t>(bytes.size()))
      std::copy(bytes.begin(), bytes.end(), host.data(i));
  }
}

// TransformerEngine's test of a mask: 2039 routes anywhere, so that a token has from none to all experts, and
// probabilities of experts, through all passes.
TEST_F(MoeMovementOnDevice, AMaskOfRoutesAnywhereGoesThroughAllPasses) {
  constexpr int kTokens = 4096, kRoutes = 2039;
  for (const int experts : {7, 16}) {
    const std::string routing = cat(" tokens=", kTokens, " experts=", experts, " topk=", experts, " align=16");
    const AnyProblem problem = runtime().parse(cat("moe_map map=mask row_id_map=write", routing));
    HostOperands map(problem.family(), problem.data());
    map.generate(1, false);
    std::vector<std::byte> mask(static_cast<std::size_t>(kTokens * experts));
    std::fill_n(mask.begin(), kRoutes, std::byte{1});
    Random random(7);
    for (std::size_t i = mask.size(); i > 1; --i) std::swap(mask[i - 1], mask[random.next() % i]);
    set_operand(map, "map", mask);
    const HostOperands given = map;
    run(problem, map);
    EXPECT_EQ(compare(map, given.reference(AnyArgs(problem.family()))).difference, "") << experts;
    for (const char* form : {"moe_permute pass=forward", "moe_permute pass=backward", "moe_unpermute pass=forward",
                             "moe_unpermute pass=backward"}) {
      const AnyProblem rows = runtime().parse(
          cat(form, " dtype=f32 probs=f32 prob_layout=experts hidden=", on_host() ? 20 : 4096, routing));
      HostOperands host(rows.family(), rows.data());
      host.generate(2, false);
      for (const char* name : {"token_rows", "token_experts", "pads"}) set_operand(host, name, operand_of(map, name));
      const HostOperands before = host;
      run(rows, host);
      EXPECT_EQ(compare(host, before.reference(AnyArgs(rows.family()))).difference, "") << form << " " << experts;
    }
  }
}

// The floats of an operand.
std::vector<float> floats_of(const HostOperands& host, std::string_view name) {
  const std::vector<std::byte> bytes = operand_of(host, name);
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

template <class T>
void set_numbers(HostOperands& host, std::string_view name, const std::vector<T>& numbers) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers.data());
  set_operand(host, name, {bytes, bytes + numbers.size() * sizeof(T)});
}

// vLLM's expert parallelism: each of 16 devices maps all tokens by global ids, permutes those of its experts, and
// brings them back. The results of all devices add up to what one device with all experts gives. Products of small
// integers and powers of two are exact in any order.
TEST_F(MoeMovementOnDevice, TheDevicesOfExpertParallelismAddUpToOne) {
  constexpr int kDevices = 16, kExperts = 64, kTopk = 6, kOwn = kExperts / kDevices;
  const int tokens = on_host() ? 33 : 1024, hidden = on_host() ? 40 : 2048;
  Random random(5);
  std::vector<std::int32_t> ids;
  std::vector<float> source, factors;
  for (int i = 0; i < tokens * kTopk; ++i) {
    const auto id = static_cast<std::int32_t>(random.next() % (kExperts + 2));  // two of them are of no expert
    ids.push_back(id < kExperts ? id : id == kExperts ? -1 : 1000);
    factors.push_back(0.25F * static_cast<float>(random.next() % 5));
  }
  for (int i = 0; i < tokens * hidden; ++i) source.push_back(static_cast<float>(random.next() % 64) - 32);
  std::vector<float> expected(source.size()), sum(source.size());
  for (std::size_t route = 0; route < ids.size(); ++route) {
    if (ids[route] < 0 || ids[route] >= kExperts) continue;
    const std::size_t first = route / kTopk * static_cast<std::size_t>(hidden);
    for (std::size_t h = first; h < first + static_cast<std::size_t>(hidden); ++h)
      expected[h] += factors[route] * source[h];
  }
  const std::string shape = cat(" tokens=", tokens, " experts=", kOwn, " topk=", kTopk, " align=16"),
                    wide = cat(shape, " dtype=f32 hidden=", hidden);
  const AnyProblem map = runtime().parse(cat("moe_map offset=i64 global=", kExperts, shape));
  const AnyProblem permute = runtime().parse(cat("moe_permute", wide));
  const AnyProblem unpermute = runtime().parse(cat("moe_unpermute probs=f32", wide));
  for (int rank = 0; rank < kDevices; ++rank) {
    HostOperands routes(map.family(), map.data()), rows(permute.family(), permute.data()),
        back(unpermute.family(), unpermute.data());
    std::vector<std::int32_t> local(kExperts, -1);
    for (int e = 0; e < kOwn; ++e) local[static_cast<std::size_t>(rank * kOwn + e)] = e;
    routes.generate(1, false), rows.generate(1, false), back.generate(1, false);
    set_numbers(routes, "map", ids), set_numbers(routes, "expert_map", local);
    run(map, routes);
    for (const char* name : {"token_rows", "pads"}) set_operand(rows, name, operand_of(routes, name));
    set_numbers(rows, "source", source);
    run(permute, rows);
    set_operand(back, "token_rows", operand_of(routes, "token_rows"));
    set_operand(back, "source", operand_of(rows, "out"));
    set_numbers(back, "probs", factors);
    run(unpermute, back);
    const std::vector<float> own = floats_of(back, "out");
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }
  EXPECT_EQ(sum, expected);
}

// TransformerEngine's chain of probabilities alongside rows, of experts on tp devices: rows that are grouped by device
// and then by expert are sorted by expert, and back. All comes back bit for bit.
TEST_F(MoeMovementOnDevice, ProbabilitiesGoAlongsideRowsThroughASortOfChunksAndBack) {
  constexpr int kExperts = 8, kTopk = 2;
  const int tokens = on_host() ? 60 : 4096, hidden = on_host() ? 24 : 1280;
  const std::string shape = cat(" tokens=", tokens, " experts=", kExperts, " topk=", kTopk),
                    wide = cat(shape, " dtype=f32 hidden=", hidden);
  const AnyProblem map = runtime().parse(cat("moe_map map=mask", shape));
  HostOperands routes(map.family(), map.data());
  routes.generate(1, false);  // each token has topk routes
  run(map, routes);
  const AnyProblem permute = runtime().parse(cat("moe_permute probs=f32", wide));
  HostOperands rows(permute.family(), permute.data());
  rows.generate(1, false);
  set_operand(rows, "token_rows", operand_of(routes, "token_rows"));
  run(permute, rows);
  std::vector<std::int32_t> counts(kExperts);
  std::memcpy(counts.data(), operand_of(routes, "counts").data(), kExperts * sizeof(counts[0]));
  for (const int tp : {1, 2}) {
    // A device's chunk of an expert; the first ones are larger.
    std::vector<std::int32_t> sizes, order;
    for (int d = 0; d < tp; ++d) {
      for (const std::int32_t count : counts) sizes.push_back(d == 0 ? count - (tp - 1) * (count / 3) : count / 3);
    }
    for (int e = 0; e < kExperts; ++e) {
      for (int d = 0; d < tp; ++d) order.push_back(d * kExperts + e);
    }
    const std::string chunks =
        cat("chunk_sort probs=f32 dtype=f32 rows=", tokens * kTopk, " hidden=", hidden, " chunks=", kExperts * tp);
    HostOperands moved = rows;
    for (const char* pass : {" pass=forward", " pass=backward"}) {
      const AnyProblem sort = runtime().parse(cat(chunks, pass));
      HostOperands sorted(sort.family(), sort.data());
      sorted.generate(1, false);
      set_numbers(sorted, "sizes", sizes), set_numbers(sorted, "order", order);
      set_operand(sorted, "source", operand_of(moved, "out"));
      set_operand(sorted, "probs", operand_of(moved, "out_probs"));
      const HostOperands before = sorted;
      run(sort, sorted);
      EXPECT_EQ(compare(sorted, before.reference(AnyArgs(sort.family()))).difference, "") << tp << pass;
      EXPECT_EQ(operand_of(sorted, "out") == operand_of(moved, "out"), tp == 1) << tp << pass;
      moved = sorted;
    }
    EXPECT_EQ(operand_of(moved, "out"), operand_of(rows, "out")) << tp;
    EXPECT_EQ(operand_of(moved, "out_probs"), operand_of(rows, "out_probs")) << tp;
    // The gradient of a permute takes the probabilities back to their routes.
    const AnyProblem back = runtime().parse(cat("moe_permute pass=backward probs=f32", wide));
    HostOperands tokens_again(back.family(), back.data());
    tokens_again.generate(1, false);
    set_operand(tokens_again, "token_rows", operand_of(routes, "token_rows"));
    set_operand(tokens_again, "source", operand_of(moved, "out"));
    set_operand(tokens_again, "probs", operand_of(moved, "out_probs"));
    run(back, tokens_again);
    EXPECT_EQ(floats_of(tokens_again, "out_probs"), floats_of(rows, "probs")) << tp;
    std::vector<float> twice = floats_of(rows, "source");
    for (float& x : twice) x += x;
    EXPECT_EQ(floats_of(tokens_again, "out"), twice) << tp;
  }
}

// With one expert and a route for each token, rows stay where they are.
TEST_F(MoeMovementOnDevice, RowsAreQuantizedAsMxfp8DoesIt) {
  for (const char* fields :
       {"element=e4m3 scaling=mx", "element=e5m2 scaling=mx mode=floor", "element=e4m3 scaling=block128",
        "element=e4m3 scaling=block128 mode=exact", "element=e4m3 scaling=mx policy=te"}) {
    const AnyProblem moved = runtime().parse(cat("moe_permute tokens=96 experts=1 topk=1 hidden=640 ", fields));
    const AnyProblem quantized = runtime().parse(cat("mxfp8 rows=96 cols=640 ", fields));
    HostOperands rows(moved.family(), moved.data()), same(quantized.family(), quantized.data());
    rows.generate(1, false);
    same.generate(1, false);
    std::copy_n(rows.data(0), rows.bytes(0), same.data(0));
    run(moved, rows);
    run(quantized, same);
    EXPECT_EQ(operand_of(rows, "out"), operand_of(same, "out")) << fields;
    EXPECT_EQ(operand_of(rows, "out_scales"), operand_of(same, "scales")) << fields;
  }
}

// Sizes that no matrix has: what out holds then is undefined, but no access is out of bounds.
TEST_F(MoeMovementOnDevice, ChunkSortStaysInsideOfItsRowsWhateverTheSizes) {
  // Two rows may go to one: the host driver is asked for bounds alone.
  if (on_host()) driver().host().Configure("check_races=0");
  const std::int32_t kBad[][4] = {{10, -20, 5, 55}, {100, 2000000000, 2000000000, 7}, {-1, -1, -1, -1}};
  for (const char* pass : {"forward", "backward"}) {
    const AnyProblem problem = runtime().parse(cat("chunk_sort rows=50 hidden=8 chunks=4 probs=f32 pass=", pass));
    for (const auto& sizes : kBad) {
      HostOperands host(problem.family(), problem.data());
      host.generate(1, false);
      std::memcpy(host.data(1), sizes, sizeof(sizes));
      EXPECT_NO_THROW(run(problem, host)) << pass << " " << sizes[0];
    }
  }
  if (on_host()) driver().host().Configure("check_races=1");
}

// A map that was made for a larger capacity, or that holds anything: a row that the matrix does not have is none, so
// nothing is written or read outside.
TEST_F(MoeMovementOnDevice, RowsBeyondTheCapacityAreNone) {
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kCapacity = 128, kBad[] = {kCapacity, kMost, kLeast, kCapacity + 1, -2, kLeast + 3};
  for (const char* form : {"moe_permute",
                           "moe_permute probs=f32",
                           "moe_permute probs=bf16 prob_layout=experts",
                           "moe_permute tail=list",
                           "moe_permute dtype=u8 scaling=mx",
                           "moe_permute element=e4m3 scaling=mx",
                           "moe_permute element=e5m2 tail=list",
                           "moe_permute element=e4m3 scaling=row probs=f32",
                           "moe_permute element=e4m3 scaling=block128",
                           "moe_permute element=e4m3 scaling=mx scale_layout=blocked align=128 probs=f32",
                           "moe_permute pass=backward probs=f32",
                           "moe_permute pass=backward probs=f32 prob_layout=experts",
                           "moe_permute scale=f32 scale_of=routes probs=f32",
                           "moe_permute scale=f32 element=e4m3 scaling=mx",
                           "moe_permute scale=f16 scale_of=routes pass=backward probs=f32",
                           "moe_unpermute probs=f32",
                           "moe_unpermute residual=add",
                           "moe_unpermute pass=backward tail=list",
                           "moe_unpermute pass=backward probs=f32",
                           "moe_unpermute pass=backward probs=f16 prob_layout=experts"}) {
    for (const char* hidden : {"hidden=136", "hidden=45"}) {
      const AnyProblem problem =
          runtime().parse(cat(form, " tokens=30 experts=3 topk=2 capacity=", kCapacity, " ", hidden));
      HostOperands host(problem.family(), problem.data());
      host.generate(1, false);
      for (int i = 0; i < host.size(); ++i) {
        auto* const rows = reinterpret_cast<std::int32_t*>(host.data(i));
        const auto set = [&](std::int64_t at, std::int64_t n) { rows[at] = kBad[static_cast<std::size_t>(n) % 6]; };
        for (std::int64_t r = 0; host.name(i) == "token_rows" && r < host.bytes(i) / 4; r += 3) set(r, r / 3);
        for (std::int64_t r = 40; host.name(i) == "pads" && r < host.bytes(i) / 4; ++r) set(r, r);
      }
      const HostOperands expected = host.reference(AnyArgs(problem.family()));
      HostOperands got = host;
      run(problem, got);
      EXPECT_EQ(compare(got, expected).difference, "") << form << " " << hidden;
    }
  }
}

// A map of more experts, of a larger align or with tail=list may list more rows than the fields of the movement would
// give. A launch that read no more entries than these left the others as they were.
TEST_F(MoeMovementOnDevice, PadsThatAMapOfOtherFieldsListsAreZeros) {
  constexpr std::int32_t kCapacity = 1024;
  for (const char* form : {"moe_permute align=4 hidden=136", "moe_permute align=4 probs=f32 hidden=45",
                           "moe_permute align=4 element=e4m3 scaling=mx hidden=136",
                           "moe_permute align=4 element=e4m3 scaling=row hidden=136",
                           "moe_permute align=128 element=e4m3 scaling=mx scale_layout=blocked hidden=136",
                           "moe_unpermute pass=backward align=4 probs=f32 hidden=136"}) {
    const AnyProblem problem = runtime().parse(cat(form, " tokens=2 experts=2 topk=1 capacity=", kCapacity));
    HostOperands host(problem.family(), problem.data());
    host.generate(1, false);
    for (int i = 0; i < host.size(); ++i) {
      auto* const rows = reinterpret_cast<std::int32_t*>(host.data(i));
      for (std::int32_t r = 0; host.name(i) == "token_rows" && r < 2; ++r) rows[r] = r;
      for (std::int32_t r = 0; host.name(i) == "pads" && r < kCapacity; ++r) rows[r] = r + 2 < kCapacity ? r + 2 : -1;
    }
    const HostOperands expected = host.reference(AnyArgs(problem.family()));
    HostOperands got = host;
    run(problem, got);
    EXPECT_EQ(compare(got, expected).difference, "") << form;
  }
}

// The loss of moe_permute's result y is the sum of u * y * y, with y = scale * source: a polynomial of degree 2 of each
// number, so that differences in double give its gradients exactly. All numbers are multiples of powers of 2.
TEST_F(MoeMovementOnDevice, GradientsOfScaledRowsAreTheirDifferences) {
  for (const char* scale_of : {"tokens", "routes"}) {
    const std::string text = cat(
        "moe_permute tokens=7 experts=4 topk=3 hidden=5 dtype=f32 tail=list capacity=16 scale=f32 scale_of=", scale_of);
    const AnyProblem forward = runtime().parse(text), backward = runtime().parse(cat(text, " pass=backward"));
    HostOperands host(forward.family(), forward.data()), gradient(backward.family(), backward.data());
    host.generate(3, false);
    gradient.generate(3, false);
    const auto number_of = [](const HostOperands& of, std::string_view name) {
      int number = 0;
      while (of.name(number) != name) ++number;
      return number;
    };
    const auto numbers = [&](HostOperands& of, std::string_view name) {
      return reinterpret_cast<float*>(of.data(number_of(of, name)));
    };
    const auto size = [&](const HostOperands& of, std::string_view name) { return of.bytes(number_of(of, name)) / 4; };
    for (const char* name : {"source", "scale"}) {
      for (std::int64_t i = 0; i < size(host, name); ++i)
        numbers(host, name)[i] = static_cast<float>((i * 7 + name[1]) % 11 - 5) / 4;
    }
    const AnyArgs none(forward.family());
    const auto u = [](std::int64_t i) { return static_cast<double>(i % 5 - 2) / 2; };
    const auto loss = [&] {
      HostOperands y = host.reference(none);
      double sum = 0;
      for (std::int64_t i = 0; i < size(y, "out"); ++i) {
        const double value = numbers(y, "out")[i];
        sum += u(i) * value * value;
      }
      return sum;
    };
    HostOperands y = host.reference(none);
    for (std::int64_t i = 0; i < size(y, "out"); ++i)
      numbers(gradient, "source")[i] = static_cast<float>(2 * u(i)) * numbers(y, "out")[i];
    std::copy_n(numbers(host, "source"), size(host, "source"), numbers(gradient, "rows"));
    std::copy_n(numbers(host, "scale"), size(host, "scale"), numbers(gradient, "scale"));
    run(backward, gradient);
    for (const auto& [of, result] : {std::pair{"source", "out"}, {"scale", "scale_gradient"}}) {
      ASSERT_EQ(size(host, of), size(gradient, result));
      expect_differences(numbers(host, of), size(host, of), numbers(gradient, result), loss, cat(text, " ", of));
    }
  }
}

// In a used workspace: the launch before has left zeros.
TEST_F(MoeMovementOnDevice, AReplaySortsOtherIndices) {
  for (const char* rows : {"200", "9000", "3000000"}) expect_replays(cat("index_sort count=9000 rows=", rows));
}

// Of a matrix of several iterations of each block.
TEST_F(MoeMovementOnDevice, AReplayMovesChunksOfOtherSizes) {
  for (const char* form : {"pass=forward probs=f32", "pass=backward"})
    expect_replays(cat("chunk_sort rows=3000 hidden=264 chunks=90 ", form));
}

// The operands of the families fit together: what moe_map wrote, moe_permute and moe_unpermute read, in one graph. With
// factors of 1/2 and two routes, tokens come back as they were.
TEST_F(MoeMovementOnDevice, TokensComeBackThroughTheMap) {
  constexpr std::int64_t kTokens = 70, kHidden = 40, kExperts = 6, kTopk = 2;
  MoeMap map;
  map.tokens = kTokens, map.experts = kExperts, map.topk = kTopk, map.align = 8;
  MoePermute permute;
  permute.tokens = kTokens, permute.hidden = kHidden, permute.experts = kExperts, permute.topk = kTopk;
  permute.align = 8, permute.dtype = f32;
  MoeUnpermute unpermute;
  unpermute.tokens = kTokens, unpermute.hidden = kHidden, unpermute.experts = kExperts, unpermute.topk = kTopk;
  unpermute.align = 8, unpermute.dtype = f32, unpermute.probs = f32;
  constexpr std::int64_t kCapacity = (kTokens * kTopk + kExperts * 7) / 8 * 8;
  constexpr std::int64_t kWorkspace = (kTokens * (32 + 1) + 1) * 4;
  std::vector<std::int32_t> ids;
  std::vector<float> tokens;
  for (int t = 0; t < kTokens; ++t) ids.insert(ids.end(), {t * t % 6, (t * t + 1 + t % 5) % 6});
  for (int i = 0; i < kTokens * kHidden; ++i) tokens.push_back(static_cast<float>(i % 1000));
  const std::vector<float> factors(kTokens * kTopk, 0.5F);

  const Driver& d = driver();
  const DeviceMemory ids_at(d, kTokens * kTopk * 4), small(d, 256), token_rows(d, kTokens * kTopk * 4),
      row_tokens(d, kCapacity * 4), pads(d, kCapacity * 4), workspace(d, kWorkspace), source(d, kTokens * kHidden * 4),
      rows(d, kCapacity * kHidden * 4), factors_at(d, kTokens * kTopk * 4), back(d, kTokens * kHidden * 4);
  const auto upload = [&](const DeviceMemory& to, const auto& from) {
    d.check(d->MemcpyHtoD(to.get(), from.data(), from.size() * sizeof(from[0])), Stage::tool, "cuMemcpyHtoD");
  };
  upload(ids_at, ids), upload(source, tokens), upload(factors_at, factors);
  d.check(d->MemsetD8Async(workspace.get(), 0, kWorkspace, nullptr), Stage::tool, "cuMemsetD8Async");
  d.check(d->CtxSynchronize(), Stage::tool, "cuCtxSynchronize");

  MoeMapArgs map_args;
  auto* const words = static_cast<std::int32_t*>(small.data());
  map_args.map = ids_at.data(), map_args.counts = words, map_args.offsets = words + 8, map_args.totals = words + 16;
  map_args.token_rows = token_rows.data(), map_args.row_tokens = row_tokens.data(), map_args.pads = pads.data();
  map_args.workspace = workspace.data();
  MoePermuteArgs permute_args;
  permute_args.source = source.data(), permute_args.token_rows = token_rows.data(), permute_args.pads = pads.data();
  permute_args.out = rows.data();
  MoeUnpermuteArgs unpermute_args;
  unpermute_args.source = rows.data(), unpermute_args.token_rows = token_rows.data();
  unpermute_args.probs = factors_at.data(), unpermute_args.out = back.data();
  const auto map_plan = runtime().prepare(map);
  const auto permute_plan = runtime().prepare(permute);
  const auto unpermute_plan = runtime().prepare(unpermute);
  const Graph graph(d, [&](CUstream capturing) {
    map_plan.launch(capturing, map_args);
    permute_plan.launch(capturing, permute_args);
    unpermute_plan.launch(capturing, unpermute_args);
  });
  const StreamOwner stream(d);
  graph.launch(stream.get());
  stream.synchronize();
  std::vector<float> got(tokens.size()), grouped(kCapacity * kHidden);
  d.check(d->MemcpyDtoH(got.data(), back.get(), got.size() * 4), Stage::tool, "cuMemcpyDtoH");
  EXPECT_EQ(got, tokens);
  std::vector<std::int32_t> of_rows(kCapacity);
  d.check(d->MemcpyDtoH(of_rows.data(), row_tokens.get(), of_rows.size() * 4), Stage::tool, "cuMemcpyDtoH");
  d.check(d->MemcpyDtoH(grouped.data(), rows.get(), grouped.size() * 4), Stage::tool, "cuMemcpyDtoH");
  for (std::size_t row = 0; row < kCapacity; ++row) {
    if (of_rows[row] < 0) continue;
    EXPECT_EQ(grouped[row * kHidden + 3], tokens[static_cast<std::size_t>(of_rows[row]) * kHidden + 3]);
  }
}

}  // namespace
}  // namespace quern::test
