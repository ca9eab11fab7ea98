-- changed_spec.lua - which specs `make test ONLY=changed` runs for a changed file.
local function names(path)
  local pipe = io.popen(("CHANGED='%s' tests/changed.sh 2>&1; echo \"<$?>\""):format(path))
  local text = pipe:read '*a'
  pipe:close()
  return text
end

describe('tests/changed.sh', function()
  local here = io.open 'tests/changed.sh'
  if here then here:close() end

  it('names the specs of a file', function()
    if not here then return pending 'no scripts in this folder' end
    for path, spec in pairs {
      ['lua/mascon/fft/dct.lua'] = 'fft_spec',
      ['kernels/cpu/sort.c'] = 'sort_spec',
      ['runtime/device/mc_fft_own.c'] = 'fft_spec',
      ['tests/c/pac_kernels.c'] = 'pac_compute_spec',
      ['tests/spec/changed_spec.lua'] = 'changed_spec',
    } do
      local text = names(path)
      assert.is_truthy(('\n' .. text):find('\n' .. spec .. '\n', 1, true), path .. ': ' .. text)
      assert.matches('<0>\n$', text)
      assert.is_nil(text:find 'whole suite', path)
    end
  end)

  it('names them all, and says so, where nothing narrower is known', function()
    if not here then return pending 'no scripts in this folder' end
    for _, path in ipairs {
      'runtime/ops/rows/reduce.lua', 'runtime/ops/derivative.lua', 'kernels/mck_philox.h', 'bindings/zlib/zlib.c',
      'tests/support/reference.lua', 'lua/mascon/core/op.lua', 'runtime/mascon.h',
    } do
      local text = 'changed: %s touches what no part of the specs covers alone; the whole suite runs\n_spec\n<0>\n'
      assert.equal(text:format(path), names(path))
    end
  end)

  it('fails when nothing that is tested differs', function()
    if not here then return pending 'no scripts in this folder' end
    assert.matches('no source and no spec differs.*<1>', names 'README.md')
  end)
end)
