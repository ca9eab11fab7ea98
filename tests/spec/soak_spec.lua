-- soak_spec.lua - a hundredth of each long job of tests/soak; `make soak` runs them whole.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local host = require 'mascon.host'
local tests = debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests'

local jobs = {}
for _, name in ipairs(host.list(tests .. '/soak') or {}) do jobs[#jobs + 1] = name:match '^(.*)%.lua$' end
table.sort(jobs)

describe('a share of the long job', function()
  for _, job in ipairs(jobs) do
    it(job, function()
      local at = process.folder()
      -- run.sh keeps its logs in the build folder, or in one of its own where the program is installed elsewhere
      process.shell(('ln -s %s %s/mascon'):format(host.exe, at))
      local r = process.shell(('%s/soak/run.sh %s 1 3 %s'):format(tests, at, job))
      process.remove(at)
      assert.equal(0, r.status, r.text)
    end)
  end

  it('goes on where its state says', function()
    local at = process.folder()
    local line =
      ('MASCON_SOAK=1 %s %s/soak/calls.lua --count 600 --seconds 60 --state %s/state'):format(host.exe, tests, at)
    process.write(at .. '/state', '3 0\n')
    local first, second = process.shell(line), process.shell(line)
    process.remove(at)
    assert.truthy(first.text:find 'cases 3 to 3 of 3', first.text)
    assert.truthy(second.text:find '0 passed, 0 failed', second.text)
  end)
end)
