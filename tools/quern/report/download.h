// Files that a page carries in itself.
#ifndef QUERN_TOOLS_REPORT_DOWNLOAD_H_
#define QUERN_TOOLS_REPORT_DOWNLOAD_H_

#include <string>
#include <string_view>

namespace quern::tool::report {

// <a download>: saves `text` as `name`. It is in the link gzipped; the page's script unpacks it, and without the script
// a click saves `name`.gz.
std::string download_link(std::string_view label, std::string_view name, std::string_view text);

}  // namespace quern::tool::report

#endif  // QUERN_TOOLS_REPORT_DOWNLOAD_H_
