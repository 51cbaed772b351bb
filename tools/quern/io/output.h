// What commands print. Data goes to stdout as tables for people or as JSON lines; everything else goes to stderr.
#ifndef QUERN_TOOLS_IO_OUTPUT_H_
#define QUERN_TOOLS_IO_OUTPUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace quern::tool {

struct Row;

// A cell. In tables a number has `digits` decimal places, and a number of bytes is "1.50 MiB". JSON has the exact
// value.
struct Value {
  struct Nothing {};
  using Texts = std::vector<std::string>;
  using Rows = std::vector<Row>;
  struct Object {
    Rows row;  // one
  };
  std::variant<Nothing, bool, std::int64_t, double, std::string, Texts, Rows, Object> value;
  int digits = 2;
  bool is_bytes = false;

  Value() = default;
  // From a type that the variant takes, a std::size_t or a Row.
  template <class T>
  Value(T v, int d = 2) : value(stored(std::move(v))), digits(d) {}  // NOLINT(google-explicit-constructor)
  static Value of_bytes(std::int64_t bytes);

 private:
  template <class T>
  static auto stored(T v) {
    if constexpr (std::is_same_v<T, Row>) {
      return Object{{std::move(v)}};
    } else if constexpr (std::is_same_v<T, std::size_t>) {
      return static_cast<std::int64_t>(v);
    } else {
      return v;
    }
  }
};

// Named values in order: a JSON object, or a row of a table.
struct Row {
  std::vector<std::pair<std::string, Value>> fields;
  Row& add(std::string name, Value value) {
    fields.emplace_back(std::move(name), std::move(value));
    return *this;
  }
};

inline Value Value::of_bytes(std::int64_t bytes) {
  Value value(bytes);
  value.is_bytes = true;
  return value;
}

std::string to_json(const Row& row);
std::string text_of(const Value& value);

// One JSON object a line, flushed. `schema` is its first member, "quern.prewarm/1": docs/json.md has its members.
void print_json(std::string_view schema, const Row& row);
// As table_text has it, fitted to the terminal.
void print_table(const std::vector<Row>& rows);
void print_rows(std::string_view schema, const std::vector<Row>& rows, bool json);

// Rows of one schema: each printed as a JSON line when it is added, or all as one table at the end.
class RowPrinter {
 public:
  RowPrinter(std::string_view schema, bool json) : schema_(schema), json_(json) {}
  void add(Row row);
  // Prints the table.
  void finish() const;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  const std::string schema_;
  const bool json_;
  std::vector<Row> rows_;
};

// Called once, before anything is opened: opens /dev/null for each closed standard file, so that a file opened later
// does not get its descriptor.
void open_standard_files();
// Called once, at the end: "" if all output was written, else the error.
std::string finish_output();

// The terminal's columns; 0 if stdout or stderr is not a terminal.
std::size_t output_columns();
std::size_t error_columns();

void print(std::string_view text);       // to stdout, as it is
void print_line(std::string_view text);  // to stdout
void note(std::string_view text);        // a line to stderr
// "label     text", for reports that are not tables.
void print_item(std::string_view label, std::string_view text);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_OUTPUT_H_
