// A host application in C: the C interface on the CPU, with kernels for a GPU compiled only. C11 and C++17.
// main FOLDER: the folder of the cache. Exits 1 at the first check that fails.
#include <quern/c.h>
#include <quern/c_families.h>

#include "check.h"

enum { kRows = 4, kCount = 3, kWidth = 6 };

// The tensors of one gather, and what it must give.
typedef struct gather_data {
  float source[kRows * kWidth];
  int64_t index[kCount];
  float out[kCount * kWidth];
  float expected[kCount * kWidth];
  int64_t source_shape[2];
  int64_t index_shape[1];
  int64_t out_shape[2];
  quern_tensor tensors[3];
  const quern_tensor* pointers[3];
} gather_data;

static void make_gather_data(gather_data* data) {
  static const int64_t picked[kCount] = {2, 0, 3};
  memset(data, 0, sizeof *data);
  for (int i = 0; i < kRows * kWidth; ++i) data->source[i] = 0.25f * (float)i - 1.0f;
  for (int i = 0; i < kCount; ++i) {
    data->index[i] = picked[i];
    for (int j = 0; j < kWidth; ++j) data->expected[i * kWidth + j] = data->source[picked[i] * kWidth + j];
  }
  for (int i = 0; i < kCount * kWidth; ++i) data->out[i] = -77.0f;
  data->source_shape[0] = kRows;
  data->source_shape[1] = kWidth;
  data->index_shape[0] = kCount;
  data->out_shape[0] = kCount;
  data->out_shape[1] = kWidth;
  data->tensors[0] = cpu_tensor(data->source, kFloat, 32, 2, data->source_shape);
  data->tensors[1] = cpu_tensor(data->index, kInt, 64, 1, data->index_shape);
  data->tensors[2] = cpu_tensor(data->out, kFloat, 32, 2, data->out_shape);
  for (int i = 0; i < 3; ++i) data->pointers[i] = &data->tensors[i];
}

static void gathers(const quern_plan* plan, const char* what) {
  gather_data data;
  make_gather_data(&data);
  quern_error* error = NULL;
  const quern_code code = quern_launch(plan, NULL, data.pointers, 3, NULL, 0, &error);
  succeeds(code, error, what);
  expect(memcmp(data.out, data.expected, sizeof data.out) == 0, "  its result is exact");
}

// ---- Runtimes ------------------------------------------------------------------------------------------------------

typedef struct log_lines {
  int info;
  int below;
  int malformed;
} log_lines;

static void count_line(void* context, quern_log_level level, const char* line) {
  log_lines* const lines = (log_lines*)context;
  if (level == QUERN_LOG_INFO) ++lines->info;
  if (level < QUERN_LOG_INFO) ++lines->below;
  if (line[0] == 0 || strchr(line, '\n') != NULL) ++lines->malformed;
}

static quern_runtime* make_runtime(const char* folder, log_lines* lines) {
  const quern_option list[] = {{"QUERN_CACHE_DIR", folder}, {"QUERN_DEVICE", "host"}, {"QUERN_LOG", "info"}};
  const quern_options options = {list, 3, count_line, lines};
  quern_runtime* runtime = NULL;
  quern_error* error = NULL;
  const quern_code code = quern_runtime_create(&options, &runtime, &error);
  succeeds(code, error, "a runtime is made");
  return runtime;
}

static void check_options(void) {
  const quern_option unknown = {"QUERN_CACHE_FOLDER", "x"}, bad = {"QUERN_DEVICE", "tpu"};
  quern_options options = {&unknown, 1, NULL, NULL};
  quern_runtime* runtime = NULL;
  quern_error* error = NULL;
  quern_code code = quern_runtime_create(&options, &runtime, &error);
  refused(code, &error, QUERN_BAD_INPUT, "QUERN_CACHE_FOLDER", "an unknown option is refused by name");
  options.options = &bad;
  code = quern_runtime_create(&options, &runtime, &error);
  refused(code, &error, QUERN_BAD_INPUT, "QUERN_DEVICE=tpu", "an option's bad value is refused");
  expect(quern_runtime_create(&options, &runtime, NULL) == QUERN_BAD_INPUT && runtime == NULL,
         "an error is refused without a place for it");
}

