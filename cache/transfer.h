// Exports images from a store to a pack, and imports them.
#ifndef QUERN_CACHE_TRANSFER_H_
#define QUERN_CACHE_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "cache/layer.h"
#include "cache/pack.h"
#include "cache/store.h"

namespace quern::cache {

struct Transfer {
  std::size_t entries = 0;  // in the pack, or imported from it
  std::uint64_t bytes = 0;
  std::size_t known = 0;    // import: already present
  std::size_t damaged = 0;  // skipped
  std::size_t refused = 0;  // import: CPU code, skipped
};

// Writes every valid entry of every layer to a pack at `path`, replacing it. Of two entries under one key the one from
// the earlier layer is used. Throws Error (io), and (bad_input) as require_pack_or_nothing does.
Transfer export_pack(Store& store, const std::string& path, PackForm form = PackForm::plain,
                     FileSystem& files = real_file_system());

// Adds `entries` to a pack, which keeps its entries under other keys. Concurrent processes add one after the other. A
// compressed pack stays compressed. Throws Error (io), and (bad_input) as require_own_pack_or_nothing does.
Transfer add_to_pack(const std::vector<EntryPointer>& entries, const std::string& path, PackForm form = PackForm::plain,
                     FileSystem& files = real_file_system());

// Throws Error (bad_input) if `path` exists and is not a pack, or its folder does not exist.
void require_pack_or_nothing(const std::string& path, FileSystem& files = real_file_system());

// The same, and if an existing pack belongs to another user or others may write to it: its content would become the
// user's own.
void require_own_pack_or_nothing(const std::string& path, FileSystem& files = real_file_system());

// Writes the entries of a pack to the store's directory, marked as made ahead of time. The caller trusts the pack; with
// `cpu_code` also its images of the target `host`, which are skipped otherwise. Throws Error (bad_input) if there is no
// pack at `path`, or if the directory's limits are too low for all of it.
Transfer import_pack(Store& store, const std::string& path, bool cpu_code = false,
                     FileSystem& files = real_file_system());

}  // namespace quern::cache

#endif  // QUERN_CACHE_TRANSFER_H_
