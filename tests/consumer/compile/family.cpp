// A family as small as one can be. WRONG_MEMBER: its problem has a member that kFields does not describe.
// WRONG_PARAMETERS: it has a parameter too many. Neither compiles, and the message says why.
#include <quern/family.h>

namespace {

struct Small {
  struct Args {
    quern::In x;
  };
  std::int64_t width = 1;
#ifdef WRONG_MEMBER
  bool hidden = false;
#endif
};

#define P(name) \
  { #name, kValues, true, "a parameter" }

struct SmallFamily {
  using Problem = Small;
  using Args = Small::Args;
  static constexpr const char* kName = "small";
  static constexpr const char* kSentence = "as small as a family can be";
  static constexpr quern::Field kFields[] = {quern::extent_field("width", offsetof(Small, width), true, "a width")};
  static constexpr quern::Operand kOperands[] = {
      {"x", quern::Role::input, 0, true, [](const void*, int) { return quern::Layout{}; }, "[width]", "an operand"}};
  static quern::Table<quern::Scalar> scalars() { return {}; }
  static constexpr quern::LaunchExtent kLaunchExtents[] = {{"width", 0, nullptr}};
  static constexpr std::int32_t kValues[] = {1, quern::kNoMore};
  static constexpr quern::Parameter kParameters[] = {
      P(a),
#ifdef WRONG_PARAMETERS
      P(b), P(c), P(d), P(e), P(f), P(g), P(h), P(i), P(j), P(k), P(l), P(m), P(n), P(o), P(p), P(q),
#endif
  };
  static constexpr quern::Constraint kConstraints[] = {
      {"anything goes", [](const void*, const quern::Target&, const quern::Config&) { return true; }}};
  static quern::Table<quern::SourceFile> sources() { return {}; }
  static constexpr const char* kBenchCases[] = {"small width=1"};

  static std::string check(const Problem&) { return {}; }
  static int variants(const Problem&, const quern::Target&, const quern::DeviceModel&,
                      quern::Variant (&)[quern::kMaxVariants]) {
    return 1;
  }
  static std::uint32_t alignment(const Problem&, int, const quern::Config&) { return 1; }
  static void specialize(const Problem&, const quern::Target&, const quern::Config&, quern::Spec&) {}
  static void launch(const Problem&, const Args&, const quern::DeviceModel&, const quern::Config&, quern::Launch&) {}
  static void reference(const Problem&, const Args&) {}
  static quern::Tolerance tolerance(const Problem&, int) { return {}; }
  static std::int64_t bytes(const Problem&) { return 0; }
  static bool generate(const Problem&, int, std::uint64_t, void*) { return false; }
};

}  // namespace

const quern::Family& small_family();
const quern::Family& small_family() {
  static const quern::Family family = quern::make_family<SmallFamily>();
  return family;
}