// ---- Problems and plans --------------------------------------------------------------------------------------------

static quern_plan* prepare(quern_runtime* runtime, quern_problem problem, const char* what) {
  quern_plan* plan = NULL;
  quern_error* error = NULL;
  const quern_code code = quern_prepare(runtime, problem, NULL, &plan, &error);
  succeeds(code, error, what);
  return plan;
}

static quern_gather narrow_gather(void) {
  quern_gather problem = QUERN_GATHER_INIT;
  problem.width = kWidth;
  problem.dtype = QUERN_F32;
  problem.index = QUERN_I64;
  return problem;
}

static void check_struct(quern_runtime* runtime, const quern_plan* from_text) {
  const quern_gather problem = narrow_gather();
  quern_plan* const plan = prepare(runtime, quern_gather_problem(&problem), "gather is prepared from a struct");
  gathers(plan, "gather from a struct is launched");

  char text[200];
  size_t length = 0;
  quern_error* error = NULL;
  quern_code code = quern_problem_text(runtime, quern_gather_problem(&problem), text, sizeof text, &length, &error);
  succeeds(code, error, "the struct is written as text");
  expect(strcmp(text, quern_plan_describe(plan)->problem) == 0 && length == strlen(text), "  it is the plan's");
  expect(strcmp(text, quern_plan_describe(from_text)->problem) == 0, "  it is that of the plan from text");
  code = quern_problem_text(runtime, quern_gather_problem(&problem), text, 5, &length, &error);
  expect(code == QUERN_OK && strcmp(text, "gath") == 0 && length > 5, "  it is cut off as snprintf does");

  quern_gather read = QUERN_GATHER_INIT;
  code = quern_problem_values(runtime, quern_text("gather width=6 dtype=f32"), &read, sizeof read, &error);
  succeeds(code, error, "a text is read into a struct");
  expect(read.width == kWidth && read.dtype == QUERN_F32 && read.rows == QUERN_OPEN, "  its fields are the text's");

  quern_problem small = quern_gather_problem(&problem);
  small.bytes -= 8;
  quern_plan* none = NULL;
  code = quern_prepare(runtime, small, NULL, &none, &error);
  refused(code, &error, QUERN_BAD_INPUT, "gather", "a struct of another size is refused");
  expect(none == NULL, "  no plan is made");
  quern_plan_destroy(plan);
}

static void check_description(const quern_plan* plan) {
  const quern_plan_info* const info = quern_plan_describe(plan);
  expect(strcmp(info->family, "gather") == 0 && info->place_count == 3 && info->image_count > 0, "a plan is described");
  expect(strcmp(info->places[0].name, "source") == 0 && strcmp(info->places[0].role, "input") == 0 &&
             strcmp(info->places[0].dtype, "f32") == 0,
         "  its places have name, role and dtype");

  gather_data data;
  make_gather_data(&data);
  data.pointers[2] = NULL;  // does not exist yet
  quern_place places[3];
  quern_error* error = NULL;
  const quern_code code = quern_plan_shapes(plan, data.pointers, 3, NULL, 0, places, &error);
  succeeds(code, error, "shapes are known without a result");
  const quern_place* const out = &places[2];
  expect(strcmp(out->name, "out") == 0 && out->rank >= 2 && out->shape[out->rank - 2] == kCount &&
             out->shape[out->rank - 1] == kWidth && out->strides[out->rank - 2] == kWidth &&
             out->strides[out->rank - 1] == 1,
         "  the result's shape and strides are");
  expect(info->places[2].shape[info->places[2].rank - 2] == QUERN_OPEN, "  they are open in the description");
}

// ---- Launches ------------------------------------------------------------------------------------------------------

