// docs/adding-a-family.md: the steps of a family whose plans have several.
#include <quern/quern.h>

using namespace quern;

namespace {

struct RowMax {
  using Args = int;
};

bool has_total(const RowMax&) { return true; }

struct Partial {
  using Problem = RowMax;
  using Args = int;
  static constexpr Table<Parameter> kParameters{};
  static constexpr Table<Constraint> kConstraints{};
  static int variants(const RowMax&, const Target&, const DeviceModel&, Variant (&)[kMaxVariants]) { return 1; }
  static std::uint32_t alignment(const RowMax&, int, const Config&) { return 1; }
  static void specialize(const RowMax&, const Target&, const Config&, Spec&) {}
  static void launch(const RowMax&, const Args&, const DeviceModel&, const Config&, Launch&) {}
};
using Total = Partial;

#include QUERN_PAGE_EXAMPLE

}  // namespace

Table<Step> used() { return steps(); }
