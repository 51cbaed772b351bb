#include "report/chart.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/html.h"

namespace quern::tool::report {
namespace {

// The smallest of 1, 2, 5 times a power of ten that is at least `value`.
double round_up_to_125(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> even_ticks(double low, double high, int about, double least_step) {
  const double step = std::max(round_up_to_125((high - low) / about), least_step);
  std::vector<double> ticks;
  // By whole steps, so that errors do not accumulate.
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; ++n) ticks.push_back(n * step);
  return ticks;
}

std::vector<double> decade_ticks(double low, double high, int about) {
  std::vector<double> ticks;
  const bool powers_only = 3 * std::log10(high / low) > 2 * about;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && powers_only) break;
      const double tick = factor * power;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  }
  return ticks;
}

int digits_of(double step) { return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6); }

std::string at(double value) {
  std::string text = fixed(value, 1);
  if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text;
}

std::string attribute(std::string_view name, double value) { return cat(" ", name, "=\"", at(value), "\""); }

std::string styled(std::string_view style, int index) {
  std::string out = cat(" class=\"", style, "\"");
  if (index >= 0) out += cat(" data-i=\"", index, "\"");
  return out;
}

}  // namespace

Scale::Scale(double low, double high, double from, double to, Kind kind)
    : low_(low), high_(high), from_(from), to_(to), kind_(kind) {
  if (kind_ == Kind::log) low_ = std::clamp(low_, 1e-9, 1e15), high_ = std::clamp(high_, 1e-9, 1e15);
  // A width that rounding could lose counts as 0: a loop over steps would never end.
  if (high_ - low_ > 1e-9 * std::max(std::abs(low_), std::abs(high_))) return;
  const double around = low_ == 0 ? 1 : std::abs(low_) * 0.05;
  low_ -= around;
  high_ = low_ + 2 * around;
}

double Scale::operator()(double value) const {
  const double inside = std::clamp(value, low_, high_);
  const double part =
      kind_ == Kind::log ? std::log(inside / low_) / std::log(high_ / low_) : (inside - low_) / (high_ - low_);
  return from_ + part * (to_ - from_);
}

std::vector<double> Scale::ticks(int about) const {
  const bool wide = kind_ == Kind::log && high_ / low_ > 8;
  return wide ? decade_ticks(low_, high_, about) : even_ticks(low_, high_, about, kind_ == Kind::count ? 1 : 0);
}

std::vector<std::string> tick_texts(const std::vector<double>& ticks) {
  std::vector<std::string> texts;
  double gap = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
  for (std::size_t i = 1; i < ticks.size(); ++i) gap = std::min(gap, ticks[i] - ticks[i - 1]);
  const bool even =
      ticks.size() < 3 || std::abs(ticks.back() - ticks.front() - gap * double(ticks.size() - 1)) < gap / 2;
  for (const double tick : ticks) texts.push_back(number_text(tick, digits_of(even || tick <= 0 ? gap : tick)));
  return texts;
}

// Counts characters: continuation bytes have no width.
double text_width(std::string_view text) {
  const auto starts = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
  return 6.4 * static_cast<double>(std::count_if(text.begin(), text.end(), starts));
}

void Chart::x_axis(const Scale& scale, std::string_view title) {
  const std::vector<double> ticks = scale.ticks(6);
  const std::vector<std::string> texts = tick_texts(ticks);
  double free_from = x0() - frame_.left;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = scale(ticks[i]);
    line(x, y1(), x, y0(), "grid");
    const double half = text_width(texts[i]) / 2;
    if (x - half < free_from || x + half > frame_.width) continue;
    text(x, y0() + 15, "tick middle", texts[i]);
    free_from = x + half + 6;
  }
  line(x0(), y0(), x1(), y0(), "axis");
  text(x1(), y0() + 31, "title end", title);
}

void Chart::y_axis(const Scale& scale, std::string_view title) {
  const std::vector<double> ticks = scale.ticks(5);
  const std::vector<std::string> texts = tick_texts(ticks);
  double free_below = frame_.height + 100;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double y = scale(ticks[i]);
    line(x0(), y, x1(), y, "grid");
    if (y > free_below) continue;
    text(x0() - 6, y + 4, "tick end", texts[i]);
    free_below = y - 13;
  }
  text(0, y1() - 12, "title", title);
}

void Chart::dot(double x, double y, std::string_view style, int index, double radius) {
  body_ += cat("<circle", attribute("cx", x), attribute("cy", y), attribute("r", radius), styled(style, index), "/>");
}

void Chart::triangle(double x, double y, std::string_view style, int index, double radius) {
  body_ += cat("<path d=\"M", at(x), " ", at(y - radius), "l", at(radius), " ", at(1.8 * radius), "h", at(-2 * radius),
               "z\"", styled(style, index), "/>");
}

void Chart::diamond(double x, double y, std::string_view style, double radius) {
  const std::string r = at(radius);
  body_ += cat("<path d=\"M", at(x), " ", at(y - radius), "l", r, " ", r, "l-", r, " ", r, "l-", r, " -", r, "z\"",
               styled(style, -1), "/>");
}

void Chart::line(double xa, double ya, double xb, double yb, std::string_view style) {
  body_ += cat("<line", attribute("x1", xa), attribute("y1", ya), attribute("x2", xb), attribute("y2", yb),
               styled(style, -1), "/>");
}

void Chart::rectangle(double x, double y, double width, double height, std::string_view style) {
  body_ += cat("<rect", attribute("x", x), attribute("y", y), attribute("width", width), attribute("height", height),
               styled(style, -1), "/>");
}

void Chart::polyline(const std::vector<std::pair<double, double>>& points, std::string_view style, int index) {
  body_ += "<polyline points=\"";
  for (const auto& [x, y] : points) body_ += cat(at(x), ",", at(y), " ");
  body_ += cat("\"", styled(style, index), "/>");
}

void Chart::text(double x, double y, std::string_view style, std::string_view text) {
  body_ += cat("<text", attribute("x", x), attribute("y", y), styled(style, -1), ">", escape(text), "</text>");
}

void Chart::label(double x, double y, std::string_view style, std::string_view text) {
  const double width = text_width(text) + 4;
  const auto anchored = [&](std::string_view where) { return style.find(where) != std::string_view::npos; };
  const double from = anchored("end") ? x - width + 2 : anchored("middle") ? x - width / 2 : x - 2;
  rectangle(from, y - 11, width, 14, "plate");
  this->text(x, y, style, text);
}

std::string Chart::svg(std::string_view label) const {
  return cat("<svg viewBox=\"0 0 ", at(frame_.width), " ", at(frame_.height), "\" role=\"img\" aria-label=\"",
             escape(label), "\">", body_, "</svg>");
}

}  // namespace quern::tool::report