// Each refusal names the operand, and writes nothing.
static void check_refusals(const quern_plan* plan) {
  gather_data data;
  quern_error* error = NULL;

  make_gather_data(&data);
  data.tensors[0].dtype_bits = 64;
  quern_code code = quern_launch(plan, NULL, data.pointers, 3, NULL, 0, &error);
  refused(code, &error, QUERN_BAD_INPUT, "source is of f64", "another dtype is refused");

  make_gather_data(&data);
  data.out_shape[1] = kWidth - 1;
  code = quern_launch(plan, NULL, data.pointers, 3, NULL, 0, &error);
  refused(code, &error, QUERN_BAD_INPUT, "out has shape [3, 5]", "another shape is refused");

  make_gather_data(&data);
  int64_t strides[2] = {kWidth + 1, 1};
  data.tensors[0].strides = strides;
  code = quern_launch(plan, NULL, data.pointers, 3, NULL, 0, &error);
  refused(code, &error, QUERN_BAD_INPUT, "source has shape [4, 6] and strides [7, 1]", "another stride is refused");

  make_gather_data(&data);
  data.tensors[1].device_type = 2;
  code = quern_launch(plan, NULL, data.pointers, 3, NULL, 0, &error);
  refused(code, &error, QUERN_BAD_INPUT, "index is on cuda:0", "another device is refused");

  make_gather_data(&data);
  code = quern_launch(plan, NULL, data.pointers, 2, NULL, 0, &error);
  refused(code, &error, QUERN_BAD_INPUT, "3 tensors (source, index, out), not 2", "another count is refused");

  data.pointers[2] = NULL;
  code = quern_launch(plan, NULL, data.pointers, 3, NULL, 0, &error);
  refused(code, &error, QUERN_BAD_INPUT, "out", "a null tensor is refused");

  make_gather_data(&data);
  data.tensors[0].data = NULL;
  code = quern_launch(plan, NULL, data.pointers, 3, NULL, 0, &error);
  refused(code, &error, QUERN_BAD_INPUT, "source", "a tensor without memory is refused");

  make_gather_data(&data);
  const quern_number rows = {"rows", 0, kRows + 1};
  code = quern_launch(plan, NULL, data.pointers, 3, &rows, 1, &error);
  refused(code, &error, QUERN_BAD_INPUT, "source has shape [4, 6]", "an extent that the shapes contradict is refused");

  quern_gather_args args = QUERN_GATHER_ARGS_INIT;
  code = quern_launch_args(plan, NULL, &args, sizeof args - 8, &error);
  refused(code, &error, QUERN_BAD_INPUT, "gather", "arguments of another size are refused");
  code = quern_launch_args(plan, NULL, &args, sizeof args, &error);
  refused(code, &error, QUERN_BAD_INPUT, "count", "arguments without extents are refused");
  args.rows = kRows;
  args.count = kCount;
  code = quern_launch_args(plan, NULL, &args, sizeof args, &error);
  refused(code, &error, QUERN_BAD_INPUT, "source", "arguments without memory are refused");

  make_gather_data(&data);
  data.tensors[2].dtype_bits = 16;
  expect(quern_launch(plan, NULL, data.pointers, 3, NULL, 0, NULL) == QUERN_BAD_INPUT,
         "a launch is refused without a place for the error");
  for (int i = 0; i < kCount * kWidth; ++i) {
    if (data.out[i] != -77.0f) expect(0, "a refused launch writes nothing");
  }
  expect(1, "a refused launch writes nothing");
}

