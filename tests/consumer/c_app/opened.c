// A program that is not linked with quern: it opens libquern.so, as bindings of other languages do.
// opened LIBQUERN FOLDER: the folder of the cache.
#define _GNU_SOURCE  // dlvsym
#include <dlfcn.h>
#include <quern/c.h>
#include <stdio.h>
#include <string.h>

static void* library;

// A function of the C interface's first version, which later releases keep. C has no cast from a pointer to data to a
// pointer to a function.
static int find(const char* name, void* function) {
  void* const address = dlvsym(library, name, "QUERN_C_1");
  if (address == NULL) fprintf(stderr, "%s\n", dlerror());
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

static quern_code (*runtime_create)(const quern_options*, quern_runtime**, quern_error**);
static void (*runtime_destroy)(quern_runtime*);
static quern_code (*prepare)(quern_runtime*, quern_problem, const char*, quern_plan**, quern_error**);
static quern_code (*launch)(const quern_plan*, quern_stream, const quern_tensor* const*, size_t, const quern_number*,
                            size_t, quern_error**);
static void (*plan_destroy)(quern_plan*);
static void (*error_free)(quern_error*);

static int good(quern_code code, quern_error* error) {
  if (code != QUERN_OK) fprintf(stderr, "%s\n", error == NULL ? "no error object" : error->message);
  if (code != QUERN_OK) error_free(error);
  return code == QUERN_OK;
}

static quern_tensor tensor_of(void* data, uint8_t code, uint8_t bits, int32_t ndim, int64_t* shape) {
  const quern_tensor tensor = {data, 1, 0, ndim, code, bits, 1, shape, NULL, 0};
  return tensor;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  if (library == NULL || !find("quern_runtime_create", &runtime_create) ||
      !find("quern_runtime_destroy", &runtime_destroy) || !find("quern_prepare", &prepare) ||
      !find("quern_launch", &launch) || !find("quern_plan_destroy", &plan_destroy) ||
      !find("quern_error_free", &error_free))
    return 1;

  const quern_option list[] = {{"QUERN_DEVICE", "host"}, {"QUERN_CACHE_DIR", argv[2]}};
  const quern_options options = {list, 2, NULL, NULL};
  quern_runtime* runtime = NULL;
  quern_plan* plan = NULL;
  quern_error* error = NULL;
  if (!good(runtime_create(&options, &runtime, &error), error)) return 1;
  if (!good(prepare(runtime, quern_text("gather width=6 dtype=f32"), NULL, &plan, &error), error)) return 1;

  float source[4 * 6], out[2 * 6];
  int64_t index[] = {3, 1}, source_shape[] = {4, 6}, index_shape[] = {2}, out_shape[] = {2, 6};
  for (int i = 0; i < 4 * 6; ++i) source[i] = (float)i;
  const quern_tensor a = tensor_of(source, 2, 32, 2, source_shape), b = tensor_of(index, 0, 64, 1, index_shape),
                     c = tensor_of(out, 2, 32, 2, out_shape);
  const quern_tensor* const tensors[] = {&a, &b, &c};
  if (!good(launch(plan, NULL, tensors, 3, NULL, 0, &error), error)) return 1;
  plan_destroy(plan);
  runtime_destroy(runtime);

  for (int i = 0; i < 2 * 6; ++i) {
    if (out[i] == source[index[i / 6] * 6 + i % 6]) continue;
    fprintf(stderr, "element %d of the result is %g\n", i, (double)out[i]);
    return 1;
  }
  puts("opened libquern.so: the result is exact");
  return 0;
}
