"""Random selectors: typed, mostly valid, over the devices of tests/golden/cel/fleet.json.

Every production is a list of templates; a name in angle brackets stands for another one. Some
templates make the types wrong or the value missing on purpose, so that errors occur everywhere.
"""

from __future__ import annotations

import random
import re
from typing import Final

__all__ = ["expressions"]

_HOLE: Final = re.compile(r"<(\w+)>")
_D: Final = 'device.attributes["dra.example.com"]'
_C: Final = 'device.capacity["dra.example.com"]'

_LEAVES: Final = {
    "bool": [
        "true",
        "false",
        "device.allowMultipleAllocations",
        f"has({_D}.model)",
        f'"cores" in {_D}',
        '"other.io" in device.attributes',
        'device.driver == "other.io"',
        f"{_D}.ok",
    ],
    "any": [
        f"{_D}.model",
        f"{_D}.cores",
        f"{_D}.ok",
        f"{_D}.drv",
        f"{_D}.nope",
        'device.attributes["other.io"].model',
        f'{_D}["cores"]',
        "device.attributes[device.driver].model",
        'device.attributes[device.driver]["cores"]',
    ],
    "int": ["0", "1", "2", "-1", "7", "108", "9223372036854775807", "size(device.driver)"],
    "uint": ["0u", "1u", "5u"],
    "double": ["0.0", "1.5", "-2.25", "1e10"],
    "string": [
        '""',
        '"a"',
        '"A100"',
        '"1.2.3"',
        '"80Gi"',
        '"ab-cd"',
        '"h\\u00e9\\u00e9"',
        '"10.0.0.1"',
        "device.driver",
    ],
    "quantity": [
        'quantity("1Gi")',
        'quantity("80Gi")',
        'quantity("1500m")',
        f"{_C}.memory",
        f"{_C}.bw",
        'device.capacity["x"].y',
    ],
    "version": ['semver("1.2.3")', 'semver("2.0.0-rc.1")', 'semver("1.10", true)'],
    "ints": ["[1, 2, 3]", "[0, 1]", "[5]", "[108, 132]"],
    "strings": ['["a", "b"]', '["A100", "H100"]', '["x"]'],
    "map": ['{"a": 1, "b": 2}', '{"a": 1}', '{"b": 1}'],
    "optional": [f"{_D}.?model", f"{_D}.?nope", 'device.attributes[?"nope"]', '{"a": 1}.?b'],
    "optional_int": ['{"a": 1}.?a', "[1, 2][?5]"],
    "small": ["0", "1", "2", "4"],
    "count": ["0", "2", "3", "size(device.driver)"],
}
_TREES: Final = {
    "bool": [
        "<bool> && <bool>",
        "<bool> && <bool>",
        "(<bool> || <bool>)",
        "(<bool> || <bool>)",
        "!(<bool>)",
        "(<bool> ? <bool> : <bool>)",
        "<int> == <int>",
        "<int> != <int>",
        "<int> <= <int>",
        "<int> > <double>",
        "<string> == <string>",
        "<string> < <string>",
        "<any> == <any>",
        "<any> == <string>",
        "<any> != <int>",
        "<any> >= <int>",
        "<any> < <string>",
        "<string>.startsWith(<string>)",
        "<string>.endsWith(<string>)",
        "<string>.contains(<string>)",
        '<string>.matches("^a.*")',
        "<string>.matches(<string>)",
        "<any> in <strings>",
        "<int> in <ints>",
        "<quantity>.isGreaterThan(<quantity>)",
        "<quantity> == <quantity>",
        "<quantity> != <quantity>",
        "<version>.isLessThan(<version>)",
        "<version> == <version>",
        "<ints>.all(i, i > 1)",
        "<ints>.exists(i, 10 / i > 2)",
        "<ints>.exists_one(i, i in <ints>)",
        "<strings>.all(s, s.size() > 2)",
        "<strings>.exists(s, s == <string>)",
        "<ints> == <ints>",
        "sets.contains(<ints>, <ints>)",
        "sets.intersects(<strings>, <strings>)",
        "cel.bind(b, <int>, b > <int> && b < 100)",
        "isQuantity(<string>)",
        "isSemver(<string>)",
        "isIP(<string>)",
        "<optional>.hasValue()",
        "<double> < <double>",
        "<map>.all(k, v, v > 0)",
        "<ints>.isSorted()",
    ],
    "any": [
        "dyn(<int>)",
        "dyn(<string>)",
        "dyn(<bool>)",
        "dyn(<double>)",
        "dyn(<uint>)",
        "dyn(<quantity>)",
        "dyn(<version>)",
        "dyn(<ints>)",
        f"{_D}.?model.orValue(<string>)",
        f"{_D}.?nope.orValue(<int>)",
    ],
    "int": [
        "(<int> + <int>)",
        "(<int> - <int>)",
        "(<int> * <int>)",
        "(<int> / <int>)",
        "(<int> % <int>)",
        "-(<int>)",
        "size(<string>)",
        "size(<ints>)",
        "size(<map>)",
        "int(<string>)",
        "int(<double>)",
        "int(<any>)",
        "<quantity>.compareTo(<quantity>)",
        "<version>.major()",
        "<string>.indexOf(<string>)",
        "<string>.lastIndexOf(<string>)",
        "<ints>.sum()",
        "<ints>.max()",
        "<ints>[<int>]",
        "(<bool> ? <int> : <int>)",
        "<optional_int>.orValue(<int>)",
        "<map>[<string>]",
        "<map>.a",
        "<quantity>.asInteger()",
        "cel.bind(v, <int>, v + v)",
    ],
    "uint": ["uint(<int>)", "(<uint> + <uint>)"],
    "double": [
        "(<double> + <double>)",
        "(<double> / <double>)",
        "double(<int>)",
        "double(<string>)",
        "<quantity>.asApproximateFloat()",
    ],
    "string": [
        "(<string> + <string>)",
        "<string>.lowerAscii()",
        "<string>.upperAscii()",
        "<string>.trim()",
        "<string>.substring(<small>)",
        "<string>.replace(<string>, <string>)",
        "<strings>.join(<string>)",
        "string(<int>)",
        "string(<double>)",
        "string(<any>)",
        "<string>.charAt(<small>)",
        '"%s-%d".format([<string>, <int>])',
        "<strings>[<small>]",
        "(<bool> ? <string> : <string>)",
        '<string>.find("[a-z]+")',
        "strings.quote(<string>)",
    ],
    "quantity": [
        "<quantity>.add(<quantity>)",
        "<quantity>.add(<int>)",
        "<quantity>.sub(<quantity>)",
        "quantity(<string>)",
        f"{_C}.?memory.orValue(<quantity>)",
        f"{_C}.?nope.orValue(<quantity>)",
    ],
    "version": ["semver(<string>)", "semver(<string>, true)"],
    "ints": [
        "[<int>, <int>]",
        "(<ints> + <ints>)",
        "<ints>.map(i, i + <int>)",
        "<ints>.map(i, i / <int>)",
        "<ints>.filter(i, i > 1)",
        "<ints>.filter(i, i != <int>)",
        "<ints>.sort()",
        "<ints>.reverse()",
        "<ints>.distinct()",
        "<ints>.slice(0, <small>)",
        "lists.range(<count>)",
        "<ints>.sortBy(i, -i)",
    ],
    "strings": [
        "[<string>, <string>]",
        "<string>.split(<string>)",
        "<strings>.map(s, s + <string>)",
        "(<strings> + <strings>)",
        "<strings>.filter(s, s != <string>)",
    ],
    "map": ['{"a": <int>}', '{"a": 1}.transformMap(k, v, v + <int>)'],
    "optional": ["<optional_int>"],
    "optional_int": [
        "optional.of(<int>)",
        "optional.ofNonZeroValue(<int>)",
        "<ints>.first()",
        "<ints>.last()",
        "optional.of(<int>).optMap(x, x + 1)",
    ],
    "small": ["<int>"],
    "count": ["size(<string>)"],
}


def expressions(seed: int, count: int) -> list[str]:
    """Return `count` selectors; the same for the same seed."""
    source = random.Random(seed)
    return [_made("bool", source.randint(1, 4), source) for _ in range(count)]


def _made(kind: str, depth: int, source: random.Random) -> str:
    leaf = depth <= 0 or (kind not in {"bool", "int"} and source.random() < 0.4)
    template = source.choice(_LEAVES[kind] if leaf else _TREES[kind])
    return _HOLE.sub(lambda hole: _made(hole[1], depth - 1, source), template)
