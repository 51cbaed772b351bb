// Problems from the tensors of their operands.
#include "tensors/infer.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/sanitizers.h"
#include "base/text.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/has.h"
#include "support/tensors.h"

namespace quern::test {
namespace {

// The tensors of a closed problem's operands but for workspaces, by name.
struct NamedTensors {
  Tensors tensors;
  std::vector<NamedTensor> named;

  explicit NamedTensors(const AnyProblem& closed, bool inputs_only = false) : tensors(closed.family(), closed.data()) {
    const Places places = places_of(closed.family(), closed.data());
    for (std::size_t i = 0; i < places.places.size(); ++i) {
      const Role role = places.places[i].operand->role;
      if (role == Role::workspace || (inputs_only && role == Role::output)) continue;
      named.push_back({places.places[i].name, tensors.own[i].get()});
    }
  }
};

// The problem that the inputs of `closed` are of, given what is in `settings`.
std::string inferred(const std::string& settings, const std::string& closed,
                     const std::vector<std::string>& given = {}) {
  const NamedTensors tensors(parsed(closed), true);
  return infer(parsed(settings), given, tensors.named).text();
}

// Every choice of a problem as its text, and the numbers that no tensor shows: of groups, of blocks, of parts of a
// head.
std::string settings_of(const AnyProblem& problem, std::vector<std::string>* given) {
  std::string text = problem.family().name;
  for (const Field& field : problem.family().fields) {
    const bool shown = field.kind == FieldKind::extent || field.kind == FieldKind::dtype;
    if (shown && std::string_view(field.name) != "outer") continue;
    text += cat(" ", field.name, "=", problem.get(field.name));
    given->push_back(field.name);
  }
  return text;
}

}  // namespace

TEST(Infer, TheNumbersOfCommonProblems) {
  EXPECT_EQ(inferred("gather", "gather rows=9 count=5 width=7168 index=i32 dtype=f16"),
            "gather width=7168 dtype=f16 index=i32");
  EXPECT_EQ(inferred("gather", "gather rows=9 count=5 width=64 scale=f32"), "gather width=64 scale=f32");
  EXPECT_EQ(inferred("gather", "gather rows=9 count=5 width=64 source_stride=80"), "gather width=64 source_stride=80");
  EXPECT_EQ(inferred("glu activation=gelu", "glu rows=6 width=11008"), "glu width=11008 activation=gelu");
  EXPECT_EQ(inferred("glu layout=split", "glu rows=6 width=40 layout=split dtype=f32"),
            "glu width=40 layout=split dtype=f32");
  EXPECT_EQ(inferred("mxfp8 direction=col", "mxfp8 rows=64 cols=96 experts=3 direction=col dtype=f32"),
            "mxfp8 cols=96 experts=3 direction=col dtype=f32");
  EXPECT_EQ(inferred("concat", "concat rows=4 widths=16,8,24 dtype=f32"), "concat widths=16,8,24 dtype=f32");
  EXPECT_EQ(inferred("embedding hash=modulus", "embedding batch=9 tables=3 dim=4,5,6 rows=7,80,9 dense=2 hash=modulus"),
            "embedding tables=3 dim=4,5,6 rows=7,80,9 dense=2 hash=modulus");
  EXPECT_EQ(inferred("embedding", "embedding batch=9 tables=2 dim=4 rows=7,80 dtype=bf16 table_dtype=f16,i8 index=i32"),
            "embedding tables=2 dim=4,4 rows=7,80 table_dtype=f16,i8 index=i32");
  EXPECT_EQ(inferred("embedding", "embedding batch=9 tables=1 dim=64 rows=70"), "embedding tables=1 dim=64 rows=70");
  EXPECT_EQ(inferred("embedding pooling=sum",
                     "embedding batch=9 tables=3 dim=8 rows=7,80,9 pooling=sum count=50 "
                     "offsets=i32 sample_weights=f16"),
            "embedding tables=3 dim=8,8,8 rows=7,80,9 pooling=sum count=50 offsets=i32 sample_weights=f16");
  EXPECT_EQ(inferred("interaction", "interaction batch=4 features=9 dim=16 dtype=f32"),
            "interaction features=9 dim=16 dtype=f32");
  EXPECT_EQ(inferred("multi_row_pad", "multi_row_pad rows=3,40 cols=16,8 dtype=f32 align=16", {}),
            inferred("multi_row_pad rows=3,40", "multi_row_pad rows=3,40 cols=16,8 dtype=f32 align=16", {"rows"}));
}

// Packed tensors may have no strides, as NumPy's.
TEST(Infer, ListsOfTensorsWithoutStrides) {
  NamedTensors tensors(parsed("concat rows=3 widths=4,2 dtype=f32"), true);
  std::vector<quern_tensor> packed;
  for (const NamedTensor& named : tensors.named) packed.push_back(*named.tensor);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    packed[i].strides = nullptr;
    tensors.named[i].tensor = &packed[i];
  }
  EXPECT_EQ(infer(parsed("concat"), {}, tensors.named).text(), "concat widths=4,2 dtype=f32");
}

// What is given stays, even if a tensor does not fit it: the launch says so.
TEST(Infer, GivenFieldsAreKept) {
  EXPECT_EQ(inferred("gather width=32", "gather rows=9 count=5 width=64", {"width"}),
            "gather width=32 source_stride=64");
}

