// The C interface: runtimes, problems, plans and launches for C11 and for every language that can call C. libquern.so
// exports it under versions of its own (QUERN_C_1), which later releases keep. No C++ type crosses it.
//
// ERRORS. A function that can fail returns a quern_code and fills `*error` with what happened, which the caller frees;
// `error` may be NULL. After QUERN_OK `*error` is untouched; it is NULL if memory ran out. No exception leaves these
// functions. THREADS. Every function may be called from any thread, also at the same time on the same object; an object
// is destroyed after its last use. STRINGS end with a zero and are UTF-8. Those that are returned are never NULL and
// live as long as what they are in. The families' structs are in quern/c_families.h.
#ifndef QUERN_C_H_
#define QUERN_C_H_

#include <stddef.h>
#include <stdint.h>

// With QUERN_STATIC nothing is exported; see quern/export.h.
#ifdef QUERN_STATIC
#define QUERN_C_API
#else
#define QUERN_C_API __attribute__((visibility("default")))
#endif

// Of this interface. Structs and functions of a version do not change; what is new comes as further functions.
#define QUERN_C_VERSION 1

// A size, stride or number that is not given.
#define QUERN_OPEN ((int64_t)-1)

// The driver's and the CUDA runtime's stream: CUstream and cudaStream_t are both this.
struct CUstream_st;
typedef struct CUstream_st* quern_stream;

