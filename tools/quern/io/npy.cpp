#include "io/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "plan/layout_walk.h"

namespace quern::tool {
namespace {

static_assert(std::endian::native == std::endian::little, ".npy files are read and written in memory order");

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::uint32_t kMaxHead = 1 << 20;  // real ones have a few hundred bytes
constexpr std::size_t kMaxRank = 32;         // NumPy's own limit before version 2

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(Code::bad_input, Stage::tool, cat(path, ": ", why));
}

struct TypeRow {
  DType type;
  std::vector<std::string> types;  // that hold it; the first is written
  const char* made_by;             // argument of array.astype() that makes it
  bool numpy_has_it = true;        // else only ml_dtypes has it; its arrays are saved as raw bytes ("V")
};

const std::vector<TypeRow>& type_rows() {
  static const std::vector<TypeRow> rows = {
      {DType::f64, {"<f8"}, "'<f8'"},
      {DType::f32, {"<f4"}, "'<f4'"},
      {DType::f16, {"<f2"}, "'<f2'"},
      {DType::bf16, {"<u2", "<V2", "|V2"}, "ml_dtypes.bfloat16", false},
      {DType::e4m3, {"|u1", "<V1", "|V1"}, "ml_dtypes.float8_e4m3fn", false},
      {DType::e5m2, {"|u1", "<V1", "|V1"}, "ml_dtypes.float8_e5m2", false},
      {DType::e8m0, {"|u1", "<V1", "|V1"}, "ml_dtypes.float8_e8m0fnu", false},
      {DType::i64, {"<i8"}, "'<i8'"},
      {DType::i32, {"<i4"}, "'<i4'"},
      {DType::i16, {"<i2"}, "'<i2'"},
      {DType::i8, {"|i1"}, "'i1'"},
      {DType::u8, {"|u1", "|b1"}, "'u1'"},  // a bool is a byte, 0 or 1
      {DType::c64, {"<c8"}, "'<c8'"},
      {DType::c128, {"<c16"}, "'<c16'"},
  };
  return rows;
}

// Null for none.
const TypeRow* row_of(DType type) {
  for (const TypeRow& row : type_rows()) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

// Parses the Python dictionary at the start of the file: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeadReader {
 public:
  HeadReader(std::string_view text, NpyHeader& header) : rest_(text), header_(header) {}

  void read() {
    expect('{');
    while (!take('}')) {
      const std::string name = quoted();
      expect(':');
      value(name);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (header_.type.empty() || !has_order_ || !has_shape_) fail("descr, fortran_order or shape is missing");
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { refuse(header_.path, cat("invalid header: ", why)); }

  void skip_space() {
    const std::size_t start = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(start, rest_.size()));
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_space();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(cat("'", c, "' was expected"));
  }

  std::string quoted() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') fail("expected a quoted word; structured dtypes are not supported");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a quote is not closed");
    std::string word(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return word;
  }

  void value(const std::string& name) {
    if (name == "descr") {
      header_.type = quoted();
    } else if (name == "fortran_order") {
      header_.fortran_order = boolean();
      has_order_ = true;
    } else if (name == "shape") {
      shape();
      has_shape_ = true;
    } else {
      fail("unknown field");
    }
  }

  bool boolean() {
    if (take("True")) return true;
    if (!take("False")) fail("fortran_order is neither True nor False");
    return false;
  }

  void shape() {
    expect('(');
    header_.shape.clear();
    while (!take(')')) {
      header_.shape.push_back(extent());
      if (header_.shape.size() > kMaxRank) fail("shape has too many dimensions");
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  std::int64_t extent() {
    skip_space();
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto number = parse_integer(rest_.substr(0, end));
    if (!number) fail("shape has a dimension that is not an integer of at least 0");
    rest_.remove_prefix(end);
    return *number;
  }

  std::string_view rest_;
  NpyHeader& header_;
  bool has_order_ = false;
  bool has_shape_ = false;
};

// "<f4" -> 4; 0 for unsupported types.
std::int64_t bytes_of_type(std::string_view type) {
  if (type.size() < 3) return 0;
  const auto bytes = parse_integer(type.substr(2));
  return bytes && *bytes > 0 && *bytes <= 1024 ? *bytes : 0;
}

std::int64_t whole_bytes(const NpyHeader& header) {
  std::int64_t bytes = header.element_bytes;
  for (const std::int64_t extent : header.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      refuse(header.path, cat("its shape ", shape_text(header.shape), " exceeds the address space"));
  }
  return bytes;
}

std::string read_some(std::ifstream& file, std::size_t bytes) {
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

// The dictionary's text. `header.data_offset` is its end.
std::string read_head(std::ifstream& file, NpyHeader& header) {
  const std::string start = read_some(file, 8);
  if (start.size() != 8 || start.compare(0, kNpyMagic.size(), kNpyMagic) != 0)
    refuse(header.path, "not a .npy file: it does not start with \\x93NUMPY; numpy.save writes one");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) refuse(header.path, cat(".npy version ", version, " is unknown; known are 1 to 3"));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::string length_text = read_some(file, length_bytes);
  const std::uint32_t length = little_endian(length_text);
  if (length_text.size() != length_bytes || length > kMaxHead)
    refuse(header.path, "its header is truncated or too long");
  std::string head = read_some(file, length);
  if (head.size() != length)
    refuse(header.path, cat("its header is truncated: ", head.size(), " of ", length, " bytes"));
  header.data_offset = static_cast<std::int64_t>(8 + length_bytes + length);
  return head;
}

std::int64_t file_bytes(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    refuse(path, std::filesystem::exists(path, error) ? "not a regular file; expected a .npy file" : "no such file");
  }
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error) refuse(path, error.message());
  return bytes;
}

// A file of several matrices may have all their rows in one dimension.
std::vector<std::int64_t> flat_shape(const Layout& layout) {
  if (layout.rank != 3) return {layout.extents, layout.extents + layout.rank};
  return {layout.extents[0] * layout.extents[1], layout.extents[2]};
}

bool has_shape(const Layout& layout, const std::vector<std::int64_t>& shape) {
  return shape == flat_shape(layout) || shape == std::vector(layout.extents, layout.extents + layout.rank);
}

std::string accepted_text(const Layout& layout) {
  const std::string rows =
      layout.rank == 3 && layout.extents[0] != 1 ? cat(" or ", shape_text(flat_shape(layout))) : "";
  return cat(name(layout.dtype), " (", join(npy_types(layout.dtype), " or "), ") of shape ",
             shape_text(shape_of(layout)), rows);
}

std::string head_text(const Layout& layout) {
  std::string head = cat("{'descr': '", npy_types(layout.dtype).front(),
                         "', 'fortran_order': False, 'shape': ", shape_text(shape_of(layout)), ", }");
  // The data is aligned to 64 bytes, as in NumPy; the header ends with a newline.
  const std::size_t before = kNpyMagic.size() + 4;
  head.append(63 - (before + head.size()) % 64, ' ');
  return head + "\n";
}

}  // namespace

NpyHeader read_npy_header(const std::string& path) {
  NpyHeader header;
  header.path = path;
  const std::int64_t all = file_bytes(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, "it cannot be opened for reading");
  const std::string head = read_head(file, header);
  HeadReader(head, header).read();
  header.element_bytes = bytes_of_type(header.type);
  if (header.element_bytes == 0) refuse(path, cat("its type ", header.type, " is not supported"));
  header.data_bytes = whole_bytes(header);
  if (all - header.data_offset != header.data_bytes)
    refuse(path, cat("it has ", all - header.data_offset, " bytes of data; ", header.type, " of shape ",
                     shape_text(header.shape), " takes ", header.data_bytes));
  return header;
}

std::vector<std::string> npy_types(DType type) {
  const TypeRow* const row = row_of(type);
  return row == nullptr ? std::vector<std::string>{} : row->types;
}

DType numpy_dtype(std::string_view npy_type) {
  for (const TypeRow& row : type_rows()) {
    if (row.numpy_has_it && row.types.front() == npy_type) return row.type;
  }
  return DType::none;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += cat(text.empty() ? "" : ", ", extent);
  return cat("(", text, shape.size() == 1 ? ",)" : ")");
}

std::vector<std::int64_t> shape_of(const Layout& layout) {
  if (layout.rank == 3 && layout.extents[0] == 1) return flat_shape(layout);
  return {layout.extents, layout.extents + layout.rank};
}

void require_layout(const NpyHeader& header, const Layout& layout, std::string_view operand,
                    const std::vector<std::string>& fitting) {
  const std::vector<std::string> types = npy_types(layout.dtype);
  const bool type_fits = std::find(types.begin(), types.end(), header.type) != types.end();
  if (type_fits && has_shape(layout, header.shape) && !header.fortran_order) return;
  std::string sentence = cat("it holds ", header.type, " of shape ", shape_text(header.shape),
                             header.fortran_order ? " in Fortran order" : "", "; ", operand, " takes ",
                             accepted_text(layout), " in C order");
  if (!type_fits && !fitting.empty()) sentence += cat("; with ", join(fitting, " or "), " the file's type fits");
  if (!type_fits) sentence += cat("; array.astype(", row_of(layout.dtype)->made_by, ") converts it");
  if (header.fortran_order) sentence += "; numpy.ascontiguousarray(array) puts it in C order";
  refuse(header.path, sentence);
}

void read_npy_data(const NpyHeader& header, const Layout& layout, std::byte* memory) {
  std::ifstream file(header.path, std::ios::binary);
  file.seekg(header.data_offset);
  const std::int64_t size = bytes(layout.dtype);
  for_each_run(layout, [&](std::int64_t offset, std::int64_t count, std::int64_t) {
    file.read(reinterpret_cast<char*>(memory + offset * size), count * size);
    if (file.gcount() != count * size) refuse(header.path, "it was truncated while it was read");
  });
}

std::string npy_bytes(const Layout& layout, const std::byte* memory) {
  const std::string head = head_text(layout);
  std::string out(kNpyMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(head.size() & 0xff);
  out += static_cast<char>(head.size() >> 8);
  out += head;
  out.reserve(out.size() + static_cast<std::size_t>(layout.elements() * bytes(layout.dtype)));
  const std::int64_t size = bytes(layout.dtype);
  for_each_run(layout, [&](std::int64_t offset, std::int64_t count, std::int64_t) {
    out.append(reinterpret_cast<const char*>(memory + offset * size), static_cast<std::size_t>(count * size));
  });
  return out;
}

}  // namespace quern::tool
