// The steps of a family, by their kernels: the page shows how they are listed.
#include <quern/family.h>

namespace {

struct RowMax {};
bool has_total(const RowMax&) { return true; }

struct Kernel {
  using Problem = RowMax;
  struct Args {};
  static constexpr quern::Parameter kParameters[] = {{"threads", nullptr, true, ""}};
  static constexpr quern::Constraint kConstraints[] = {{"", nullptr}};
  static int variants(const RowMax&, const quern::Target&, const quern::DeviceModel&,
                      quern::Variant (&)[quern::kMaxVariants]) {
    return 1;
  }
  static std::uint32_t alignment(const RowMax&, int, const quern::Config&) { return 1; }
  static void specialize(const RowMax&, const quern::Target&, const quern::Config&, quern::Spec&) {}
  static void launch(const RowMax&, const Args&, const quern::DeviceModel&, const quern::Config&, quern::Launch&) {}
};
struct Partial : Kernel {};
struct Total : Kernel {};

using namespace quern;

struct Steps {
#include QUERN_PAGE_EXAMPLE
};

}  // namespace

int main() { return Steps::steps().count == 2 ? 0 : 1; }
