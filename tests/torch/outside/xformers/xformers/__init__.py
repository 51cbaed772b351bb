"""As much of xformers as its test of indexing imports. The operators are quern's."""
