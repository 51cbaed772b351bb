// A dense layer as plain loops on the CPU.
#ifndef EXAMPLES_DLRM_LAYER_H_
#define EXAMPLES_DLRM_LAYER_H_

#include <vector>

namespace examples {

using Numbers = std::vector<float>;

enum class Last { relu, linear };

// y = x w^T + b, then relu unless it is linear. Keeps what its backward pass reads.
class Layer {
 public:
  // Weights of a uniform distribution that `seed` decides.
  Layer(int inputs, int outputs, Last last, unsigned seed);
  // x is [batch, inputs], the result [batch, outputs].
  Numbers forward(const Numbers& x);
  // Takes a step of gradient descent. Returns the gradient of x.
  Numbers backward(Numbers gradient, float rate);

 private:
  int inputs_, outputs_;
  Last last_;
  Numbers weights_, bias_;  // [outputs, inputs], [outputs]
  Numbers x_, y_;
};

}  // namespace examples

#endif  // EXAMPLES_DLRM_LAYER_H_