TEST(Infer, UnknownOperandsAreRefused) {
  NamedTensors tensors(parsed("gather rows=2 count=2 width=4"));
  tensors.named[0].name = "table";
  try {
    infer(parsed("gather"), {}, tensors.named);
    FAIL() << "the name was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.sentence, "gather has no operand table; it has source, index, scale, out, report");
  }
}

// Found in review: scales padded to [1, 46080] were refused as no multiple of what other extents made of their groups.
TEST(Infer, MultiplesThatOtherExtentsDecideAreNotRefused) {
  for (const Case& c : mx_scales_cases()) {
    const AnyProblem closed = parsed(c.problem);
    NamedTensors tensors(closed);
    std::vector<std::string> given;
    const std::string settings = settings_of(closed, &given);
    EXPECT_NO_THROW(infer(parsed(settings), given, tensors.named)) << c.problem;
  }
}

// Found in review: quern.glu of 17 columns answered that it takes 8192, twice the default of its width.
TEST(Infer, OddRowsOfTwoHalvesAreRefusedAsSuch) {
  const auto refused = [](const std::string& settings, std::int64_t rows, std::int64_t columns,
                          const std::vector<std::string>& given = {}) {
    NamedTensors tensors(parsed("gather rows=2 count=2 width=4"), true);
    std::int64_t shape[] = {rows, columns};
    quern_tensor x = *tensors.named[0].tensor;
    x.shape = shape;
    x.strides = nullptr;
    try {
      return infer(parsed(settings), given, {{"x", &x}}).text();
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::bad_input);
      return error.sentence;
    }
  };
  for (const char* layout : {"halves", "swapped", "interleaved", "blocks block=1"})
    EXPECT_EQ(refused(cat("glu layout=", layout), 6, 17),
              "x has shape [6, 17]; its last dimension must be even: it is 2 times width");
  EXPECT_EQ(refused("glu", 6, 18), "glu width=9");
  EXPECT_EQ(refused("glu width=8", 6, 17, {"width"}).substr(0, 11), "glu width=8") << "a launch says what it takes";
}

// Regression: more experts made the padding rows fit, and then no topk made less misfit.
TEST(Infer, NumbersThatATensorHasComeBeforeThoseOfASum) {
  const Runtime runtime;
  const AnyProblem closed = runtime.parse("moe_permute tokens=60 experts=9 hidden=64 topk=3 probs=f32 empty=fill");
  NamedTensors tensors(closed);
  std::vector<std::string> given;
  const std::string settings = settings_of(closed, &given);
  EXPECT_EQ(infer(runtime.parse(settings), given, tensors.named).get("topk"), "3");
}

// Found in a test of the Python package: a search of 200 keys took 512 slots for the least capacity, which it does not
// have, and left the capacity as it was.
TEST(Infer, TheCapacityOfATableIsItsRows) {
  const Runtime runtime;
  for (const char* count : {"3", "200", "512"}) {
    const AnyProblem closed = runtime.parse(cat("hash_table op=find capacity=512 count=", count));
    NamedTensors tensors(closed);
    std::vector<std::string> given;
    const std::string settings = settings_of(closed, &given);
    EXPECT_EQ(infer(runtime.parse(settings), given, tensors.named).get("capacity"), "512") << count;
  }
}

// Of a family; fewer under AddressSanitizer, where these would be ten seconds.
constexpr std::size_t kCasesOfAFamily = QUERN_ADDRESS_SANITIZER ? 2 : 12;

// Each case from all its tensors and its choices: they then fit, whatever numbers were found.
TEST(Infer, TensorsFitTheProblemThatIsFound) {
  const Runtime runtime;
  std::size_t checked = 0, fitted = 0;
  std::string said;
  for (const auto& table : {gather_cases(),
                            scatter_cases(),
                            pointwise_cases(),
                            glu_cases(),
                            mxfp8_cases(),
                            mxfp8_dequantize_cases(),
                            mx_scales_cases(),
                            row_pad_cases(),
                            moe_map_cases(),
                            moe_permute_cases(),
                            moe_unpermute_cases(),
                            chunk_sort_cases(),
                            index_sort_cases(),
                            hash_table_cases(),
                            concat_cases(),
                            interaction_cases(),
                            rope_cases(),
                            embedding_cases(),
                            embedding_backward_cases(),
                            embedding_scaling_cases(),
                            embedding_lengths_cases()}) {
    for (std::size_t c = 0; c < table.size(); c += 1 + table.size() / kCasesOfAFamily) {
      const AnyProblem closed = runtime.parse(table[c].problem);
      NamedTensors tensors(closed);
      std::vector<std::string> given;
      const std::string settings = settings_of(closed, &given);
      const AnyProblem found = infer(runtime.parse(settings), given, tensors.named);
      const Arguments arguments(found.family(), found.data(), Arguments::kHost);
      FilledArguments filled;
      ++checked;
      const std::vector<quern_number> numbers = missing_numbers(arguments, closed, tensors.tensors);
      Given all = tensors.tensors.given();
      all.numbers = numbers.data();
      all.number_count = numbers.size();
      if (const Refusal refusal = arguments.fill(all, filled)) {
        said += cat(table[c].problem, " -> ", found.text(), ": ", arguments.text(refusal, all), "\n");
      } else {
        ++fitted;
      }
    }
  }
  EXPECT_GE(fitted * 100, checked * 95) << said;
}

}  // namespace quern::test
