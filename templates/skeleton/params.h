// The kernel's parameter struct, at most kMaxParamsBytes bytes. Both compilers read this file, so it includes only
// files of templates/common, and skeleton.cu checks that both see the same size.
#ifndef QUERN_SKELETON_PARAMS_H_
#define QUERN_SKELETON_PARAMS_H_

namespace quern::skeleton {

struct Params {
  const void* x;
  void* out;
  long long rows;
  long long width;
};

}  // namespace quern::skeleton

#endif  // QUERN_SKELETON_PARAMS_H_
