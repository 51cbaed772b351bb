// Writes the seeds of every target: quern_fuzz_seeds FOLDER. Inputs that libFuzzer finds from there are kept in
// corpus/.
#include <cstdio>
#include <filesystem>

#include "fuzz/places.h"
#include "records/record.h"

namespace {

using namespace quern;
using namespace quern::fuzz;
using cache::Entry;
using cache::Failure;
using cache::Key;

std::string root;

void seed(const char* target, const char* name, std::string_view bytes) {
  const std::string folder = cat(root, "/", target);
  std::filesystem::create_directories(folder);
  std::string why;
  if (!write_file_atomically(cat(folder, "/", name), bytes, &why)) std::fprintf(stderr, "%s\n", why.c_str());
}

Entry entry_of(const Key& key, bool prewarmed) {
  Entry entry;
  entry.what = key.what;
  entry.who = key.who;
  entry.compiler = "nvrtc 13.0.88";
  entry.compiler_order = 13000088;
  entry.prewarmed = prewarmed;
  entry.kernel = "k";
  entry.numbers = {{"registers", 32}, {"spill", -1}};
  entry.cubin = std::string("\x7f\0ELF", 5);
  entry.ptx = "ptx";
  entry.created_unix_ns = kNow;
  entry.compile_ms = 12.5;
  return entry;
}

Failure failure_of(const Key& key) { return {key.what, key.who, "no such type", "error: bf17", kNow}; }

std::string pack_of(const std::vector<Entry>& entries, cache::PackForm form = cache::PackForm::plain) {
  test::MemoryFiles files;
  cache::PackWriter writer(files, kPack);
  writer.set_form(form);
  for (const Entry& entry : entries) writer.add(entry);
  writer.finish();
  std::string bytes;
  FileStatus status;
  read_whole(files, kPack, 1 << 20, &bytes, &status);
  return bytes;
}

// Both compilers' entries in the order of their hashes.
std::vector<Entry> pair_of_entries() {
  std::vector<Entry> both = {entry_of(own_key(), false), entry_of(other_key(), true)};
  if (own_key().who_hash.bytes > other_key().who_hash.bytes) std::swap(both[0], both[1]);
  return both;
}

std::string file(std::uint8_t place, std::uint8_t oddity, const std::string& bytes) {
  std::string out;
  cache::put_number(out, place);
  cache::put_number(out, oddity);
  cache::put_number(out, static_cast<std::uint16_t>(bytes.size()));
  return out + bytes;
}

void seed_formats() {
  const std::string image = cache::serialize(entry_of(own_key(), false));
  seed("entry", "whole", image);
  seed("entry", "empty", cache::serialize(Entry{}));
  seed("entry", "cut", image.substr(0, 150));
  seed("failure", "whole", cache::serialize(failure_of(own_key())));
  seed("failure", "empty", cache::serialize(Failure{}));
  seed("usage", "whole", cache::serialize(cache::Usage{4096, 3, kNow, kNow - kHour, 2}));
  seed("usage", "cut", cache::serialize(cache::Usage{}).substr(0, 40));
  seed("pack", "two", pack_of(pair_of_entries()));
  seed("pack", "empty", pack_of({}));
  seed("pack", "compressed", pack_of(pair_of_entries(), cache::PackForm::compressed));
}

void seed_texts() {
  seed("key_text", "key", own_key().what + own_key().who);
  seed("key_text", "zero", "1:a=02:bc\n");
  seed("key_text", "cut", "6:family=6:gath");
  seed("manifest", "lines",
       "# two\n\n{\"problem\": \"gather width=8\", \"arch\": \"sm_90a\", \"config\": \"threads=128\"}\r\n"
       "{\"problem\": \"mxfp8\", \"device_model\": \"NVIDIA H200\"}\n");
  seed("manifest", "bad", "nope\n[1]\n{\"problem\": 3}\n{\"problem\": \"a\\u00e9\", \"arhc\": null}\n{\"a\": -1.5e3}");
  seed("journal", "whole",
       "{\"quern_sweep\":1,\"problem\":\"gather\",\"axes\":[{\"name\":\"form\",\"values\":[\"0\",\"1\"]}]}\n"
       "{\"config\":\"form=0\",\"us\":35.0,\"samples\":[35.0,35.2],\"at_s\":3.2}\n"
       "{\"config\":\"form=1\",\"failure\":\"wrong\",\"why\":\"out[1] is 2\"}\n"
       "{\"finalists\":[{\"config\":\"form=0\",\"us\":34.9,\"low\":-0.4,\"high\":0.2,\"rounds\":8}]}\n"
       "{\"result\":{\"winner\":\"form=0\",\"rivals\":[\"form=1\"],\"complete\":true}}\n");
}

void seed_programs() {
  seed("program", "bias",
       "bias: f32 row\nm: number # scale\ny = gelu(fma(m, z, x) + bias); x = where(x < 2 and not z > 1, -x, 1e-5)");
  seed("program", "norm", "w: row; y: bf16; y = x * rsqrt(mean(x * x) + const 1e-5) * w; r: column; r = max(x)");
  seed("program", "derivative",
       "y = d(d(silu(x) * pow(x, 2), x), x) + round(x, bf16); g = sum_rows(x); h = sum_all(x)");
  seed("program", "deep", "y = ((((-(-(sin(cos(where(x < 1, x, inf)))))))))");
  seed("program", "bad", "y = relu(x, 2); b: f33\xff\x01 = += ** 1e50");
}

void seed_records() {
  Record record;
  record.family = "gather";
  record.problem = "gather rows=8 count=8 width=64";
  record.device = "NVIDIA H200";
  record.target = "sm_90a";
  record.regime = "cold";
  record.config = "unroll=2";
  record.rivals = {{"unroll=4", 1.5}};
  record.clocks = {1980, 3201, 700, "power cap"};
  record.created_unix_ns = kNow;
  const std::string line = record_line(record) + "\n";
  record.created_unix_ns += 1;
  seed("records", "line", line);
  seed("records", "twice", line + record_line(record) + "\n");
  seed("records", "cut", line + line.substr(0, 200));
  seed("records", "newer", "{\"quern_record\":2}\n" + line);
  seed("records", "foreign", "# notes\n\n[1]\n{\"problem\":\"gather\"}\n" + line);
}

void seed_layers() {
  const std::string own = cache::serialize(entry_of(own_key(), false));
  const std::string others = cache::serialize(entry_of(other_key(), true));
  const std::string failure = cache::serialize(failure_of(own_key()));
  const std::string usage = cache::serialize(cache::Usage{4096, 3, kNow, kNow - kHour, 2});
  const std::string old(1, '\0');
  seed("layer", "nothing", old);
  seed("layer", "own", old + file(0, 16, own) + file(3, 0, usage));
  seed("layer", "others", old + file(1, 0, others) + file(9, 48, "half") + file(10, 0, "mine"));
  seed("layer", "failure", old + file(2, 0, failure) + file(8, 0, ""));
  seed("layer", "usage", "\x30" + file(3, 0, usage) + file(11, 0, own));
  seed("layer", "pack", "\x04" + file(4, 0, pack_of(pair_of_entries())));
  seed("layer", "compressed_pack", "\x04" + file(4, 0, pack_of(pair_of_entries(), cache::PackForm::compressed)));
  seed("layer", "no_compiler", "\x08" + file(1, 0, others) + file(4, 0, pack_of({})));
  seed("layer", "odd", "\x02" + file(5, 1, "") + file(7, 3, "") + file(6, 4, ""));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: quern_fuzz_seeds FOLDER\n"), 2;
  root = arguments[1];
  seed_formats();
  seed_texts();
  seed_programs();
  seed_records();
  seed_layers();
}
