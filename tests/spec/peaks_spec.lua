-- peaks_spec.lua - memory peaks of named jobs stay where they were measured.
--
-- Counted bytes beyond what is live before the job, its input included; the same on every machine at two threads. A job
-- that needs over 5 % more than tests/golden/peaks.lua says fails; `MASCON_TEST_PEAKS=write mascon tests/run.lua
-- peaks_spec` stores the figures anew, in a commit that says why.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'

local PATH = support.folder .. '/golden/peaks.lua'

local JOBS = {
  { 'chain of ops, 1M f32', function()
    local x = mc.ones({ 2 ^ 20 }, { dtype = 'f32' })
    return mc.tanh(x * 2 + 1) * x
  end },
  { 'the same compiled', function()
    local x = mc.ones({ 2 ^ 20 }, { dtype = 'f32' })
    local f = mc.compile(function(a) return mc.tanh(a * 2 + 1) * a end)
    f(x):release()
    return f(x)
  end },
  { 'gradient of a network, 1024 x 64', function()
    local x, w = mc.ones { 1024, 64 }, mc.ones { 64, 64 }
    return mc.grad(function(v) return mc.mean(mc.tanh(x:matmul(mc.tanh(x:matmul(v)).mT:matmul(x)))) end)(w)
  end },
  { 'median by row, 1000 x 1000 f64', function() return mc.stats.median(mc.ones { 1000, 1000 }, 2) end },
  { 'sort by row, 1000 x 1000 f64', function() return mc.sort(mc.ones { 1000, 1000 }) end },
  { 'transforms, 512 x 2048 f64', function() return mc.fft.rfft(mc.ones { 512, 2048 }) end },
  { 'filter forth and back, 64 x 20000', function()
    return mc.signal.sosfiltfilt(mc.signal.butter(4, { 8, 12 }, { btype = 'bandpass', fs = 250 }),
      mc.ones { 64, 20000 })
  end },
  { 'least squares, 4096 x 32',
    function() return mc.linalg.lstsq(mc.randn({ 4096, 32 }, { seed = 1 }), mc.ones { 4096, 1 }) end },
  { 'coupling, 8 x 2048, 50 surrogates', function()
    return mc.pac.compute(mc.randn({ 8, 2048 }, { seed = 1 }),
      { fs = 256, pha_n_bands = 4, amp_n_bands = 4, amp_range_hz = { 40, 80 }, n_perm = 50 })
  end },
}

--- Bytes that a job needs beyond what is live, its second run: plans and tables that are kept are there then.
local function measured(job)
  local peak
  for _ = 1, 2 do
    collectgarbage()
    collectgarbage()
    mc.reset_peak_memory()
    local before = mc.memory().live
    mc.scope(function() job() end)
    peak = mc.memory().peak - before
  end
  return peak
end

describe('memory peaks', function()
  local threads
  setup(function()
    threads = mc.get_num_threads()
    mc.set_num_threads(2)
  end)
  teardown(function() mc.set_num_threads(threads) end)

  it('of named jobs are within 5 % of the stored ones', function()
    local stored, out, grown = (loadfile(PATH) or function() return {} end)(),
      { '-- peaks.lua - bytes, written by tests/spec/peaks_spec.lua (MASCON_TEST_PEAKS=write)\nreturn {\n' }, {}
    for _, job in ipairs(JOBS) do
      local now, was = measured(job[2]), stored[job[1]]
      out[#out + 1] = ('  [%q] = %d,\n'):format(job[1], now)
      if os.getenv 'MASCON_TEST_PEAKS' ~= 'write' then
        if not was then grown[#grown + 1] = job[1] .. ': no stored peak'
        elseif now > 1.05 * was then grown[#grown + 1] = ('%s: %d bytes, stored %d'):format(job[1], now, was) end
      end
    end
    out[#out + 1] = '}\n'
    if os.getenv 'MASCON_TEST_PEAKS' == 'write' then
      local f = assert(io.open(PATH, 'w'))
      f:write(table.concat(out))
      f:close()
    end
    assert.equal('', table.concat(grown, '\n'))
  end)
end)
