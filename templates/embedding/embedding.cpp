#include "embedding/embedding.h"

#include <cstddef>

#include "embedding/backward.h"
#include "embedding/backward_steps.h"
#include "embedding/lengths.h"
#include "embedding/lookup.h"
#include "embedding/problem.h"
#include "embedding/quantized.h"
#include "embedding/shape.h"
#include "quern/choice.h"
#include "quern_embedded/embedding.h"

namespace quern {
namespace {

using namespace embedding;

constexpr DTypeSet kFloats = only(f32) | only(f16) | only(bf16);
constexpr DTypeSet kRowSet = kFloats | only(e4m3) | only(e5m2) | only(i8);
constexpr DTypeSet kIndexSet = only(i64) | only(i32);

Layout weights_layout(const Embedding& p, int t) {
  return Layout::matrix(type_of(p, t), rows_of(p, t), dim_of(p, t), stride_of(p, t));
}
Layout packed_layout(const Embedding& p) {
  return Layout::list(is_packed(p) ? type_of(p, 0) : DType::none, packed_elements(p));
}
Layout places_layout(const Embedding& p) { return Layout::matrix(is_packed(p) ? i64 : DType::none, p.tables, 2, 2); }
Layout index_layout(const Embedding& p) {
  if (is_pooled(p)) return Layout::list(p.index, p.count);
  return Layout::matrix(p.index, p.batch, p.tables, index_stride(p));
}
Layout offsets_layout(const Embedding& p) {
  return Layout::list(is_pooled(p) && !has_lengths(p) ? p.offsets : DType::none, bags_of(p));
}
Layout lengths_layout(const Embedding& p) { return Layout::list(has_lengths(p) ? p.offsets : DType::none, bags_of(p)); }
Layout vocabularies_layout(const Embedding& p, int t) { return Layout::matrix(i64, capacity_of(p, t), 2, 2); }
Layout sample_weights_layout(const Embedding& p) { return Layout::list(p.sample_weights, p.count); }
Layout scales_layout(const Embedding& p, int t) {
  Layout layout = Layout::list(has_scale(p, t) ? p.scale : DType::none, rows_of(p, t));
  layout.strides[0] = scale_stride_of(p, t);
  return layout;
}
Layout dense_layout(const Embedding& p) {
  return Layout::matrix(p.dense == 0 || is_backward(p) ? DType::none : p.dtype, p.batch, p.dense, dense_stride(p));
}
Layout out_layout(const Embedding& p) {
  return Layout::matrix(is_backward(p) ? DType::none : out_type(p), p.batch, width_of(p), out_stride(p));
}
Layout report_layout(const Embedding& p) { return Layout::list(reports(p) && !is_backward(p) ? i64 : DType::none, 1); }
Layout gradient_layout(const Embedding& p) {
  return Layout::matrix(is_backward(p) ? p.dtype : DType::none, p.batch, width_of(p), out_stride(p));
}
Layout dense_gradient_layout(const Embedding& p) {
  return Layout::matrix(p.dense == 0 || !is_backward(p) ? DType::none : p.dtype, p.batch, p.dense, dense_stride(p));
}
Layout sample_weights_gradient_layout(const Embedding& p) {
  return Layout::list(is_backward(p) ? p.sample_weights : DType::none, p.count);
}
Layout moments_layout(const Embedding& p, int t) {
  if (p.optimizer == EmbeddingOptimizer::row_adagrad) return Layout::list(f32, rows_of(p, t));
  return Layout::matrix(f32, rows_of(p, t), dim_of(p, t), dim_of(p, t));
}
Layout squares_layout(const Embedding& p, int t) {
  return Layout::matrix(f32, rows_of(p, t), dim_of(p, t), dim_of(p, t));
}
Layout workspace_layout(const Embedding& p) {
  const std::int64_t words = workspace_words(p);
  if (has_lengths(p)) return Layout::list(i64, words == kOpen ? kOpen : (words + 1) / 2);
  return Layout::list(is_backward(p) ? i32 : DType::none, words);
}

template <bool (*F)(const Embedding&)>
int tables_if(const void* p) {
  const auto& embedding = *static_cast<const Embedding*>(p);
  return F(embedding) ? tables(embedding) : 0;
}
int scales_count(const void* p) {
  const auto& embedding = *static_cast<const Embedding*>(p);
  return embedding.scale == DType::none ? 0 : tables(embedding);
}

// Tables of the sizes that Criteo's data have.
constexpr const char* kCriteoCase =
    "embedding batch=65536 dense=16 hash=modulus rows=10000000,36084,17217,7378,20134,3,7112,1442,61,10000000,1333352,"
    "313829,10,2208,11156,122,4,970,14,10000000,7267859,10000000,415421,12420,101,36";

struct EmbeddingFamily {
  using Problem = Embedding;
  using Args = EmbeddingArgs;
  static constexpr const char* kName = "embedding";
  static constexpr const char* kSentence =
      "rows of many tables by hashed ids, side by side or pooled, behind a dense part";

