// concat forward and then backward, each operand at an address of its own: the sources come back bit for bit, and the
// gaps between rows stay as they were.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/sanitizers.h"
#include "base/text.h"
#include "driver/stream.h"
#include "quern/concat.h"
#include "support/check.h"
#include "support/device.h"
#include "support/replay.h"

namespace quern::test {
namespace {

using Bytes = std::vector<unsigned char>;

// Memory that begins some elements after an aligned address.
class Placed {
 public:
  Placed(const Driver& driver, std::int64_t bytes, std::int64_t after)
      : driver_(driver),
        bytes_(static_cast<std::size_t>(bytes)),
        after_(static_cast<std::size_t>(after)),
        memory_(driver, bytes_ + after_ + 1) {}
  CUdeviceptr at() const { return memory_.get() + after_; }
  void* data() const { return static_cast<unsigned char*>(memory_.data()) + after_; }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_); }
  void upload(const Bytes& from) const {
    if (!from.empty()) driver_.check(driver_->MemcpyHtoD(at(), from.data(), from.size()), Stage::tool, "cuMemcpyHtoD");
    driver_.check(driver_->StreamSynchronize(nullptr), Stage::tool, "cuStreamSynchronize");  // see DeviceOperands
  }
  Bytes download() const {
    Bytes got(bytes_);
    if (bytes_ != 0) driver_.check(driver_->MemcpyDtoH(got.data(), at(), bytes_), Stage::tool, "cuMemcpyDtoH");
    return got;
  }

 private:
  const Driver& driver_;
  std::size_t bytes_;
  std::size_t after_;
  DeviceMemory memory_;
};

// Any bits: NaNs with payloads among them.
Bytes random_bytes(std::int64_t size, std::uint64_t seed) {
  Bytes bytes(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(random_at(seed, i));
  return bytes;
}

constexpr unsigned char kGap = 0xa5;

// The bytes of rows, where they are; of the rest those of `rest`.
Bytes only_rows(const Bytes& bytes, const Bytes& rest, std::int64_t row, std::int64_t stride) {
  Bytes out = rest;
  for (std::size_t at = 0; row > 0 && at < bytes.size(); at += static_cast<std::size_t>(stride))
    std::memcpy(out.data() + at, bytes.data() + at, static_cast<std::size_t>(row));
  return out;
}

class ConcatOnDevice : public DeviceTest {
 protected:
  AnyPlan plan_of(const AnyProblem& problem, bool open) {
    const AnyProblem asked = open ? opened(problem) : problem;
    return runtime().prepare_any(asked.family(), asked.data(), {});
  }

  struct Piece {
    std::unique_ptr<Placed> source, back;
    Bytes bytes;
    std::int64_t row, stride;
  };

  // `shift`: of the addresses, in elements. `open`: the plans are prepared without the rows, so they keep many in
  // flight.
  void expect_back(const std::string& fields, int shift, bool open) {
    const AnyProblem forward = runtime().parse("concat " + fields),
                     backward = runtime().parse(cat("concat ", fields, " pass=backward"));
    const Concat& p = *static_cast<const Concat*>(forward.data());
    const Operand& sources = Concat::family().operands[0];
    const Layout all = Concat::family().operands[2].layout(&p);
    std::vector<Piece> pieces;
    std::vector<In> in;
    std::vector<Out> out;
    for (int i = 0; i < p.widths.count; ++i) {
      const Layout layout = sources.layout(&p, i);
      const std::int64_t size = bytes(p.dtype), span = layout.span_bytes();
      Piece piece{std::make_unique<Placed>(driver(), span, (i + shift) % 5 * size),
                  std::make_unique<Placed>(driver(), span, (3 * i + shift) % 7 * size), random_bytes(span, 7U + i),
                  layout.extents[1] * size, layout.strides[0] * size};
      piece.source->upload(piece.bytes);
      piece.back->upload(Bytes(piece.bytes.size(), kGap));
      in.emplace_back(piece.source->data(), span);
      out.emplace_back(piece.back->data(), span);
      pieces.push_back(std::move(piece));
    }
    const Placed matrix(driver(), all.span_bytes(), std::int64_t{shift} * bytes(p.dtype));
    const Bytes poison(static_cast<std::size_t>(all.span_bytes()), kGap);
    matrix.upload(poison);
    ConcatArgs to, from;
    to.sources = {in.data(), p.widths.count}, to.out = {matrix.data(), matrix.size()};
    from.source = {matrix.data(), matrix.size()}, from.outs = {out.data(), p.widths.count};
    to.rows = from.rows = p.rows;
    const AnyPlan join = plan_of(forward, open), split = plan_of(backward, open);
    const Graph graph(driver(), [&](CUstream stream) {
      join.launch(stream, &to);
      split.launch(stream, &from);
    });
    const StreamOwner stream(driver());
    graph.launch(stream.get());
    stream.synchronize();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      const Bytes gaps(piece.bytes.size(), kGap);
      EXPECT_EQ(piece.back->download(), only_rows(piece.bytes, gaps, piece.row, piece.stride))
          << fields << ", out " << i;
    }
    if (all.rank != 2 || all.strides[0] == all.extents[1]) return;
    const Bytes got = matrix.download();
    EXPECT_EQ(got, only_rows(got, poison, all.extents[1] * bytes(p.dtype), all.strides[0] * bytes(p.dtype))) << fields;
  }
};

// Under AddressSanitizer, where most of the time is compiles, the narrowest and the widest type, and one between them.
#if QUERN_ADDRESS_SANITIZER
constexpr const char* kSplitTypes[] = {"u8", "f32", "c128"};
#else
constexpr const char* kSplitTypes[] = {"u8", "bf16", "f32", "f64", "c128"};
#endif

TEST_F(ConcatOnDevice, TheSplitOfAConcatGivesItsSourcesBack) {
  for (const char* type : kSplitTypes) {
    for (const char* shape :
         {"rows=700 widths=13,64,1,33", "rows=90 widths=16,16,48 strides=16,32,48 out_stride=96",
          "rows=300 widths=5,0,300 strides=9,0,333 out_stride=311",
          "layout=flat counts=700,0,33 widths=13,5,64 strides=17,0,64", "layout=flat counts=900,70 widths=16,33"}) {
      for (const int shift : {0, 1, 3}) expect_back(cat(shape, " dtype=", type), shift, shift == 1);
    }
  }
}

class ConcatReplay : public ReplayTest {};

TEST_F(ConcatReplay, ReadsOtherIndices) {
  for (const char* shape : {"counts=700,0,33 widths=13,5,64 source_rows=900,3,40 index=i32",
                            "counts=300,90 widths=64,32 source_rows=300,400 index=i64"}) {
    for (const char* pass : {"", " pass=backward"}) expect_replays(cat("concat layout=flat ", shape, pass));
  }
}

}  // namespace
}  // namespace quern::test
