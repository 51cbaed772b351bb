"""Names that the helpers of xformers' tests import."""


class InputsFp8:
    pass
