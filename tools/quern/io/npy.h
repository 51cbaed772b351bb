// NumPy's .npy files, for `--in` and `--out`. C order, little endian.
#ifndef QUERN_TOOLS_IO_NPY_H_
#define QUERN_TOOLS_IO_NPY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/family.h"

namespace quern::tool {

// The file's header. Its data starts at `data_offset`, and its size is exactly that of type and shape.
struct NpyHeader {
  std::string path;
  std::string type;  // NumPy's name: "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t element_bytes = 0;
  std::int64_t data_offset = 0;
  std::int64_t data_bytes = 0;
};

// Reads only the header. Throws Error (bad_input) with the file and what is wrong: no such file, not a .npy file, an
// unknown version, an invalid or hostile header, fewer or more data bytes than it says.
NpyHeader read_npy_header(const std::string& path);

// NumPy types that hold `type`; the first is written. bf16 is "<u2", as NumPy has no bf16.
std::vector<std::string> npy_types(DType type);
// The dtype of a NumPy type: u8 for "|u1"; none for "<u2", which only holds the bytes of another one.
DType numpy_dtype(std::string_view npy_type);

// "(8192, 4096)", "(7,)".
std::string shape_text(const std::vector<std::int64_t>& shape);
// The shape that is written: three dimensions for several matrices.
std::vector<std::int64_t> shape_of(const Layout& layout);

// Throws Error (bad_input) unless the file holds exactly `layout`, for matrices also with all rows in one dimension.
// The error says what is accepted and how to make it. `operand` is its name; `fitting` are settings of the problem that
// match the file's type.
void require_layout(const NpyHeader& header, const Layout& layout, std::string_view operand,
                    const std::vector<std::string>& fitting = {});

// Reads the data into memory with `layout`, whose row stride may exceed the row length. REQUIRES: require_layout has
// passed. Throws Error (bad_input) if the file was truncated meanwhile.
void read_npy_data(const NpyHeader& header, const Layout& layout, std::byte* memory);

// The bytes of a file that holds `layout`, with contiguous rows.
std::string npy_bytes(const Layout& layout, const std::byte* memory);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_NPY_H_
