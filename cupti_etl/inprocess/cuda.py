"""The little of CUDA's driver that is called from Python here."""

from __future__ import annotations

import contextlib
import ctypes

_NOLOAD = 4  # RTLD_NOLOAD


def synchronize() -> None:
    """Wait until all GPUs that this process uses have done what was asked of them.

    Only primary contexts, as the runtime, PyTorch and JAX have them, and the thread's current one;
    what the driver refuses is passed over.  Without a driver there is nothing to wait for.
    """
    with contextlib.suppress(OSError, AttributeError):
        _synchronize(ctypes.CDLL("libcuda.so.1", mode=_NOLOAD | ctypes.RTLD_LOCAL))


def _synchronize(driver: ctypes.CDLL) -> None:
    current = ctypes.c_void_p()
    if driver.cuCtxGetCurrent(ctypes.byref(current)) == 0 and current:
        driver.cuCtxSynchronize()
    count = ctypes.c_int()
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return
    for device in range(count.value):
        _synchronize_primary(driver, device, current.value)


def _synchronize_primary(driver: ctypes.CDLL, device: int, current: int | None) -> None:
    flags, is_active, context = ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
    state = driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(is_active))
    if state != 0 or not is_active:
        return
    if driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) != 0:
        return
    if context.value != current and driver.cuCtxPushCurrent_v2(context) == 0:
        driver.cuCtxSynchronize()
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    driver.cuDevicePrimaryCtxRelease_v2(device)
