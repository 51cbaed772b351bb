from xformers.ops.indexing import index_select_cat, scaled_index_add

__all__ = ["index_select_cat", "scaled_index_add"]
