// A layer that somebody made for others: a directory or a pack, which may come after the process that uses it, as a
// mount does.
#ifndef QUERN_CACHE_SHIPPED_LAYER_H_
#define QUERN_CACHE_SHIPPED_LAYER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/fork_barrier.h"
#include "cache/layer.h"

namespace quern::cache {

// As long as nothing is at the path, each look-up looks again, at the cost of a system call or two; what is there then
// is used from then on.
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
  // Null while nothing is there.
  Layer* layer();
  std::unique_ptr<Layer> look(std::string* why);

  const CacheMatch match_;
  const Trust trust_;
  ForkSafeMutex looking_;
  std::atomic<Layer*> there_{nullptr};
  std::unique_ptr<Layer> owned_;
  std::string missing_;  // why nothing is there
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_SHIPPED_LAYER_H_
