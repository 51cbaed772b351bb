#include "two_stage/sum.cuh"

extern "C" __global__ void __launch_bounds__(128)
    quern_two_stage_total(const __grid_constant__ quern::two_stage::Params params) {
  quern::two_stage::run(params);
}
