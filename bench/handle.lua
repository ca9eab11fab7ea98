-- handle.lua - what the lifetime of a handle costs: the alternatives behind the layout of mc_tensor (see
-- runtime/mascon.h).
--
-- Each case is c = a + b on 16 f64 through the same C entry point; only how the result's header and payload live
-- differs. With 10 and with 1e5 handles alive, compiled by LuaJIT and interpreted. Holds the alternatives; they are
-- written on the FFI, below the API.
local ffi = require 'ffi'
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local limits = require 'limits'
local C = lib.C
local ct = ffi.typeof 'mc_tensor'
local BYTES = 16 * 8
local ADD = mc.ops.add.id

local WAYS = {
  -- payload behind the header in the Lua heap, no finalizer
  { 'inline', function(a, b)
    local t = ct(BYTES / 8)
    C.mc_op2_new(ADD, t, BYTES, a, b)
    return t
  end },
  -- header in the Lua heap, payload in counted storage, a C finalizer
  { 'header_gc', function(a, b)
    local t = ct(0)
    C.mc_op2_new(ADD, t, 0, a, b)
    return ffi.gc(t, C.mc_drop)
  end },
}

--- Ways that need the slab of liblimits.so, made when it is open.
local function slab_ways()
  local L = limits.raw()
  L.limit_slab_size(ffi.sizeof(ct, BYTES / 8))
  local pointer = ffi.typeof 'mc_tensor *'
  local function take(a, b)
    local t = ffi.cast(pointer, L.limit_slab_get())
    C.mc_op2_new(ADD, t, BYTES, a, b)
    return t
  end
  return take, L.limit_slab_put
end

local function live(n, make)
  local keep = {}
  for i = 1, n do keep[i] = make() end
  return keep
end

return function(bench)
  local function both(name, setup)
    for _, n in ipairs { 10, 100000 } do
      for _, how in ipairs { 'traced', 'interpreted' } do
        bench.case {
          name = ('handle_%s_%d_live_%s'):format(name, n, how), family = 'handle', op = 'add', dtype = 'f64',
          shape = '16', threads = 1, interpreted = how == 'interpreted',
          setup = function()
            local a, b = mc.ones { 16 }, mc.ones { 16 }
            local make, run, undo = setup(a, b)
            local keep = live(n, make)
            return {
              run = run,
              check = function()
                local t = make()
                local sum = 0
                local p = ffi.cast('double *', t._data)
                for i = 0, 15 do sum = sum + p[i] end
                return sum == 32, 'sum ' .. sum
              end,
              close = function()
                if undo then for i = 1, #keep do undo(keep[i]) end end
                keep = nil
              end,
            }
          end,
        }
      end
    end
  end

  for _, way in ipairs(WAYS) do
    local make = way[2]
    both(way[1], function(a, b)
      return function() return make(a, b) end, function(n)
        local c
        for _ = 1, n do c = make(a, b) end
        return c
      end
    end)
  end
  both('slab_release', function(a, b)
    local take, put = slab_ways()
    return function() return take(a, b) end, function(n)
      for _ = 1, n do put(take(a, b)) end
    end, put
  end)
  both('slab_gc', function(a, b)
    local take, put = slab_ways()
    return function() return ffi.gc(take(a, b), put) end, function(n)
      local c
      for _ = 1, n do c = ffi.gc(take(a, b), put) end
      return c
    end
  end)
end
