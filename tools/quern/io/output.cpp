#include "io/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "io/table.h"

namespace quern::tool {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string number_text(double number, int digits) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return fixed(number, digits);
}

int output_error = 0;  // of the first write to stdout that failed

void flush() {
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
}

// 0 if it is not a terminal.
std::size_t columns_of(int file) {
  if (isatty(file) == 0) return 0;
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

static Json json_of(const Row& row);

static Json json_of(const Value& value) {
  return std::visit(Overloaded{[](Value::Nothing) { return Json(); },
                               [](const Value::Object& object) { return json_of(object.row.front()); },
                               [](const auto& plain) { return quern::json_of(plain); }},
                    value.value);
}

static Json json_of(const Row& row) {
  Json object = Json::object();
  for (const auto& [name, value] : row.fields) object[name] = json_of(value);
  return object;
}

std::string text_of(const Value& value) {
  return std::visit(Overloaded{[](Value::Nothing) { return std::string("-"); },
                               [](bool yes) { return std::string(yes ? "yes" : "no"); },
                               [&](std::int64_t number) {
                                 return value.is_bytes ? human_bytes(static_cast<double>(number))
                                                       : std::to_string(number);
                               },
                               [&](double number) { return number_text(number, value.digits); },
                               [](const std::string& text) { return printable(text); },
                               [](const Value::Texts& texts) { return printable(join(texts, ", ")); },
                               [](const Value::Object& object) { return to_json(object.row.front()); },
                               [](const Value::Rows& rows) { return cat(rows.size(), " rows"); }},
                    value.value);
}

// Replaces bytes that are not UTF-8, as a file name may have: a row is always printed.
std::string to_json(const Row& row) { return line_of(json_of(row)); }

void print_json(std::string_view schema, const Row& row) {
  Row whole;
  whole.add("schema", std::string(schema));
  whole.fields.insert(whole.fields.end(), row.fields.begin(), row.fields.end());
  print_line(to_json(whole));
  flush();
}

void print_table(const std::vector<Row>& rows) { print(table_text(rows, output_columns())); }

void print_rows(std::string_view schema, const std::vector<Row>& rows, bool json) {
  RowPrinter printer(schema, json);
  for (const Row& row : rows) printer.add(row);
  printer.finish();
}

void RowPrinter::add(Row row) {
  if (json_) print_json(schema_, row);
  rows_.push_back(std::move(row));
}

void RowPrinter::finish() const {
  if (!json_) print_table(rows_);
}

void open_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) < 0 && errno == EBADF) open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

std::string finish_output() {
  flush();
  return output_error == 0 ? "" : error_text(output_error);
}

std::size_t output_columns() { return columns_of(STDOUT_FILENO); }
std::size_t error_columns() { return columns_of(STDERR_FILENO); }

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && output_error == 0) output_error = errno;
}

void print_line(std::string_view text) {
  print(text);
  print("\n");
}

void note(std::string_view text) {
  const std::string line = cat(printable_lines(text), "\n");  // it may hold names from files
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void print_item(std::string_view label, std::string_view text) {
  constexpr std::size_t kWidth = 12;
  print_line(cat(label, std::string(std::max(kWidth, label.size() + 1) - label.size(), ' '), text));
}

}  // namespace quern::tool