  static constexpr Field kFields[] = {
      extent_field("batch", offsetof(Embedding, batch), true, "rows of out"),
      integer_field("tables", offsetof(Embedding, tables), 1, kMaxEntries, "number of tables"),
      list_field("dim", offsetof(Embedding, dim), Embedding{}.dim, 1, kMaxExtent,
                 "elements in a row of each table; one entry: of every table"),
      list_field("rows", offsetof(Embedding, rows), Embedding{}.rows, 1, kMaxExtent,
                 "rows of each table, packed the most that it may have; one entry: of every table"),
      integer_field("dense", offsetof(Embedding, dense), 0, kMaxExtent, "numbers that a row of out begins with"),
      dtype_field("dtype", offsetof(Embedding, dtype), kFloats, "type of out and dense"),
      dtypes_field("table_dtype", offsetof(Embedding, table_dtype), Embedding{}.table_dtype, kRowSet,
                   "type of each table; one entry: of every table; none: dtype"),
      dtype_field("index", offsetof(Embedding, index), kIndexSet, "type of the ids"),
      choice_field("hash", offsetof(Embedding, hash), kHashes, "how an id becomes the number of a row"),
      choice_field("mode", offsetof(Embedding, mode), kModes, "meaning of an id that names no row of its table"),
      choice_field("pooling", offsetof(Embedding, pooling), kPoolings, "one row a table, or what of the rows of a bag"),
      extent_field("count", offsetof(Embedding, count), true, "pooled: ids of all bags"),
      dtype_field("offsets", offsetof(Embedding, offsets), kIndexSet, "pooled: type of the bags' offsets, or lengths"),
      dtype_field("sample_weights", offsetof(Embedding, sample_weights), only(DType::none) | kFloats,
                  "pooling=sum: type of the factors of ids' rows"),
      dtype_field("scale", offsetof(Embedding, scale), only(DType::none) | kFloats,
                  "type of the scales of rows of 8-bit tables"),
      list_field("capacity", offsetof(Embedding, capacity), Embedding{}.capacity, 1, std::int64_t{1} << 32,
                 "hash=index: slots of each vocabulary's table, powers of two"),
      list_field("padding", offsetof(Embedding, padding), Embedding{}.padding, -1, kMaxExtent,
                 "pooled: the row, or -1, that bags of each table pass over"),
      list_field("strides", offsetof(Embedding, strides), Embedding{}.strides, 0, kMaxExtent,
                 "elements between rows of each table; none, or 0: its dim"),
      list_field("scale_strides", offsetof(Embedding, scale_strides), Embedding{}.scale_strides, 0, kMaxExtent,
                 "elements between the scales of each table; none, or 0: 1"),
      integer_field("index_stride", offsetof(Embedding, index_stride), 0, kMaxExtent,
                    "without pooling: elements between rows of index; 0: tables"),
      integer_field("dense_stride", offsetof(Embedding, dense_stride), 0, kMaxExtent,
                    "elements between rows of dense; 0: dense"),
      integer_field("out_stride", offsetof(Embedding, out_stride), 0, kMaxExtent,
                    "elements between rows of out; 0: dense and all dims"),
      choice_field("pass", offsetof(Embedding, pass), kPasses, "backward: the gradient of out back to the rows"),
      choice_field("optimizer", offsetof(Embedding, optimizer), kOptimizers,
                   "backward: what becomes of the gradients of rows"),
      choice_field("rounding", offsetof(Embedding, rounding), kRoundings, "of updated rows of f16 and bf16"),
      choice_field("scaling", offsetof(Embedding, scaling), kScalings,
                   "out in 8 bits: which numbers of a row share a scale; none: it has dtype"),
      dtype_field("element", offsetof(Embedding, element), only(e4m3) | only(e5m2), "scaling: type of out"),
      choice_field("scale_mode", offsetof(Embedding, scale_mode), kScaleModes,
                   "scaling: how a scale is rounded to a power of two"),
      choice_field("policy", offsetof(Embedding, policy), kScalePolicies,
                   "scaling: treatment of NaN and infinity; te: rceil only"),
      choice_field("scale_layout", offsetof(Embedding, scale_layout), mx::kScaleLayouts,
                   "scaling=mx, blocked: atoms of 128 rows x 4 blocks, for block-scaled matrix products"),
      choice_field("bags", offsetof(Embedding, bags), kBags,
                   "pooled: how ids are divided; lengths have the type of offsets"),
      choice_field("layout", offsetof(Embedding, layout), kLayouts,
                   "forward: where the tables are; packed: in one operand, by an array on the device"),
  };
  static constexpr Operand kOperands[] = {
      {"weights", Role::input, offsetof(EmbeddingArgs, weights), true, &layout_of<Embedding, weights_layout>,
       "[rows[t], dim[t]]", "the tables", &tables_if<has_weights>},
      {"index", Role::input, offsetof(EmbeddingArgs, index), false, &layout_of<Embedding, index_layout>,
       "[batch, tables]; pooled: [count]", "ids"},
      {"offsets", Role::input, offsetof(EmbeddingArgs, offsets), false, &layout_of<Embedding, offsets_layout>,
       "[tables * batch]", "pooled: where the ids of each bag begin, the bags of a table one after the other"},
      {"sample_weights", Role::input, offsetof(EmbeddingArgs, sample_weights), false,
       &layout_of<Embedding, sample_weights_layout>, "[count]", "factors of the ids' rows"},
      {"scales", Role::input, offsetof(EmbeddingArgs, scales), false, &layout_of<Embedding, scales_layout>, "[rows[t]]",
       "scales of the rows of 8-bit tables", &scales_count},
      {"vocabularies", Role::input, offsetof(EmbeddingArgs, vocabularies), false,
       &layout_of<Embedding, vocabularies_layout>, "[capacity[t], 2]",
       "hash=index: hash_table's table of each vocabulary", &tables_if<has_vocabulary>},
      {"dense", Role::input, offsetof(EmbeddingArgs, dense), true, &layout_of<Embedding, dense_layout>,
       "[batch, dense]", "what rows of out begin with"},
      {"out", Role::output, offsetof(EmbeddingArgs, out), true, &layout_of<Embedding, out_layout>,
       "[batch, dense + all dims]", "dense and the tables' rows, side by side"},
      {"report", Role::update, offsetof(EmbeddingArgs, report), false, &layout_of<Embedding, report_layout>, "[1]",
       "modes report and report_first: the lowest position of a bad id; -1 before the launch", nullptr, nullptr, -1},
      {"gradient", Role::input, offsetof(EmbeddingArgs, gradient), true, &layout_of<Embedding, gradient_layout>,
       "[batch, dense + all dims]", "backward: the gradient of out"},
      {"weights_gradient", Role::update, offsetof(EmbeddingArgs, weights_gradient), true,
       &layout_of<Embedding, weights_layout>, "[rows[t], dim[t]]",
       "backward: the gradients of the rows that ids name; the others stay as they are",
       &tables_if<has_weights_gradient>},
      {"updated", Role::update, offsetof(EmbeddingArgs, updated), true, &layout_of<Embedding, weights_layout>,
       "[rows[t], dim[t]]", "backward with an optimizer: the tables, in place", &tables_if<has_optimizer>},
      {"moments", Role::update, offsetof(EmbeddingArgs, moments), true, &layout_of<Embedding, moments_layout>,
       "[rows[t]]; adam: [rows[t], dim[t]]", "row_adagrad: sums of mean squares; adam: means of gradients",
       &tables_if<has_moments>},
      {"squares", Role::update, offsetof(EmbeddingArgs, squares), true, &layout_of<Embedding, squares_layout>,
       "[rows[t], dim[t]]", "adam: means of squares of gradients", &tables_if<is_adam>},
      {"dense_gradient", Role::output, offsetof(EmbeddingArgs, dense_gradient), true,
       &layout_of<Embedding, dense_gradient_layout>, "[batch, dense]", "backward: the gradient of dense"},
      {"sample_weights_gradient", Role::output, offsetof(EmbeddingArgs, sample_weights_gradient), false,
       &layout_of<Embedding, sample_weights_gradient_layout>, "[count]", "backward: the gradient of sample_weights"},
      {"workspace", Role::workspace, offsetof(EmbeddingArgs, workspace), false, &layout_of<Embedding, workspace_layout>,
       "[words]", "backward, and bags=lengths: zeros before the first launch"},
      {"given_scale", Role::input, offsetof(EmbeddingArgs, given_scale), false,
       &layout_of<Embedding, given_scale_layout>, "[1]", "scaling=tensor: the scale of everything, f32"},
      {"out_scales", Role::output, offsetof(EmbeddingArgs, out_scales), false, &layout_of<Embedding, out_scales_layout>,
       "[batch, scales of a row]", "scaling: the scales of out"},
      {"lengths", Role::input, offsetof(EmbeddingArgs, lengths), false, &layout_of<Embedding, lengths_layout>,
       "[tables * batch]", "bags=lengths: the ids of each bag, the bags of a table one after the other"},
      {"packed", Role::input, offsetof(EmbeddingArgs, packed), true, &layout_of<Embedding, packed_layout>,
       "[all rows[t] * strides[t]]", "layout=packed: the memory of all tables"},
      {"places", Role::input, offsetof(EmbeddingArgs, places), false, &layout_of<Embedding, places_layout>,
       "[tables, 2]", "layout=packed: the element of packed at which each table begins, and its rows"},
  };
  static constexpr LaunchExtent kLaunchExtents[] = {
      {"batch", offsetof(EmbeddingArgs, batch), nullptr},
      {"count", offsetof(EmbeddingArgs, count), &is_so<Embedding, is_pooled>},
  };
  // A DLRM's 26 features at the batch sizes of serving and of training, hashed and not, with wide rows; quantized
  // tables; bags; and updates of tables by two and a half million ids.
  static constexpr const char* kBenchCases[] = {
      "embedding batch=128 hash=modulus dense=16",
      "embedding batch=2048 hash=modulus dense=16",
      "embedding batch=65536 hash=modulus dense=16",
      "embedding batch=65536 dense=16 mode=zero",
      kCriteoCase,
      "embedding batch=65536 dim=128 dtype=bf16 hash=modulus dense=128",
      "embedding batch=65536 rows=100000 dense=16 hash=index capacity=262144",
      "embedding batch=65536 dim=64 dtype=bf16 table_dtype=i8 scale=f32",
      "embedding batch=65536 tables=4 dim=64,16,33,8 dtype=bf16 table_dtype=bf16,f32,bf16,e4m3",
      "embedding batch=65536 dim=128 dtype=bf16 hash=modulus dense=128 scaling=mx",
      "embedding batch=65536 dim=128 dtype=bf16 hash=modulus dense=128 scaling=row",
      "embedding batch=4096 pooling=sum count=2183168",
      "embedding batch=4096 dim=128 dtype=bf16 pooling=mean count=2183168",
      "embedding batch=16384 tables=1 dim=64 pooling=sum count=335872 sample_weights=f32",
      "embedding batch=16384 tables=1 dim=64 pooling=max count=335872 index=i32 offsets=i32",
      "embedding batch=65536 dense=16 hash=modulus pass=backward",
      "embedding batch=98304 dense=16 hash=modulus pass=backward optimizer=row_adagrad",
      "embedding batch=4096 dim=128 dtype=bf16 pooling=sum count=2183168 pass=backward optimizer=adam",
  };
  static constexpr const char* kDraws[] = {
      "batch=16..65536",
      "tables=1..40",
      "dim=16 | dim=32 | dim=64 | dim=128 | dim=8 | dim=4 | dim=13",
      "rows=1000 | rows=100000 | rows=1000000",
      "dtype=f32 | dtype=bf16 | dtype=f16 table_dtype=f32 | dtype=bf16 table_dtype=i8 scale=f32",
      "dense=0 | dense=16 | dense=13",
      "pass=forward | pass=forward | pass=backward | pass=backward optimizer=row_adagrad",
      "hash=none | hash=modulus | mode=zero | pooling=sum count=1000..400000 | pooling=mean count=1000..90000",
  };

