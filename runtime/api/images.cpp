#include "api/images.h"

#include "base/files.h"
#include "base/text.h"
#include "plan/config.h"
#include "plan/problem.h"
#include "plan/unit.h"
#include "plan/variants.h"

namespace quern {
namespace {

std::map<std::string, std::int64_t> numbers(const Resources& r) {
  return {{"registers", r.registers},
          {"shared_bytes", r.shared_bytes},
          {"spill_load_bytes", r.spill_load_bytes},
          {"spill_store_bytes", r.spill_store_bytes},
          {"stack_bytes", r.stack_bytes}};
}

Resources resources(const cache::Entry& entry) {
  const auto number = [&](const char* name) {
    const auto found = entry.numbers.find(name);
    return found == entry.numbers.end() ? 0 : static_cast<int>(found->second);
  };
  return {number("registers"), number("shared_bytes"), number("stack_bytes"), number("spill_store_bytes"),
          number("spill_load_bytes")};
}

// One file per part: DIR/FAMILY-KEY.{cu,ptx,cubin}.
void dump(RuntimeState& state, const ImageRequest& request, const cache::Key& key, const cache::Entry& entry) {
  if (state.options.compiler.dump_dir.empty()) return;
  const std::string stem =
      cat(state.options.compiler.dump_dir, "/", request.family->name, "-", key.what_hash.hex().substr(0, 16));
  make_directories(real_file_system(), state.options.compiler.dump_dir, 0777);
  const std::pair<const char*, const std::string*> parts[] = {
      {".cu", &entry.source}, {".ptx", &entry.ptx}, {".cubin", &entry.cubin}};
  for (const auto& [suffix, bytes] : parts) {
    std::string why_not;
    if (!write_file_atomically(stem + suffix, *bytes, &why_not)) state.log.warning(cat("QUERN_DUMP: ", why_not));
  }
}

cache::Entry to_entry(const ImageRequest& request, const Unit& unit, Image image) {
  cache::Entry entry;
  entry.who = who_text(image.identity);  // the key's, unless the compiler was replaced since
  entry.compiler = image.compiler;
  entry.compiler_order = image.compiler_order;
  entry.prewarmed = request.prewarm;
  entry.kernel = image.kernel;
  entry.numbers = numbers(image.resources);
  entry.cubin = std::move(image.cubin);
  entry.ptx = std::move(image.ptx);
  entry.source = unit_text(unit);
  entry.log = std::move(image.log);
  entry.compile_ms = image.compile_ms;
  return entry;
}

cache::Entry compile(RuntimeState& state, const ImageRequest& request, const cache::Key& key, const Unit& unit) {
  const std::string what =
      cat(problem_text(*request.family, request.problem), " (", request.step->name,
          *request.step->name == '\0' ? "" : ", ", request.variant.name, ", ", request.target.text(), ")");
  if (request.prewarm) state.compiler.require(request.target);
  state.log.info(cat("compiling ", what));
  try {
    Image image = state.compiler.compile(unit, kernel_name(*request.family, *request.step), request.target,
                                         state.options.compiler.lineinfo);
    state.compiles += 1;
    state.compile_nanoseconds += static_cast<std::uint64_t>(image.compile_ms * 1e6);
    state.log.info(cat("compiled ", what, " in ", fixed(image.compile_ms, 1), " ms"));
    if (image.cubin.empty())  // never the case for the host
      state.log.warning(cat("this NVRTC does not know ", request.target.text(), ": ", what,
                            " was compiled to PTX for an older architecture, which the driver finishes"));
    return to_entry(request, unit, std::move(image));
  } catch (Error& error) {
    // Another compiler build's failure must not be stored under this key.
    if (error.lasting && who_text(state.compiler.identity(request.target)) != key.who) error.lasting = false;
    throw;
  }
}

ImageOrigin to_origin(cache::Origin origin) {
  switch (origin) {
    case cache::Origin::memory:
      return ImageOrigin::memory;
    case cache::Origin::disk:
      return ImageOrigin::disk;
    case cache::Origin::built:
      return ImageOrigin::compiled;
  }
  return ImageOrigin::compiled;
}

ImageInfo describe(const ImageRequest& request, const cache::Key& key, const cache::Found& found) {
  ImageInfo info;
  info.variant = request.variant.name;
  info.step = request.step->name;
  info.config = config_text(*request.step, request.problem, request.variant.config);
  info.alignment = largest_alignment(*request.family, *request.step, request.problem, request.variant.config);
  info.key = found.origin == cache::Origin::built ? cat(key.what_hash.hex(), "/", hash128(found.entry->who).hex())
                                                  : key.path();
  info.origin = to_origin(found.origin);
  info.resources = resources(*found.entry);
  info.compile_ms = found.origin == cache::Origin::built ? found.entry->compile_ms : 0;
  return info;
}

// An entry that was compiled on demand serves its own compiler only; prewarm marks it for all compilers. Except an
// entry with PTX for an older architecture, whose compiler did not know the target: a prewarm that compiled it now
// would refuse it.
void mark_prewarmed(RuntimeState& state, const ImageRequest& request, const cache::Key& key, cache::Found& found) {
  if (found.entry->prewarmed) return;
  if (found.entry->cubin.empty()) state.compiler.require(request.target);
  cache::Entry marked = *found.entry;
  marked.prewarmed = true;
  found.entry = state.store.put(key, std::move(marked));
}

// Everything that determines an image, and the image's key.
struct Identity {
  Identity() = default;
  Identity(const Identity&) = delete;  // `sources` has views of `spec`
  Identity& operator=(const Identity&) = delete;
  Spec spec;
  UnitSources sources;
  cache::Key key;
};

void identify(RuntimeState& state, const ImageRequest& request, Identity& identity) {
  const Family& family = *request.family;
  request.step->specialize(request.problem, request.target, request.variant.config, identity.spec);
  identity.sources = find_sources(family, *request.step, identity.spec, request.target);
  identity.key = image_key(family, *request.step, identity.sources, identity.spec, request.target,
                           state.options.compiler.lineinfo, state.compiler.identity(request.target));
}

}  // namespace

cache::Key key_of_image(RuntimeState& state, const ImageRequest& request) {
  Identity identity;
  identify(state, request, identity);
  return std::move(identity.key);
}

ObtainedImage obtain_image(RuntimeState& state, const ImageRequest& request, const cache::Patience& patience) {
  const Family& family = *request.family;
  Identity identity;
  identify(state, request, identity);
  ObtainedImage image;
  image.key = std::move(identity.key);
  try {
    const auto build = [&] {
      if (patience.begins) patience.begins();
      return compile(state, request, image.key, make_unit(identity.sources, identity.spec));
    };
    cache::Found found = state.store.get_or_build(image.key, build, patience);
    if (!request.to_launch) {
      found.entry = state.store.whole(found.entry);
      if (!found.entry) found = {state.store.put(image.key, build()), cache::Origin::built};
    }
    if (request.prewarm && found.origin != cache::Origin::built && !image.key.who.empty() &&
        found.entry->who != image.key.who) {
      // The store has another compiler's image, which would serve, but prewarm makes this compiler's.
      found = {state.store.put(image.key, build()), cache::Origin::built};
    }
    if (request.prewarm) mark_prewarmed(state, request, image.key, found);
    if (found.origin == cache::Origin::built) dump(state, request, image.key, *found.entry);
    image.info = describe(request, image.key, found);
    image.entry = std::move(found.entry);
    return image;
  } catch (Error& error) {
    error.family = family.name;
    error.problem = problem_text(family, request.problem);
    error.key = image.key.path();
    throw;
  }
}

}  // namespace quern
