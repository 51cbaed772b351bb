// Checked handles: numbers that are never reused, so that a stale one is always detected.
#ifndef QUERN_HOSTDRIVER_API_HANDLES_H_
#define QUERN_HOSTDRIVER_API_HANDLES_H_

#include <cstdint>
#include <map>
#include <memory>

namespace quern::host {

// A new number for a handle; 1 and 2 are the predefined streams, so numbers start well above.
template <class Handle>
Handle new_handle(std::uintptr_t& last) {
  last += 64;
  return reinterpret_cast<Handle>(last);  // NOLINT(performance-no-int-to-ptr): never dereferenced
}

// Not thread-safe: used under the state's lock.
template <class T, class Handle>
class Handles {
 public:
  void add(Handle handle, std::shared_ptr<T> object) { objects_[handle] = std::move(object); }
  // Null if the handle is unknown or was removed.
  std::shared_ptr<T> find(Handle handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> remove(Handle handle) {
    std::shared_ptr<T> object = find(handle);
    objects_.erase(handle);
    return object;
  }
  template <class Predicate>
  void remove_if(Predicate&& predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const auto& [handle, object] : objects_) visit(*object);
  }
  std::size_t size() const { return objects_.size(); }

 private:
  std::map<Handle, std::shared_ptr<T>> objects_;
};

}  // namespace quern::host

#endif  // QUERN_HOSTDRIVER_API_HANDLES_H_
