// What the host hands the kernel. Read by both compilers; row_softmax.cu checks that both see the same size.
#ifndef EXAMPLES_ROW_SOFTMAX_PARAMS_H_
#define EXAMPLES_ROW_SOFTMAX_PARAMS_H_

namespace examples::row_softmax {

struct Params {
  const void* x;
  void* out;
  long long rows;
  long long width;
};

}  // namespace examples::row_softmax

#endif  // EXAMPLES_ROW_SOFTMAX_PARAMS_H_
