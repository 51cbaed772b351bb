// The plain reference of programs with reductions: all sums in the order of the kernel.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "common/geometry.h"
#include "pointwise/program_launch.h"
#include "pointwise/program_reference.h"
#include "pointwise/reductions.h"
#include "pointwise/scaled.h"

namespace quern::pointwise::reductions {
namespace {

using common::divide_up;
using Floats = std::vector<float>;

float& at(Floats& list, std::int64_t i) { return list[static_cast<std::size_t>(i)]; }

// Those first whose numbers differ in bit 0, then in bit 1, and so on; one that has no other waits.
float neighbours_first(Floats x) {
  for (std::size_t count = x.size(); count > 1; count = (count + 1) / 2) {
    for (std::size_t i = 0; i < count / 2; ++i) x[i] = x[2 * i] + x[2 * i + 1];
    if (count % 2 != 0) x[count / 2] = x[count - 1];
  }
  return x[0];
}

// As common/reduce.cuh adds up the threads of a block.
float of_warp(float* x) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    for (int i = 0; i < lanes; ++i) x[i] += x[i + lanes];
  }
  return x[0];
}
float of_threads(Floats x) {
  x.resize(1024);
  float warps[32];
  for (std::size_t w = 0; w < 32; ++w) warps[w] = of_warp(x.data() + 32 * w);
  return of_warp(warps);
}

float of_row(const Team& team, std::span<const float> row) {
  const std::int64_t width = static_cast<std::int64_t>(row.size());
  Floats warps;
  for (std::int64_t w = 0; w < team.warps; ++w) {
    Floats columns(static_cast<std::size_t>(team.columns()));
    for (std::int64_t segment = w; segment < team.all; segment += team.warps) {
      for (std::int64_t c = 0; c < team.columns() && segment * team.columns() + c < width; ++c)
        at(columns, c) += row[static_cast<std::size_t>(segment * team.columns() + c)];
    }
    warps.push_back(neighbours_first(columns));
  }
  return neighbours_first(warps);
}

class Sums {
 public:
  Sums(const Pointwise& p, const PointwiseArgs& a)
      : p_(p),
        a_(a),
        reference_(p, a),
        team_(team_of(p)),
        rows_of_block_(rows_of_block(p, team_)),
        chunks_(std::max<std::int64_t>(1, divide_up(p.rows, rows_of_block_))),
        threads_(team_.warps == 1 ? kThreadsOfSums : 32 * team_.warps),
        teams_(team_.warps == 1 ? kThreadsOfSums / team_.lanes : 1) {
    const auto& s = reference_.summary();
    for (int i = 0; i < s.outputs; ++i) {
      const Spread spread = s.entries[s.inputs + i].spread;
      if (spread != Spread::row && spread != Spread::scalar) continue;
      sums_.push_back({i, spread == Spread::scalar, {}});
      sums_.back().words.resize(static_cast<std::size_t>(chunks_ * (sums_.back().is_total ? team_.groups : p.width)));
    }
  }

