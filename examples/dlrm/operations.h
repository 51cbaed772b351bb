// What the model does besides its dense layers: by quern's kernels (kernels.cpp), and by plain loops (plain.cpp).
#ifndef EXAMPLES_DLRM_OPERATIONS_H_
#define EXAMPLES_DLRM_OPERATIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlrm/layer.h"

namespace examples {

using Ids = std::vector<std::int64_t>;  // [batch, kTables]

constexpr int kBatch = 32;
constexpr int kTables = 26;
constexpr int kDim = 16;                                 // of a row of a table, and of the dense part
constexpr int kFeatures = kTables + 1;                   // vectors of kDim numbers: the dense part, and a row a table
constexpr int kPairs = kFeatures * (kFeatures - 1) / 2;  // inner products
constexpr int kWidth = kFeatures * kDim, kInteracted = kDim + kPairs;
constexpr std::int64_t kRows[kTables] = {5000, 360, 172, 73, 201, 3,  71,   144, 61,   4000, 133, 313, 10,
                                         220,  111, 122, 4,  970, 14, 2000, 726, 3000, 415,  124, 101, 36};

// The tables of both begin with the same numbers.
std::vector<Numbers> first_tables();

class Operations {
 public:
  virtual ~Operations() = default;
  // [batch, kWidth]: dense, [batch, kDim], and of each table the row of the hashed id.
  virtual Numbers features(const Numbers& dense, const Ids& ids) = 0;
  // [batch, kInteracted]: the dense part, and the inner products of all pairs of a sample's vectors.
  virtual Numbers interact(const Numbers& features) = 0;
  // sigmoid(x + bias), and the gradient of x.
  virtual Numbers probability(const Numbers& x, float bias) = 0;
  virtual Numbers probability_gradient(const Numbers& x, float bias, const Numbers& gradient) = 0;
  virtual Numbers interact_gradient(const Numbers& features, const Numbers& gradient) = 0;
  // Moves the rows that the ids name by row-wise Adagrad. Returns the gradient of dense.
  virtual Numbers update(const Ids& ids, const Numbers& gradient, float rate) = 0;
};

std::unique_ptr<Operations> plain_operations();
// `libcuda`: the driver library, a path or a name. Throws quern::Error; std::runtime_error if the library cannot be
// opened or lacks a function.
std::unique_ptr<Operations> kernel_operations(const std::string& libcuda);

}  // namespace examples

#endif  // EXAMPLES_DLRM_OPERATIONS_H_
