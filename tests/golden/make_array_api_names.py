"""Names and signatures of the Python array API standard 2023.12: array_api_names.json.

What it is for: tests/spec/arrayapi_spec.lua compares mascon's names with the whole list.
What it owns: the reading of the standard's own stubs.
What it may not know: mascon.
Run: python make_array_api_names.py STUBS   where STUBS is the folder src/array_api_stubs/_2023_12 of a checkout of
github.com/data-apis/array-api (written from commit 8884c406ff8a3b81ab836cefcacb08bc4a92ae18).
"""

import ast
import json
import os
import sys

MAIN = (
    'creation data_type elementwise indexing linear_algebra manipulation searching set sorting statistical utility'
).split()


def signature(node):
    a = node.args
    out = {'args': [x.arg for x in a.posonlyargs + a.args]}
    if a.vararg:
        out['args'].append('*' + a.vararg.arg)
    if a.kwonlyargs:
        out['options'] = [x.arg for x in a.kwonlyargs]
    return out


def functions(stubs, name):
    tree = ast.parse(open(os.path.join(stubs, name + '.py'), encoding='utf-8').read())
    listed = None
    out = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == '__all__':
            listed = {e.value for e in node.value.elts}
        if isinstance(node, ast.FunctionDef) and not node.name.startswith('_'):
            out[node.name] = signature(node)
    return {k: v for k, v in sorted(out.items()) if listed is None or k in listed}


def array_object(stubs):
    tree = ast.parse(open(os.path.join(stubs, 'array_object.py'), encoding='utf-8').read())
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef)).body
    fields, methods = [], {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name != '__init__':
            if any(getattr(d, 'id', '') == 'property' for d in node.decorator_list):
                fields.append(node.name)
            else:
                methods[node.name] = signature(node)
    return sorted(fields), dict(sorted(methods.items()))


def main(stubs):
    names = {}
    for part in MAIN:
        names.update(functions(stubs, part + '_functions'))
    fields, methods = array_object(stubs)
    out = {
        'standard': '2023.12',
        'main': dict(sorted(names.items())),
        'fft': functions(stubs, 'fft'),
        'linalg': functions(stubs, 'linalg'),
        'constants': ['e', 'inf', 'nan', 'newaxis', 'pi'],
        'dtypes': 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128'.split(),
        'fields': fields,
        'methods': methods,
    }
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, 'array_api_names.json'), 'w', encoding='utf-8') as f:
        json.dump(out, f, indent=1, sort_keys=True)
        f.write('\n')
    print({k: len(v) for k, v in out.items()})


if __name__ == '__main__':
    main(sys.argv[1])
