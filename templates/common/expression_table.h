#ifndef QUERN_COMMON_EXPRESSION_TABLE_H_
#define QUERN_COMMON_EXPRESSION_TABLE_H_

// clang-format off
// The functions of the expression language (templates/expression): a new one is one row.
//
//   ROW(name, arguments, VALUE, REFERENCE, OF_X, OF_Y, OF_Z)
//
//   arguments   a letter each: n for a number, c for a condition. In formulas they are x, y and z
//   VALUE       float, as kernels and the host compute it
//   REFERENCE   double
//   OF_X …      what the function adds to the gradient of that argument, in the language itself, so that it has
//               derivatives too; g is the gradient of the result and r the result. Literals are constants here.
//               "": nothing; the derivative is 0 or there is none. It is selected, not multiplied by 0 or 1, where a
//               factor of infinity would give NaN.
//
// At kinks as PyTorch: abs and relu have slope 0 at 0, the gradient of min and max is halved between equals, that of
// clamp passes at its limits.

#define QUERN_EXPRESSION_UNARY(ROW)                                                                                    \
  ROW(abs, "n", fabsf(x), std::fabs(x), "g * sign(x)", "", "")                                                         \
  ROW(exp, "n", expf(x), std::exp(x), "g * r", "", "")                                                                 \
  ROW(exp2, "n", exp2f(x), std::exp2(x), "g * (r * 0.69314718)", "", "")                                               \
  ROW(expm1, "n", expm1f(x), std::expm1(x), "g * (r + 1)", "", "")                                                     \
  ROW(log, "n", logf(x), std::log(x), "g / x", "", "")                                                                 \
  ROW(log2, "n", log2f(x), std::log2(x), "g / (x * 0.69314718)", "", "")                                               \
  ROW(log1p, "n", log1pf(x), std::log1p(x), "g / (x + 1)", "", "")                                                     \
  ROW(sqrt, "n", sqrtf(x), std::sqrt(x), "g / (2 * r)", "", "")                                                        \
  ROW(rsqrt, "n", rsqrt_of(x), 1 / std::sqrt(x), "g * (-0.5 * (r / x))", "", "")                                       \
  ROW(reciprocal, "n", 1.0f / x, 1 / x, "-g * (r * r)", "", "")                                                        \
  ROW(square, "n", x * x, x * x, "g * (2 * x)", "", "")                                                                \
  ROW(sin, "n", sinf(x), std::sin(x), "g * cos(x)", "", "")                                                            \
  ROW(cos, "n", cosf(x), std::cos(x), "g * -sin(x)", "", "")                                                           \
  ROW(tan, "n", tanf(x), std::tan(x), "g * (r * r + 1)", "", "")                                                       \
  ROW(asin, "n", asinf(x), std::asin(x), "g * rsqrt(1 - x * x)", "", "")                                               \
  ROW(acos, "n", acosf(x), std::acos(x), "g * -rsqrt(1 - x * x)", "", "")                                              \
  ROW(atan, "n", atanf(x), std::atan(x), "g / (x * x + 1)", "", "")                                                    \
  ROW(sinh, "n", sinhf(x), std::sinh(x), "g * cosh(x)", "", "")                                                        \
  ROW(cosh, "n", coshf(x), std::cosh(x), "g * sinh(x)", "", "")                                                        \
  ROW(tanh, "n", tanhf(x), std::tanh(x), "g * (1 - r * r)", "", "")                                                    \
  ROW(erf, "n", erff(x), std::erf(x), "g * (1.1283792 * exp(-(x * x)))", "", "")                                       \
  ROW(erfc, "n", erfcf(x), std::erfc(x), "g * (-1.1283792 * exp(-(x * x)))", "", "")                                   \
  ROW(sign, "n", sign_of(x), x > 0 ? 1 : x < 0 ? -1 : x, "", "", "")                                                   \
  ROW(floor, "n", floorf(x), std::floor(x), "", "", "")                                                                \
  ROW(ceil, "n", ceilf(x), std::ceil(x), "", "", "")                                                                   \
  ROW(trunc, "n", truncf(x), std::trunc(x), "", "", "")                                                                \
  ROW(rint, "n", rintf(x), std::rint(x), "", "", "")                                                                   \
  ROW(detach, "n", x, x, "", "", "") /* no gradient passes */

#define QUERN_EXPRESSION_BINARY(ROW)                                                                                   \
  ROW(min, "nn", min_of(x, y), lesser(x, y),                                                                           \
      "where(x == y, 0.5 * g, where(x > y, 0, g))", "where(x == y, 0.5 * g, where(x < y, 0, g))", "")                  \
  ROW(max, "nn", max_of(x, y), greater(x, y),                                                                          \
      "where(x == y, 0.5 * g, where(x < y, 0, g))", "where(x == y, 0.5 * g, where(x > y, 0, g))", "")                  \
  ROW(pow, "nn", powf(x, y), std::pow(x, y),                                                                           \
      "where(y == 0, 0, g * (y * pow(x, y - 1)))", "where(x == 0 and y >= 0, 0, g * (r * log(x)))", "")                \
  ROW(atan2, "nn", atan2f(x, y), std::atan2(x, y),                                                                     \
      "g * (y / (x * x + y * y))", "g * (-x / (x * x + y * y))", "")