  static Table<Scalar> scalars() {
    static constexpr Scalar kScalars[] = {
        {"learning_rate", offsetof(EmbeddingArgs, learning_rate), "of the optimizer", &is_so<Embedding, has_optimizer>},
        {"epsilon", offsetof(EmbeddingArgs, epsilon), "row_adagrad and adam: added to a root",
         &is_so<Embedding, has_moments>},
        {"beta1", offsetof(EmbeddingArgs, beta1), "adam: what the mean of gradients keeps", &is_so<Embedding, is_adam>},
        {"beta2", offsetof(EmbeddingArgs, beta2), "adam: what the mean of squares keeps", &is_so<Embedding, is_adam>},
        {"step", offsetof(EmbeddingArgs, step), "adam: the number of this update, from 1 on",
         &is_so<Embedding, is_adam>, i64},
        {"seed", offsetof(EmbeddingArgs, seed), "rounding=stochastic: another one for each update",
         &is_so<Embedding, is_stochastic>, i64},
    };
    return kScalars;
  }
  static Table<Step> steps() {
    static constexpr Step kSteps[] = {
        make_step<SumLengths>("offsets", "embedding/lengths.cu", &is_so<Embedding, has_lengths>),
        make_step<Lookup>("", "embedding/embedding.cu", &is_so<Embedding, is_forward>),
        make_step<ReadBags>("bags", "embedding/backward_bags.cu", &is_so<Embedding, reads_bags>),
        make_step<SortIds>("sort", "embedding/backward_sort.cu", &is_so<Embedding, is_backward>),
        make_step<SumRows>("sum", "embedding/backward_sum.cu", &is_so<Embedding, is_backward>),
    };
    return kSteps;
  }
  static Table<SourceFile> sources() { return embedded::embedding_sources(); }
  static std::string check(const Embedding& p) { return embedding::check(p); }
  static std::string check_extents(const Embedding& p) { return embedding::check_extents(p); }

