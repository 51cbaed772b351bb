#include "report/page_parts.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <stdexcept>

#include "base/text.h"
#include "report/html.h"

namespace quern::tool::report {
namespace {

std::string axis_data(const SweepAxis& axis) {
  std::vector<std::string> values;
  for (const std::string& value : axis.values) values.push_back(script_string(value));
  return cat("{\"name\":", script_string(axis.name), ",\"values\":[", join(values, ","), "]}");
}

std::string config_data(const Drawn& config) {
  std::string row = cat("\"", config.index, "\":[", script_string(config.us));
  for (const int value : config.values) row += cat(",", value);
  return row + "]";
}

std::string gzipped(std::string_view text) {
  constexpr int kGzip = 15 + 16;  // largest window, with a gzip header
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib does not write to it
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw std::logic_error("zlib did not take its own bound");
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    for (std::size_t i = at; i < at + 3; ++i)
      three = three << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0);
    const std::size_t digits = std::min<std::size_t>(bytes.size() - at, 3) + 1;
    for (std::size_t i = 0; i < 4; ++i) out += i < digits ? kDigits[three >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string drawn_data(const std::vector<SweepAxis>& axes, const std::vector<Drawn>& configs) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : axes) names.push_back(axis_data(axis));
  std::vector<std::string> rows;
  for (const Drawn& config : configs) rows.push_back(config_data(config));
  return element("script", "type=\"application/json\"",
                 cat("{\"axes\":[", join(names, ","), "],\"configs\":{", join(rows, ","), "}}"));
}

std::string download_link(std::string_view label, std::string_view name, std::string_view text) {
  return text_element("a",
                      cat("class=\"download\" download=\"", escape(name), ".gz\" href=\"data:application/gzip;base64,",
                          base64(gzipped(text)), "\""),
                      label);
}

}  // namespace quern::tool::report
