-- repeat.lua - one line per hash of results that must have the same bits in every run, whatever the number of threads.
--
-- Run many times by tests/check.sh, which compares the lines. Makes the choice of operations: sums, products,
-- transforms, sorting, filters and random streams, all large enough to be cut into tasks.
local mc = require 'mascon'
local manifest = require 'mascon.report.manifest'

local function line(name, value) print(name, manifest.hash(value)) end

mc.seed(20)
local x = mc.randn { 300, 4099 }
local y = mc.rand({ 300, 4099 }, { dtype = 'f32', seed = 7 })
line('random', { x, y })
line('sum', { x:sum(), x:sum(1), x:sum(2), y:sum(), y:mean(2), y:var { 1 } })
line('ewise', mc.exp(x) / (mc.abs(x) + 1))
line('matmul', mc.matmul(x, x.T))
line('fft', { mc.fft.rfft(x, { axis = 2 }), mc.fft.fft(y, { axis = 1 }) })
line('sort', { x:sort(), y:argsort(2), mc.median(x, 2), mc.quantile(y, 0.3, { axis = 2 }) })
line('scan', { x:cumsum(2), y:cumsum(1) })
