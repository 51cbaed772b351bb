"""Names that the helpers of xformers' tests import."""


class Inputs:
    pass
