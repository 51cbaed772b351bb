// Trains a small DLRM, with quern's kernels and with plain loops, and compares the losses of each step. Prints one
// line; exits 1 where they differ by more than rounding, or where the loss does not fall.
//
//   dlrm [LIBCUDA]       LIBCUDA: libquern_hostdriver.so runs the kernels on the CPU
#include <quern/error.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>

#include "dlrm/operations.h"

namespace {

using examples::Ids;
using examples::Last;
using examples::Layer;
using examples::Numbers;

constexpr int kDense = 13;  // dense numbers of a sample
constexpr int kSteps = 30, kBatches = 2;
constexpr float kRate = 0.1F;

struct Batch {
  Numbers dense;
  Ids ids;
  Numbers clicked;  // 0 or 1
};

// Ids of any size and sign. Whether a sample was clicked follows from its numbers and from two of its ids.
Batch batch_of(unsigned seed) {
  std::mt19937_64 random(seed);
  Batch batch;
  for (int b = 0; b < examples::kBatch; ++b) {
    float sum = 0;
    for (int d = 0; d < kDense; ++d) {
      batch.dense.push_back(static_cast<float>(random() >> 40) * 0x1p-24F - 0.5F);
      sum += batch.dense.back();
    }
    for (int t = 0; t < examples::kTables; ++t) batch.ids.push_back(static_cast<std::int64_t>(random()) >> 20);
    batch.clicked.push_back(sum + (batch.ids.back() % 2 == 0 ? 0.7F : -0.7F) > 0 ? 1.0F : 0.0F);
  }
  return batch;
}

class Model {
 public:
  explicit Model(examples::Operations& operations) : operations_(operations) {}

  // The loss before the step.
  double step(const Batch& batch) {
    const Numbers dense = bottom_[1].forward(bottom_[0].forward(batch.dense));
    const Numbers features = operations_.features(dense, batch.ids);
    const Numbers x = top_[1].forward(top_[0].forward(operations_.interact(features)));
    const Numbers p = operations_.probability(x, bias_);

    Numbers gradient;
    double loss = 0;
    for (std::size_t b = 0; b < p.size(); ++b) {
      const float clicked = batch.clicked[b], sure = std::clamp(p[b], 1e-6F, 1 - 1e-6F);
      loss -= std::log(clicked != 0 ? sure : 1 - sure) / static_cast<double>(p.size());
      gradient.push_back((sure - clicked) / (sure * (1 - sure)) / static_cast<float>(p.size()));
    }

    gradient = operations_.probability_gradient(x, bias_, gradient);
    for (const float g : gradient) bias_ -= kRate * g;
    gradient = top_[0].backward(top_[1].backward(gradient, kRate), kRate);
    gradient = operations_.interact_gradient(features, gradient);
    gradient = operations_.update(batch.ids, gradient, kRate);
    bottom_[0].backward(bottom_[1].backward(gradient, kRate), kRate);
    return loss;
  }

 private:
  examples::Operations& operations_;
  Layer bottom_[2] = {{kDense, 32, Last::relu, 1}, {32, examples::kDim, Last::relu, 2}};
  Layer top_[2] = {{examples::kInteracted, 32, Last::relu, 3}, {32, 1, Last::linear, 4}};
  float bias_ = 0;
};

int train(const std::string& libcuda) {
  const auto kernels = examples::kernel_operations(libcuda), loops = examples::plain_operations();
  Model model(*kernels), plain(*loops);
  double first = 0, last = 0, apart = 0;
  for (int step = 0; step < kSteps; ++step) {
    const Batch batch = batch_of(static_cast<unsigned>(step % kBatches));
    last = model.step(batch);
    if (step == 0) first = last;
    apart = std::max(apart, std::abs(last - plain.step(batch)));
  }
  std::printf("dlrm: loss %.3f before and %.3f after %d steps; with plain loops at most %.0e apart\n", first, last,
              kSteps, apart);
  return last < first / 2 && apart < 1e-3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const chosen = std::getenv("QUERN_LIBCUDA");
  try {
    return train(argc == 2 ? argv[1] : chosen != nullptr ? chosen : "libcuda.so.1");
  } catch (const quern::Error& error) {  // `log` is what the compiler said, if it was asked
    std::fprintf(stderr, "dlrm: %s\n%s", error.what(), error.log.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dlrm: %s\n", error.what());
  }
  return 1;
}