static void check_numbers(quern_runtime* runtime) {
  quern_plan* const plan =
      prepare(runtime, quern_text("pointwise width=4 op=add_mul_act activation=identity dtype=f32 bias_spread=none"),
              "pointwise is prepared");
  float x[8], y[8], out[8];
  int64_t shape[2] = {2, 4};
  for (int i = 0; i < 8; ++i) {
    x[i] = (float)i;
    y[i] = 8.0f - 3.0f * (float)i;
  }
  const quern_tensor tensors[] = {cpu_tensor(x, kFloat, 32, 2, shape), cpu_tensor(y, kFloat, 32, 2, shape),
                                  cpu_tensor(out, kFloat, 32, 2, shape)};
  const quern_tensor* const pointers[] = {&tensors[0], &tensors[1], &tensors[2]};
  quern_number number = {"multiplier", 0.5, 0};
  quern_error* error = NULL;
  for (int run = 0; run < 2; ++run) {  // with a number, with its default
    quern_code code = quern_launch(plan, NULL, pointers, 3, &number, run == 0 ? 1 : 0, &error);
    succeeds(code, error, run == 0 ? "a number is given by name" : "a number that is not given");
    for (int i = 0; i < 8; ++i) {
      if (out[i] != x[i] + (run == 0 ? 0.5f : 1.0f) * y[i]) expect(0, "  the result has it");
    }
    expect(1, run == 0 ? "  the result has it" : "  has its default");
  }
  number.name = "factor";
  const quern_code code = quern_launch(plan, NULL, pointers, 3, &number, 1, &error);
  refused(code, &error, QUERN_BAD_INPUT, "factor", "an unknown number is refused by name");
  quern_plan_destroy(plan);
}

// ---- A program of formulas and its gradient ------------------------------------------------------------------------

static void check_program(quern_runtime* runtime) {
  static const char* const names[] = {"x"};
  quern_program* gradient = NULL;
  quern_error* error = NULL;
  const quern_code code = quern_program_gradient("out = x * x * y", names, 1, &gradient, &error);
  succeeds(code, error, "a program has a gradient");
  expect(gradient->input_count == 3 && strcmp(gradient->inputs[1].name, "y") == 0 && gradient->output_count == 1,
         "  its inputs and outputs are listed");
  char text[200];
  snprintf(text, sizeof text, "pointwise width=4 dtype=f32 expr=\"%s\"", gradient->text);
  quern_program_free(gradient);

  quern_plan* const plan = prepare(runtime, quern_text(text), "it is prepared");
  float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, d_out[4] = {1, 1, 1, 2}, d_x[4];
  int64_t shape[2] = {1, 4};
  const quern_tensor tensors[] = {cpu_tensor(d_out, kFloat, 32, 2, shape), cpu_tensor(y, kFloat, 32, 2, shape),
                                  cpu_tensor(x, kFloat, 32, 2, shape), cpu_tensor(d_x, kFloat, 32, 2, shape)};
  const quern_tensor* const pointers[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3]};
  succeeds(quern_launch(plan, NULL, pointers, 4, NULL, 0, &error), error, "  and launched");
  expect(d_x[0] == 10 && d_x[1] == 24 && d_x[2] == 42 && d_x[3] == 128, "  the derivatives are right");
  quern_plan_destroy(plan);
  refused(quern_program_read("out = x +", &gradient, &error), &error, QUERN_BAD_INPUT, "1:10",
          "a wrong one is refused");
}

// ---- The rest ------------------------------------------------------------------------------------------------------

static const quern_family* family_named(const char* name) {
  size_t count = 0;
  const quern_family* const families = quern_families(&count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(families[i].name, name) == 0) return &families[i];
  }
  return NULL;
}

static void check_families(void) {
  const quern_family* const gather = family_named("gather");
  expect(gather != NULL && gather->problem_bytes == sizeof(quern_gather) &&
             gather->args_bytes == sizeof(quern_gather_args),
         "gather is among the families, with the sizes of this program's structs");
  const quern_field* width = NULL;
  const quern_field* mode = NULL;
  for (size_t i = 0; i < gather->field_count; ++i) {
    if (strcmp(gather->fields[i].name, "width") == 0) width = &gather->fields[i];
    if (strcmp(gather->fields[i].name, "mode") == 0) mode = &gather->fields[i];
  }
  expect(width != NULL && strcmp(width->kind, "extent") == 0 && width->offset == offsetof(quern_gather, width) &&
             strcmp(width->default_value, "4096") == 0 && width->choices == NULL,
         "  width is an extent, 4096 by default");
  expect(mode != NULL && mode->choices != NULL && strcmp(mode->choices[QUERN_GATHER_MODE_CLAMP], "clamp") == 0,
         "  mode has choices");
  expect(gather->operand_count == 5 && strcmp(gather->operands[0].name, "source") == 0 && !gather->operands[0].is_list,
         "  its operands are listed");
  const quern_family* const pointwise = family_named("pointwise");
  expect(pointwise != NULL && pointwise->number_count == 18 && strcmp(pointwise->numbers[0].name, "multiplier") == 0 &&
             pointwise->numbers[0].default_value == 1 &&
             pointwise->numbers[0].offset == offsetof(quern_pointwise_args, multiplier) &&
             strcmp(pointwise->numbers[2].name, "number_0") == 0,
         "pointwise has numbers");
  expect(quern_families(NULL) == quern_families(NULL), "the families are one table");
}

