"""nist.npz: the nonlinear regression data sets of NIST with their certified values.

What it is for: tests/support/nist.lua and bench/fit.lua read them. What it owns: the reading of the .dat files.
What it may not know: the models, which stand in tests/support/nist.lua.

usage: make_nist.py FOLDER, which holds Misra1a.dat .. BoxBOD.dat of the Statistical Reference Datasets (National
Institute of Standards and Technology, https://www.itl.nist.gov/div898/strd/, public domain).

Per data set: NAME_y [m], NAME_x [m] or [2, m], NAME_start [2, n] (the far and the near start), NAME_b and NAME_sd [n]
(certified), NAME_sum (residual sum of squares, residual standard deviation, degrees of freedom).
"""

import glob
import os
import re
import sys

import numpy as np

import golden_file


def read(path):
    lines = open(path, encoding='latin-1').read().splitlines()
    head = '\n'.join(lines[:60])
    data = re.search(r'Data\s+\(lines\s+(\d+)\s+to\s+(\d+)\)', head)
    first, last = int(data[1]) - 1, int(data[2])
    table = np.array([[float(v) for v in line.split()] for line in lines[first:last] if line.strip()])
    rows = [re.match(r'\s*b\d+\s*=\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$', line) for line in lines[:60]]
    values = np.array([[float(v) for v in row.groups()] for row in rows if row])
    number = {key: float(re.search(key + r'.*?:\s*(\S+)', head)[1]) for key in
              ('Residual Sum of Squares', 'Residual Standard Deviation', 'Degrees of Freedom')}
    assert len(table) == int(re.search(r'Number of Observations:\s*(\d+)', head)[1]), path
    dof = len(table) - len(values)
    assert number['Degrees of Freedom'] == dof or path.endswith('Rat43.dat'), path  # which says 9 for 15 points, 4 parameters
    return table, values, list(number.values())[:2] + [dof]


arrays, names = {}, []
for path in sorted(glob.glob(os.path.join(sys.argv[1], '*.dat'))):
    name = os.path.basename(path)[:-4]
    table, values, sums = read(path)
    names.append(name)
    x = table[:, 1:].T
    arrays.update({f'{name}_y': table[:, 0], f'{name}_x': x[0] if len(x) == 1 else x, f'{name}_start': values[:, :2].T,
                   f'{name}_b': values[:, 2], f'{name}_sd': values[:, 3], f'{name}_sum': np.array(sums)})
golden_file.save('nist', {'script': 'make_nist.py', 'source': 'NIST Statistical Reference Datasets, nonlinear regression', 'names': names}, arrays)
