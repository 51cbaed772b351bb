// Charts as inline SVG. Colours come from the page's style by class, so that a chart follows light and dark.
#ifndef QUERN_TOOLS_REPORT_CHART_H_
#define QUERN_TOOLS_REPORT_CHART_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::tool::report {

enum class Kind { linear, log, count };  // count: linear with whole ticks

// From data to pixels; what is outside of the data's range is put on its border.
class Scale {
 public:
  // A range without a width gets one. A logarithmic range must be above 0.
  Scale(double low, double high, double from, double to, Kind kind = Kind::linear);
  double operator()(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  double from() const { return from_; }
  double to() const { return to_; }
  // About so many round values inside of the range: 1, 2 or 5 times a power of ten apart; over wide logarithmic ranges
  // 1, 2 and 5 times every power, or the powers alone.
  std::vector<double> ticks(int about) const;

 private:
  double low_;
  double high_;
  double from_;
  double to_;
  Kind kind_;
};

// As many digits as tell the ticks apart.
std::vector<std::string> tick_texts(const std::vector<double>& ticks);

// Roughly what a text takes at the charts' font size.
double text_width(std::string_view text);

struct Frame {
  double width = 460;
  double height = 260;
  double left = 46;
  double right = 14;
  double top = 26;
  double bottom = 38;
};

// A chart in the making: what is added later is drawn on top.
class Chart {
 public:
  explicit Chart(Frame frame) : frame_(frame) {}
  const Frame& frame() const { return frame_; }
  double x0() const { return frame_.left; }
  double x1() const { return frame_.width - frame_.right; }
  double y0() const { return frame_.height - frame_.bottom; }  // the lower border
  double y1() const { return frame_.top; }

  // Grid lines, tick texts and the title: of y above the axis, of x below it. Ticks whose texts would touch go.
  void x_axis(const Scale& scale, std::string_view title);
  void y_axis(const Scale& scale, std::string_view title);

  // `index` is the config's, for the page's script; none below 0.
  void dot(double x, double y, std::string_view style, int index, double radius = 2.4);
  void triangle(double x, double y, std::string_view style, int index, double radius = 3.6);
  void diamond(double x, double y, std::string_view style, double radius = 5);
  void line(double xa, double ya, double xb, double yb, std::string_view style);
  void rectangle(double x, double y, double width, double height, std::string_view style);
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view style, int index = -1);
  // `style` may have the anchor: "end" or "middle" as one of its classes.
  void text(double x, double y, std::string_view style, std::string_view text);

  // A text on a plate of the page's colour, so that what lies below does not strike it through.
  void label(double x, double y, std::string_view style, std::string_view text);

  // `label` says what is seen, for those who do not see it.
  std::string svg(std::string_view label) const;

 private:
  Frame frame_;
  std::string body_;
};

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_CHART_H_
