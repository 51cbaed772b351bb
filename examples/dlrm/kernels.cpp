#include <quern/quern.h>

#include <cstddef>

#include "dlrm/operations.h"
#include "row_softmax/device.h"

namespace examples {
namespace {

quern::Embedding embedding(quern::EmbeddingPass pass) {
  quern::Embedding problem;
  problem.batch = kBatch;
  problem.tables = kTables;
  problem.dim = {kDim};
  problem.rows.count = kTables;
  for (int t = 0; t < kTables; ++t) problem.rows.values[t] = kRows[t];
  problem.dense = kDim;
  problem.hash = quern::EmbeddingHash::modulus;
  problem.pass = pass;
  if (pass == quern::EmbeddingPass::backward) problem.optimizer = quern::EmbeddingOptimizer::row_adagrad;
  return problem;
}

quern::Interaction interaction(quern::InteractionPass pass) {
  quern::Interaction problem;
  problem.batch = kBatch;
  problem.features = kFeatures;
  problem.dim = kDim;
  problem.dtype = quern::f32;
  problem.dense = kDim;
  problem.pass = pass;
  return problem;
}

quern::Pointwise sigmoid(quern::PointwisePass pass) {
  quern::Pointwise problem;
  problem.rows = kBatch;
  problem.width = 1;
  problem.activation = quern::Activation::sigmoid;
  problem.dtype = quern::f32;
  problem.pass = pass;
  return problem;
}

// Memory on the device that lives as long as the process.
class Memory {
 public:
  Memory(Device& device, std::size_t bytes) : device_(device), bytes_(bytes), data_(device.allocate(bytes)) {
    device_.to_device(data_, std::vector<unsigned char>(bytes).data(), bytes);
  }
  operator quern::In() const { return {data_, static_cast<std::int64_t>(bytes_)}; }
  operator quern::Out() const { return {data_, static_cast<std::int64_t>(bytes_)}; }
  template <class T>
  void put(const std::vector<T>& from) {
    device_.to_device(data_, from.data(), bytes_);
  }
  Numbers get() const {
    Numbers numbers(bytes_ / sizeof(float));
    device_.wait();
    device_.to_host(numbers.data(), data_, bytes_);
    return numbers;
  }

 private:
  Device& device_;
  std::size_t bytes_;
  void* data_;
};

// The activations are in memory of the device; the dense layers on the CPU read and write copies.
class Kernels : public Operations {
 public:
  explicit Kernels(const std::string& libcuda) : device_(libcuda), runtime_(options(libcuda)) {
    for (const Numbers& table : first_tables()) {
      Memory& memory = tables_.emplace_back(device_, table.size() * sizeof(float));
      memory.put(table);
      read_.push_back(memory);
      written_.push_back(memory);
      moments_.push_back(Memory(device_, table.size() / kDim * sizeof(float)));
    }
    workspace_.emplace_back(device_, static_cast<std::size_t>(update_.workspace_bytes({})));
  }

  Numbers features(const Numbers& dense, const Ids& ids) override {
    dense_.put(dense);
    ids_.put(ids);
    quern::EmbeddingArgs args;
    args.weights = {read_.data(), kTables};
    args.index = ids_;
    args.dense = dense_;
    args.out = features_;
    look_up_.launch(nullptr, args);
    return features_.get();
  }

  Numbers interact(const Numbers&) override {
    quern::InteractionArgs args;
    args.source = features_;
    args.out = interacted_;
    interact_.launch(nullptr, args);
    return interacted_.get();
  }

  Numbers probability(const Numbers& x, float bias) override {
    x_.put(x);
    bias_.put(Numbers{bias});
    quern::PointwiseArgs args;
    args.x = x_;
    args.bias = bias_;
    args.out = probability_;
    sigmoid_.launch(nullptr, args);
    return probability_.get();
  }

  Numbers probability_gradient(const Numbers&, float, const Numbers& gradient) override {
    probability_gradient_.put(gradient);
    quern::PointwiseArgs args;
    args.x = x_;
    args.bias = bias_;
    args.gradient = probability_gradient_;
    args.x_gradient = x_gradient_;
    sigmoid_gradient_.launch(nullptr, args);
    return x_gradient_.get();
  }

  Numbers interact_gradient(const Numbers&, const Numbers& gradient) override {
    interacted_gradient_.put(gradient);
    quern::InteractionArgs args;
    args.source = features_;
    args.gradient = interacted_gradient_;
    args.source_gradient = features_gradient_;
    interact_gradient_.launch(nullptr, args);
    return features_gradient_.get();
  }

  Numbers update(const Ids&, const Numbers&, float rate) override {
    quern::EmbeddingArgs args;
    args.index = ids_;
    args.gradient = features_gradient_;
    args.updated = {written_.data(), kTables};
    args.moments = {moments_.data(), kTables};
    args.dense_gradient = dense_gradient_;
    args.workspace = workspace_.front();
    args.learning_rate = rate;
    update_.launch(nullptr, args);
    return dense_gradient_.get();
  }

 private:
  static quern::Options options(const std::string& libcuda) {
    quern::Options options;
    options.libcuda = libcuda;
    return options;
  }
  static constexpr std::size_t kFloat = sizeof(float);

  Device device_;  // first: plans are made for the current context
  quern::Runtime runtime_;
  quern::Plan<quern::Embedding> look_up_ = runtime_.prepare(embedding(quern::EmbeddingPass::forward)),
                                update_ = runtime_.prepare(embedding(quern::EmbeddingPass::backward));
  quern::Plan<quern::Interaction> interact_ = runtime_.prepare(interaction(quern::InteractionPass::forward)),
                                  interact_gradient_ = runtime_.prepare(interaction(quern::InteractionPass::backward));
  quern::Plan<quern::Pointwise> sigmoid_ = runtime_.prepare(sigmoid(quern::PointwisePass::forward)),
                                sigmoid_gradient_ = runtime_.prepare(sigmoid(quern::PointwisePass::backward));
  Memory ids_{device_, sizeof(std::int64_t) * kBatch* kTables};
  Memory dense_{device_, kFloat*kBatch*kDim}, dense_gradient_{device_, kFloat*kBatch*kDim};
  Memory features_{device_, kFloat*kBatch*kWidth}, features_gradient_{device_, kFloat*kBatch*kWidth};
  Memory interacted_{device_, kFloat*kBatch*kInteracted}, interacted_gradient_{device_, kFloat*kBatch*kInteracted};
  Memory x_{device_, kFloat*kBatch}, x_gradient_{device_, kFloat*kBatch}, bias_{device_, kFloat};
  Memory probability_{device_, kFloat*kBatch}, probability_gradient_{device_, kFloat*kBatch};
  std::vector<Memory> tables_, workspace_;
  std::vector<quern::In> read_;
  std::vector<quern::Out> written_, moments_;
};

}  // namespace

std::unique_ptr<Operations> kernel_operations(const std::string& libcuda) { return std::make_unique<Kernels>(libcuda); }

}  // namespace examples