#ifdef __cplusplus
extern "C" {
#endif

// "0.1.0", of the library.
QUERN_C_API const char* quern_version(void);

// ---- Errors --------------------------------------------------------------------------------------------------------

typedef enum quern_code {
  QUERN_OK = 0,
  QUERN_BAD_INPUT = 1,    // the request is wrong: an unknown name, a value out of range, a tensor of another shape
  QUERN_UNSUPPORTED = 2,  // well formed, but this family, target or compiler does not support it
  QUERN_NO_COMPILER = 3,  // NVRTC is needed and was not found
  QUERN_NO_DRIVER = 4,    // libcuda is needed and was not found
  QUERN_NO_DEVICE = 5,    // the driver has no such device, or no context is current
  QUERN_COMPILE = 6,      // the compiler refused the source; see `log`
  QUERN_DRIVER = 7,       // a driver call failed
  QUERN_IO = 8,           // a file could not be read or written
  QUERN_RESOURCES = 9,    // memory or threads ran out
  QUERN_INTERNAL = 10     // a bug in quern: please report the message
} quern_code;

typedef struct quern_error {
  quern_code code;
  int driver_code;       // CUresult where code is QUERN_DRIVER
  int lasting;           // 1: the compiler rejected the source, so another try would fail the same way
  int remembered;        // 1: from an earlier compile that failed, which is not retried for a while
  const char* message;   // "STAGE: SENTENCE [PROBLEM]"
  const char* stage;     // "problem", "specialize", "compile", "store", "load" or "launch"
  const char* sentence;  // names the field or operand, its value and what would be accepted, or what to do next
  const char* family;    // "" if no family is involved, as for the next three
  const char* problem;   // its text
  const char* key;       // of the image being made
  const char* log;       // the compiler's
} quern_error;

// NULL is ignored.
QUERN_C_API void quern_error_free(quern_error* error);

// ---- Runtimes ------------------------------------------------------------------------------------------------------

typedef struct quern_runtime quern_runtime;

// An option, named as the environment variable that gives it where it is not set here: {"QUERN_CACHE_DIR",
// "/var/cache"}. docs/design.md lists them. QUERN_DEVICE=host runs kernels on the CPU, by libquern_hostdriver.so: for
// tests, not fast. A value that a variable could not have is refused here.
typedef struct quern_option {
  const char* name;
  const char* value;
} quern_option;

typedef enum quern_log_level {
  QUERN_LOG_DEBUG = 0,
  QUERN_LOG_INFO = 1,
  QUERN_LOG_WARNING = 2,
  QUERN_LOG_ERROR = 3
} quern_log_level;

// Called with one line, without a newline, by any thread that uses the runtime, also under its locks: it must not call
// quern.
typedef void (*quern_log_sink)(void* context, quern_log_level level, const char* line);

typedef struct quern_options {
  const quern_option* options;
  size_t count;
  quern_log_sink log;  // NULL: stderr
  void* log_context;   // passed to it
} quern_options;

// Opens nothing: a runtime can be made without a driver, a device or a compiler. `options` may be NULL.
QUERN_C_API quern_code quern_runtime_create(const quern_options* options, quern_runtime** runtime, quern_error** error);
// Plans may outlive it; see the lifetime of plans below. NULL is ignored.
QUERN_C_API void quern_runtime_destroy(quern_runtime* runtime);

// 1 with QUERN_DEVICE=host.
QUERN_C_API int quern_runtime_on_host(const quern_runtime* runtime);
// 1 while the stream is captured into a graph. A workspace that a capture uses must be the graph's own, since graphs
// may run at the same time.
QUERN_C_API int quern_is_capturing(quern_runtime* runtime, quern_stream stream);

// See Runtime::flush and Runtime::trim in quern/runtime.h.
QUERN_C_API quern_code quern_runtime_flush(quern_runtime* runtime, quern_error** error);
QUERN_C_API quern_code quern_runtime_trim(quern_runtime* runtime, quern_error** error);

// A counter of struct Statistics in quern/runtime.h: "compiles.count", "hits.disk". The name is static.
typedef struct quern_counter {
  const char* name;
  double value;
} quern_counter;

// Writes up to `capacity` counters; returns how many there are.
QUERN_C_API size_t quern_runtime_statistics(quern_runtime* runtime, quern_counter* counters, size_t capacity);

// ---- Problems ------------------------------------------------------------------------------------------------------

// A problem: a text, "gather width=8192 dtype=bf16", or a family's name with its struct of quern/c_families.h. It is
// read during the call only.
typedef struct quern_problem {
  const char* text;    // NULL: the next three are used
  const char* family;  // "gather"
  const void* values;  // a quern_gather
  size_t bytes;        // sizeof(quern_gather)
} quern_problem;

static inline quern_problem quern_text(const char* text) {
  quern_problem problem = {text, NULL, NULL, 0};  // NOLINT(modernize-use-nullptr): of C
  return problem;
}

// Checks a problem and writes its text, with every field that differs from its default, as snprintf does: up to `bytes`
// bytes with the zero. `*length` is the length without it.
QUERN_C_API quern_code quern_problem_text(quern_runtime* runtime, quern_problem problem, char* text, size_t bytes,
                                          size_t* length, quern_error** error);
// Writes the struct of a problem; `bytes` must be its size.
QUERN_C_API quern_code quern_problem_values(quern_runtime* runtime, quern_problem problem, void* values, size_t bytes,
                                            quern_error** error);

// Compiles every image that the problem may need on `arch` ("sm_90a") and stores them. Needs no driver and no device.
// `device_model` and `config` may be NULL: all models, the default. `*images` (may be NULL) is their number.
QUERN_C_API quern_code quern_prewarm(quern_runtime* runtime, quern_problem problem, const char* arch,
                                     const char* device_model, const char* config, size_t* images, quern_error** error);

// ---- Plans ---------------------------------------------------------------------------------------------------------

// Loaded kernels and launch geometry for one problem. LIFETIME: kernels stay loaded as long as a plan that uses them or
// their runtime lives. Destroy both only after all launched work has run and every graph that captured a launch is
// destroyed.
typedef struct quern_plan quern_plan;

// A plan for the device of the calling thread's current context; with QUERN_DEVICE=host, for the CPU. May compile.
// `config`: changes to the default config, "threads=128", or NULL. COST: a known problem about 1 us as a struct; an
// image on disk under 1 ms; else a compile.
QUERN_C_API quern_code quern_prepare(quern_runtime* runtime, quern_problem problem, const char* config,
                                     quern_plan** plan, quern_error** error);
// NULL is ignored.
QUERN_C_API void quern_plan_destroy(quern_plan* plan);
// Drops what the runtime keeps of a problem; see Runtime::forget in quern/runtime.h.
QUERN_C_API quern_code quern_forget(quern_runtime* runtime, quern_problem problem, quern_error** error);

// A tensor, field for field a DLTensor of DLPack 1. `strides`: in elements; NULL: packed rows. Arrays of `ndim`
// numbers.
typedef struct quern_tensor {
  void* data;
  int32_t device_type;  // 1: CPU, 2: CUDA, 3: CUDA host, 13: CUDA managed
  int32_t device_id;
  int32_t ndim;
  uint8_t
      dtype_code;  // 0 int, 1 uint, 2 float, 3 bits of any type, 4 bfloat, 5 complex, 6 bool, 10 e4m3, 12 e5m2, 14 e8m0
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} quern_tensor;

// A number of a launch by name: a family's run-time number ("alpha"), or an extent that the problem leaves open and no
// tensor has as a dimension. The name is compared during the call only.
typedef struct quern_number {
  const char* name;
  double real;      // of f32 and f64
  int64_t integer;  // of extents and i64; INT64_MIN: not an integer
} quern_number;

// What an operand of a plan must be.
typedef struct quern_place {
  char name[40];       // "source", "outs.2"
  const char* role;    // "input", "output": written whole; "update": read too, or written in part; "workspace"
  const char* dtype;   // "bf16"
  uint8_t dtype_code;  // of a quern_tensor; likewise dtype_bits
  uint8_t dtype_bits;
  int32_t rank;            // up to 5
  int64_t shape[5];        // QUERN_OPEN: known at the launch
  int64_t strides[5];      // in elements; QUERN_OPEN likewise
  const char* extents[5];  // of an open dimension: the extent of which it is `factors` times; NULL: more than that
  int64_t factors[5];
  int32_t initial;  // of an update: what its elements are before the first launch, where the caller has nothing else
} quern_place;

// Completes a problem from tensors: `settings` is a problem's text, "glu activation=gelu"; dtypes, extents, strides and
// lists that it does not give become those of the tensors, which are given by operand ("x", "sources.1"). Extents that
// may be open stay open. Writes the text as quern_problem_text does. Tensors that fit no problem are refused by the
// launch. COST: up to some milliseconds.
QUERN_C_API quern_code quern_problem_of(quern_runtime* runtime, const char* settings, const char* const* names,
                                        const quern_tensor* const* tensors, size_t count, char* text, size_t bytes,
                                        size_t* length, quern_error** error);

// Writes up to `capacity` places of a problem, as a plan has them; `*count` is their number. Needs no device.
QUERN_C_API quern_code quern_problem_places(quern_runtime* runtime, quern_problem problem, quern_place* places,
                                            size_t capacity, size_t* count, quern_error** error);

// Enqueues the plan's kernels on `stream` (NULL: the context's legacy default stream). `tensors` are those of the
// operands that the problem has, in the order of the operands; each entry of a list is one. Open extents are taken from
// their shapes. Refused are: another dtype, shape, stride or device than the problem's, and a NULL entry whose operand
// is not empty. A tensor with more dimensions than its operand has its leading ones taken as one; one with fewer has
// leading dimensions of 1. Bits without a type (uint8, uint16, code 3) serve where the problem has 8-bit floats or
// bf16.
//
// Never compiles, allocates, locks or waits, and can be captured in a graph. With QUERN_DEVICE=host tensors are in
// CPU memory: they are copied, the kernels run, the results are copied back, and the call returns when that is done. As
// on a GPU, after a kernel that failed none runs until all runtimes and plans of the process are destroyed.
// COST: under 100 ns more than quern_launch_args.
QUERN_C_API quern_code quern_launch(const quern_plan* plan, quern_stream stream, const quern_tensor* const* tensors,
                                    size_t tensor_count, const quern_number* numbers, size_t number_count,
                                    quern_error** error);
// What the operands are in a launch with these tensors, for a caller that makes results: writes the `count` places of
// the plan with their shapes known. NULL stands for a tensor that does not exist yet. Refuses what quern_launch
// refuses.
QUERN_C_API quern_code quern_plan_shapes(const quern_plan* plan, const quern_tensor* const* tensors, size_t count,
                                         const quern_number* numbers, size_t number_count, quern_place* places,
                                         quern_error** error);
// The same as quern_launch with the family's arguments, a quern_gather_args; `bytes` is its size. Memory is the
// device's, with QUERN_DEVICE=host the host driver's. COST: under 100 ns more than cuLaunchKernelEx.
QUERN_C_API quern_code quern_launch_args(const quern_plan* plan, quern_stream stream, const void* args, size_t bytes,
                                         quern_error** error);

// Registers and memory of an image, as the assembler reported them, and where it came from.
typedef struct quern_image {
  const char* step;     // "" in a plan of one step
  const char* variant;  // "vector"
  const char* config;
  const char* key;
  const char* origin;  // "memory", "disk" or "compiled"
  double compile_ms;   // 0 unless compiled
  int32_t registers;
  int32_t shared_bytes;
  int32_t spill_bytes;
  uint32_t alignment;  // the largest that it requires of an operand
} quern_image;

// A description of a plan, as it was when it was prepared; it lives as long as the plan.
typedef struct quern_plan_info {
  const char* problem;
  const char* family;
  const char* why;            // the config of each image, and where it came from
  const quern_place* places;  // the tensors of quern_launch
  size_t place_count;
  const quern_image* images;
  size_t image_count;
  int on_host;  // 1: with QUERN_DEVICE=host, for tensors in CPU memory
} quern_plan_info;
QUERN_C_API const quern_plan_info* quern_plan_describe(const quern_plan* plan);

// ---- Families ------------------------------------------------------------------------------------------------------

typedef struct quern_field {
  const char* name;
  const char* kind;            // "extent", "integer", "real", "dtype", "choice", "list", "dtypes" or "text"
  const char* default_value;   // as text
  const char* accepted;        // "0 to 70368744177664, or open"
  const char* const* choices;  // of a choice, ended by NULL; else NULL
  const char* sentence;
  size_t offset;  // in the family's struct
} quern_field;

typedef struct quern_operand {
  const char* name;
  const char* role;
  const char* shape;  // for display: "[rows, width]"
  const char* sentence;
  int is_list;
  size_t offset;  // in the family's arguments
} quern_operand;

typedef struct quern_number_field {
  const char* name;
  const char* dtype;  // "f32", "f64" or "i64"
  double default_value;
  const char* sentence;
  size_t offset;  // in the family's arguments
} quern_number_field;

typedef struct quern_family {
  const char* name;
  const char* sentence;
  const quern_field* fields;
  size_t field_count;
  const quern_operand* operands;
  size_t operand_count;
  const quern_number_field* numbers;
  size_t number_count;
  size_t problem_bytes;  // of its struct
  size_t args_bytes;     // of its arguments
} quern_family;

// The families of the library, in alphabetical order; they live as long as the library.
QUERN_C_API const quern_family* quern_families(size_t* count);

// ---- Programs ------------------------------------------------------------------------------------------------------

// Programs of formulas, which `pointwise expr="…"` runs; docs/expressions.md is their language.
// Their gradients are programs too.
typedef struct quern_program_operand {
  const char* name;
  const char* dtype;  // "bf16"; "none": the problem's; of a number f32
  const char* kind;   // "full", "row", "column" or "scalar"; of a float of the launch "number"
} quern_program_operand;

typedef struct quern_program {
  const char* text;  // canonical: equal programs have equal texts
  // In the order in which the outputs, from the first on and left to right, first need them. Those of kind "number" are
  // the numbers of a launch, number_0 and on; the others are its tensors inputs.0 and on.
  const quern_program_operand* inputs;
  size_t input_count;
  const quern_program_operand* outputs;  // outputs.0 and on
  size_t output_count;
} quern_program;

// The message of a refusal has the line, the column and a caret.
QUERN_C_API quern_code quern_program_read(const char* text, quern_program** program, quern_error** error);
// The program that makes d_NAME for each of `names`, which are inputs, from the inputs that it needs and d_OUT of each
// output. d_NAME has the type and kind of the input; of a number it is a scalar in f32.
QUERN_C_API quern_code quern_program_gradient(const char* text, const char* const* names, size_t count,
                                              quern_program** gradient, quern_error** error);
// NULL is ignored.
QUERN_C_API void quern_program_free(quern_program* program);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // QUERN_C_H_
