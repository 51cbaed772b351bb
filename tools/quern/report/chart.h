// Charts as inline SVG. Colours come from the page's style by class, so a chart follows light and dark mode.
#ifndef QUERN_TOOLS_REPORT_CHART_H_
#define QUERN_TOOLS_REPORT_CHART_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::tool::report {

enum class Kind { linear, log, count };  // count: linear with whole ticks

// Maps data to pixels. Values outside the range are put on its border.
class Scale {
 public:
  // A range of width 0 is widened. A logarithmic range must be above 0.
  Scale(double low, double high, double from, double to, Kind kind = Kind::linear);
  double operator()(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  double from() const { return from_; }
  double to() const { return to_; }
  // About `count` round values inside the range: 1, 2 or 5 times a power of ten apart; for wide logarithmic ranges 1, 2
  // and 5 times every power, or only the powers.
  std::vector<double> ticks(int about) const;

 private:
  double low_;
  double high_;
  double from_;
  double to_;
  Kind kind_;
};

// With enough digits to distinguish the ticks.
std::vector<std::string> tick_texts(const std::vector<double>& ticks);

// Approximate width of a text at the charts' font size.
double text_width(std::string_view text);

struct Frame {
  double width = 460;
  double height = 260;
  double left = 46;
  double right = 14;
  double top = 26;
  double bottom = 38;
};

// A chart under construction: later elements are drawn on top.
class Chart {
 public:
  explicit Chart(Frame frame) : frame_(frame) {}
  const Frame& frame() const { return frame_; }
  double x0() const { return frame_.left; }
  double x1() const { return frame_.width - frame_.right; }
  double y0() const { return frame_.height - frame_.bottom; }  // the lower border
  double y1() const { return frame_.top; }

  // Grid lines, tick texts and the title: of y above the axis, of x below it. Drops ticks whose texts would overlap.
  void x_axis(const Scale& scale, std::string_view title);
  void y_axis(const Scale& scale, std::string_view title);

  // `index` is the config's, for the page's script; below 0: none.
  void dot(double x, double y, std::string_view style, int index, double radius = 2.4);
  void triangle(double x, double y, std::string_view style, int index, double radius = 3.6);
  void diamond(double x, double y, std::string_view style, double radius = 5);
  void line(double xa, double ya, double xb, double yb, std::string_view style);
  void rectangle(double x, double y, double width, double height, std::string_view style);
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view style, int index = -1);
  // `style` may include the anchor: "end" or "middle" as one of its classes.
  void text(double x, double y, std::string_view style, std::string_view text);

  // A text on a box of the page's colour, so that marks below do not cross it.
  void label(double x, double y, std::string_view style, std::string_view text);

  // `label` describes the chart for screen readers.
  std::string svg(std::string_view label) const;

 private:
  Frame frame_;
  std::string body_;
};

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_CHART_H_