  static void reference(const Embedding& p, const Args& a) {
    is_backward(p) ? backward_reference(p, a) : embedding::reference(p, a);
  }
  static Tolerance tolerance(const Embedding& p, int operand) {
    if (is_backward(p)) return {0, 0, operand == kDenseGradient || operand == kWorkspace};
    return {0, 0, operand != kOut || is_quantized(p) || (!is_pooled(p) && p.table_dtype.count == 0)};
  }
  static std::int64_t bytes(const Embedding& p) {
    return is_backward(p) ? backward_bytes(p) : embedding::bytes_that_move(p);
  }
  static bool generate(const Embedding& p, int operand, int entry, std::uint64_t seed, void* data) {
    if (generates_state(p, operand)) return generate_state(p, operand, entry, seed, data), true;
    if (operand == kIndex) return generate_index(p, seed / kSeedsOfProblem, data), true;
    if (operand == kVocabularies) return generate_vocabulary(p, entry, seed / kSeedsOfProblem, data), true;
    if (operand == kGivenScale) return *static_cast<float*>(data) = mx::given_scale(seed), true;
    if (operand == kPlaces) return generate_places(p, seed / kSeedsOfProblem, data), true;
    if (operand == kLengths) return generate_lengths(p, seed / kSeedsOfProblem, data), true;
    if (operand == kOffsets) return generate_offsets(p, seed / kSeedsOfProblem, data), true;
    return false;
  }
};

}  // namespace

const Family& Embedding::family() {
  static const Family family = make_family<EmbeddingFamily>();
  return family;
}

}  // namespace quern
