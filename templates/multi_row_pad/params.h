// The kernel's parameter struct. Read by host and kernel.
#ifndef QUERN_MULTI_ROW_PAD_PARAMS_H_
#define QUERN_MULTI_ROW_PAD_PARAMS_H_

namespace quern::multi_row_pad {

// One matrix. Its rows have no gaps, so it is a run of bytes: `copied` of them from source, then zeros up to `written`.
struct Matrix {
  unsigned long long source;  // addresses
  unsigned long long out;
  long long copied;
  long long written;
};

// `Most`, a power of two, is at least the number of matrices, and a launch copies no more than these.
template <int Most>
struct ParamsOf {
  unsigned first[Most];  // a matrix's first thread block. Rising; after the last matrix 2^32 - 1
  Matrix matrices[Most];
};

}  // namespace quern::multi_row_pad

#endif  // QUERN_MULTI_ROW_PAD_PARAMS_H_
