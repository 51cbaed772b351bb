// A layer made for others, a directory or a pack, which may appear after the process has started, as a mount does.
#ifndef QUERN_CACHE_SHIPPED_LAYER_H_
#define QUERN_CACHE_SHIPPED_LAYER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/fork_barrier.h"
#include "cache/layer.h"

namespace quern::cache {

// While nothing exists at the path, each look-up checks again, at the cost of a system call or two; what appears is
// then used from then on.
class ShippedLayer : public Layer {
 public:
  ShippedLayer(const std::string& path, CacheMatch match, const Trust& trust, Services& services);

  EntryPointer find_exact(const Key& key, const Rejected& rejected) override;
  EntryPointer find_match(const Key& key, const Rejected& rejected, bool* others) override;
  std::vector<Item> list(Check check) override;
  std::vector<std::string> keys(const std::string& start) override;
  Reading load(const std::string& item_key) override;
  LayerReport report() override;
  std::vector<Item> untrusted() override;

 private:
  // Null while nothing exists there.
  Layer* layer();
  std::unique_ptr<Layer> look(std::string* why);

  const CacheMatch match_;
  const Trust trust_;
  ForkSafeMutex looking_;
  std::atomic<Layer*> there_{nullptr};
  std::unique_ptr<Layer> owned_;
  std::string missing_;  // why there is no layer
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_SHIPPED_LAYER_H_
