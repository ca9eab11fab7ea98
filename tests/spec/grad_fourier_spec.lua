-- grad_fourier_spec.lua - derivatives of transforms: every norm, type, length longer and shorter than the data, odd and
-- even.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local gradient_rows = support.load 'gradient_rows'

local NORMS = { 'backward', 'ortho', 'forward' }
local LENGTHS = { false, 3, 4, 7, 8 }

local function transforms(name)
  return function(r)
    local out = {}
    for _, norm in ipairs(NORMS) do
      for _, n in ipairs(LENGTHS) do
        out[#out + 1] = { function(x) return mc.fft[name](x, { axis = 2, norm = norm, n = n or nil }) end, r(2, 5, 2),
          second = norm == 'ortho', compiled = n == 7 }
      end
    end
    return out
  end
end

local function trigonometric(name)
  return function(r)
    local out = {}
    for type = 1, 4 do
      for k, norm in ipairs(NORMS) do
        for j, orthogonal in ipairs { true, false } do
          local n = LENGTHS[1 + (type + k + j) % #LENGTHS] or nil
          local o = { type = type, norm = norm, orthogonalize = orthogonal, axis = 1, n = n }
          out[#out + 1] = { function(x) return mc.fft[name](x, o) end, r(5, 2), second = k == 1, compiled = k == 2 }
        end
      end
    end
    return out
  end
end

local function one(f, ...)
  local sizes = { ... }
  return function(r) return { { f, r(unpack(sizes)) } } end
end

--- Real operands alone: the rows list complex ones for their inverses.
local function real(cases)
  return function(r, dtype) return dtype == 'f64' and cases(r, dtype) or {} end
end

local CASES = {
  fft = transforms 'fft', ifft = transforms 'ifft', rfft = real(transforms 'rfft'), irfft = transforms 'irfft',
  dct = trigonometric 'dct', idct = trigonometric 'idct', dst = trigonometric 'dst', idst = trigonometric 'idst',
  fftn = one(function(x) return mc.fft.fftn(x, { s = { 4, 2 } }) end, 3, 4),
  ifftn = one(function(x) return mc.fft.ifftn(x, { norm = 'ortho' }) end, 3, 4),
  rfftn = real(one(mc.fft.rfftn, 3, 4)), irfftn = one(function(x) return mc.fft.irfftn(x, { s = { 3, 5 } }) end, 3, 4),
  hfft = one(function(x) return mc.fft.hfft(x, { n = 5 }) end, 2, 4), ihfft = real(one(mc.fft.ihfft, 2, 6)),
  fftshift = one(mc.fft.fftshift, 3, 4), ifftshift = one(mc.fft.ifftshift, 3, 4),
  dctn = one(mc.fft.dctn, 3, 4), idctn = one(function(x) return mc.fft.idctn(x, { s = { 2, 5 } }) end, 3, 4),
  dstn = one(mc.fft.dstn, 3, 4), idstn = one(mc.fft.idstn, 3, 4),
}

local PRODUCTS = {
  convolve = function(r) return { { mc.convolve, r(9), r(4) },
    { function(a, b) return mc.convolve(a, b, 'same') end, r(40), r(90), narrow = false } } end,
  correlate = function(r) return { { function(a, b) return mc.correlate(a, b, 'full') end, r(9), r(4) } } end,
  einsum = function(r)
    local function case(text, ...) return { function(...) return mc.einsum(text, ...) end, ... } end
    return {
      case('ij,jk->ik', r(3, 2), r(2, 4)), case('ij,ji', r(3, 3), r(3, 3)), case('ii,ij->j', r(3, 3), r(3, 3)),
      case('bij,bjk->bik', r(2, 3, 2), r(2, 2, 4)),
      case('ijk,jl,kl->i', r(3, 2, 4), r(2, 3), r(4, 3)), case('...i->...', r(2, 3)),
    }
  end,
  matmul = function(r)
    local function product(a, b) return a:matmul(b) end
    return { { product, r(2, 3, 4), r(4, 2) }, { product, r(4), r(3, 4, 2) }, { product, r(3, 2, 4), r(4) },
      { product, r(4), r(4) }, { product, r(2, 1, 3, 4), r(5, 4, 2) } }
  end,
}

describe('derivatives of transforms', function()
  for _, t in ipairs(gradient_rows.rows(function(row)
    return row.family == 'fft' or row.family == 'dct' or row.module == 'mascon.fft' or row.module == 'mascon.fft.dct'
  end, CASES)) do it('of ' .. t.name, t.run) end
end)

describe('derivatives of convolution and index notation', function()
  for _, t in ipairs(gradient_rows.rows(function(row)
    return row.module == 'mascon.signal.convolution' or row.module == 'mascon.array.einsum' or row.family == 'matmul'
  end, PRODUCTS)) do it('of ' .. t.name, t.run) end
end)

describe('a chirp transform', function()
  it('is differentiated by its parts', function()
    local gradient = support.load 'gradient'
    for _, dtype in ipairs { 'f64', 'c128' } do
      local x = gradient.random({ 2, 7 }, dtype, 3)
      gradient.first('czt', function(t) return mc.signal.czt(t, { m = 5 }) end, { x })
      gradient.first('zoom_fft', function(t) return mc.signal.zoom_fft(t, { 0.1, 0.4 }, { m = 5 }) end, { x })
    end
  end)
end)

it('the gradient of a real signal is real and that of bins complex', function()
  local x = mc.tensor { 1, 2, 3 }
  assert.equal('f64', mc.grad(function(t) return mc.sum(mc.abs(mc.fft.fft(t))) end)(x).dtype)
  assert.equal('c128', mc.grad(function(t) return mc.sum(mc.fft.irfft(t)) end)(mc.fft.rfft(x)).dtype)
end)
