#include "report/html_report.h"

#include <algorithm>

#include "base/text.h"
#include "quern/error.h"
#include "report/csv.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/sections.h"
#include "report/sweep_view.h"

namespace quern::tool {
namespace {

using namespace report;

std::string overview_row(const SweepView& view, std::size_t number) {
  const double us = view.leader_us();
  const double copy = view.copy_percent(us);
  const auto cell = [](std::string_view style, std::string_view text) { return text_element("td", style, text); };
  const std::string link = text_element("a", cat("href=\"#sweep-", number, "\""), view.head().problem);
  std::string row = element("td", "", link);
  row += cell("", view.head().device);
  row += cell("class=\"n\"", us_text(view.default_us())) + cell("class=\"n\"", us_text(us));
  row += cell("class=\"n\"", gain_text(view));
  row += cell("class=\"n\"", copy > 0 ? percent_text(copy, 1) : std::string(kDash));
  row += cell("class=\"n\"", count_text(view.evaluations));
  return element("tr", "", row + cell("class=\"nowrap\"", outcome(view)));
}

std::string overview(const std::vector<SweepView>& views) {
  if (views.size() < 2) return "";
  std::string rows;
  for (std::size_t i = 0; i < views.size(); ++i) rows += overview_row(views[i], i + 1);
  const std::string head =
      "<tr><th scope=\"col\">problem</th><th scope=\"col\">device</th>"
      "<th scope=\"col\" class=\"n\">default <span class=\"unit\">µs</span></th>"
      "<th scope=\"col\" class=\"n\">winner <span class=\"unit\">µs</span></th>"
      "<th scope=\"col\" class=\"n\">faster by</th><th scope=\"col\" class=\"n\">of a copy</th>"
      "<th scope=\"col\" class=\"n\">tried</th><th scope=\"col\">outcome</th></tr>";
  const std::string table = element("table", "", cat(element("thead", "", head), element("tbody", "", rows)));
  return cat("<h3>Overview</h3>", element("div", "class=\"scroll\"", table));
}

std::string subtitle(const std::vector<SweepView>& views) {
  std::vector<std::string> devices;
  std::int64_t tried = 0;
  for (const SweepView& view : views) {
    tried += view.evaluations;
    const std::string& device = view.head().device;
    if (!device.empty() && std::find(devices.begin(), devices.end(), device) == devices.end())
      devices.push_back(device);
  }
  const std::string on = devices.empty() ? "" : cat(" on ", join(devices, ", "));
  return cat(count_of(static_cast<std::int64_t>(views.size()), "sweep"), on, ", ", count_of(tried, "config"), " tried");
}

// How many configs each chart of a sweep draws: a limit for one sweep, less if many share the page.
int points_for(std::size_t sweeps) {
  return static_cast<int>(std::clamp<std::size_t>(6000 / std::max<std::size_t>(sweeps, 1), 150, 1500));
}

Error wrong_count(std::size_t sweeps) {
  return Error(Code::bad_input, Stage::tool,
               cat("--compare takes two sweeps; ", sweeps, sweeps == 1 ? " was" : " were", " given"));
}

Error other_family(const std::vector<Journal>& two) {
  return Error(
      Code::bad_input, Stage::tool,
      cat("--compare takes two sweeps of one family; these are of ", two[0].head.family, " and ", two[1].head.family));
}

std::string measurements(const std::vector<Journal>& journals) {
  return element("p", "", download_link("Every measurement as CSV", "sweeps.csv", csv_of(journals)));
}

// A whole page, with `first` between its header and the sweeps.
std::string page(const std::vector<Journal>& journals, const std::vector<SweepView>& views, const std::string& title,
                 const std::string& first) {
  std::string body = cat("<header><h1>Tuning report</h1>", text_element("p", "class=\"soft\"", subtitle(views)),
                         measurements(journals), "</header>", first);
  for (std::size_t i = 0; i < views.size(); ++i) body += sweep_section(views[i], static_cast<int>(i) + 1);
  const std::string head = cat("<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">",
                               text_element("title", "", title), element("style", "", kStyle));
  return cat("<!DOCTYPE html>\n<html lang=\"en\"><head>", head, "</head>\n<body>", body, element("script", "", kScript),
             "</body></html>\n");
}

std::vector<SweepView> views_of(const std::vector<Journal>& journals) {
  std::vector<SweepView> views;
  for (const Journal& journal : journals) views.push_back(view_of(journal, points_for(journals.size())));
  return views;
}

}  // namespace

std::string html_report(const std::vector<Journal>& journals) {
  const std::vector<SweepView> views = views_of(journals);
  const std::string title = views.size() == 1 ? cat("Tuning ", views.front().head().problem) : "Tuning sweeps";
  return page(journals, views, title, overview(views));
}

std::string html_comparison(const std::vector<Journal>& two) {
  if (two.size() != 2) throw wrong_count(two.size());
  if (two[0].head.family != two[1].head.family) throw other_family(two);
  const std::vector<SweepView> views = views_of(two);
  return page(two, views, cat("Two sweeps of ", views.front().head().family),
              comparison_section(compare(views[0], views[1])) + overview(views));
}

}  // namespace quern::tool
