#include "cache/pack.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "cache/codec.h"
#include "cache/modes.h"
#include "quern/error.h"

namespace quern::cache {
namespace {

constexpr std::string_view kPackMagic = "\x89QUERNP\n";
constexpr std::uint32_t kSchemas[] = {1, 2};  // of the two forms
// Limits for sizes that are used before a checksum was verified: of the index, of an entry.
constexpr std::uint64_t kFewestEntryBytes[] = {216, 20};  // of the two forms
constexpr std::uint64_t kMostRows = 1 << 20;
constexpr std::uint64_t kMostEntryBytes = std::uint64_t{1} << 28;

auto place(const PackRow& row) { return std::tie(row.what_hash.bytes, row.who_hash.bytes); }

constexpr std::size_t row_bytes(PackForm form) { return form == PackForm::plain ? kPackRowBytes : kCompressedRowBytes; }

std::string header(PackForm form) {
  std::string out(kPackMagic);
  put_number(out, kSchemas[static_cast<int>(form)]);
  put_number(out, std::uint32_t{0});
  return out;
}

std::optional<PackForm> form_of(std::string_view header_bytes) {
  for (const PackForm form : {PackForm::plain, PackForm::compressed}) {
    if (header_bytes == header(form)) return form;
  }
  return std::nullopt;
}

void put_row(std::string& out, const PackRow& row, PackForm form) {
  put_hash(out, row.what_hash);
  put_hash(out, row.who_hash);
  put_number(out, row.offset);
  put_number(out, row.bytes);
  put_number(out, row.compiler_order);
  put_number(out, row.created_unix_ns);
  if (form == PackForm::plain) return;
  put_number(out, row.head_frame_bytes);
  put_number(out, row.head_bytes);
  put_number(out, row.rest_bytes);
  put_hash(out, row.head_checksum);
  put_hash(out, row.rest_checksum);
}

PackRow take_row(Reader& reader, PackForm form) {
  PackRow row;
  row.what_hash = reader.hash();
  row.who_hash = reader.hash();
  row.offset = reader.number<std::uint64_t>();
  row.bytes = reader.number<std::uint64_t>();
  row.compiler_order = reader.number<std::uint64_t>();
  row.created_unix_ns = reader.number<std::int64_t>();
  if (form == PackForm::plain) return row;
  row.head_frame_bytes = reader.number<std::uint64_t>();
  row.head_bytes = reader.number<std::uint64_t>();
  row.rest_bytes = reader.number<std::uint64_t>();
  row.head_checksum = reader.hash();
  row.rest_checksum = reader.hash();
  return row;
}

// Sizes of allocations before decompression.
bool frames_hold(const PackRow& row) {
  return row.head_frame_bytes > 0 && row.head_frame_bytes < row.bytes && row.head_bytes <= kMostEntryBytes &&
         row.rest_bytes <= kMostEntryBytes;
}

// The checksum covers the header too, so that a changed byte of it is detected.
Hash128 index_checksum(std::string_view header_bytes, std::string_view index_and_footer) {
  return hash128(cat(header_bytes, index_and_footer));
}

// The entries are contiguous between header and index, in strictly rising order of their hashes.
bool rows_tile(const std::vector<PackRow>& rows, PackForm form, std::uint64_t end) {
  std::uint64_t offset = kPackHeaderBytes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].offset != offset || rows[i].bytes > end - offset || rows[i].bytes > kMostEntryBytes) return false;
    if (form == PackForm::compressed && !frames_hold(rows[i])) return false;
    if (i > 0 && place(rows[i - 1]) >= place(rows[i])) return false;
    offset += rows[i].bytes;
  }
  return offset == end;
}

std::nullopt_t because(std::string* why_not, std::string why) {
  if (why_not != nullptr) *why_not = std::move(why);
  return std::nullopt;
}

}  // namespace

std::string PackRow::key() const { return cat(what_hash.hex(), "/", who_hash.hex()); }

const PackRow* PackIndex::find(const Hash128& what, const Hash128& who) const {
  for (const PackRow& row : find(what)) {
    if (row.who_hash == who) return &row;
  }
  return nullptr;
}

// Hexadecimal digits sort like the bytes.
const PackRow* PackIndex::find_key(std::string_view key) const {
  const auto place =
      std::partition_point(rows_.begin(), rows_.end(), [&](const PackRow& row) { return row.key() < key; });
  return place != rows_.end() && place->key() == key ? &*place : nullptr;
}

