-- dot.lua - a graph as DOT, the language of graphviz, and as SVG where graphviz is there.
--
-- Source: Gansner, Koutsofios and North, Drawing graphs with dot, 2015.
local file = require 'mascon.base.file'
local graphs = require 'mascon.graph.graph'
local text = require 'mascon.compile.text'

local M = {}

local FILL = { op = 'white', copy = 'gray95', update = 'mistyrose', put = 'mistyrose', fused = 'palegreen',
  product = 'lightblue', reduced = 'khaki', tiles = 'plum' }

local function quoted(s) return '"' .. s:gsub('[\\"]', '\\%0'):gsub('\n', '\\l') .. '"' end

--- The graph as DOT.
---@param graph table
---@return string
function M.of(graph)
  local out = { 'digraph mascon {', '  node [fontname="monospace", fontsize=10, style=filled, fillcolor=white];',
    '  edge [fontname="monospace", fontsize=9];' }
  local name_of, known = {}, 0
  local function say(form, ...) out[#out + 1] = ('  ' .. form):format(...) end
  local function value(v) -- inputs and constants stand for themselves, other values for their node
    local key = v.node or v
    if not name_of[key] then
      known = known + 1
      name_of[key] = 'n' .. known
      if not v.node then
        say('%s [shape=%s, label=%s];', name_of[key], v.input and 'ellipse' or 'plaintext',
          quoted(v.input and ('%s\n%s'):format(text.name(v), text.form(v))
            or text.name(v):find '^%%' and text.form(v) or text.name(v)))
      end
    end
    return name_of[key]
  end
  for _, n in ipairs(graph.nodes) do
    local lines =
      { n.kind ~= 'op' and n.kind ~= 'copy' and n.kind .. ': ' .. table.concat(text.members(n), ' ') or text.verb(n) }
    if #lines[1] > 48 then lines[1] = lines[1]:gsub('(.......................................-) ', '%1\n') end
    for _, v in ipairs(n.outs) do lines[#lines + 1] = ('%s: %s'):format(text.name(v), text.form(v)) end
    for _, u in ipairs(n.ins) do value(u.value) end
    local own = n.outs[1] and value(n.outs[1])
    if own then
      say('%s [shape=box, fillcolor=%s, label=%s];', own, FILL[n.kind] or 'white', quoted(table.concat(lines, '\n')))
      for _, u in ipairs(n.ins) do
        local seen = not graphs.same(u.shape, u.value.shape) or not graphs.same(u.strides, u.value.strides)
        say('%s -> %s [label=%s];', value(u.value), own, quoted(seen and ('as [%s]'):format(table.concat(u.shape, ','))
          or u.value.node and u.value.node.outs[2] and text.name(u.value) or ''))
      end
    end
  end
  for i, u in ipairs(graph.outputs) do
    say('o%d [shape=ellipse, label=%s];', i, quoted('output ' .. i))
    say('%s -> o%d;', value(u.value), i)
  end
  for i, e in ipairs(graph.effects) do
    say('e%d [shape=ellipse, label=%s];', i, quoted('argument ' .. e.input .. ' becomes'))
    say('%s -> e%d;', value(e.value), i)
  end
  out[#out + 1] = '}'
  return table.concat(out, '\n') .. '\n'
end

--- Writes the graph: DOT, or for a name that ends in .svg the picture that graphviz makes of it. true, or nil and a
--- message.
---@param graph table
---@param path string
function M.write(graph, path)
  if not path:find '%.svg$' then return file.write(path, M.of(graph)) end
  local source = path:gsub('%.svg$', '.dot')
  local ok, why = file.write(source, M.of(graph))
  if not ok then return nil, why end
  local function shell(s) return "'" .. s:gsub("'", "'\\''") .. "'" end
  if os.execute(('dot -Tsvg -o %s %s 2>/dev/null'):format(shell(path), shell(source))) == 0 then return true end
  return nil, ('dot: graphviz is missing or failed; the graph is in %s (Debian: apt install graphviz)'):format(source)
end

return M