#define QUERN_EXPRESSION_TERNARY(ROW)                                                                                  \
  ROW(fma, "nnn", fmaf(x, y, z), std::fma(x, y, z), "g * y", "g * x", "g")                                             \
  ROW(clamp, "nnn", clamp_to(x, y, z), lesser(greater(x, y), z),                                                       \
      "where(x >= y and x <= z, g, 0)", "where(x < y and y < z, g, 0)", "where(x > z or z < y, g, 0)")                 \
  ROW(where, "cnn", x ? y : z, x ? y : z, "", "where(x, g, 0)", "where(x, 0, g)")

// The activations of activation_table.h that are not functions above. Each has a slope, the function NAME_slope, which
// is activate_derivative.
//
//   ROW(name, REFERENCE, OF_ALPHA, SLOPE_OF_X, SLOPE_OF_ALPHA)
//
//   REFERENCE       double: the slope, of x and a
//   OF_ALPHA        as above, y being alpha; what an activation adds to the gradient of x is g times its slope
//   SLOPE_OF_X …    the same of the slope. `let` names a part
#define QUERN_EXPRESSION_ACTIVATIONS(ROW)                                                                              \
  ROW(relu, step(0, x, 0, 1), "", "", "")                                                                              \
  ROW(gelu, gelu_slope(x), "", "g * (0.39894228 * exp(-0.5 * (x * x)) * (2 - x * x))", "")                             \
  ROW(gelu_tanh, gelu_tanh_slope(x), "", QUERN_EXPRESSION_GELU_TANH, "")                                               \
  ROW(gelu_new, gelu_tanh_slope(x), "", QUERN_EXPRESSION_GELU_TANH, "")                                                \
  ROW(gelu_fast, gelu_tanh_slope(x), "", QUERN_EXPRESSION_GELU_TANH, "")                                               \
  ROW(silu, swish_slope(x, 1), "", "let s = sigmoid(x); g * (s * (1 - s) * (2 + x * (1 - 2 * s)))", "")                \
  ROW(sigmoid, logistic_slope(x), "", "g * (r * (1 - 2 * sigmoid(x)))", "")                                            \
  ROW(qgelu, swish_slope(x, a), "g * (x * (x * sigmoid_slope(y * x)))",                                                \
      "let s = sigmoid(y * x); g * (y * (s * (1 - s)) * (2 + y * x * (1 - 2 * s)))",                                   \
      "let s = sigmoid(y * x); g * (x * (s * (1 - s)) * (2 + y * x * (1 - 2 * s)))")                                   \
  ROW(srelu, x <= 0 ? 0 : x + x, "", "where(x <= 0, 0, 2 * g)", "")                                                    \
  ROW(fatrelu, step(a, x, 0, 1), "", "", "")                                                                           \
  ROW(elu, x > 0 ? 1 : a * std::exp(x), "where(x > 0, 0, g * expm1(x))", "where(x > 0, 0, g * r)",                     \
      "where(x > 0, 0, g * exp(x))")                                                                                   \
  ROW(leaky_relu, step(0, x, a, 1), "where(x > 0, 0, g * x)", "", "where(x > 0, 0, g)")                                \
  ROW(mish, mish_slope(x), "",                                                                                         \
      "let s = sigmoid(x); let t = tanh(log1p(exp(x))); g * ((1 - t * t) * s * (2 + x * (1 - s - 2 * (t * s))))", "")  \
  ROW(softplus, x > 20 ? 1 : common::reference_logistic(x), "", "where(x > 20, 0, g * sigmoid_slope(x))", "")          \
  ROW(hardswish, x < -3 ? 0 : x > 3 ? 1 : x / 3 + 0.5, "",                                                             \
      "where(x < -3, 0, where(x > 3, 0, 0.33333333 * g))", "")                                                         \
  ROW(situ, situ_slope(x, a),                                                                                          \
      "let u = x / y; let t = tanh(u); g * ((t - u * (1 - t * t)) * sigmoid(x))",                                      \
      "let t = tanh(x / y); let s = sigmoid(x); let q = s * (1 - s); "                                                 \
      "g * ((1 - t * t) * (2 * q - 2 * (t / y) * s) + y * t * (q * (1 - 2 * s)))",                                     \
      "let u = x / y; let t = tanh(u); let s = sigmoid(x); let q = 1 - t * t; "                                        \
      "g * (2 * t * (q * (u / y)) * s + (t - u * q) * (s * (1 - s)))")

// Beyond 30 all of its factors but one are constant, and their product is 0.
#define QUERN_EXPRESSION_GELU_TANH                                                                                     \
  "let c = clamp(x, -30, 30); let s = c * c; let t = tanh(c * (0.79788456 + 0.035677408 * s)); "                       \
  "let u = 0.79788456 + 0.10703222 * s; g * ((1 - t * t) * (u + c * (0.10703222 * c - t * (u * u))))"
// clang-format on

#endif  // QUERN_COMMON_EXPRESSION_TABLE_H_
