-- figure.lua - what the specs of figures share: a small XML reader, the texts of a picture and their boxes, sample
-- data.
--
-- Runs inside mascon and in a bare LuaJIT.
local font = require 'mascon.plot.font'

-- Helpers

local NAMED = { amp = '&', lt = '<', gt = '>', quot = '"', ['#39'] = "'" }

local function unescape(s)
  return (s:gsub('&([^;]*);', function(name) return assert(NAMED[name], 'unknown entity ' .. name) end))
end

-- Reads XML into elements { tag, attr, text, children }; raises on anything that is not well formed.
local function parse_xml(s)
  local root = { children = {}, text = '' }
  local stack, pos = { root }, 1
  while pos <= #s do
    local top = stack[#stack]
    local lt = s:find('<', pos, true)
    local chars = s:sub(pos, (lt or #s + 1) - 1)
    assert(not chars:find('[%z\1-\8\11\12\14-\31>]'), 'stray character in text: ' .. chars)
    top.text = top.text .. unescape(chars:gsub('&[%w#]+;', '%0'))
    assert(not chars:gsub('&[%w#]+;', ''):find('&', 1, true), 'bare & in text: ' .. chars)
    if not lt then break end
    local closing = s:match('^</([%w:]+)>', lt)
    if closing then
      assert(#stack > 1 and top.tag == closing, 'unexpected </' .. closing .. '>')
      stack[#stack] = nil
      pos = lt + #closing + 3
    else
      local tag = assert(s:match('^<([%w:]+)', lt), 'bad tag at ' .. s:sub(lt, lt + 30))
      local node = { tag = tag, attr = {}, text = '', children = {} }
      pos = lt + 1 + #tag
      while true do
        local name, value, after = s:match('^%s+([%w:-]+)="([^"<]*)"()', pos)
        if not name then break end
        assert(node.attr[name] == nil, 'attribute twice: ' .. name)
        node.attr[name], pos = unescape(value), after
      end
      table.insert(top.children, node)
      local finish = s:match('^%s*(/?>)', pos)
      assert(finish, 'bad attributes in <' .. tag .. ' at ' .. s:sub(pos, pos + 40))
      pos = select(2, s:find('/?>', pos)) + 1
      if finish == '>' then stack[#stack + 1] = node end
    end
  end
  assert(#stack == 1, 'not closed: ' .. tostring(stack[#stack].tag))
  assert(#root.children == 1, 'one root element')
  return root.children[1]
end

local function collect(node, tag, out)
  out = out or {}
  if node.tag == tag then out[#out + 1] = node end
  for _, child in ipairs(node.children) do collect(child, tag, out) end
  return out
end

local function all_text(node)
  local s = node.text
  for _, child in ipairs(node.children) do s = s .. all_text(child) end
  return s
end

local function texts(svg)
  local out = {}
  for _, t in ipairs(collect(parse_xml(svg), 'text')) do out[#out + 1] = all_text(t) end
  return out
end

local function has_text(svg, want)
  for _, s in ipairs(texts(svg)) do
    if s == want then return true end
  end
  return false
end

-- Box { x0, y0, x1, y1, text } of a text element, from the font's measures; upright or turned by -90 degrees.
local function text_box(t)
  local size = tonumber(t.attr['font-size'] or 10)
  local w = 0
  local function add(node, own)
    w = w + font.width(node.text, own, t.attr['font-weight'] == 'bold')
    for _, child in ipairs(node.children) do add(child, tonumber(child.attr['font-size'] or own)) end
  end
  add(t, size)
  local x, y = tonumber(t.attr.x), tonumber(t.attr.y)
  local anchor = t.attr['text-anchor'] or 'start'
  local before = anchor == 'start' and 0 or anchor == 'middle' and w / 2 or w
  local up, down = 0.74 * size, 0.2 * size -- capitals and digits above, tails below the base line
  if not t.attr.transform then return { x - before, y - up, x - before + w, y + down, all_text(t) } end
  if t.attr.transform:match('^rotate%(%-90 ') then
    return { x - up, y - w + before, x + down, y + before, all_text(t) }
  end
  return nil
end

-- Raises when two texts of a figure meet or one leaves the page.
local function check_layout(svg)
  local root = parse_xml(svg)
  local width, height = tonumber(root.attr.width), tonumber(root.attr.height)
  local boxes = {}
  for _, t in ipairs(collect(root, 'text')) do
    local b = text_box(t)
    if b then
      assert(b[1] >= 0 and b[2] >= 0 and b[3] <= width and b[4] <= height,
        ('"%s" leaves the page: %.1f %.1f %.1f %.1f'):format(b[5], b[1], b[2], b[3], b[4]))
      for _, o in ipairs(boxes) do
        local apart = b[1] >= o[3] or o[1] >= b[3] or b[2] >= o[4] or o[2] >= b[4]
        assert(apart, ('"%s" and "%s" overlap'):format(b[5], o[5]))
      end
      boxes[#boxes + 1] = b
    end
  end
  return #boxes
end

local function wave(n, f)
  local out = {}
  for i = 1, n do out[i] = math.sin(i * (f or 0.1)) end
  return out
end

local function grid(ny, nx, f)
  local z = {}
  for i = 1, ny do
    z[i] = {}
    for j = 1, nx do z[i][j] = f(i, j) end
  end
  return z
end

return {
  parse_xml = parse_xml, collect = collect, all_text = all_text, texts = texts, has_text = has_text,
  check_layout = check_layout, wave = wave, grid = grid,
}
