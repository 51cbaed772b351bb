// The values of rope's fields. Read by applications, by the host and by the kernel.
#ifndef QUERN_ROPE_CHOICES_H_
#define QUERN_ROPE_CHOICES_H_

namespace quern {

#define QUERN_VALUE(name) name,

// The order of a tensor's memory, from the slowest dimension to the fastest: b batch, s token, h head, d element. thd:
// `batch` sequences of different lengths, one after the other; `seq` is the number of their tokens.
#define QUERN_ROPE_LAYOUTS(VALUE) VALUE(bshd) VALUE(sbhd) VALUE(bhsd) VALUE(thd)
enum class RopeLayout : unsigned char { QUERN_ROPE_LAYOUTS(QUERN_VALUE) };

// Which elements are a pair.
#define QUERN_ROPE_STYLES(VALUE)                                                                           \
  VALUE(half)        /* j and j + rotary_dim / 2: GPT-NeoX, Llama in Hugging Face's form; "rotate_half" */ \
  VALUE(interleaved) /* 2j and 2j + 1: GPT-J, Llama in its authors' form */
enum class RopeStyle : unsigned char { QUERN_ROPE_STYLES(QUERN_VALUE) };

#define QUERN_ROPE_PASSES(VALUE)                                                   \
  VALUE(forward)                                                                   \
  VALUE(backward) /* the gradient of the input: the rotation by minus the angle */ \
  VALUE(inverse)  /* the input again, which is the same rotation */
enum class RopePass : unsigned char { QUERN_ROPE_PASSES(QUERN_VALUE) };

// Where entry j at position p is.
#define QUERN_ROPE_TABLES(VALUE)                                                                         \
  VALUE(separate) /* cos[p, j] and sin[p, j], rows of rotary_dim / 2: flash-attention's */               \
  VALUE(doubled)  /* the same in rows of rotary_dim, whose second halves are not read: Hugging Face's */ \
  VALUE(joined)   /* cos[p, j] and cos[p, j + rotary_dim / 2]: vLLM's and FlashInfer's cos_sin_cache */  \
  VALUE(angles)   /* angles[p, e] in radians, for each rotated element e: TransformerEngine's freqs */   \
  VALUE(computed) /* nowhere: the kernel computes cosine and sine of p * theta^(-2j / rotary_dim) */
enum class RopeTable : unsigned char { QUERN_ROPE_TABLES(QUERN_VALUE) };

// How table=computed changes a pair's frequency f = theta^(-2j / rotary_dim), in radians a position. Of sections that
// restart, j and rotary_dim / 2 are the pair's number in its section and the section's number of pairs.
#define QUERN_ROPE_SCALINGS(VALUE)                                                                         \
  VALUE(none)                                                                                              \
  VALUE(linear) /* f / factor: positions are divided */                                                    \
  VALUE(llama3) /* Llama 3.1's: f where 2 pi / f < old_context / high_factor, f / factor where it is above \
                   old_context / low_factor, between them w f + (1 - w) f / factor with                    \
                   w = (old_context f / (2 pi) - low_factor) / (high_factor - low_factor) */
enum class RopeScaling : unsigned char { QUERN_ROPE_SCALINGS(QUERN_VALUE) };

// The position of token s of batch b; `offset` of the launch is added.
#define QUERN_ROPE_POSITIONS(VALUE)      \
  VALUE(sequence) /* s */                \
  VALUE(starts)   /* positions[b] + s */ \
  VALUE(ids)      /* positions[b, s] */  \
  VALUE(tokens)   /* b * seq + s: the table has an entry for each token */
enum class RopePosition : unsigned char { QUERN_ROPE_POSITIONS(QUERN_VALUE) };

// Which axis of positions a pair has, where there are sections, and which entry of the table.
#define QUERN_ROPE_SECTION_STYLES(VALUE)                                                                           \
  VALUE(adjacent)    /* section after section, entries as without sections: Qwen2-VL's language model */           \
  VALUE(interleaved) /* axes in rotation, until a section has its pairs; the rest has the first one: Qwen3-VL */   \
  VALUE(restarted)   /* as adjacent, each section from entry 0 on: Qwen2-VL's vision model */                      \
  VALUE(apart)       /* the same, and each section is rotated as a head of its own: its elements are adjacent, and \
                        `style` says which of them are a pair. Apex's 2-D form, of images */
enum class RopeSectionStyle : unsigned char { QUERN_ROPE_SECTION_STYLES(QUERN_VALUE) };

// What a position outside of the table gives.
#define QUERN_ROPE_BEYONDS(VALUE)                                                      \
  VALUE(assume_valid) /* every position is in the table; anything else is undefined */ \
  VALUE(identity)     /* the token's elements as they are */                           \
  VALUE(report)       /* the same, and *report becomes the lowest such b * seq + s */
enum class RopeBeyond : unsigned char { QUERN_ROPE_BEYONDS(QUERN_VALUE) };

#define QUERN_ROPE_PLACES(VALUE)                        \
  VALUE(separate) /* from q and k to q_out and k_out */ \
  VALUE(in_place) /* in q_out and k_out */
enum class RopePlace : unsigned char { QUERN_ROPE_PLACES(QUERN_VALUE) };

#define QUERN_ROPE_VALUES(VALUE) \
  VALUE(none)                    \
  VALUE(copied) /* v, with the heads of k, goes to v_out as it is */
enum class RopeValues : unsigned char { QUERN_ROPE_VALUES(QUERN_VALUE) };

// Where k_out and v_out have a token. A cache is [pages, tokens of a page, kv_heads, head_dim].
#define QUERN_ROPE_CACHES(VALUE)                                                                 \
  VALUE(none)      /* where k and v have it */                                                   \
  VALUE(positions) /* a page for each batch or sequence, and in it at the token's position */    \
  VALUE(slots)     /* at slots[b, s]: page and token of it in one number. vLLM's slot_mapping */ \
  VALUE(pages)     /* at its position, in pages[b, position / page_size]: a dense block table, vLLM's */
enum class RopeCache : unsigned char { QUERN_ROPE_CACHES(QUERN_VALUE) };

// The outputs that `element` is the type of.
#define QUERN_ROPE_QUANTIZED(VALUE)                \
  VALUE(kv)  /* k_out and v_out: a cache in fp8 */ \
  VALUE(all) /* q_out too */
enum class RopeQuantized : unsigned char { QUERN_ROPE_QUANTIZED(QUERN_VALUE) };

// What shares a scale of a quantized output.
#define QUERN_ROPE_SCALES(VALUE)                                                  \
  VALUE(tensor)   /* everything: q_scale, k_scale and v_scale, which are given */ \
  VALUE(row)      /* a head of a token: a made fp32 scale */                      \
  VALUE(block128) /* 128 elements of a head: the same */                          \
  VALUE(mx)       /* 32 elements of a head: a made power of two, as an E8M0 byte */
enum class RopeScales : unsigned char { QUERN_ROPE_SCALES(QUERN_VALUE) };

#undef QUERN_VALUE

}  // namespace quern

#endif  // QUERN_ROPE_CHOICES_H_