std::span<const PackRow> PackIndex::find(const Hash128& what) const {
  const auto first = std::partition_point(rows_.begin(), rows_.end(),
                                          [&](const PackRow& row) { return row.what_hash.bytes < what.bytes; });
  const auto last = std::find_if(first, rows_.end(), [&](const PackRow& row) { return row.what_hash != what; });
  return {first, last};
}

std::optional<std::uint64_t> pack_index_offset(std::string_view footer, std::uint64_t file_bytes, PackForm form,
                                               std::string* why_not) {
  Reader reader(footer);
  const auto count = reader.number<std::uint64_t>();
  const auto offset = reader.number<std::uint64_t>();
  const auto size = reader.number<std::uint64_t>();
  const std::uint64_t least = kPackHeaderBytes + kPackFooterBytes;
  if (footer.size() != kPackFooterBytes || file_bytes < least) return because(why_not, "truncated");
  if (size != file_bytes) return because(why_not, cat("size is ", file_bytes, " bytes, ", size, " were written"));
  const std::uint64_t end = file_bytes - kPackFooterBytes;
  const bool within = offset >= kPackHeaderBytes && offset <= end;
  if (!within || (end - offset) % row_bytes(form) != 0 || (end - offset) / row_bytes(form) != count ||
      count > (offset - kPackHeaderBytes) / kFewestEntryBytes[static_cast<int>(form)])
    return because(why_not, "invalid footer");
  if (count > kMostRows) return because(why_not, cat("it has ", count, " images, and ", kMostRows, " are the most"));
  return offset;
}

std::optional<PackIndex> parse_pack_index(std::string_view header_bytes, std::string_view tail,
                                          std::uint64_t file_bytes, std::string* why_not) {
  if (header_bytes.substr(0, kPackMagic.size()) != kPackMagic)
    return because(why_not, "not a quern pack: the first bytes differ");
  const auto form = form_of(header_bytes);
  if (!form) return because(why_not, "unknown schema; this reader knows 1 and 2");
  if (tail.size() < kPackFooterBytes || tail.size() > file_bytes) return because(why_not, "truncated");
  const auto offset = pack_index_offset(tail.substr(tail.size() - kPackFooterBytes), file_bytes, *form, why_not);
  if (!offset) return std::nullopt;
  if (*offset != file_bytes - tail.size()) return because(why_not, "invalid footer");
  const std::string_view covered = tail.substr(0, tail.size() - kChecksumBytes);
  if (Reader(tail.substr(covered.size())).hash() != index_checksum(header_bytes, covered))
    return because(why_not, "the index's checksum differs");
  std::vector<PackRow> rows((tail.size() - kPackFooterBytes) / row_bytes(*form));
  Reader reader(tail);
  for (PackRow& row : rows) row = take_row(reader, *form);
  if (!rows_tile(rows, *form, *offset)) return because(why_not, "invalid index");
  return PackIndex(std::move(rows), *form);
}

std::optional<PackIndex> read_pack_index(FileSystem& files, int file, std::uint64_t file_bytes, std::string* why_not) {
  if (file_bytes < kPackHeaderBytes + kPackFooterBytes) return because(why_not, "not a quern pack: too short");
  std::string head(kPackHeaderBytes, '\0');
  std::string tail(kPackFooterBytes, '\0');
  int error = read_exactly(files, file, 0, head.size(), head.data());
  if (error == 0) error = read_exactly(files, file, file_bytes - tail.size(), tail.size(), tail.data());
  if (error != 0) return because(why_not, error_text(error));
  const PackForm form = form_of(head).value_or(PackForm::plain);
  if (form == PackForm::compressed && Zstd::open(why_not) == nullptr) return std::nullopt;
  const auto offset = pack_index_offset(tail, file_bytes, form, why_not);
  if (!offset) {
    if (head.substr(0, kPackMagic.size()) != kPackMagic)
      return because(why_not, "not a quern pack: the first bytes differ");
    return std::nullopt;
  }
  tail.resize(static_cast<std::size_t>(file_bytes - *offset));
  error = read_exactly(files, file, *offset, tail.size(), tail.data());
  if (error != 0) return because(why_not, error_text(error));
  return parse_pack_index(head, tail, file_bytes, why_not);
}

