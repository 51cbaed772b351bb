// What a kernel family tells quern: its problem's fields, its operands, its tuning space, how a problem becomes
// constants and a launch, and a plain reference. Everything generic (parsing, printing, hashing, the command line,
// tests, benchmarks) comes from these tables. templates/skeleton is the family to copy.
#ifndef QUERN_FAMILY_H_
#define QUERN_FAMILY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "quern/dtype.h"
#include "quern/export.h"
#include "quern/field.h"
#include "quern/launch.h"
#include "quern/layout.h"
#include "quern/spec.h"

namespace quern {

// ---- The arguments -------------------------------------------------------------------------------------------------

// A device pointer, and the size of its memory if the caller wants it checked. The caller keeps owning the memory,
// which must stay allocated until the launch has run on the stream.
struct In {
  const void* data = nullptr;
  std::int64_t bytes = kOpen;  // kOpen: not checked
  constexpr In() = default;
  constexpr In(const void* pointer, std::int64_t size = kOpen)
      : data(pointer), bytes(size) {}  // NOLINT(google-explicit-constructor)
};
struct Out {
  void* data = nullptr;
  std::int64_t bytes = kOpen;
  constexpr Out() = default;
  constexpr Out(void* pointer, std::int64_t size = kOpen)
      : data(pointer), bytes(size) {}  // NOLINT(google-explicit-constructor)
};
static_assert(sizeof(In) == sizeof(Out), "operands are reached by offset");

// An operand that is a list: entries in host memory, read only during the call to launch.
struct InList {
  const In* entries = nullptr;
  std::int64_t count = 0;
};
struct OutList {
  const Out* entries = nullptr;
  std::int64_t count = 0;
};
static_assert(sizeof(InList) == sizeof(OutList), "operands are reached by offset");

enum class Role : std::uint8_t {
  input,
  output,
  update,  // read and written; the caller initializes it
  // Scratch memory of a kernel, for one launch at a time (two concurrent launches may deadlock). The caller zeroes it
  // before the first launch, and each launch leaves it zeroed. At most one per family.
  workspace,
};

inline constexpr int kMaxOperands = 32;

// One operand, or a list of them. `layout_of_entry` is called with a problem whose extents are closed. If a problem has
// open extents, an operand with the same layout for two different closings is taken to depend on none of them:
// launches do not ask for its layout again.
struct Operand {
  const char* name;
  Role role;
  std::uint16_t offset;  // of the In or Out in the arguments; for a list: of the InList or OutList
  bool bulk;             // moved with wide accesses: its address selects the variant
  Layout (*layout_of_entry)(const void* problem, int entry);  // entry: 0 if it is not a list
  const char* shape;                                          // for display: "[rows, width]"
  const char* sentence;
  // For a list: the number of entries for a problem (its open extents still open), up to kMaxEntries. null: not a list.
  int (*count)(const void* problem) = nullptr;
  // For an update: whether a problem writes all of it and reads none, as an output; null: never.
  bool (*written_whole)(const void* problem) = nullptr;
  // Of an update: what its elements are before the first launch, where the caller has nothing else.
  std::int32_t initial = 0;
  // Of a list: what the problem itself calls an entry, for messages and files; null: nothing.
  std::string (*name_of_entry)(const void* problem, int entry) = nullptr;

