"""Puts quern's functions into Liger-Kernel, as an application does, before its tests are imported."""
import quern.torch.liger

quern.torch.liger.use()
