"""Arrays of any library, for custom kernels, losses, solvers and methods.

`namespace` returns the array library of an array, so that the same code runs on NumPy, torch and others. `device`
computes on a device for NumPy arrays, and `moved` moves models.
"""

from ._array import device_of, eye, host, is_array, is_sparse, like, namespace, on_host
from ._device import device, moved

__all__ = ["device", "device_of", "eye", "host", "is_array", "is_sparse", "like", "moved", "namespace", "on_host"]
