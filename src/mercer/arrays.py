"""Arrays of any library, for custom kernels, losses, solvers and methods.

`namespace` returns the array library of an array, so that the same code runs on NumPy, torch and others.
"""

from ._array import device_of, eye, host, is_array, is_sparse, like, namespace, on_host

__all__ = ["device_of", "eye", "host", "is_array", "is_sparse", "like", "namespace", "on_host"]
