#include "io/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace quern::tool {
namespace {

Layout dense(DType type, std::int64_t rows, std::int64_t width) { return Layout::matrix(type, rows, width, width); }

class Npy : public ::testing::Test {
 protected:
  Npy() : path_((std::filesystem::temp_directory_path() / cat("quern_npy_", getpid(), ".npy")).string()) {}
  ~Npy() override { std::filesystem::remove(path_); }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  // A file whose head is `dictionary`.
  static std::string with_head(const std::string& dictionary, const std::string& data = "") {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(dictionary.size() & 0xff);
    bytes += static_cast<char>(dictionary.size() >> 8);
    return bytes + dictionary + data;
  }

  std::string refusal_of(const std::string& bytes) const {
    write(bytes);
    try {
      read_npy_header(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::bad_input);
      EXPECT_NE(error.sentence.find(path_), std::string::npos) << error.sentence;
      return error.sentence;
    }
    return "";
  }

  const std::string path_;
};

TEST_F(Npy, RoundTripKeepsEachTypesBytes) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    const Layout layout = dense(type, 3, 5);
    std::vector<std::byte> data(static_cast<std::size_t>(layout.span_bytes()));
    for (std::size_t b = 0; b < data.size(); ++b) data[b] = static_cast<std::byte>(7 * b + 1);
    write(npy_bytes(layout, data.data()));
    const NpyHeader header = read_npy_header(path_);
    EXPECT_EQ(header.type, npy_types(type).front());
    EXPECT_EQ(header.data_offset % 64, 0);
    EXPECT_NO_THROW(require_layout(header, layout, "x"));
    std::vector<std::byte> back(data.size());
    read_npy_data(header, layout, back.data());
    EXPECT_EQ(back, data) << name(type);
  }
}

TEST_F(Npy, RowsFurtherApartThanLong) {
  const Layout layout = Layout::matrix(u8, 2, 3, 8);
  std::vector<std::byte> memory(static_cast<std::size_t>(layout.span_bytes()), std::byte{9});
  write(npy_bytes(dense(u8, 2, 3), reinterpret_cast<const std::byte*>("abcdef")));
  read_npy_data(read_npy_header(path_), layout, memory.data());
  EXPECT_EQ(std::memcmp(memory.data(), "abc", 3), 0);
  EXPECT_EQ(memory[3], std::byte{9});
  EXPECT_EQ(std::memcmp(memory.data() + 8, "def", 3), 0);
  EXPECT_EQ(npy_bytes(layout, memory.data()), npy_bytes(dense(u8, 2, 3), reinterpret_cast<const std::byte*>("abcdef")));
}

TEST_F(Npy, RowsOfMatricesThatLieApart) {
  const Layout layout{u8, 3, {2, 2, 2}, {5, 2, 1}};
  std::vector<std::byte> memory(static_cast<std::size_t>(layout.span_bytes()), std::byte{'-'});
  EXPECT_EQ(memory.size(), 9u);
  write(npy_bytes(dense(u8, 4, 2), reinterpret_cast<const std::byte*>("abcdefgh")));
  read_npy_data(read_npy_header(path_), layout, memory.data());
  EXPECT_EQ(std::memcmp(memory.data(), "abcd-efgh", 9), 0);
}

TEST_F(Npy, MatricesAreThreeDimensionsOrAllRowsInOne) {
  Layout layout{u8, 3, {2, 3, 1}, {3, 1, 1}};
  const auto refused = [&](const char* shape) {
    write(with_head(cat("{'descr': '|u1', 'fortran_order': False, 'shape': ", shape, ", }"), "abcdef"));
    try {
      require_layout(read_npy_header(path_), layout, "source");
    } catch (const Error& error) {
      return error.sentence;
    }
    return std::string();
  };
  EXPECT_EQ(refused("(2, 3, 1)"), "");
  EXPECT_EQ(refused("(6, 1)"), "");
  EXPECT_NE(refused("(3, 2, 1)").find("of shape (2, 3, 1) or (6, 1)"), std::string::npos) << refused("(3, 2, 1)");
  EXPECT_NE(refused("(1, 6, 1)"), "");
  write(npy_bytes(layout, reinterpret_cast<const std::byte*>("abcdef")));
  EXPECT_EQ(read_npy_header(path_).shape, (std::vector<std::int64_t>{2, 3, 1}));
  layout = {u8, 3, {1, 6, 1}, {6, 1, 1}};
  EXPECT_EQ(refused("(1, 6, 1)"), "");
  EXPECT_EQ(shape_of(layout), (std::vector<std::int64_t>{6, 1}));
  layout = dense(u8, 6, 1);
  EXPECT_NE(refused("(1, 6, 1)"), "");
}

