// Checks that print what they checked, and end the program at the first that fails. C11 and C++17.
#ifndef C_APP_CHECK_H_
#define C_APP_CHECK_H_

#include <quern/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void expect(int good, const char* what) {
  printf("%s %s\n", good ? "ok" : "not ok", what);
  fflush(stdout);
  if (!good) exit(1);
}

// A call that must succeed. Prints its error if not, and frees it.
static inline void succeeds(quern_code code, quern_error* error, const char* what) {
  if (code != QUERN_OK) printf("code %d: %s\n", (int)code, error == NULL ? "no error object" : error->message);
  expect(code == QUERN_OK && error == NULL, what);
}

// A call that must be refused with `code`, in a message that has `words`. Frees the error.
static inline void refused(quern_code seen, quern_error** error, quern_code code, const char* words, const char* what) {
  const char* const message = *error == NULL ? "no error object" : (*error)->message;
  const int good = seen == code && *error != NULL && (*error)->code == code && strstr(message, words) != NULL;
  if (!good) printf("code %d, not %d with \"%s\": %s\n", (int)seen, (int)code, words, message);
  expect(good, what);
  quern_error_free(*error);
  *error = NULL;
}

// DLPack's codes of element types.
enum { kInt = 0, kFloat = 2 };

// Packed, in CPU memory. `shape` must live as long as the tensor.
static inline quern_tensor cpu_tensor(void* data, uint8_t code, uint8_t bits, int32_t ndim, int64_t* shape) {
  quern_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device_type = 1;
  tensor.ndim = ndim;
  tensor.dtype_code = code;
  tensor.dtype_bits = bits;
  tensor.dtype_lanes = 1;
  tensor.shape = shape;
  return tensor;
}

#endif  // C_APP_CHECK_H_
