-- elsewhere.lua - names of PyTorch for training, and what stands here under another name: for the message to a name
-- that is not there.
local M = {
  LambdaLR = 'the option lr of an optimiser, a function of the step', EMA = 'the option ema of mc.nn.Step',
  ema = 'the option ema of mc.nn.Step',
  ChainedScheduler = 'a function of the step that multiplies schedules, as the option lr',
  MultiStepLR = 'mc.optim.sequential of numbers',
  get_cosine_schedule_with_warmup = 'mc.optim.warmup of mc.optim.cosine',
  get_linear_schedule_with_warmup = 'mc.optim.warmup of mc.optim.polynomial',
  lr_scheduler = 'mc.optim.cosine and its kin, as the option lr',
}
for name, here in pairs {
  StepLR = 'step_decay', ExponentialLR = 'exponential_decay', CosineAnnealingLR = 'cosine', LinearLR = 'warmup',
  PolynomialLR = 'polynomial', OneCycleLR = 'one_cycle', SequentialLR = 'sequential', ReduceLROnPlateau = 'plateau',
  ConstantLR = 'constant', clip_grad_norm = 'clip_norm', clip_grad_value = 'clip_value',
  clip_grad_norm_ = 'clip_norm', clip_grad_value_ = 'clip_value',
} do
  M[name] = 'mc.optim.' .. here
end
for name in ('SGD Adam AdamW RMSprop Adagrad Lion RAdam LAMB Lookahead Sophia'):gmatch '%w+' do
  M[name] = 'mc.optim.' .. name:lower()
end
for name in ('Adafactor Shampoo adafactor shampoo'):gmatch '%w+' do M[name] = 'out of scope (docs/networks.md)' end
return M
