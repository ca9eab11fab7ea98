-- elsewhere.lua - names of other libraries for what tensors and devices do, and what stands here for them.
return {
  cuda = "x:to 'gpu'", cpu = "x:to 'cpu'", is_cuda = 'x.device', get_device = 'x.device',
  set_default_device = 'mc.with_device, MASCON_DEVICE', is_available = 'mc.devices', device_count = 'mc.devices',
}
