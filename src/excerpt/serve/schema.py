"""schema"""


def build_schema():
    return {}
