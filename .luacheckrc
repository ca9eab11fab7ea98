-- .luacheckrc - what luacheck may complain about: everything but line length (the house has 100 to 140 columns by file)
-- and unused arguments of functions whose signature is fixed by a table of alike functions.
std = 'luajit'
max_line_length = false
unused_args = false
self = false
codes = true
ignore = { '581' } -- `not (x > y)` is how NaN is refused
files['tests/spec'] = { std = '+busted' }
files['tests/support'] = { std = '+busted' }
files['tests/run.lua'] = { read_globals = { 'arg' } }
files['scripts'] = { read_globals = { 'arg' } }
files['runtime/ops/gen'] = { read_globals = { 'arg' } }
files['tests/lint'] = { read_globals = { 'arg' } }
exclude_files = { 'build', 'build-*' }