  Layout layout(const void* problem, int entry = 0) const { return layout_of_entry(problem, entry); }
};
inline constexpr int kMaxEntries = 64;

// A run-time number other than an extent.
struct Scalar {
  const char* name;
  std::uint16_t offset;  // in the arguments
  const char* sentence;
  bool (*used)(const void* problem) = nullptr;  // whether it changes this problem's result; null: always
  DType dtype = DType::f32;                     // f32: float, f64: double, i64: std::int64_t
  // What the problem itself calls it, where it is used, for the command line; null: nothing.
  std::string (*name_in)(const void* problem) = nullptr;
};

// An extent that a launch may supply: the field it closes, and its place in the arguments.
struct LaunchExtent {
  const char* field;
  std::uint16_t offset;                 // of the std::int64_t in the arguments
  bool (*needed)(const void* problem);  // whether a launch must close it; null: always
};

// ---- The tuning space ----------------------------------------------------------------------------------------------

inline constexpr int kMaxParameters = 16;

// One point of the space: a value for each parameter, in the order of the step's table.
struct Config {
  std::array<std::int32_t, kMaxParameters> values{};
  std::int32_t operator[](int parameter) const { return values[static_cast<std::size_t>(parameter)]; }
  std::int32_t& operator[](int parameter) { return values[static_cast<std::size_t>(parameter)]; }
  friend bool operator==(const Config& a, const Config& b) { return a.values == b.values; }
  friend bool operator!=(const Config& a, const Config& b) { return !(a == b); }
};

struct Parameter {
  const char* name;
  const std::int32_t* values;  // legal values, ended by kNoMore
  bool compiled;               // false: reaches the launch geometry only, so no image depends on it
  const char* sentence;
  // Whether the parameter applies to a problem, given the parameters before it in the table; null: always. If it does
  // not apply, it has the value `otherwise`, which must be one of `values`, and config texts omit it.
  bool (*applies)(const void* problem, const Config& config) = nullptr;
  std::int32_t otherwise = 0;
};
inline constexpr std::int32_t kNoMore = -0x7fffffff;

// Where a kernel will run. `arch` is the compiler's name without the "sm_": 80, 90, 100, 120; `suffix` is "a" or "".
struct Target {
  int arch = 90;
  const char* suffix = "a";
  bool host = false;  // the system's processor, through the host driver, instead of such a GPU
  std::string text() const {
    if (host) return arch == 90 ? "host" : "host_" + std::to_string(arch);
    return "sm_" + std::to_string(arch) + suffix;
  }
};

// The device properties that defaults and launch geometry may use. They come from a table, so that `prewarm` without a
// GPU makes the images that the device will need.
struct DeviceModel {
  const char* name;
  int arch;
  int multiprocessors;
  int threads_per_multiprocessor;
  std::int64_t shared_bytes_per_multiprocessor;
  std::int64_t l2_bytes;
};

struct Constraint {
  const char* sentence;  // the requirement, for `describe` and for the error that refuses a config
  bool (*holds)(const void* problem, const Target& target, const Config& config);
};

// An image of a problem. A launch takes the first variant that `fits` and whose alignment divides the address of each
// bulk operand (see Step::alignment).
struct Variant {
  const char* name = "";
  Config config;
  // Called at each launch with all extents closed, on the launch path; null: it fits every problem.
  bool (*fits)(const void* problem) = nullptr;
};
inline constexpr int kMaxVariants = 4;
inline constexpr std::uint32_t kMaxAlignment = 256;

// ---- Checks --------------------------------------------------------------------------------------------------------

// How far an operand may differ from the reference's: `ulps` of the stored type or `absolute`, whichever is larger.
// NaNs are equal to each other regardless of payload, unless `bitwise` is set: then the family moves bits without
// computing.
struct Tolerance {
  double ulps = 0;
  double absolute = 0;
  bool bitwise = false;
};

// A header or template of a family, embedded in the library.
struct SourceFile {
  const char* path;  // "gather/gather.cu"
  const char* text;
};

// ---- The family ----------------------------------------------------------------------------------------------------

// A list of constant rows.
template <class T>
struct Table {
  const T* rows = nullptr;
  int count = 0;
  constexpr Table() = default;
  template <std::size_t N>
  constexpr Table(const T (&array)[N])
      : rows(array), count(static_cast<int>(N)) {}  // NOLINT(google-explicit-constructor)
  constexpr const T* begin() const { return rows; }
  constexpr const T* end() const { return rows + count; }
  constexpr const T& operator[](int i) const { return rows[i]; }
};

// A field's value in problem texts of earlier versions, and the text that now replaces the family's name and that
// value.
struct Replaced {
  const char* field;  // "op=pad"
  const char* now;    // "row_pad direction=pad"
};

// A kernel of a family's plans. The steps that a problem needs run one after the other on the stream; a step passes
// results to a later one through an operand. Each step has its own images, tuning space and geometry. Functions must be
// pure and thread-safe. Fill it with make_step below; for a family of one step make_family does that.
struct Step {
  const char* name;    // the kernel is quern_FAMILY_NAME; "" for the family's only or main step: quern_FAMILY
  const char* source;  // path of its template among the family's sources
  Table<Parameter> parameters;
  Table<Constraint> constraints;
  bool (*needed)(const void* problem);  // whether a problem (its open extents still open) has this step; null: always
  // The images of a problem, in order of preference; the last one takes any element-aligned address and fits every
  // problem. Returns their number.
  int (*variants)(const void* problem, const Target&, const DeviceModel&, Variant (&out)[kMaxVariants]);
  // The alignment in bytes that a config requires of a bulk operand, given by its index in `operands`: a power of two,
  // at most kMaxAlignment.
  std::uint32_t (*alignment)(const void* problem, int operand, const Config&);
  // Writes the constants of the image.
  void (*specialize)(const void* problem, const Target&, const Config&, Spec&);
  // Fills geometry and parameters; extents are closed. Must not allocate; may throw an Error that refuses the launch.
  // In a family of several steps it is called twice, so that all steps are checked before the first is enqueued.
  void (*launch)(const void* problem, const void* args, const DeviceModel&, const Config&, Launch&);
};
inline constexpr int kMaxSteps = 16;

// Seeds of a problem's data: operand i, counted with the entries of lists, has SEED * kSeedsOfProblem + i.
inline constexpr std::uint64_t kSeedsOfProblem = 100;

// The descriptor. Constant and static: it must outlive every Runtime that knows it. Functions must be pure and
// thread-safe; `problem` and `args` point at the family's own types. Fill it with make_family below.
//
// `draws` is what problems are drawn from at random, to find those that are slow though no table has them. A row sets
// fields as a problem's text does. It may list several settings, "op=add | op=mul y_dtype=f32", of which a draw takes
// any; an integer may be LOW..HIGH, whose logarithm is uniform, or a multiple of STEP, LOW..HIGH/STEP. Draws that
// `check` refuses are drawn again. Together the rows close every extent.
struct Family {
  const char* name;
  const char* sentence;
  Table<Field> fields;
  Table<Operand> operands;
  Table<Scalar> scalars;
  Table<LaunchExtent> launch_extents;
  Table<Step> steps;               // 1 to kMaxSteps, in execution order
  Table<SourceFile> sources;       // what the steps' templates may include; with one step the first is its template
  Table<const char*> bench_cases;  // problem texts, extents closed
  Table<const char*> draws;        // the distribution of its problems; empty: nothing is drawn
  Table<Replaced> replaced;        // for the error that refuses an old text; make_family leaves it empty
  std::size_t problem_bytes;
  std::size_t args_bytes;
  const void* default_problem;
  const void* default_args;

