-- grad_linalg_golden_spec.lua - gradients of linear algebra and transforms against PyTorch and JAX
-- (tests/golden/make_grad_linalg.py).
--
-- Every case of the file must have its loss here, in operands and then weights.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local L = mc.linalg

local function size2(t) return mc.square(mc.abs(t)) end
--- Re sum conj(w) t.
local function weighted(w, t) return mc.sum(mc.real(mc.conj(w) * t)) end

local function svd(a, w, v)
  local d = L.svd(a, { full_matrices = false })
  return mc.sum(w * size2(d.U)) + mc.sum(v * size2(d.Vh)) + mc.sum(d.S ^ 3)
end
local function eig(a, w)
  local s, u = L.eig(a)
  return mc.sum(w:expand_dims(-1) * size2(u) * size2(s)) + mc.sum(mc.real(s * s * s))
end
local function qr(a, w, v)
  local q, r = L.qr(a)
  return mc.sum(w * size2(q)) + mc.sum(v * size2(r))
end
local function lu(a, w, v)
  local t = L.lu(a)
  return mc.sum(w * t.L) + mc.sum(v * t.U)
end

local LOSS = {
  svd_tall = svd, svd_complex_wide = svd, nuclear = function(a) return L.matrix_norm(a, { ord = 'nuc' }) end,
  eigh_complex = function(a, w, v)
    local s, u = L.eigh(a + mc.conj(a.mT))
    return mc.sum(w * size2(u)) + mc.sum(v * s)
  end,
  eigvalsh_equal = function(a) return mc.sum(L.eigvalsh(a) ^ 3) end, eig_real = eig, eig_complex = eig,
  qr_complex_tall = qr, qr_wide = qr, lu_tall = lu, lu_wide = lu,
  slogdet_complex = function(a, w)
    local sign, log = L.slogdet(a)
    return weighted(w, sign) + mc.sum(log)
  end,
  det_singular = L.det,
  cholesky_complex = function(a, w) return weighted(w, L.cholesky(a:matmul(mc.conj(a.mT)) + mc.eye(3) * 2)) end,
  triangular = function(a, b,
    w) return weighted(w, L.solve_triangular(a, b, { lower = true, unit_diagonal = true })) end,
  lstsq_tall = function(a, b, w) return mc.sum(w * L.lstsq(a, b).x) end,
  pinv_rank2 = function(a, w) return mc.sum(w * L.pinv(a, { rtol = 1e-10 })) end,
  expm_complex = function(a, w) return weighted(w, L.expm(a)) end,
  norm_zero_row = function(a) return mc.sum(L.vector_norm(a, { axis = 2 })) end,
  irfft_odd = function(a, w) return mc.sum(w * mc.fft.irfft(a, { n = 7 })) end,
  irfft_even_ortho = function(a, w) return mc.sum(w * mc.fft.irfft(a, { n = 8, norm = 'ortho' })) end,
  rfft_long = function(a, w) return weighted(w, mc.fft.rfft(a, { n = 9, norm = 'forward' })) end,
  hfft = function(a, w) return mc.sum(w * mc.fft.hfft(a, { n = 6 })) end,
  dct = function(x, w) return mc.sum(w * mc.fft.dct(x, { norm = 'ortho' })) end,
  idct = function(x, w) return mc.sum(w * mc.fft.idct(x)) end,
  interp = function(x, xp, fp, w) return mc.sum(w * mc.interp(x, xp, fp)) end,
}

-- both sides round in f64; conditions of a few hundred and powers of eigenvalues lie between
local DIGITS_LOST = 2 ^ 12

local function list(file, name, kind)
  local out = {}
  while file[('%s.%s%d'):format(name, kind, #out + 1)] do
    out[#out + 1] = file[('%s.%s%d'):format(name, kind, #out + 1)]
  end
  return out
end

describe('gradients of PyTorch and JAX', function()
  local file = mc.load(support.folder .. '/golden/grad_linalg.npz')
  local names = {}
  for key in pairs(file) do names[#names + 1] = key:match '^(.*)%.x1$' end
  table.sort(names)
  for _, name in ipairs(names) do
    it('agree for ' .. name, function()
      local x, w, want, places = list(file, name, 'x'), list(file, name, 'w'), list(file, name, 'g'), {}
      assert(LOSS[name], name .. ' has no loss here')
      for i = 1, #x do places[i] = i end
      local args = { unpack(x) }
      for _, t in ipairs(w) do args[#args + 1] = t end
      local got = mc.grad(LOSS[name], { argnums = places })(unpack(args))
      for i, g in ipairs(got) do
        assert.equal(want[i].dtype .. tostring(want[i].shape), g.dtype .. tostring(g.shape))
        local size = mc.max(mc.abs(want[i])):item()
        local wrong = tol.compare('ITERATIVE', 'f64', mc.max(mc.abs(g - want[i])):item(), 0,
          { bound = tol.kind.f64.eps * DIGITS_LOST * (size + 1) })
        if wrong then
          error(('%s, operand %d: %s\n%s\n%s'):format(name, i, wrong, tostring(g), tostring(want[i])), 0)
        end
      end
    end)
  end
  it('has a case for every loss', function()
    local have = {}
    for _, name in ipairs(names) do have[name] = true end
    for name in pairs(LOSS) do assert(have[name], name) end
  end)
end)
