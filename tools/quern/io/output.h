// What commands print. Data goes to stdout as tables for people or as JSON lines; everything else goes to stderr.
#ifndef QUERN_TOOLS_IO_OUTPUT_H_
#define QUERN_TOOLS_IO_OUTPUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quern::tool {

struct Row;

// A cell. A number shows `digits` behind the point in tables, and a number of bytes "1.50 MiB"; JSON has all of it.
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

  static Value of_bytes(std::int64_t bytes);
  // Defined below Row, which a list of rows needs whole.
  Value();
  Value(bool v);               // NOLINT(google-explicit-constructor)
  Value(int v);                // NOLINT(google-explicit-constructor)
  Value(std::int64_t v);       // NOLINT(google-explicit-constructor)
  Value(std::size_t v);        // NOLINT(google-explicit-constructor)
  Value(double v, int d = 2);  // NOLINT(google-explicit-constructor)
  Value(const char* v);        // NOLINT(google-explicit-constructor)
  Value(std::string v);        // NOLINT(google-explicit-constructor)
  Value(Texts v);              // NOLINT(google-explicit-constructor)
  Value(Rows v);               // NOLINT(google-explicit-constructor)
  Value(Row v);                // NOLINT(google-explicit-constructor)
};

// Named values in order: a JSON object, or a row of a table.
struct Row {
  std::vector<std::pair<std::string, Value>> fields;
  Row& add(std::string name, Value value) {
    fields.emplace_back(std::move(name), std::move(value));
    return *this;
  }
};

inline Value::Value() = default;
inline Value::Value(bool v) : value(v) {}
inline Value::Value(int v) : value(std::int64_t{v}) {}
inline Value::Value(std::int64_t v) : value(v) {}
inline Value::Value(std::size_t v) : value(static_cast<std::int64_t>(v)) {}
inline Value::Value(double v, int d) : value(v), digits(d) {}
inline Value::Value(const char* v) : value(std::string(v)) {}
inline Value::Value(std::string v) : value(std::move(v)) {}
inline Value::Value(Texts v) : value(std::move(v)) {}
inline Value::Value(Rows v) : value(std::move(v)) {}
inline Value::Value(Row v) : value(Object{{std::move(v)}}) {}
inline Value Value::of_bytes(std::int64_t bytes) {
  Value value(bytes);
  value.is_bytes = true;
  return value;
}

std::string to_json(const Row& row);
std::string text_of(const Value& value);

// One JSON object a line, seen at once. `schema` is its first member, "quern.prewarm/1": docs/json.md has its members.
void print_json(std::string_view schema, const Row& row);
// As table_text has it, fitted to the terminal.
void print_table(const std::vector<Row>& rows);
void print_rows(std::string_view schema, const std::vector<Row>& rows, bool json);

// Rows of one schema, as they come: JSON lines at once, or one table in the end.
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

// Once, before anything is opened: a standard file that is closed becomes one that can neither be read nor written, so
// that no file of ours is taken for it.
void open_standard_files();
// Once, at the end: "" where all that was printed was written, else why not.
std::string finish_output();

// The terminal's columns; 0 where stdout, or stderr, is not one.
std::size_t output_columns();
std::size_t error_columns();

void print(std::string_view text);       // to stdout, as it is
void print_line(std::string_view text);  // to stdout
void note(std::string_view text);        // a line to stderr
// "label     text", for reports that are no tables.
void print_item(std::string_view label, std::string_view text);

}  // namespace quern::tool

#endif  // QUERN_TOOLS_IO_OUTPUT_H_