  // Checks the rules between fields. Returns "" if they hold, else a sentence that names the field and what would be
  // accepted.
  std::string (*check)(const void* problem);
  // Those of them that an extent can break which was open when `check` accepted the problem: what a launch checks once
  // it has closed that extent. make_family takes `check` where a family has no such function.
  std::string (*check_extents)(const void* problem);
  // The plain reference: reads and writes host memory through the arguments' pointers.
  void (*reference)(const void* problem, const void* args);
  Tolerance (*tolerance)(const void* problem, int operand, int entry);
  // What an element may differ besides, because of the operands' values: where a function's slope is nearly zero, say,
  // and a large factor multiplies its error. Writes a number for each element of an output, in the order of memory,
  // with what lies between rows. `args` are the reference's. Returns false if the tolerance is all; null: always.
  bool (*allowance)(const void* problem, const void* args, int operand, int entry, double* of_elements);
  // The fewest bytes that must move. Reads at random places move whole half-lines of 64 bytes on sm_90, those that
  // several reads share once.
  std::int64_t (*bytes)(const void* problem);
  // Generates an input's data if random numbers of its type are not suitable; returns false if they are. `entry`: index
  // in a list, else 0. All operands of a problem have seeds with the same quotient seed / kSeedsOfProblem, so that what
  // they share (a routing of tokens, say) can be drawn from it. It is 1 in benchmarks. `args`: the launch's numbers, of
  // which data can depend; extents and operands are not set.
  bool (*generate)(const void* problem, const void* args, int operand, int entry, std::uint64_t seed, void* data);
};

// Type erasure: turns the typed functions of a family F, or of one of its steps, into the descriptor's. A family names
// its types and functions: struct F { using Problem = …; using Args = …; static constexpr Field kFields[] = …; … };
template <class F>
struct Erase {
  using Problem = typename F::Problem;
  using Args = typename F::Args;
  static const Problem& problem(const void* p) { return *static_cast<const Problem*>(p); }

