// Families through the C interface: CPU tensors on the host driver, each result held to the reference's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "base/sanitizers.h"
#include "base/text.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/device.h"
#include "support/has.h"
#include "support/pairwise.h"
#include "support/tensors.h"

namespace quern::test {
namespace {

struct Free {
  void operator()(quern_runtime* runtime) const { quern_runtime_destroy(runtime); }
  void operator()(quern_plan* plan) const { quern_plan_destroy(plan); }
  void operator()(quern_error* error) const { quern_error_free(error); }
};
using CRuntime = std::unique_ptr<quern_runtime, Free>;
using CPlan = std::unique_ptr<quern_plan, Free>;

// The message of a call that fails.
class Errors {
 public:
  quern_error** out() { return &error_; }
  std::string text() {
    const std::unique_ptr<quern_error, Free> owned(error_);
    error_ = nullptr;
    return owned == nullptr ? "" : owned->message;
  }

 private:
  quern_error* error_ = nullptr;
};

class CInterface : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    if (!on_host()) return;
    const quern_option options[] = {{"QUERN_DEVICE", "host"},
                                    {"QUERN_CACHE_DIR", cache_of_this_program().c_str()},
                                    {"QUERN_HOSTDRIVER_LIBRARY", driver().origin().c_str()}};
    const quern_options all = {options, 3, nullptr, nullptr};
    quern_runtime* made = nullptr;
    ASSERT_EQ(quern_runtime_create(&all, &made, errors_.out()), QUERN_OK) << errors_.text();
    c_.reset(made);
  }

  CPlan prepare(const std::string& problem) {
    quern_plan* plan = nullptr;
    EXPECT_EQ(quern_prepare(c_.get(), quern_text(problem.c_str()), nullptr, &plan, errors_.out()), QUERN_OK)
        << errors_.text();
    return CPlan(plan);
  }

  quern_runtime* c() { return c_.get(); }
  Errors& errors() { return errors_; }

  // Runs a case with its extents open, and compares what it wrote.
  void check(const Case& c) {
    const AnyProblem closed = runtime().parse(c.problem), open = opened(closed);
    HostOperands host(closed.family(), closed.data());
    host.generate(11, false);
    const AnyArgs defaults(closed.family());
    const HostOperands expected = host.reference(defaults);
    const CPlan plan = prepare(open.text());
    if (plan == nullptr) return;
    std::deque<OwnTensor> own;
    std::vector<const quern_tensor*> tensors;
    for (int i = 0; i < host.size(); ++i) {
      if (!host.present(i)) continue;
      own.emplace_back(host.layout(i), host.bytes(i) == 0 ? nullptr : host.data(i));
      tensors.push_back(own.back().get());
    }
    std::vector<quern_number> numbers;
    const Arguments arguments(open.family(), open.data(), Arguments::kHost);
    const std::vector<std::string> names = unread(arguments);
    for (const std::string& name : names)
      numbers.push_back({name.c_str(), 0, get_integer(*find_field(closed.family(), name), closed.data())});
    const quern_code code = quern_launch(plan.get(), nullptr, tensors.data(), tensors.size(), numbers.data(),
                                         numbers.size(), errors_.out());
    EXPECT_EQ(code, QUERN_OK) << c.problem << ": " << errors_.text();
    const Comparison result = compare(host, expected);
    EXPECT_TRUE(result.equal) << c.problem << ": " << result.difference;
  }

 private:
  // The extents that are no tensor's dimension.
  static std::vector<std::string> unread(const Arguments& arguments) {
    std::vector<std::string> names;
    for (const OpenExtent& open : places_of(arguments.family(), arguments.problem()).extents) {
      if (open.sources.empty() && open.needed) names.emplace_back(open.field->name);
    }
    return names;
  }

  CRuntime c_;
  Errors errors_;
};

// Under AddressSanitizer, which is here for the interface and not for the kernels, fewer: most of their time is
// compiles.
#if QUERN_ADDRESS_SANITIZER
constexpr std::size_t kCasesOfFamily = 1;
#else
constexpr std::size_t kCasesOfFamily = 3;
#endif

// As many cases as hold the most pairs of settings of a family.
std::vector<Case> few(const std::vector<Case>& table) {
  std::vector<Case> small;
  for (const Case& c : table) {
    if (!c.full && !c.in_place && c.config.empty()) small.push_back(scaled_down(c));
  }
  return pairwise(small, kCasesOfFamily).cases;
}

