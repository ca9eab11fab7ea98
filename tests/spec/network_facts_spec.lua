-- network_facts_spec.lua - which test holds which of the numbered facts (C) and workflows (W) of the specification of
-- networks, or why none does. Each line is checked: the file has a test of that name.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'

-- fact, spec file, words of the name of the test
local HELD = {
  { 'C1', 'grad_table', 'has a rule or a reason for every continuous row' },
  { 'C1', 'grad_network', 'derivatives of layers of networks' }, { 'C1', 'grad_layers', 'have a row each' },
  { 'C2', 'network', 'of gaussians' },
  { 'C3', 'network', 'of gaussians' }, { 'C4', 'network', 'of other forms' }, { 'C5', 'network', 'of other forms' },
  { 'C6', 'network', 'are finite with finite derivatives far out' }, { 'C7', 'network', 'of classes' },
  { 'C8', 'network', 'of classes' }, { 'C9', 'network', 'of numbers, distributions and vectors' },
  { 'C10', 'network', 'over layers and by root mean squares' },
  { 'C11', 'network', 'over layers and by root mean squares' },
  { 'C12', 'network', 'over batches, with running moments' },
  { 'C13', 'network_numbers', 'take the steps of the specification' },
  { 'C14', 'network_numbers', 'take the steps of the specification' },
  { 'C15', 'optim_training', 'walk trees, and treat each leaf as if alone' },
  { 'C15', 'optim_training', 'give the same bits in place and compiled' },
  { 'C16', 'network_numbers', 'have the values of the specification' },
  { 'C16', 'network_numbers', 'fall as polynomials and where a metric stands still' },
  { 'C17', 'network_numbers', 'scale gradients as specified' },
  { 'C18', 'network_module', 'are rotated as specified' },
  { 'C19', 'network_mixed', 'follows the trace of the specification' },
  { 'C19', 'network_mixed', 'by a power of two changes no bit of a gradient' },
  { 'C20', 'network_conformance', 'in f32 and bf16 is that of f64' },
  { 'C23', 'network_module', 'drops by a key, equally when a checkpoint computes it again' },
  { 'C23', 'checkpoint', 'holds operands and results of the layers and the inside of one' },
  { 'C24', 'network_module', 'counts tied parameters once' },
  { 'C25', 'network_conformance', 'are the separate ones' },
  { 'C26', 'conv', 'agree with sums over windows of the padded operand' },
  { 'C26', 'conv', 'are linear maps whose adjoints are the transposed convolutions' },
  { 'C26', 'network_modules', 'agree with PyTorch on random configurations' },
  { 'C27', 'compile_passes', 'give the same bits with any subset of passes' },
  { 'C27', 'compile_passes', 'leaves out what nobody reads' },
  { 'C27', 'compile_passes', 'computes constants beforehand' }, { 'C27', 'compile_passes', 'write DOT' },
  { 'C28', 'network_mixed', 'runs products low, sums and losses in f32' },
  { 'C30', 'network_conformance', 'with a cache has the tokens of the whole computation' },
  { 'C30', 'network_conformance', 'draws as temperature, top_k and top_p say' },
  { 'C31', 'network_module', 'goes to a file and back with the same bits' },
  { 'C31', 'safetensors', 'gives tensors of each dtype back with the same bits' },
  { 'C31', 'network_trainer', 'goes on in the middle of an epoch with the same bits' },
  { 'C32', 'network', 'at widths around those of vectors' },
  { 'C33', 'network_numbers', 'take the steps of the specification' },
  { 'C34', 'network_numbers', 'come after a backward pass that changes no value' },
  { 'C35', 'network_step', 'trains the tiny transformers as specified' }, { 'C36', 'network', 'of classes' },
  { 'C37', 'network', 'of numbers, distributions and vectors' },
  { 'C37', 'network', 'of pairs among all pairs of a batch' }, { 'C38', 'network', 'have known values' },
  { 'C39', 'network', 'have known values' }, { 'C39', 'conv', 'have known values' },
  { 'C40', 'network_step', 'has the cells of the specification' },
  { 'C41', 'network_numbers', 'go down a quadratic as tabulated' },
  { 'C42', 'network_module', 'have the moments they claim' },
  { 'C43', 'network_models', 'has the logits, gradients, running moments and steps of PyTorch' },
  { 'C44', 'network_models', 'has the losses, gradients and steps of PyTorch' },
  { 'W1', 'script_networks', 'learns drawn digits, and goes on where it was' },
  { 'W2', 'network_step', 'trains the tiny transformers as specified' },
  { 'W2', 'script_networks', 'learns from a text, writes' },
  { 'W2', 'network_models', 'learns one batch by heart' },
  { 'W3', 'network_conformance', 'are the separate ones' },
  { 'W3', 'network_conformance', 'as modules are linear layers and activations one after the other' },
  { 'W4', 'network_mixed', 'ends at the same loss as f32' },
  { 'W5', 'network_device', 'gives what the CPU gives, derivatives too' },
  { 'W5', 'network_device', 'steps of AdamW take a network with dropout to the same parameters' },
  { 'W6', 'checkpoint', 'holds operands and results of the layers and the inside of one' },
  { 'W6', 'network_plan', 'counts bytes by kind, and foretells the peak' },
  { 'W9', 'compile_passes', 'give the same bits with any subset of passes' },
  { 'W9', 'compile_passes', 'write DOT' },
  { 'W11', 'script_networks', 'sets kernels at published sizes beside the limits of the machine' },
}
local OPEN = {
  C21 = 'several processes', C22 = 'several processes', C29 = 'several processes',
  W7 = 'several processes', W8 = 'several processes', W10 = 'tokenizers; generation with a cache is C30',
}
-- of a fact that is held in part
local PART = {
  C44 = 'f32 within 2e-6 up to the first step of Adam; behind it, 5 times what rounding once a step makes of f64',
  W5 = 'no share of the limits of a card',
  W3 = 'times of bench/published.lua stand beside the parts apart and published times',
  W11 = 'kernels of the CPU; rows beside peers are those of make bench-peers',
}

describe('the facts of the specification of networks', function()
  it('have a test or a reason each', function()
    local seen = {}
    for _, h in ipairs(HELD) do
      local path = ('%s/spec/%s_spec.lua'):format(support.folder, h[2])
      local text = assert(mc.file.read(path), path)
      local found = false
      for line in text:gmatch '[^\n]+' do
        if (line:find("it('", 1, true) or line:find("describe('", 1, true)) and line:find(h[3], 1, true) then
          found = true
        end
      end
      assert(found, ('%s: %s has no test "%s"'):format(h[1], path, h[3]))
      seen[h[1]] = true
    end
    for kind, many in pairs { C = 44, W = 11 } do
      for i = 1, many do
        local name = kind .. i
        assert((seen[name] ~= nil) ~= (OPEN[name] ~= nil), name .. ' stands in both lists, or in none')
      end
    end
    for name in pairs(PART) do assert(seen[name], name) end
  end)
end)
