#include "io/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "io/layout.h"

namespace quern::tool {
namespace {

constexpr std::size_t kLeastColumn = 16;  // minimum width of a wrapped column
constexpr std::size_t kFrame = 3;         // of a column: " ", " |"

struct Cell {
  std::string text;
  bool right;
};
using Cells = std::vector<Cell>;
using Widths = std::vector<std::size_t>;

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.value) || std::holds_alternative<double>(value.value);
}

Cells header(const Row& row) {
  Cells cells;
  for (const auto& [name, value] : row.fields) cells.push_back({printable(name), is_number(value)});
  return cells;
}

Cells cells_of(const Row& row, std::size_t columns) {
  Cells cells;
  for (const auto& [name, value] : row.fields) cells.push_back({text_of(value), is_number(value)});
  cells.resize(columns);
  return cells;
}

std::size_t total(const Widths& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{1}) + kFrame * widths.size();
}

// Widths of the columns, each at most `cap`.
Widths capped(Widths widths, std::size_t cap) {
  for (std::size_t& width : widths) width = std::min(width, cap);
  return widths;
}

// The largest cap with which the table fits; nothing if that is too small to read.
Widths fitting(const Widths& natural, std::size_t columns) {
  if (columns == 0 || total(natural) <= columns) return natural;
  std::size_t cap = *std::max_element(natural.begin(), natural.end());
  while (cap >= kLeastColumn && total(capped(natural, cap)) > columns) --cap;
  return cap < kLeastColumn ? Widths{} : capped(natural, cap);
}

std::string padded(const std::string& text, bool right, std::size_t width) {
  const std::string space(width - width_of(text), ' ');
  return right ? space + text : text + space;
}

// A row, with as many lines as its tallest cell.
std::string row_text(const Cells& cells, const Widths& widths) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    lines.push_back(wrap_hard(cells[i].text, widths[i]));
    height = std::max(height, lines.back().size());
  }
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    out += '|';
    for (std::size_t i = 0; i < cells.size(); ++i)
      out += cat(" ", padded(line < lines[i].size() ? lines[i][line] : "", cells[i].right, widths[i]), " |");
    out += '\n';
  }
  return out;
}

std::string rule_text(const Cells& cells, const Widths& widths) {
  std::string out = "|";
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += cat(std::string(widths[i] + 1, '-'), cells[i].right ? ":" : "-", "|");
  return out + "\n";
}

// "name   value", a line each, and an empty line between rows.
std::string blocks_text(const std::vector<Cells>& table, std::size_t columns) {
  std::size_t names = 0;
  for (const Cell& cell : table.front()) names = std::max(names, width_of(cell.text) + 2);
  const std::size_t values = std::max(kLeastColumn, columns - std::min(columns, names));
  std::string out;
  for (std::size_t row = 1; row < table.size(); ++row) {
    if (row > 1) out += '\n';
    for (std::size_t i = 0; i < table[row].size(); ++i) {
      std::string name = table.front()[i].text;
      for (const std::string& line : wrap_hard(table[row][i].text, values))
        out += cat(padded(std::exchange(name, ""), false, names), line, "\n");
    }
  }
  return out;
}

}  // namespace

std::string table_text(const std::vector<Row>& rows, std::size_t columns) {
  if (rows.empty()) return "";
  std::vector<Cells> table = {header(rows.front())};
  for (const Row& row : rows) table.push_back(cells_of(row, table.front().size()));
  Widths natural(table.front().size());
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < cells.size(); ++i) natural[i] = std::max(natural[i], width_of(cells[i].text));
  }
  const Widths widths = fitting(natural, columns);
  if (widths.empty()) return blocks_text(table, columns);
  std::string out = row_text(table.front(), widths) + rule_text(table.front(), widths);
  for (std::size_t i = 1; i < table.size(); ++i) out += row_text(table[i], widths);
  return out;
}

}  // namespace quern::tool
