"""Writing of golden files.

What it is for: every make_*.py of this folder stores its arrays through `save`, so that all goldens
look alike.
What it owns: the rules for such a file: dtypes that mascon has, C order, at most 100 kB, an `about`
entry (JSON text as u8) that names script, versions and source. The bytes depend on script and
library versions only.
What it may not know: what the arrays mean.
"""

import json
import os
import platform

import numpy as np

FOLDER = os.environ.get('GOLDEN_FOLDER') or os.path.dirname(os.path.abspath(__file__))
LIMIT = 100_000
DTYPES = {
    'bool',
    'uint8',
    'int8',
    'int16',
    'int32',
    'int64',
    'float16',
    'float32',
    'float64',
    'complex64',
    'complex128',
}


def text(value):
    """ASCII text or a JSON-able value as a u8 array."""
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True)
    return np.frombuffer(value.encode('ascii'), dtype=np.uint8)


def save(name, about, arrays, compress=True):
    """Write FOLDER/name.npz from a dict of arrays; `about` is a dict that joins the versions."""
    about = dict(about, python=platform.python_version(), numpy=np.__version__)
    checked = {'about': text(about)}
    for key in sorted(arrays):
        value = np.array(arrays[key], order='C')
        if value.dtype.name not in DTYPES:
            raise TypeError(f'{name}: {key} has dtype {value.dtype}')
        checked[key] = value
    path = os.path.join(FOLDER, name + '.npz')
    (np.savez_compressed if compress else np.savez)(path, **checked)
    size = os.path.getsize(path)
    if size > LIMIT:
        os.remove(path)
        raise ValueError(f'{name}: {size} bytes are more than {LIMIT}')
    print(f'{name}.npz {size} bytes, {len(checked)} arrays')
