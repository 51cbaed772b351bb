// CUDA's math functions that templates may use, for host images. Declared by hand: <cmath> alone takes
// longer to compile than a template.
#ifndef QUERN_COMMON_TWIN_MATH_CUH_
#define QUERN_COMMON_TWIN_MATH_CUH_

#ifndef __CUDACC__

extern "C" {
void* memcpy(void*, const void*, unsigned long) noexcept;
void* memset(void*, int, unsigned long) noexcept;
int printf(const char*, ...);

#define QUERN_TWIN_UNARY(name)  \
  double name(double) noexcept; \
  float name##f(float) noexcept;
#define QUERN_TWIN_BINARY(name)         \
  double name(double, double) noexcept; \
  float name##f(float, float) noexcept;
QUERN_TWIN_UNARY(exp)
QUERN_TWIN_UNARY(exp2)
QUERN_TWIN_UNARY(expm1)
QUERN_TWIN_UNARY(log)
QUERN_TWIN_UNARY(log2)
QUERN_TWIN_UNARY(log1p)
QUERN_TWIN_UNARY(sqrt)
QUERN_TWIN_UNARY(sin)
QUERN_TWIN_UNARY(cos)
QUERN_TWIN_UNARY(tan)
QUERN_TWIN_UNARY(asin)
QUERN_TWIN_UNARY(acos)
QUERN_TWIN_UNARY(atan)
QUERN_TWIN_UNARY(sinh)
QUERN_TWIN_UNARY(cosh)
QUERN_TWIN_UNARY(tanh)
QUERN_TWIN_UNARY(erf)
QUERN_TWIN_UNARY(erfc)
QUERN_TWIN_UNARY(fabs)
QUERN_TWIN_UNARY(floor)
QUERN_TWIN_UNARY(ceil)
QUERN_TWIN_UNARY(trunc)
QUERN_TWIN_UNARY(rint)
QUERN_TWIN_BINARY(fmin)
QUERN_TWIN_BINARY(fmax)
QUERN_TWIN_BINARY(pow)
QUERN_TWIN_BINARY(atan2)
QUERN_TWIN_BINARY(fmod)
QUERN_TWIN_BINARY(copysign)
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
#undef QUERN_TWIN_UNARY
#undef QUERN_TWIN_BINARY
}

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }

template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

#endif  // __CUDACC__

#endif  // QUERN_COMMON_TWIN_MATH_CUH_
