// Softmax of a few rows by the family of this folder, compared with its reference. Prints one line; exits 1 where a
// result is wrong or where two configs differ in a bit.
//
//   row_softmax [LIBCUDA]       LIBCUDA: libquern_hostdriver.so runs the kernels on the CPU
//   row_softmax prewarm ARCH    compiles the kernels for a GPU that need not be there: sm_90a
#include <quern/runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/host_types.h"
#include "row_softmax/device.h"
#include "row_softmax/row_softmax.h"

namespace {

using examples::RowSoftmax;
using Bytes = std::vector<unsigned char>;

constexpr std::int64_t kRows = 7;
constexpr std::int64_t kWidths[] = {0, 1, 7, 100, 1024, 8196};

// Row 0 has a NaN, row 1 +infinity, row 2 a -infinity, row 3 nothing else; the others have plain numbers. Numbers that
// are far apart make results that no type holds.
template <class T>
void fill(std::vector<T>& x, std::int64_t width) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, -kInfinity};
  for (std::int64_t i = 0; i < kRows * width; ++i) {
    const std::int64_t row = i / width;
    float value = static_cast<float>((i * 7919 + 13) % 1009) * 0.02F - 10.0F;
    if (row == kRows - 1) value *= 15;
    if (row < 4 && (row == 3 || i % width == width / 2)) value = kSpecial[row];
    x[static_cast<std::size_t>(i)] = quern::common::from_compute<T>(value);
  }
}

// Results are never negative, so their codes are in the order of their values. Infinite: only one is NaN.
template <class T>
double units_apart(T a, T b) {
  const float x = quern::common::to_float(a), y = quern::common::to_float(b);
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y) ? 0 : std::numeric_limits<double>::infinity();
  std::int32_t codes[2] = {};
  std::memcpy(&codes[0], &a, sizeof(T));
  std::memcpy(&codes[1], &b, sizeof(T));
  return std::abs(static_cast<double>(codes[0]) - static_cast<double>(codes[1]));
}

class Check {
 public:
  Check(quern::Runtime& runtime, examples::Device& device) : runtime_(runtime), device_(device) {}