namespace {

bool unpack(std::string_view packed, const PackRow& row, PackPart part, std::string* bytes, std::string* why_not) {
  const Zstd* const zstd = Zstd::open(why_not);
  if (zstd == nullptr) return false;
  const auto unpack_frame = [&](std::string_view frame, const Hash128& sum, std::uint64_t size, std::string* to) {
    if (hash128(frame) != sum) return because(why_not, "the checksum differs"), false;
    return zstd->decompress(frame, static_cast<std::size_t>(size), to, why_not);
  };
  const auto head_size = static_cast<std::size_t>(row.head_frame_bytes);
  if (!unpack_frame(packed.substr(0, head_size), row.head_checksum, row.head_bytes, bytes)) return false;
  if (part == PackPart::head) return true;
  std::string rest;
  if (!unpack_frame(packed.substr(head_size), row.rest_checksum, row.rest_bytes, &rest)) return false;
  *bytes += rest;
  return true;
}

}  // namespace

bool read_pack_bytes(FileSystem& files, int file, const PackRow& row, PackPart part, std::string* bytes, int* error,
                     std::string* why_not) {
  const bool compressed = row.head_frame_bytes != 0;
  std::string packed(static_cast<std::size_t>(compressed && part == PackPart::head ? row.head_frame_bytes : row.bytes),
                     '\0');
  *error = read_exactly(files, file, row.offset, packed.size(), packed.data());
  if (*error != 0) return because(why_not, error_text(*error)), false;
  if (compressed) return unpack(packed, row, part, bytes, why_not);
  *bytes = std::move(packed);
  return true;
}

std::optional<Entry> read_pack_entry(FileSystem& files, int file, const PackRow& row, std::string* bytes,
                                     std::string* why_not) {
  int error = 0;
  if (!read_pack_bytes(files, file, row, PackPart::whole, bytes, &error, why_not)) return std::nullopt;
  return parse(*bytes, why_not);
}

// ---- PackWriter

PackWriter::PackWriter(FileSystem& files, const std::string& path, std::chrono::milliseconds patience)
    : path_(path), lock_(files, path_, patience) {
  if (lock_.staging().empty()) {
    file_.emplace(files, path_);
  } else {
    file_.emplace(files, path_, lock_.staging());
  }
  check(file_->create(kPackMode));
}

void PackWriter::set_form(PackForm form) {
  std::string why;
  form_ = form;
  zstd_ = form == PackForm::compressed ? Zstd::open(&why) : nullptr;
  if (form == PackForm::compressed && zstd_ == nullptr)
    throw Error(Code::io, Stage::store, cat("cannot write ", path_, ": ", why));
}

void PackWriter::check(int error) const {
  if (error != 0) throw Error(Code::io, Stage::store, file_->why_not(error));
}

void PackWriter::append(std::string_view bytes) {
  check(file_->append(bytes));
  offset_ += bytes.size();
}

void PackWriter::add(const Entry& entry) {
  if (offset_ == 0) append(header(form_));
  const std::string bytes = serialize(entry);
  PackRow row;
  row.what_hash = hash128(entry.what);
  row.who_hash = hash128(entry.who);
  row.offset = offset_;
  row.bytes = bytes.size();
  row.compiler_order = entry.compiler_order;
  row.created_unix_ns = entry.created_unix_ns;
  append(zstd_ == nullptr ? bytes : compress(bytes, row));
  rows_.push_back(row);
}

std::string PackWriter::compress(std::string_view bytes, PackRow& row) const {
  row.head_bytes = head_bytes(bytes);
  row.rest_bytes = bytes.size() - row.head_bytes;
  std::string frames = zstd_->compress(bytes.substr(0, static_cast<std::size_t>(row.head_bytes)));
  row.head_frame_bytes = frames.size();
  row.head_checksum = hash128(frames);
  const std::string rest = zstd_->compress(bytes.substr(static_cast<std::size_t>(row.head_bytes)));
  row.rest_checksum = hash128(rest);
  frames += rest;
  row.bytes = frames.size();
  return frames;
}

void PackWriter::finish() {
  std::string tail;
  if (offset_ == 0) append(header(form_));
  for (const PackRow& row : rows_) put_row(tail, row, form_);
  put_number(tail, std::uint64_t{rows_.size()});
  put_number(tail, offset_);
  put_number(tail, offset_ + tail.size() + sizeof(std::uint64_t) + kChecksumBytes);
  put_hash(tail, index_checksum(header(form_), tail));
  append(tail);
  check(file_->finish());
  check(file_->place());
  check(file_->settle());
}

}  // namespace quern::cache
