// The family's parameters by name.
#ifndef QUERN_MXFP8_PARAMETERS_H_
#define QUERN_MXFP8_PARAMETERS_H_

namespace quern::mxfp8 {

// In the order of kParameters.
enum Parameters {
  kForm,
  kVector,
  kUnroll,
  kThreads,
  kRows,
  kStack,
  kResident,
  kPanel,
  kCluster,
  kStoreStream,
  kPersistent,
  kBlocksPerSm,
  kAsyncCopies
};
enum Forms { kStream, kTile, kColumns };

}  // namespace quern::mxfp8

#endif  // QUERN_MXFP8_PARAMETERS_H_