// Regression: a mask of moe_map that NumPy compared into being was refused.
TEST_F(Npy, BoolsAreBytesOf0And1) {
  write(with_head("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }", std::string("\0\1\1\0\0\1", 6)));
  const NpyHeader header = read_npy_header(path_);
  const Layout layout = dense(u8, 2, 3);
  EXPECT_NO_THROW(require_layout(header, layout, "map"));
  std::vector<std::byte> memory(6);
  read_npy_data(header, layout, memory.data());
  EXPECT_EQ(std::memcmp(memory.data(), "\0\1\1\0\0\1", 6), 0);
  EXPECT_THROW(require_layout(header, dense(i8, 2, 3), "map"), Error);
  EXPECT_EQ(npy_types(u8).front(), "|u1") << "what is written";
}

TEST_F(Npy, OneDimensionAndEmpty) {
  const Layout one = Layout::list(i64, 2);
  const std::int64_t values[] = {1, -1};
  write(npy_bytes(one, reinterpret_cast<const std::byte*>(values)));
  EXPECT_EQ(read_npy_header(path_).shape, (std::vector<std::int64_t>{2}));
  write(npy_bytes(dense(f32, 0, 7), nullptr));
  EXPECT_EQ(read_npy_header(path_).data_bytes, 0);
}

TEST_F(Npy, ReadsTheOtherVersions) {
  for (const char version : {'\x02', '\x03'}) {
    const std::string head = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
    std::string bytes("\x93NUMPY", 6);
    bytes += version;
    bytes += '\0';
    bytes += static_cast<char>(head.size());
    bytes += std::string(3, '\0');
    write(bytes + head + "ab");
    EXPECT_EQ(read_npy_header(path_).shape, (std::vector<std::int64_t>{2}));
  }
}

TEST_F(Npy, RefusesWhatIsNoNpy) {
  EXPECT_NE(refusal_of("PK\x03\x04 not this").find("not a .npy"), std::string::npos);
  EXPECT_NE(refusal_of("").find("not a .npy"), std::string::npos);
  EXPECT_NE(refusal_of(std::string("\x93NUMPY\x09\x00\x02\x00{}", 12)).find("version 9"), std::string::npos);
  std::filesystem::remove(path_);
  EXPECT_THROW(read_npy_header(path_), Error);
  EXPECT_THROW(read_npy_header(std::filesystem::temp_directory_path().string()), Error);
}

TEST_F(Npy, RefusesTruncationAtEveryByte) {
  const std::string whole = npy_bytes(dense(u8, 2, 3), reinterpret_cast<const std::byte*>("abcdef"));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal_of(whole.substr(0, length)), "") << length;
  EXPECT_NE(refusal_of(whole + "g"), "");
  EXPECT_EQ(refusal_of(whole), "");
}

TEST_F(Npy, RefusesHostileHeads) {
  for (const char* head : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }",
           "{'descr': '<f999999999999', 'fortran_order': False, 'shape': (1,), }",
           "{'descr': '', 'fortran_order': False, 'shape': (1,), }",
           "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
           "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }",
           "{'descr': '<f4', 'shape': (1,), }",
           "{'descr': '<f4",
           "((((((((",
           "",
       })
    EXPECT_NE(refusal_of(with_head(head, "abcd")), "") << head;
  const std::string deep = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::string(90, ' ') + "), }";
  EXPECT_EQ(refusal_of(with_head(deep, "abcd")), "");
}

TEST_F(Npy, RefusesAnotherLayoutAndSaysWhatIsAccepted) {
  write(with_head("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'x')));
  const NpyHeader header = read_npy_header(path_);
  EXPECT_NO_THROW(require_layout(header, dense(f32, 2, 3), "x"));
  EXPECT_THROW(require_layout(header, dense(i32, 2, 3), "x"), Error);
  EXPECT_THROW(require_layout(header, dense(f32, 3, 2), "x"), Error);
  EXPECT_THROW(require_layout(header, Layout::list(f32, 6), "x"), Error);
  try {
    require_layout(header, dense(bf16, 4, 3), "source");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.sentence.find("<f4 of shape (2, 3)"), std::string::npos) << error.sentence;
    EXPECT_NE(error.sentence.find("source takes bf16 (<u2"), std::string::npos) << error.sentence;
    EXPECT_NE(error.sentence.find("(4, 3)"), std::string::npos) << error.sentence;
  }
}

TEST_F(Npy, RefusesFortranOrderAndBigEndian) {
  write(with_head("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", std::string(24, 'x')));
  EXPECT_THROW(require_layout(read_npy_header(path_), dense(f32, 2, 3), "x"), Error);
  write(with_head("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'x')));
  EXPECT_THROW(require_layout(read_npy_header(path_), dense(f32, 2, 3), "x"), Error);
}

}  // namespace
}  // namespace quern::tool
