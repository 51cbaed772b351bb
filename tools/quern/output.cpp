#include "output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "layout.h"

namespace quern::tool {
namespace {

using Json = nlohmann::ordered_json;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

Json json_of(const Row& row);

Json json_of(const Value& value) {
  return std::visit(Overloaded{[](Value::Nothing) { return Json(nullptr); },
                               [](const Value::Rows& rows) {
                                 Json array = Json::array();
                                 for (const Row& row : rows) array.push_back(json_of(row));
                                 return array;
                               },
                               [](const Value::Object& object) { return json_of(object.row.front()); },
                               [](const auto& plain) { return Json(plain); }},
                    value.value);
}

Json json_of(const Row& row) {
  Json object = Json::object();
  for (const auto& [name, value] : row.fields) object[name] = json_of(value);
  return object;
}

std::string number_text(double number, int digits) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return fixed(number, digits);
}

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.value) || std::holds_alternative<double>(value.value);
}

struct Cell {
  std::string text;
  bool right;
};
using Cells = std::vector<std::vector<Cell>>;

std::vector<Cell> header(const Row& row) {
  std::vector<Cell> cells;
  for (const auto& [name, value] : row.fields) cells.push_back({name, is_number(value)});
  return cells;
}

std::vector<Cell> cells_of(const Row& row, std::size_t columns) {
  std::vector<Cell> cells;
  for (const auto& [name, value] : row.fields) cells.push_back({text_of(value), is_number(value)});
  cells.resize(columns);
  return cells;
}

std::string padded(const Cell& cell, std::size_t width) {
  const std::string space(width - width_of(cell.text), ' ');
  return cell.right ? space + cell.text : cell.text + space;
}

void print_cells(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths) {
  std::string line = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) line += cat(" ", padded(cells[i], widths[i]), " |");
  print_line(line);
}

void print_rule(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths) {
  std::string line = "|";
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += cat(std::string(widths[i] + 1, '-'), cells[i].right ? ":" : "-", "|");
  print_line(line);
}

int output_error = 0;  // of the first write to stdout that failed

// 0 where it is no terminal.
std::size_t columns_of(int file) {
  if (isatty(file) == 0) return 0;
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string text_of(const Value& value) {
  return std::visit(Overloaded{[](Value::Nothing) { return std::string("-"); },
                               [](bool yes) { return std::string(yes ? "yes" : "no"); },
                               [](std::int64_t number) { return std::to_string(number); },
                               [&](double number) { return number_text(number, value.digits); },
                               [](const std::string& text) { return text; },
                               [](const Value::Texts& texts) { return join(texts, ", "); },
                               [](const Value::Object& object) { return to_json(object.row.front()); },
                               [](const Value::Rows& rows) { return cat(rows.size(), " rows"); }},
                    value.value);
}

// Bytes that are no UTF-8, a file name's for one, are replaced: a row is always printed.
std::string to_json(const Row& row) { return json_of(row).dump(-1, ' ', false, Json::error_handler_t::replace); }

void print_json(const Row& row) { print_line(to_json(row)); }

void print_json(const std::vector<Row>& rows) {
  for (const Row& row : rows) print_json(row);
}

void print_table(const std::vector<Row>& rows) {
  if (rows.empty()) return;
  Cells table = {header(rows.front())};
  for (const Row& row : rows) table.push_back(cells_of(row, table.front().size()));
  std::vector<std::size_t> widths(table.front().size());
  for (const auto& cells : table) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i].text));
  }
  print_cells(table.front(), widths);
  print_rule(table.front(), widths);
  for (std::size_t i = 1; i < table.size(); ++i) print_cells(table[i], widths);
}

void print_rows(const std::vector<Row>& rows, bool json) {
  if (json) {
    print_json(rows);
  } else {
    print_table(rows);
  }
}

void open_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) < 0 && errno == EBADF) open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

std::string finish_output() {
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
  return output_error == 0 ? "" : error_text(output_error);
}

std::size_t output_columns() { return columns_of(STDOUT_FILENO); }

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && output_error == 0) output_error = errno;
}

void print_line(std::string_view text) {
  print(text);
  print("\n");
}

void note(std::string_view text) {
  const std::string line = cat(text, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void print_item(std::string_view label, std::string_view text) {
  constexpr std::size_t kWidth = 12;
  print_line(cat(label, std::string(std::max(kWidth, label.size() + 1) - label.size(), ' '), text));
}

Progress::Progress(std::size_t total) : total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::size_t done, std::string_view what) const {
  if (!terminal_) return;
  const std::string line = cat("[", done, "/", total_, "] ", what);
  std::fprintf(stderr, "\r\033[K%s", line.substr(0, columns_of(STDERR_FILENO) - 1).c_str());
}

}  // namespace quern::tool