  void run() {
    scaled::clear_scales(p_, a_);
    parallel_for(chunks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk) run_chunk(chunk);
    });
    for (Sum& sum : sums_) finish(sum);
  }

 private:
  // An output that is one, and what its blocks have: [chunks, width], or of a total [chunks, groups].
  struct Sum {
    int output;
    bool is_total;
    Floats words;
  };

  void run_chunk(std::int64_t chunk) {
    auto interpreter = reference_.interpreter([&](std::span<const float> row) { return of_row(team_, row); });
    std::vector<Floats> own(sums_.size(), Floats(static_cast<std::size_t>(teams_ * p_.width)));
    const std::int64_t first = chunk * rows_of_block_, end = std::min(p_.rows, first + rows_of_block_);
    for (std::int64_t row = first; row < end; ++row) {
      interpreter.evaluate(row);
      write_row(interpreter, row);
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        for (std::int64_t c = 0; c < p_.width; ++c)
          at(own[i], (row - first) % teams_ * p_.width + c) +=
              static_cast<float>(reference_.value(interpreter, sums_[i].output, c));
      }
    }
    for (std::size_t i = 0; i < sums_.size(); ++i) keep(sums_[i], chunk, own[i]);
  }

  void write_row(const expression::RowInterpreter<float>& made, std::int64_t row) const {
    const auto& s = reference_.summary();
    for (int i = 0, scale = 0; i < s.outputs; ++i) {
      if (reference_.has_scales(i)) {
        quantize(made, i, scale++, row);
        continue;
      }
      const Spread spread = s.entries[s.inputs + i].spread;
      const std::int64_t columns = spread == Spread::full ? p_.width : spread == Spread::column ? 1 : 0;
      for (std::int64_t c = 0; c < columns; ++c) reference_.write(i, row, c, reference_.value(made, i, c));
    }
  }

  void quantize(const expression::RowInterpreter<float>& made, int output, int scale, std::int64_t row) const {
    Floats numbers(static_cast<std::size_t>(p_.width));
    for (std::int64_t c = 0; c < p_.width; ++c) at(numbers, c) = static_cast<float>(reference_.value(made, output, c));
    scaled::quantize_row(p_, a_, output, scale, row, numbers.data());
  }

  float of_teams(Floats& own, std::int64_t column) const {
    float sum = 0;
    for (std::int64_t t = 0; t < teams_; ++t) sum += at(own, t * p_.width + column);
    return sum;
  }

  void keep(Sum& sum, std::int64_t chunk, Floats& own) const {
    if (!sum.is_total) {
      for (std::int64_t c = 0; c < p_.width; ++c) at(sum.words, chunk * p_.width + c) = of_teams(own, c);
      return;
    }
    const std::int64_t at_once = team_.warps * team_.columns();
    for (std::int64_t group = 0; group < team_.groups; ++group) {
      Floats threads(static_cast<std::size_t>(threads_));
      for (std::int64_t s = 0; s < team_.segments; ++s) {
        const std::int64_t first = (group * team_.segments + s) * at_once;
        for (std::int64_t c = 0; c < at_once && first + c < p_.width; ++c)
          at(threads, c % threads_) += of_teams(own, first + c);
      }
      at(sum.words, chunk * team_.groups + group) = of_threads(threads);
    }
  }

  void finish(Sum& sum) const {
    if (sum.is_total) {
      Floats threads(static_cast<std::size_t>(threads_));
      for (std::int64_t i = 0; i < chunks_ * team_.groups; ++i) at(threads, i % threads_) += at(sum.words, i);
      reference_.write(sum.output, 0, 0, of_threads(threads));
      return;
    }
    for (std::int64_t c = 0; c < p_.width; ++c) {
      float all = 0;
      for (std::int64_t first = 0; first < chunks_; first += 16) {
        float sixteen = 0;
        for (std::int64_t i = first; i < std::min(chunks_, first + 16); ++i) sixteen += at(sum.words, i * p_.width + c);
        all += sixteen;
      }
      reference_.write(sum.output, 0, c, all);
    }
  }

  const Pointwise& p_;
  const PointwiseArgs& a_;
  const program::Reference reference_;
  const Team team_;
  const std::int64_t rows_of_block_;
  const std::int64_t chunks_;
  const std::int64_t threads_;
  const std::int64_t teams_;
  std::vector<Sum> sums_;
};

}  // namespace

void reference(const Pointwise& p, const PointwiseArgs& a) { Sums(p, a).run(); }

// As of a program without reductions. Errors of terms add up as random ones do, in an output that is a number of them:
// what is made of a sum for each element is as large as the sum, or relative to it.
Tolerance tolerance(const Pointwise& p, int output) {
  const auto& s = program::summary(p);
  const program::Entry& entry = s.entries[s.inputs + output];
  if (program::has_scales(p, entry)) return scaled::tolerance(p, output);
  Tolerance each = program::tolerance(p, output);
  const Spread spread = entry.spread;
  const std::int64_t terms = spread == Spread::row      ? p.rows
                             : spread == Spread::scalar ? p.rows * p.width
                             : spread == Spread::column ? p.width
                                                        : 0;
  each.absolute *= 1 + 8 * std::sqrt(static_cast<double>(terms));
  return each;
}

}  // namespace quern::pointwise::reductions
