// The parameter of the kernel that quantizes along columns. Read by host and kernel.
#ifndef QUERN_GLU_MATRIX_PARAMS_CUH_
#define QUERN_GLU_MATRIX_PARAMS_CUH_

#include "glu/params.h"
#include "mxfp8/params.h"

namespace quern::glu {

// `Form`: of mxfp8.
template <class Form>
struct WithGlu : Form {
  Params glu;
};

}  // namespace quern::glu

#endif  // QUERN_GLU_MATRIX_PARAMS_CUH_
