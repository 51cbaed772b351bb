// A pack as a layer: opened at first use and kept open, so that a hit is one read.
#ifndef QUERN_CACHE_PACK_LAYER_H_
#define QUERN_CACHE_PACK_LAYER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/fork_barrier.h"
#include "cache/layer.h"
#include "cache/pack.h"
#include "cache/trust.h"

namespace quern::cache {

// Entries that were made on demand serve every compiler here, because a pack is made for others.
class PackLayer : public Layer {
 public:
  PackLayer(std::string path, const Trust& trust, Services& services);

  EntryPointer find_exact(const Key& key, const Rejected& rejected) override;
  EntryPointer find_match(const Key& key, const Rejected& rejected, bool* others) override;
  std::vector<Item> list(Check check) override;
  std::vector<std::string> keys(const std::string& start) override;
  Reading load(const std::string& item_key) override;
  LayerReport report() override;

 private:
  // Once checked, this file stays in use, even if its name is replaced.
  struct Pack {
    std::unique_ptr<OpenFile> file;
    PackIndex index;
    std::uint32_t owner;
  };
  using PackPointer = std::shared_ptr<const Pack>;

  PackPointer open();
  // Replaces the `unreadable` pack by another file of the same name, if that can be opened.
  PackPointer reopen(const PackPointer& unreadable);
  PackPointer look(std::string* why, bool* passing);
  std::string refuse(const std::string& why);
  Reading read(const Pack& pack, const PackRow& row);
  // The entry's texts stay in a compressed pack.
  Reading read_head(const Pack& pack, const PackRow& row);
  Reading describe(const Pack& pack, const PackRow& row);
  Reading read_first(const Pack& pack, const PackRow& row, std::size_t most, std::string* bytes);
  Reading read_part(const Pack& pack, const PackRow& row, PackPart part, std::string* bytes);
  EntryPointer read_for(const PackPointer& pack, const PackRow& row, const Wanted& wanted);

  const Trust trust_;
  ForkSafeMutex opening_;
  bool opened_ = false;  // the members below are valid after that; pack_ null: not used
  PackPointer pack_;
  std::string unusable_;
  bool refused_ = false;
};

}  // namespace quern::cache

#endif  // QUERN_CACHE_PACK_LAYER_H_
