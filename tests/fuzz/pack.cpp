#include "cache/pack.h"

#include <fcntl.h>

#include "fuzz/seal.h"
#include "fuzz/targets.h"
#include "support/memory_files.h"

namespace quern::fuzz {
namespace {

using cache::Entry;
using cache::PackIndex;
using cache::PackRow;

constexpr const char* kPackPath = "/images.pack";

// Every row is found, and the entries fill the space between header and index.
void check_index(const PackIndex& index, std::uint64_t file_bytes) {
  std::uint64_t end = cache::kPackHeaderBytes;
  for (const PackRow& row : index.rows()) {
    require(row.offset == end, "the entries are contiguous");
    require(index.find(row.what_hash, row.who_hash) == &row, "each row is found by its hashes");
    require(!index.find(row.what_hash).empty(), "and among those of one problem");
    end += row.bytes;
  }
  const bool plain = index.form() == cache::PackForm::plain;
  const std::uint64_t index_bytes = index.rows().size() * (plain ? cache::kPackRowBytes : cache::kCompressedRowBytes);
  require(end + index_bytes + cache::kPackFooterBytes == file_bytes, "the rows cover the file");
}

// Any split between header and index, and any claimed file size.
void check_parsing(std::string_view bytes, std::uint64_t cut, std::uint64_t file_bytes) {
  const std::size_t header = std::min(bytes.size(), cache::kPackHeaderBytes);
  const std::string_view tail = bytes.substr(std::min<std::uint64_t>(bytes.size(), cut));
  std::string why;
  const auto index = cache::parse_pack_index(bytes.substr(0, header), tail, file_bytes, &why);
  require(why.empty() == index.has_value(), "either an index or a reason");
  if (index) check_index(*index, file_bytes);
}

void check_splits(std::string_view bytes) {
  const std::string_view footer = bytes.substr(bytes.size() - std::min(bytes.size(), cache::kPackFooterBytes));
  for (const cache::PackForm form : {cache::PackForm::plain, cache::PackForm::compressed}) {
    const auto offset = cache::pack_index_offset(footer, bytes.size(), form, nullptr);
    check_parsing(bytes, offset.value_or(bytes.size() / 2), bytes.size());
  }
  check_parsing(bytes, number_at(bytes, bytes.size() / 2), bytes.size() + 1);
}

bool tells_the_truth(const PackRow& row, const Entry& entry) {
  return row.what_hash == hash128(entry.what) && row.who_hash == hash128(entry.who) &&
         row.compiler_order == entry.compiler_order && row.created_unix_ns == entry.created_unix_ns;
}

// The part of a compressed pack that a hit reads.
void check_head(FileSystem& files, int file, const PackRow& row, Entry whole) {
  std::string bytes;
  int error = 0;
  require(cache::read_pack_bytes(files, file, row, cache::PackPart::head, &bytes, &error, nullptr),
          "the head of a readable entry is readable");
  const auto head = cache::parse_head(bytes, row.entry_bytes(), nullptr);
  if (!head) return;  // the row has a wrong size of the head
  if (!whole.cubin.empty()) whole.ptx.clear();
  whole.source.clear();
  whole.log.clear();
  require(head->texts_elsewhere && cache::serialize(*head) == cache::serialize(whole), "the head is the entry's");
}

// The entry of a row, if it can be read.
std::optional<Entry> read_row(FileSystem& files, int file, const PackRow& row) {
  std::string room, why;
  auto entry = cache::read_pack_entry(files, file, row, &room, &why);
  require(why.empty() == entry.has_value(), "either an entry or a reason");
  if (entry) require(cache::serialize(*entry) == room, "what is parsed serializes to the same bytes");
  if (entry && row.head_frame_bytes != 0) check_head(files, file, row, *entry);
  return entry;
}

// Nothing if a row contradicts its entry.
std::optional<std::vector<Entry>> true_entries(FileSystem& files, int file, const PackIndex& index) {
  std::vector<Entry> entries;
  for (const PackRow& row : index.rows()) {
    auto entry = read_row(files, file, row);
    if (entry && tells_the_truth(row, *entry)) entries.push_back(*std::move(entry));
  }
  if (entries.size() != index.rows().size()) return std::nullopt;
  return entries;
}

std::string written(FileSystem& files, const std::vector<Entry>& entries, cache::PackForm form) {
  const std::string path = "/again.pack";
  cache::PackWriter writer(files, path);
  writer.set_form(form);
  for (const Entry& entry : entries) writer.add(entry);
  writer.finish();
  std::string bytes;
  FileStatus status;
  require(read_whole(files, path, std::uint64_t{1} << 30, &bytes, &status) == 0, "what is written can be read");
  return bytes;
}

void check_reading_pack(std::string_view bytes) {
  test::MemoryFiles files;
  files.put(kPackPath, FileKind::regular, std::string(bytes));
  const OpenFile file(files, kPackPath, O_RDONLY);
  std::string why;
  const auto index = cache::read_pack_index(files, file.get(), bytes.size(), &why);
  require(why.empty() == index.has_value(), "either an index or a reason");
  require(!cache::read_pack_index(files, file.get(), bytes.size() + 1, nullptr), "a truncated file is refused");
  if (!index) return;
  check_index(*index, bytes.size());
  const auto entries = true_entries(files, file.get(), *index);
  if (!entries) return;
  const std::string again = written(files, *entries, index->form());
  // Different frames may decompress to the same bytes.
  if (index->form() == cache::PackForm::plain) require(again == bytes, "true rows are what the writer writes");
}

void check_pack(std::string_view bytes) {
  check_splits(bytes);
  check_reading_pack(bytes);
}

}  // namespace

void pack(std::string_view bytes) {
  check_pack(bytes);
  check_pack(sealed_pack(bytes));
}

}  // namespace quern::fuzz
