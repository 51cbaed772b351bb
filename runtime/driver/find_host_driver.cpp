#include "driver/find_host_driver.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/text.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libquern_hostdriver.so";

// The folder of libquern, or of the program that it is linked into.
fs::path own_folder() {
  Dl_info info{};
  return dladdr(kName, &info) != 0 && info.dli_fname != nullptr ? fs::path(info.dli_fname).parent_path() : fs::path();
}

}  // namespace

std::vector<std::string> host_driver_places(const Environment& environment) {
  if (const std::string& given = environment[Variable::hostdriver]; !given.empty()) return {given};
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> places;
  for (const fs::path& place : {own_folder(), folder, folder.parent_path(), folder.parent_path() / QUERN_LIBDIR})
    places.push_back((place / kName).string());
  places.emplace_back(kName);
  return places;
}

std::shared_ptr<Driver> open_host_driver(const Environment& environment) {
  std::string tried;
  for (const std::string& place : host_driver_places(environment)) {
    std::error_code error;
    if (place.find('/') != std::string::npos && !fs::exists(place, error)) {
      tried += cat("\n  ", place, ": no such file");
      continue;
    }
    try {
      auto driver = Driver::open(place);
      if (driver->runs_host_images()) return driver;
      tried += cat("\n  ", place, ": is not quern's host driver");
    } catch (const Error& error_of_place) {
      if (error_of_place.code != Code::no_driver) throw;
      const std::size_t tail = error_of_place.sentence.rfind(cat(place, ": "));
      tried += cat("\n  ", tail == std::string::npos ? error_of_place.sentence : error_of_place.sentence.substr(tail));
    }
  }
  throw Error(Code::no_driver, Stage::load,
              cat("no host driver: ", kName,
                  " was not found. Build it (QUERN_BUILD_HOSTDRIVER=ON), or give its path in "
                  "QUERN_HOSTDRIVER_LIBRARY. Tried:",
                  tried));
}

}  // namespace quern
