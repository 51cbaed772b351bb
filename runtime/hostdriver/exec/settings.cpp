#include "hostdriver/exec/settings.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/text.h"

namespace quern::host {
namespace {

constexpr std::int64_t kMaxDevices = 16;

// A refusal within this file: `apply` converts it to its result.
struct Wrong {
  std::string words;
};

struct DeviceKey {
  const char* name;
  void (*set)(DeviceSettings&, std::int64_t);
  std::int64_t least, most;
};

#define QUERN_FIGURE(member) #member, [](DeviceSettings & d, std::int64_t v) { d.member = static_cast<int>(v); }
constexpr DeviceKey kDeviceKeys[] = {
    {QUERN_FIGURE(arch), 50, 999},
    {QUERN_FIGURE(multiprocessors), 1, 1024},
    {QUERN_FIGURE(threads_per_multiprocessor), 32, 4096},
    {QUERN_FIGURE(threads_per_block), 32, 1024},
    {QUERN_FIGURE(shared_per_block), 1024, 1 << 20},
    {QUERN_FIGURE(shared_per_block_optin), 1024, 1 << 20},
    {QUERN_FIGURE(shared_per_multiprocessor), 1024, 1 << 20},
    {QUERN_FIGURE(l2_bytes), 1, 1 << 30},
    {"memory_bytes", [](DeviceSettings& d, std::int64_t v) { d.memory_bytes = v; }, 1, std::int64_t{1} << 44},
};
#undef QUERN_FIGURE

struct RunKey {
  const char* name;
  void (*set)(Settings&, std::int64_t);
  std::int64_t least, most;
};

constexpr RunKey kRunKeys[] = {
    {"seed", [](Settings& s, std::int64_t v) { s.seed = static_cast<std::uint64_t>(v); }, 0,
     std::numeric_limits<std::int64_t>::max()},
    {"workers", [](Settings& s, std::int64_t v) { s.workers = static_cast<int>(v); }, 0, 256},
    {"check_bounds", [](Settings& s, std::int64_t v) { s.check_bounds = v != 0; }, 0, 1},
    {"check_initialized", [](Settings& s, std::int64_t v) { s.check_initialized = v != 0; }, 0, 1},
    {"check_races", [](Settings& s, std::int64_t v) { s.check_races = v != 0; }, 0, 1},
    {"say_raw", [](Settings& s, std::int64_t v) { s.say_raw = v != 0; }, 0, 1},
    {"dead_wait_ms", [](Settings& s, std::int64_t v) { s.dead_wait_ms = static_cast<int>(v); }, 1, 3600000},
    {"memory_rate", [](Settings& s, std::int64_t v) { s.rates.memory = v; }, 0, 1'000'000'000},
    {"l2_rate", [](Settings& s, std::int64_t v) { s.rates.l2 = v; }, 0, 1'000'000'000},
    {"copy_rate", [](Settings& s, std::int64_t v) { s.rates.copy = v; }, 0, 1'000'000'000},
    {"drift_percent", [](Settings& s, std::int64_t v) { s.drift_percent = static_cast<int>(v); }, 0, 1000},
};

std::int64_t number(std::string_view key, std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > most)
    throw Wrong{cat(key, "=", text, ": expected a whole number from ", least, " to ", most)};
  return *value;
}

// A list gives one device per item; new devices start with the default figures.
void resize(Settings& settings, std::string_view key, std::int64_t count) {
  if (count < 1 || count > kMaxDevices) throw Wrong{cat(key, ": there may be 1 to ", kMaxDevices, " devices")};
  settings.devices.resize(static_cast<std::size_t>(count));
}

void set_figure(Settings& settings, const DeviceKey& key, std::string_view text) {
  const std::vector<std::string_view> items = split(text, ',');
  if (items.empty()) throw Wrong{cat(key.name, "= has no value")};
  if (items.size() > 1 && items.size() != settings.devices.size())
    throw Wrong{cat(key.name, "=", text, " has ", items.size(), " items for ", settings.devices.size(), " devices")};
  for (std::size_t i = 0; i < settings.devices.size(); ++i)
    key.set(settings.devices[i], number(key.name, items[items.size() == 1 ? 0 : i], key.least, key.most));
}

struct Item {
  std::string_view key, value;
};

std::vector<Item> parse(std::string_view text) {
  std::vector<Item> items;
  while (!(text = trim(text)).empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos && word != "defaults") throw Wrong{cat(word, ": expected key=value")};
    items.push_back({word.substr(0, equals), equals == std::string_view::npos ? "" : word.substr(equals + 1)});
    text.remove_prefix(word.size());
  }
  return items;
}

template <class Key>
const Key* find(std::span<const Key> keys, std::string_view name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_key(std::string_view name) {
  std::vector<std::string> known{"defaults", "devices"};
  for (const RunKey& key : kRunKeys) known.emplace_back(key.name);
  for (const DeviceKey& key : kDeviceKeys) known.emplace_back(key.name);
  throw Wrong{cat("unknown setting ", name, "; expected one of ", join(known, " "))};
}

// The number of devices is set before their figures, whatever the order of the words.
void set_count(Settings& settings, const std::vector<Item>& items) {
  for (const Item& item : items) {
    if (item.key == "defaults") settings = Settings{};
    if (item.key == "devices") resize(settings, item.key, number(item.key, item.value, 1, kMaxDevices));
    if (find<DeviceKey>(kDeviceKeys, item.key) == nullptr) continue;
    const std::size_t count = split(item.value, ',').size();
    if (count > 1) resize(settings, item.key, static_cast<std::int64_t>(count));
  }
}

void set(Settings& settings, const Item& item) {
  if (item.key == "defaults" || item.key == "devices") return;
  if (const DeviceKey* figure = find<DeviceKey>(kDeviceKeys, item.key))
    return set_figure(settings, *figure, item.value);
  const RunKey* run = find<RunKey>(kRunKeys, item.key);
  if (run == nullptr) refuse_key(item.key);
  run->set(settings, number(item.key, item.value, run->least, run->most));
}

void check(const DeviceSettings& device) {
  if (device.shared_per_block > device.shared_per_block_optin ||
      device.shared_per_block_optin > device.shared_per_multiprocessor)
    throw Wrong{cat("shared memory must not shrink from shared_per_block=", device.shared_per_block,
                    " by shared_per_block_optin=", device.shared_per_block_optin,
                    " to shared_per_multiprocessor=", device.shared_per_multiprocessor)};
  if (device.threads_per_block > device.threads_per_multiprocessor)
    throw Wrong{cat("threads_per_block=", device.threads_per_block,
                    " is more than threads_per_multiprocessor=", device.threads_per_multiprocessor)};
}

}  // namespace

std::string DeviceSettings::name() const { return cat("quern host device (sm_", arch, ")"); }

std::string apply(const std::string& text, Settings& settings) {
  try {
    Settings changed = settings;
    const std::vector<Item> items = parse(text);
    set_count(changed, items);
    for (const Item& item : items) set(changed, item);
    for (const DeviceSettings& device : changed.devices) check(device);
    settings = std::move(changed);
    return "";
  } catch (const Wrong& wrong) {
    return wrong.words;
  }
}

}  // namespace quern::host
