// The kernels that a Runtime has loaded.
#ifndef QUERN_API_LOADED_KERNELS_H_
#define QUERN_API_LOADED_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/fork_barrier.h"
#include "base/single_flight.h"
#include "cache/entry.h"
#include "driver/device.h"
#include "driver/library.h"

namespace quern {

// An image is loaded once per context for any number of plans, and stays loaded after they are destroyed: their
// launches may still be queued, and graphs do not keep kernels loaded (docs/design.md). Thread-safe.
class LoadedKernels {
 public:
  using Entry = std::shared_ptr<const cache::Entry>;

  // Loads the image unless it is loaded; concurrent callers for the same image wait for one of them. Throws Error
  // (driver).
  std::shared_ptr<const Library> get(const std::shared_ptr<const Driver>& driver, const Context& context,
                                     const Entry& entry);

  // Releases kernels, which are unloaded when the last plan that uses them is destroyed: all of a context, or those
  // that no plan uses now.
  void drop_context(std::uint64_t context);
  void drop_unused();

  struct Total {
    std::size_t libraries = 0;
    std::uint64_t bytes = 0;  // size of their images; the driver's copy on the device may be larger
  };
  Total total() const;

 private:
  // Entries are immutable and kept alive here, so that an entry's address identifies it.
  using Name = std::pair<std::uint64_t, const cache::Entry*>;  // context, image
  struct NameHash {
    std::size_t operator()(const Name& name) const;
  };
  struct Loaded {
    Entry entry;
    std::shared_ptr<const Library> library;
  };
  std::shared_ptr<const Library> find(const Name& name) const;
  template <class Predicate>
  void drop_if(const Predicate& goes);

  SingleFlight<Name, std::shared_ptr<const Library>, NameHash> loading_;
  mutable ForkSafeMutex mutex_;
  std::map<Name, Loaded> loaded_;
};

}  // namespace quern

#endif  // QUERN_API_LOADED_KERNELS_H_