TEST_F(CInterface, EveryFamilyGivesItsReference) {
  for (const auto& table : {gather_cases(),
                            scatter_cases(),
                            pointwise_cases(),
                            glu_cases(),
                            mxfp8_cases(),
                            mxfp8_dequantize_cases(),
                            mx_scales_cases(),
                            row_pad_cases(),
                            multi_row_pad_cases(),
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
                            pointwise_program_cases(),
                            pointwise_reduction_cases(),
                            pointwise_scaled_cases()}) {
    for (const Case& c : few(table)) check(c);
  }
}

// What a kernel does wrong is said in the names of the operands.
TEST_F(CInterface, AnIndexOutsideIsReported) {
  const CPlan plan = prepare("gather width=4 dtype=f32");
  std::vector<float> source(8), out(4);
  std::int64_t index = 7;
  OwnTensor a(Layout::matrix(f32, 2, 4, 4), source.data()), i(Layout::list(i64, 1), &index),
      b(Layout::matrix(f32, 1, 4, 4), out.data());
  const quern_tensor* tensors[] = {a.get(), i.get(), b.get()};
  EXPECT_EQ(quern_launch(plan.get(), nullptr, tensors, 3, nullptr, 0, errors().out()), QUERN_DRIVER);
  EXPECT_TRUE(has(errors().text(), "past the end of \"source\""));
  renew_context();
}

// Gaps of an output keep their bytes.
TEST_F(CInterface, GapsBetweenRowsAreKept) {
  const CPlan plan = prepare("gather width=2 dtype=f32 out_stride=3");
  std::vector<float> source = {1, 2, 3, 4}, out = {-1, -1, -1, -1, -1, -1};
  std::vector<std::int64_t> index = {1, 0};
  OwnTensor a(Layout::matrix(f32, 2, 2, 2), source.data()), i(Layout::list(i64, 2), index.data()),
      b(Layout::matrix(f32, 2, 2, 3), out.data());
  const quern_tensor* tensors[] = {a.get(), i.get(), b.get()};
  EXPECT_EQ(quern_launch(plan.get(), nullptr, tensors, 3, nullptr, 0, errors().out()), QUERN_OK) << errors().text();
  EXPECT_EQ(out, (std::vector<float>{3, 4, -1, 1, 2, -1}));
}

// Two halves of one matrix: neither's copy back may undo the other's.
TEST_F(CInterface, ResultsOfOneMatrixAreAllKept) {
  const CPlan plan = prepare("concat pass=backward widths=2,2 strides=4,4 dtype=f32");
  std::vector<float> source = {1, 2, 3, 4, 5, 6, 7, 8}, out(8, -1);
  OwnTensor a(Layout::matrix(f32, 2, 4, 4), source.data()), left(Layout::matrix(f32, 2, 2, 4), out.data()),
      right(Layout::matrix(f32, 2, 2, 4), out.data() + 2);
  const quern_tensor* tensors[] = {a.get(), left.get(), right.get()};
  EXPECT_EQ(quern_launch(plan.get(), nullptr, tensors, 3, nullptr, 0, errors().out()), QUERN_OK) << errors().text();
  EXPECT_EQ(out, source);
}

TEST_F(CInterface, MisalignedTensorsAreRefused) {
  const CPlan plan = prepare("gather width=2 dtype=f32");
  std::vector<float> source(4), out(4);
  std::vector<unsigned char> index(17);
  OwnTensor a(Layout::matrix(f32, 2, 2, 2), source.data()), i(Layout::list(i64, 2), index.data() + 1),
      b(Layout::matrix(f32, 2, 2, 2), out.data());
  const quern_tensor* tensors[] = {a.get(), i.get(), b.get()};
  EXPECT_EQ(quern_launch(plan.get(), nullptr, tensors, 3, nullptr, 0, errors().out()), QUERN_BAD_INPUT);
  EXPECT_TRUE(has(errors().text(), "index is not aligned to its element type"));
}

TEST_F(CInterface, NullArgumentsAreRefused) {
  const CPlan plan = prepare("gather width=2 dtype=f32");
  EXPECT_EQ(quern_launch(plan.get(), nullptr, nullptr, 3, nullptr, 0, errors().out()), QUERN_BAD_INPUT);
  EXPECT_TRUE(has(errors().text(), "tensors is NULL"));
  const quern_tensor* tensors[3] = {};
  EXPECT_EQ(quern_launch(plan.get(), nullptr, tensors, 3, nullptr, 1, errors().out()), QUERN_BAD_INPUT);
  EXPECT_TRUE(has(errors().text(), "numbers is NULL"));
  const quern_number nameless = {nullptr, 0, 0};
  EXPECT_EQ(quern_launch(plan.get(), nullptr, tensors, 3, &nameless, 1, errors().out()), QUERN_BAD_INPUT);
  EXPECT_TRUE(has(errors().text(), "the name of a number is NULL"));
  quern_place places[3];
  EXPECT_EQ(quern_plan_shapes(plan.get(), nullptr, 3, nullptr, 0, places, nullptr), QUERN_BAD_INPUT);
  EXPECT_EQ(quern_plan_describe(nullptr), nullptr);
  EXPECT_EQ(quern_runtime_statistics(nullptr, nullptr, 0), 0U);
}