static double counter(quern_runtime* runtime, const char* name) {
  quern_counter counters[100];
  const size_t count = quern_runtime_statistics(runtime, counters, 100);
  for (size_t i = 0; i < count && i < 100; ++i) {
    if (strcmp(counters[i].name, name) == 0) return counters[i].value;
  }
  return -1;
}

// Kernels for a GPU, without one. Only where NVRTC is.
static void check_prewarm(quern_runtime* runtime) {
  const quern_gather problem = narrow_gather();
  size_t images = 0;
  quern_error* error = NULL;
  const quern_code code = quern_prewarm(runtime, quern_gather_problem(&problem), "sm_90a", NULL, NULL, &images, &error);
  if (code == QUERN_NO_COMPILER) {
    puts("no NVRTC: nothing is compiled for sm_90a");
    quern_error_free(error);
    return;
  }
  succeeds(code, error, "gather is compiled for sm_90a");
  expect(images > 0, "  images are counted");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  expect(strncmp(quern_version(), "0.1.", 4) == 0, "the version is 0.1");
  quern_error_free(NULL);
  quern_plan_destroy(NULL);
  quern_runtime_destroy(NULL);
  expect(1, "NULL may be freed and destroyed");
  check_families();
  check_options();

  log_lines lines = {0, 0, 0};
  quern_runtime* const runtime = make_runtime(argv[1], &lines);
  quern_plan* const plan =
      prepare(runtime, quern_text("gather width=6 dtype=f32 index=i64"), "gather is prepared from text");
  gathers(plan, "gather from text is launched");
  check_struct(runtime, plan);
  check_description(plan);
  check_refusals(plan);
  check_numbers(runtime);
  check_program(runtime);
  check_prewarm(runtime);

  expect(lines.info > 0 && lines.below == 0 && lines.malformed == 0, "the log has lines of level info, none below");
  printf("compiled %.0f, from disk %.0f\n", counter(runtime, "compiles.count"), counter(runtime, "hits.disk"));
  expect(counter(runtime, "compiles.count") + counter(runtime, "hits.disk") > 0, "the statistics count images");
  quern_counter one[2] = {{NULL, 0}, {NULL, 0}};
  expect(quern_runtime_statistics(runtime, one, 1) > 1 && one[0].name != NULL && one[1].name == NULL,
         "no more counters are written than fit");

  quern_error* error = NULL;
  succeeds(quern_runtime_flush(runtime, &error), error, "the runtime is flushed");
  succeeds(quern_forget(runtime, quern_text("gather width=6 dtype=f32"), &error), error, "a problem is forgotten");
  gathers(plan, "a plan of a forgotten problem is launched");

  quern_runtime* const second = make_runtime(argv[1], &lines);
  quern_plan* const first_gone =
      prepare(second, quern_text("gather width=6 dtype=f32"), "a second runtime prepares it");
  quern_plan_destroy(first_gone);
  quern_runtime_destroy(second);
  expect(1, "a plan is destroyed before its runtime");
  quern_runtime_destroy(runtime);
  gathers(plan, "a plan is launched after its runtime is destroyed");
  quern_plan_destroy(plan);
  expect(1, "a plan is destroyed after its runtime");
  return 0;
}
