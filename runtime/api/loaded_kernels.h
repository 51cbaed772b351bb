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

// An image is loaded once in a context, whatever number of plans launch it, and stays loaded when they are gone: what
// they launched may be queued still, and graphs hold no kernels (docs/design.md). Thread-safe.
class LoadedKernels {
 public:
  using Entry = std::shared_ptr<const cache::Entry>;

  // Loads where that was not done yet; threads that want the same wait for one of them. Throws Error (driver).
  std::shared_ptr<const Library> get(const std::shared_ptr<const Driver>& driver, const Context& context,
                                     const Entry& entry);

  // Lets go of kernels, which are unloaded when the last plan with them goes: all of a context, or those that no plan
  // has now.
  void drop_context(std::uint64_t context);
  void drop_unused();

  struct Total {
    std::size_t libraries = 0;
    std::uint64_t bytes = 0;  // of their images; the driver's copy on the device may take more
  };
  Total total() const;

 private:
  // Entries are never changed, and held here, so that one's address says which it is.
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