TEST_F(CInterface, ShapesOfResultsThatDoNotExistYet) {
  const CPlan plan = prepare("mxfp8 cols=64 direction=row");
  OwnTensor x(Layout::matrix(bf16, 6, 64, 64), nullptr);
  const quern_plan_info& info = *quern_plan_describe(plan.get());
  std::vector<const quern_tensor*> tensors(info.place_count);
  std::vector<quern_place> places(info.place_count);
  tensors[0] = x.get();
  ASSERT_EQ(quern_plan_shapes(plan.get(), tensors.data(), tensors.size(), nullptr, 0, places.data(), errors().out()),
            QUERN_OK)
      << errors().text();
  for (const quern_place& place : places) {
    EXPECT_EQ(place.rank, 3);
    EXPECT_EQ(place.shape[1], 6) << place.name;
    EXPECT_EQ(place.shape[2], place.name == std::string("scales") ? 2 : 64) << place.name;
  }
}

TEST_F(CInterface, ACaptureIsSeen) {
  CUstream stream = nullptr;
  EXPECT_EQ(quern_is_capturing(c(), stream), 0);  // nothing was opened yet
  const CPlan plan = prepare("gather width=4 dtype=f32");
  ASSERT_EQ(driver()->StreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(quern_is_capturing(c(), stream), 0);
  ASSERT_EQ(driver()->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(quern_is_capturing(c(), stream), 1);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver()->StreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(quern_is_capturing(c(), stream), 0);
  driver()->GraphDestroy(graph);
  driver()->StreamDestroy(stream);
  EXPECT_EQ(quern_is_capturing(nullptr, stream), 0);
}

TEST_F(CInterface, ErrorsHaveTheirFields) {
  quern_plan* plan = nullptr;
  quern_error* error = nullptr;
  EXPECT_EQ(quern_prepare(c(), quern_text("gather width=oops"), nullptr, &plan, &error), QUERN_BAD_INPUT);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, QUERN_BAD_INPUT);
  EXPECT_STREQ(error->stage, "problem");
  EXPECT_TRUE(has(error->sentence, "width=oops"));
  EXPECT_TRUE(has(error->message, error->sentence));
  EXPECT_EQ(plan, nullptr);
  quern_error_free(error);
  EXPECT_EQ(quern_prepare(c(), quern_text("gather width=oops"), nullptr, &plan, nullptr), QUERN_BAD_INPUT);
  EXPECT_EQ(quern_prepare(nullptr, quern_text("gather"), nullptr, &plan, errors().out()), QUERN_BAD_INPUT);
  EXPECT_TRUE(has(errors().text(), "runtime is NULL"));
  EXPECT_EQ(quern_prepare(c(), {}, nullptr, &plan, errors().out()), QUERN_BAD_INPUT);
  EXPECT_TRUE(has(errors().text(), "both the text and the family"));
  quern_error_free(nullptr);
}

TEST_F(CInterface, OptionsHaveTheNamesOfVariables) {
  const auto refused = [&](quern_option option) {
    const quern_options options = {&option, 1, nullptr, nullptr};
    quern_runtime* made = nullptr;
    EXPECT_EQ(quern_runtime_create(&options, &made, errors().out()), QUERN_BAD_INPUT);
    return errors().text();
  };
  EXPECT_TRUE(
      has(refused({"QUERN_CACHE_FOLDER", "x"}), "unknown option QUERN_CACHE_FOLDER; the options are QUERN_CACHE_DIR"));
  EXPECT_TRUE(has(refused({"QUERN_CACHE", "maybe"}), "invalid value QUERN_CACHE=maybe"));
  EXPECT_TRUE(has(refused({"QUERN_DEVICE", "tpu"}), "invalid value QUERN_DEVICE=tpu; expected cuda or host"));
  EXPECT_TRUE(has(refused({"QUERN_CACHE", nullptr}), "QUERN_CACHE is NULL"));
}

}  // namespace
}  // namespace quern::test
