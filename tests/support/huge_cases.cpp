// More than 2^31 elements each, or words: offsets of 32 bits do not reach them. For a GPU, with at most 100 GB a case.
#include "support/cases.h"

namespace quern::test {

std::vector<Case> huge_cases() {
  return {{"gather rows=184320 count=184320 width=14336 dtype=bf16"},
          {"gather rows=184320 count=184320 width=14335 dtype=bf16", 1},
          {"gather rows=16 count=40 width=268435459 dtype=u8"},
          {"gather rows=23040 count=23040 width=14335 outer=8 dtype=bf16", 1},
          {"scatter rows=184320 count=184320 width=14336"},
          {"scatter op=add rows=184320 count=184320 width=14335", 1},
          {"scatter rows=184320 count=180000 width=14336 order=given rest=zero"},
          {"scatter op=add rows=23040 count=184320 width=14336 order=given rest=zero"},
          {"scatter op=add rows=184320 count=23040 width=14335 order=given rest=zero", 1},
          {"scatter op=add rows=184320 count=180000 width=14336 scale=f16 pass=backward"},
          {"scatter op=add rows=184320 count=180000 width=14335 scale=f32 scale_of=rows pass=backward", 1},
          {"index_sort rows=2147483647 count=536870981 index=i32"},  // more than 2^31 words of workspace
          {"hash_table count=1000000 capacity=2147483648 dtype=i32"},
          {"rope batch=8 seq=33056 heads=64 kv_heads=8 head_dim=128"},
          {"rope batch=8 seq=33056 heads=64 kv_heads=8 head_dim=127 rotary_dim=126 style=interleaved layout=bhsd", 1},
          {"concat rows=262144 widths=8192,13,4096"},
          {"concat rows=262144 widths=8192,13,4096 pass=backward", 1},
          {"concat layout=flat counts=300000,40,77 widths=7168,13,4096 source_rows=320000,50,90 index=i64"},
          {"concat layout=flat counts=300000,40 widths=7167,13 source_rows=320000,50 index=i32 pass=backward", 1},
          {"interaction batch=700000 features=27 dim=128 dense=128"},
          {"interaction batch=700000 features=27 dim=127 dense=127 pass=backward", 1},
          {"interaction form=outer batch=12000 features=1 dim=432"},
          {"interaction form=outer batch=12000 features=1 dim=431 pass=backward", 1},
          {"row_pad rows=300000 cols=7168 groups=64 align=128"},
          {"row_pad rows=300000 cols=7167 groups=64 align=16 dtype=e4m3 direction=unpad", 1},
          {"multi_row_pad rows=300000,43,1 cols=7168,256,33 align=128"},
          {"multi_row_pad rows=43,300000 cols=33,7167 align=16 dtype=u8 direction=unpad", 1},
          {"pointwise rows=524289 width=4097 dtype=bf16"},
          {"pointwise rows=524289 width=4104 dtype=bf16 bias_spread=none", 0, true},
          {"pointwise rows=524289 width=4097 dtype=bf16", 1},
          {"pointwise rows=524289 width=4104 op=add_mul_act pass=backward bias_gradient=f32 multiplier_gradient=f32"},
          {"glu rows=262145 width=8200"},
          {"glu rows=262145 width=8193 pass=backward", 1},
          {"glu rows=131073 width=8200 pass=backward bias_gradient=f32 scale=f32 layout=interleaved"},
          {"glu rows=262145 width=8224 activation=relu scaling=mx scale_layout=blocked"},
          {"glu rows=262144 width=8224 activation=relu scaling=mx direction=both"},
          {"mxfp8 rows=8192 cols=10240 experts=32 direction=both"},
          {"mxfp8 rows=1048608 cols=2080 groups=8 direction=col scale_layout=blocked"},
          {"mxfp8 rows=262151 cols=8200 tail=pad direction=both", 1},
          {"mxfp8 rows=262151 cols=8200 scaling=row mode=exact", 1},
          {"mxfp8_dequantize rows=8192 cols=10240 experts=32 direction=col"},
          {"moe_map tokens=2200000 experts=1024 topk=2 map=mask align=16"},
          {"moe_map tokens=1100000 experts=1000 topk=3 map=bits row_id_map=write capacity=3000000", 1},
          {"chunk_sort rows=300000 hidden=7168 chunks=64 probs=f32"},
          {"chunk_sort rows=300000 hidden=7167 chunks=90 pass=backward", 1},
          {"moe_permute tokens=40960 experts=64 hidden=7168 topk=8 align=16 probs=f32"},
          {"moe_permute tokens=40960 experts=64 hidden=7167 topk=8 align=16", 1},
          {"moe_permute tokens=40960 experts=64 hidden=7168 topk=8 align=128 element=e4m3 scaling=mx"},
          {"moe_permute tokens=40960 experts=64 hidden=7168 topk=8 align=128 element=e4m3 scaling=mx "
           "scale_layout=blocked probs=f32"},
          {"moe_permute tokens=40960 experts=64 hidden=7168 topk=8 align=16 pass=backward"},
          {"moe_unpermute tokens=40960 experts=64 hidden=7168 topk=8 probs=f32"},
          {"moe_unpermute tokens=40960 experts=64 hidden=7167 topk=8 probs=f32 residual=add", 1},
          {"moe_unpermute tokens=40960 experts=64 hidden=7168 topk=8 align=16 pass=backward"},
          {"moe_unpermute tokens=40960 experts=64 hidden=7168 topk=8 align=16 probs=f32 pass=backward"}};
}

}  // namespace quern::test
