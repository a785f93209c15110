"""Lists that have to be equally long, side by side: zip() itself asks for that only since Python 3.10."""


def pairs(*lists):
    lists = [list(one) for one in lists]
    lengths = {len(one) for one in lists}
    if len(lengths) > 1:
        raise ValueError(f"lists of {sorted(lengths)} values")
    return list(zip(*lists))
