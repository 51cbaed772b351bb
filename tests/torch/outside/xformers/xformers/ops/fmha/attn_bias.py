"""Names that the helpers of xformers' tests import."""


class BlockDiagonalCausalWithOffsetPaddedKeysMask:
    pass


class PagedBlockDiagonalCausalWithOffsetPaddedKeysMask:
    pass
