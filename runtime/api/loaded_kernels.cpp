#include "api/loaded_kernels.h"

#include <functional>
#include <mutex>

namespace quern {

std::size_t LoadedKernels::NameHash::operator()(const Name& name) const {
  return std::hash<const void*>()(name.second) ^ (static_cast<std::size_t>(name.first) << 1);
}

std::shared_ptr<const Library> LoadedKernels::find(const Name& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(name);
  return found == loaded_.end() ? nullptr : found->second.library;
}

std::shared_ptr<const Library> LoadedKernels::get(const std::shared_ptr<const Driver>& driver, const Context& context,
                                                  const Entry& entry) {
  const Name name(context.id, entry.get());
  if (auto known = find(name)) return known;
  bool led = false;
  return loading_.run(
      name,
      [&] {
        if (auto known = find(name)) return known;
        const std::string& image = entry->cubin.empty() ? entry->ptx : entry->cubin;
        auto library = std::make_shared<const Library>(driver, image, entry->kernel);
        const std::lock_guard lock(mutex_);
        return loaded_.emplace(name, Loaded{entry, std::move(library)}).first->second.library;
      },
      &led);
}

// Unload outside the lock: the driver may wait for queued work.
template <class Predicate>
void LoadedKernels::drop_if(const Predicate& goes) {
  std::vector<Loaded> gone;
  const std::lock_guard lock(mutex_);
  for (auto item = loaded_.begin(); item != loaded_.end();) {
    if (!goes(*item)) {
      ++item;
      continue;
    }
    gone.push_back(std::move(item->second));
    item = loaded_.erase(item);
  }
}

void LoadedKernels::drop_context(std::uint64_t context) {
  drop_if([&](const auto& item) { return item.first.first == context; });
}

void LoadedKernels::drop_unused() {
  drop_if([](const auto& item) { return item.second.library.use_count() == 1; });
}

LoadedKernels::Total LoadedKernels::total() const {
  Total total;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, loaded] : loaded_) {
    ++total.libraries;
    total.bytes += loaded.entry->cubin.empty() ? loaded.entry->ptx.size() : loaded.entry->cubin.size();
  }
  return total;
}

}  // namespace quern
