#include "dlrm/layer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

namespace examples {

Layer::Layer(int inputs, int outputs, Last last, unsigned seed)
    : inputs_(inputs),
      outputs_(outputs),
      last_(last),
      weights_(static_cast<std::size_t>(inputs * outputs)),
      bias_(static_cast<std::size_t>(outputs)) {
  std::mt19937 random(seed);
  const float most = 1 / std::sqrt(static_cast<float>(inputs));
  for (float& w : weights_) w = most * (2 * static_cast<float>(random() >> 8) * 0x1p-24F - 1);
}

Numbers Layer::forward(const Numbers& x) {
  x_ = x;
  y_.clear();
  for (auto row = x.begin(); row != x.end(); row += inputs_) {
    for (int o = 0; o < outputs_; ++o) {
      float sum = bias_[static_cast<std::size_t>(o)];
      for (int i = 0; i < inputs_; ++i) sum += row[i] * weights_[static_cast<std::size_t>(o * inputs_ + i)];
      y_.push_back(last_ == Last::relu ? std::max(sum, 0.0F) : sum);
    }
  }
  return y_;
}

Numbers Layer::backward(Numbers gradient, float rate) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (last_ == Last::relu && y_[i] <= 0) gradient[i] = 0;
  }
  Numbers of_x(x_.size()), of_weights(weights_.size()), of_bias(bias_.size());
  const std::size_t batch = x_.size() / static_cast<std::size_t>(inputs_);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t o = 0; o < bias_.size(); ++o) {
      const float g = gradient[b * bias_.size() + o];
      of_bias[o] += g;
      for (std::size_t i = 0, in = static_cast<std::size_t>(inputs_); i < in; ++i) {
        of_x[b * in + i] += g * weights_[o * in + i];
        of_weights[o * in + i] += g * x_[b * in + i];
      }
    }
  }
  for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= rate * of_weights[i];
  for (std::size_t i = 0; i < bias_.size(); ++i) bias_[i] -= rate * of_bias[i];
  return of_x;
}

}  // namespace examples
