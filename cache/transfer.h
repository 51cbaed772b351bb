// Images between a store and a pack.
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
  std::size_t entries = 0;  // that the pack holds, or that were taken from it
  std::uint64_t bytes = 0;
  std::size_t known = 0;    // of an import: there already
  std::size_t damaged = 0;  // left out
  std::size_t refused = 0;  // of an import: CPU code, left out
};

// Writes every sound entry of every layer to a pack at `path`, in place of what is there. Of two entries under one key
// the nearer layer's goes. Throws Error (io), and (bad_input) as require_pack_or_nothing does.
Transfer export_pack(Store& store, const std::string& path, PackForm form = PackForm::plain,
                     FileSystem& files = real_file_system());

// Writes `entries` to a pack, with what a pack of this name holds already under other keys. Processes that add to one
// pack do so one after the other. A compressed pack stays one. Throws Error (io), and (bad_input) as
// require_own_pack_or_nothing does.
Transfer add_to_pack(const std::vector<EntryPointer>& entries, const std::string& path, PackForm form = PackForm::plain,
                     FileSystem& files = real_file_system());

// Throws Error (bad_input) if there is something at `path` that is no pack, or no folder for it.
void require_pack_or_nothing(const std::string& path, FileSystem& files = real_file_system());

// The same, and if the pack that is there belongs to another user or others may write to it: what it holds would
// become the user's own.
void require_own_pack_or_nothing(const std::string& path, FileSystem& files = real_file_system());

// Writes the entries of a pack to the store's directory, marked as made ahead of time. Whoever calls this trusts the
// pack; with `cpu_code` its images of the target `host` too, which are left out otherwise. Throws Error (bad_input) if
// there is no pack at `path`, or if the directory's limits are too low for all that it holds.
Transfer import_pack(Store& store, const std::string& path, bool cpu_code = false,
                     FileSystem& files = real_file_system());

}  // namespace quern::cache

#endif  // QUERN_CACHE_TRANSFER_H_