  template <class T>
  void width(quern::DType dtype, std::int64_t width) {
    RowSoftmax problem;  // one plan for any number of rows
    problem.width = width;
    problem.dtype = dtype;
    std::vector<T> x(static_cast<std::size_t>(kRows * width)), wanted(x.size());
    fill(x, width);
    RowSoftmax closed = problem;  // as the reference wants it
    closed.rows = kRows;
    const examples::RowSoftmaxArgs host{x.data(), wanted.data(), kRows};
    runtime_.family("row_softmax").reference(&closed, &host);

    const std::vector<T> first = result(problem, "", x, 0);
    const double most = RowSoftmax::family().tolerance(&closed, 1, 0).ulps;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double units = units_apart(first[i], wanted[i]);
      worst_ = std::max(worst_, units);
      if (!(units <= most)) {
        throw std::runtime_error(text(problem, "") + ": element " + std::to_string(i) + " is " +
                                 std::to_string(quern::common::to_float(first[i])) + ", not " +
                                 std::to_string(quern::common::to_float(wanted[i])));
      }
    }
    // The narrowest access and few warps; passes over memory; an address that only an element is aligned to.
    const std::string narrow = "vector=" + std::to_string(sizeof(T)) + ",warps=1";
    const bool held = width * static_cast<std::int64_t>(sizeof(T)) <= 8192;
    same(problem, narrow, x, 0, first);
    if (held) same(problem, "hold=0,unroll=8", x, 0, first);
    if (!held) same(problem, "unroll=1", x, 0, first);
    same(problem, "", x, 1, first);
    ++problems_;
  }

  int problems() const { return problems_; }
  int launches() const { return launches_; }
  double worst() const { return worst_; }

 private:
  static std::string text(const RowSoftmax& problem, const std::string& config) {
    return quern::AnyProblem(RowSoftmax::family(), &problem).text() + (config.empty() ? "" : " with " + config);
  }

  template <class T>
  void same(const RowSoftmax& problem, const std::string& config, const std::vector<T>& x, std::size_t offset,
            const std::vector<T>& first) {
    const std::vector<T> again = result(problem, config, x, offset);
    if (std::memcmp(again.data(), first.data(), x.size() * sizeof(T)) != 0)
      throw std::runtime_error(text(problem, config) + ", " + std::to_string(offset) +
                               " elements off alignment: other bits than by default");
  }

  // `offset` elements into the memory of both operands.
  template <class T>
  std::vector<T> result(const RowSoftmax& problem, const std::string& config, const std::vector<T>& x,
                        std::size_t offset) {
    quern::PrepareOptions options;
    options.config = config;
    const quern::Plan<RowSoftmax> plan = runtime_.prepare(problem, options);
    const std::size_t bytes = x.size() * sizeof(T), before = offset * sizeof(T);
    auto* in = static_cast<unsigned char*>(device_.allocate(std::max<std::size_t>(bytes + before, 1))) + before;
    auto* out = static_cast<unsigned char*>(device_.allocate(std::max<std::size_t>(bytes + before, 1))) + before;
    device_.to_device(in, x.data(), bytes);
    device_.to_device(out, Bytes(bytes, 0xff).data(), bytes);  // so that an element that is left out shows
    examples::RowSoftmaxArgs args;
    args.x = quern::In(in, static_cast<std::int64_t>(bytes));
    args.out = quern::Out(out, static_cast<std::int64_t>(bytes));
    args.rows = kRows;
    plan.launch(nullptr, args);
    device_.wait();
    std::vector<T> result(x.size());
    device_.to_host(result.data(), out, bytes);
    ++launches_;
    return result;
  }

  quern::Runtime& runtime_;
  examples::Device& device_;
  int problems_ = 0;
  int launches_ = 0;
  double worst_ = 0;
};

void run(quern::Runtime& runtime, const std::string& libcuda) {
  examples::Device device(libcuda);
  Check check(runtime, device);
  for (const std::int64_t width : kWidths) {
    check.width<float>(quern::f32, width);
    check.width<quern::common::Fp16>(quern::f16, width);
    check.width<quern::common::Bf16>(quern::bf16, width);
  }
  std::printf("row_softmax: %d problems equal the reference (worst: %.0f units), and %d launches agree bit for bit\n",
              check.problems(), check.worst(), check.launches());
}

void prewarm(quern::Runtime& runtime, const char* arch) {
  std::size_t images = 0;
  for (const std::int64_t width : kWidths) {
    for (const quern::DType dtype : {quern::f32, quern::f16, quern::bf16}) {
      RowSoftmax problem;
      problem.width = width;
      problem.dtype = dtype;
      images += runtime.prewarm(RowSoftmax::family(), &problem, arch).images.size();
    }
  }
  std::printf("row_softmax: %zu images for %s\n", images, arch);
}

}  // namespace

int main(int argc, char** argv) {
  const bool compile_only = argc == 3 && std::string(argv[1]) == "prewarm";
  const char* chosen = std::getenv("QUERN_LIBCUDA");
  try {
    quern::Options options;
    options.libcuda = argc == 2 ? argv[1] : chosen != nullptr ? chosen : "libcuda.so.1";
    quern::Runtime runtime(options);
    runtime.add(RowSoftmax::family());
    if (compile_only) {
      prewarm(runtime, argv[2]);
    } else {
      run(runtime, options.libcuda);
    }
    return 0;
  } catch (const quern::Error& error) {  // `log` is what the compiler said, if it was asked
    std::fprintf(stderr, "row_softmax: %s\n%s", error.what(), error.log.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "row_softmax: %s\n", error.what());
  }
  return 1;
}
