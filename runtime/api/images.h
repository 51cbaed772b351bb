// Obtains one image of a problem: from the store, or by compiling it.
#ifndef QUERN_API_IMAGES_H_
#define QUERN_API_IMAGES_H_

#include <memory>
#include <string>

#include "api/runtime_state.h"
#include "cache/entry.h"
#include "cache/key.h"
#include "cache/lease.h"
#include "quern/family.h"
#include "quern/plan.h"

namespace quern {

// The image that is requested.
struct ImageRequest {
  const Family* family;
  const Step* step;
  const void* problem;
  Target target;
  Variant variant;
  bool prewarm = false;    // store it so that other compilers' processes hit it
  bool to_launch = false;  // ptx, source and log are not needed: those of a compressed pack stay packed
};

struct ObtainedImage {
  std::shared_ptr<const cache::Entry> entry;
  cache::Key key;
  ImageInfo info;
};

// The key of an image, which is not made. Throws Error (bad_input).
cache::Key key_of_image(RuntimeState& state, const ImageRequest& request);

// Waits for other processes that compile the image, as `patience` says. `patience.begins` is also called if this call
// compiles it. Throws Error (compile, no_compiler, bad_input).
ObtainedImage obtain_image(RuntimeState& state, const ImageRequest& request, const cache::Patience& patience = {});

}  // namespace quern

#endif  // QUERN_API_IMAGES_H_