  static std::string check(const void* p) { return F::check(problem(p)); }
  static std::string check_extents(const void* p) { return F::check_extents(problem(p)); }
  static int variants(const void* p, const Target& t, const DeviceModel& m, Variant (&out)[kMaxVariants]) {
    return F::variants(problem(p), t, m, out);
  }
  static std::uint32_t alignment(const void* p, int o, const Config& c) { return F::alignment(problem(p), o, c); }
  static void specialize(const void* p, const Target& t, const Config& c, Spec& s) {
    F::specialize(problem(p), t, c, s);
  }
  static void launch(const void* p, const void* a, const DeviceModel& m, const Config& c, Launch& l) {
    F::launch(problem(p), *static_cast<const Args*>(a), m, c, l);
  }
  static void reference(const void* p, const void* a) { F::reference(problem(p), *static_cast<const Args*>(a)); }
  // A family whose lists have one tolerance for all entries omits `entry`.
  static Tolerance tolerance(const void* p, int o, [[maybe_unused]] int e) {
    if constexpr (std::is_invocable_v<decltype(F::tolerance), const Problem&, int, int>)
      return F::tolerance(problem(p), o, e);
    else
      return F::tolerance(problem(p), o);
  }
  static bool allowance(const void* p, const void* a, int o, int e, double* of_elements) {
    return F::allowance(problem(p), *static_cast<const Args*>(a), o, e, of_elements);
  }
  static std::int64_t bytes(const void* p) { return F::bytes(problem(p)); }
  // A family without lists omits `entry`; one whose data depend on no number of the launch omits `args`.
  static bool generate(const void* p, const void* a, int o, int e, std::uint64_t seed, void* d) {
    if constexpr (std::is_invocable<decltype(F::generate), const Problem&, const Args&, int, std::uint64_t,
                                    void*>::value) {
      return F::generate(problem(p), *static_cast<const Args*>(a), o, seed, d);
    } else if constexpr (std::is_invocable<decltype(F::generate), const Problem&, int, int, std::uint64_t,
                                           void*>::value) {
      return F::generate(problem(p), o, e, seed, d);
    } else {
      return F::generate(problem(p), o, seed, d);
    }
  }
};

// Wraps `Layout f(const Problem&)` for the operand table, and `Layout f(const Problem&, int entry)` for a list.
template <class Problem, Layout (*F)(const Problem&)>
Layout layout_of(const void* problem, int /*entry*/) {
  return F(*static_cast<const Problem*>(problem));
}
template <class Problem, Layout (*F)(const Problem&, int)>
Layout layout_of(const void* problem, int entry) {
  return F(*static_cast<const Problem*>(problem), entry);
}
// Wraps `bool f(const Problem&, const Target&, const Config&)` for the constraint table.
template <class Problem, bool (*F)(const Problem&, const Target&, const Config&)>
bool holds_for(const void* problem, const Target& target, const Config& config) {
  return F(*static_cast<const Problem*>(problem), target, config);
}

// Wraps `bool f(const Problem&, const Config&)` for Parameter::applies.
template <class Problem, bool (*F)(const Problem&, const Config&)>
bool applies_to(const void* problem, const Config& config) {
  return F(*static_cast<const Problem*>(problem), config);
}
// Wraps `bool f(const Problem&)` for Variant::fits, LaunchExtent::needed and Scalar::used.
template <class Problem, bool (*F)(const Problem&)>
bool is_so(const void* problem) {
  return F(*static_cast<const Problem*>(problem));
}

// ---- What the compiler checks of a family

namespace detail {

struct AnyMember {
  template <class T>
  constexpr operator T() const;  // NOLINT(google-explicit-constructor): not defined, since it is never called
};
template <class T, class Indices, class = void>
struct Takes : std::false_type {};
template <class T, std::size_t... I>
struct Takes<T, std::index_sequence<I...>, std::void_t<decltype(T{(static_cast<void>(I), AnyMember{})...})>>
    : std::true_type {};

// The number of members of an aggregate.
template <class T, std::size_t N = 0>
constexpr std::size_t member_count() {
  if constexpr (Takes<T, std::make_index_sequence<N + 1>>::value) {
    return member_count<T, N + 1>();
  } else {
    return N;
  }
}

template <class T, std::size_t N>
constexpr std::size_t row_count(const T (&)[N]) {
  return N;
}
template <class T>
constexpr std::size_t row_count(const Table<T>& table) {
  return static_cast<std::size_t>(table.count);
}

}  // namespace detail

// S names Problem, Args, kParameters, kConstraints, variants, alignment, specialize and launch, as a family of one step
// does. `source` is the path of the step's template.
template <class S>
constexpr Step make_step(const char* name, const char* source, bool (*needed)(const void* problem) = nullptr) {
  using E = Erase<S>;
  static_assert(detail::row_count(S::kParameters) <= static_cast<std::size_t>(kMaxParameters),
                "a step has at most kMaxParameters parameters");
  return {name,         source,        S::kParameters, S::kConstraints, needed,
          &E::variants, &E::alignment, &E::specialize, &E::launch};
}

namespace detail {

template <class F, class = void>
struct HasSteps : std::false_type {};
template <class F>
struct HasSteps<F, std::void_t<decltype(F::steps())>> : std::true_type {};

template <class F, class = void>
struct HasDraws : std::false_type {};
template <class F>
struct HasDraws<F, std::void_t<decltype(F::kDraws)>> : std::true_type {};

template <class F, class = void>
struct HasAllowance : std::false_type {};
template <class F>
struct HasAllowance<F, std::void_t<decltype(&F::allowance)>> : std::true_type {};

template <class F, class = void>
struct HasExtentRules : std::false_type {};
template <class F>
struct HasExtentRules<F, std::void_t<decltype(&F::check_extents)>> : std::true_type {};

template <class F>
Table<Step> steps_of() {
  if constexpr (HasSteps<F>::value) {
    return F::steps();
  } else {
    static const Step step[] = {make_step<F>("", F::sources()[0].path)};
    return step;
  }
}

}  // namespace detail

template <class F>
Family make_family() {
  using E = Erase<F>;
  static_assert(std::is_aggregate<typename F::Problem>::value &&
                    detail::member_count<typename F::Problem>() == detail::row_count(F::kFields),
                "each member of a problem needs a row in kFields: one without would not be part of its identity");
  static_assert(std::is_standard_layout<typename F::Problem>::value && std::is_standard_layout<typename F::Args>::value,
                "fields are reached by offset");
  static_assert(sizeof(typename F::Problem) <= kMaxProblemBytes, "launch keeps a copy on the stack");
  static_assert(std::is_trivially_copyable<typename F::Problem>::value, "problems are copied as bytes");
  static_assert(detail::row_count(F::kFields) <= static_cast<std::size_t>(kMaxFields),
                "a problem has kMaxFields at most");
  static const typename F::Problem default_problem{};
  static const typename F::Args default_args{};
  Family f{};
  f.name = F::kName;
  f.sentence = F::kSentence;
  f.fields = F::kFields;
  f.operands = F::kOperands;
  f.scalars = F::scalars();
  f.launch_extents = F::kLaunchExtents;
  f.steps = detail::steps_of<F>();
  f.sources = F::sources();
  f.bench_cases = F::kBenchCases;
  if constexpr (detail::HasDraws<F>::value) f.draws = F::kDraws;
  f.problem_bytes = sizeof(typename F::Problem);
  f.args_bytes = sizeof(typename F::Args);
  f.default_problem = &default_problem;
  f.default_args = &default_args;
  f.check = f.check_extents = &E::check;
  if constexpr (detail::HasExtentRules<F>::value) f.check_extents = &E::check_extents;
  f.reference = &E::reference;
  f.tolerance = &E::tolerance;
  if constexpr (detail::HasAllowance<F>::value) f.allowance = &E::allowance;
  f.bytes = &E::bytes;
  f.generate = &E::generate;
  return f;
}

}  // namespace quern

#endif  // QUERN_FAMILY_H_
