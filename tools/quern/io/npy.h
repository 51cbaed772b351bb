// NumPy's .npy files: what `--in` reads and `--out` writes. C order, little endian.
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

// What the file says about itself. Its data starts at `data_offset` and is exactly as long as type and shape say.
struct NpyHeader {
  std::string path;
  std::string type;  // NumPy's name: "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t element_bytes = 0;
  std::int64_t data_offset = 0;
  std::int64_t data_bytes = 0;
};

// Reads the head alone. Throws Error (bad_input) that names the file and what is wrong with it: no such file, no .npy,
// a version that does not exist, a broken or hostile head, fewer or more bytes after it than it says.
NpyHeader read_npy_header(const std::string& path);

// NumPy's types that hold `type`, the one that is written first: bf16 is "<u2", as NumPy has none of its own.
std::vector<std::string> npy_types(DType type);
// The dtype that a type of NumPy's is: u8 for "|u1"; none for "<u2", which only holds another one's bytes.
DType numpy_dtype(std::string_view npy_type);

// "(8192, 4096)", "(7,)".
std::string shape_text(const std::vector<std::int64_t>& shape);
// As it is written: of several matrices three dimensions.
std::vector<std::int64_t> shape_of(const Layout& layout);

// Throws Error (bad_input) unless the file holds exactly `layout`, of matrices also with all rows in one dimension,
// saying what would be accepted and how to make it. `operand` is its name, `fitting` are settings of the problem with
// which the file's type would fit.
void require_layout(const NpyHeader& header, const Layout& layout, std::string_view operand,
                    const std::vector<std::string>& fitting = {});

// Reads the data into memory of `layout`, whose rows may be further apart than they are long.
// REQUIRES: require_layout has passed. Throws Error (bad_input) if the file has become shorter.
void read_npy_data(const NpyHeader& header, const Layout& layout, std::byte* memory);

// The bytes of a file that holds `layout`, rows close together.
std::string npy_bytes(const Layout& layout, const std::byte* memory);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_NPY_H_
