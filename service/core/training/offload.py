"""States, weights or activations that wait in the host's memory: what their way there and back costs."""

from __future__ import annotations

from dataclasses import dataclass

_HALF = 2.0
_HOST_UPDATES_PER_SECOND = 4.0e9
"""Parameters that one host's CPUs update a second, all its GPUs together.

Ren et al., "ZeRO-Offload", ATC 2021, arXiv:2101.06840, table 4: CPU-Adam takes 0.22 s for 1 and 2.57 s for 10 billion.
"""


@dataclass(frozen=True, slots=True)
class OffloadSeconds:
    """What it adds. [s]

    Parameters
    ----------
    step_seconds : float
        Once a step.
    micro_batch_seconds : float
        For every micro-batch.
    moved_bytes : float
        Over one GPU's link to the host, both ways, in what the former two are of. [B]
    """

    step_seconds: float = 0.0
    micro_batch_seconds: float = 0.0
    moved_bytes: float = 0.0


def offload_seconds(
    what: str,
    parameters: float,
    own_parameters: float,
    forward_seconds: float,
    backward_seconds: float,
    host_link_bytes_per_second: float,
    gpus_per_host: float,
    activation_bytes: float = 0.0,
) -> OffloadSeconds:
    r"""Return what offloading exposes.

    .. math:: t_{optimizer} = \frac{(2 + 2) N_{own}}{B_h} + \frac{g N_{own}}{u}, \qquad
        t_{parameters} = \max\left(0, \frac{2 N}{B_h} - t_F\right) + \max\left(0, \frac{2 N}{B_h} - t_B\right), \qquad
        t_{activations} = \max\left(0, \frac{A}{B_h} - t_F\right) + \max\left(0, \frac{A}{B_h} - t_B\right)

    Parameters
    ----------
    what : str
        `none`, `optimizer`, `parameters` or `activations`. [-]
    parameters : float
        N, that the GPU computes with. [-]
    own_parameters : float
        N_own, that it updates. [-]
    forward_seconds, backward_seconds : float
        t_F, t_B of one micro-batch. [s]
    host_link_bytes_per_second : float
        B_h, PCIe or NVLink-C2C of one GPU, one direction. [B/s]
    gpus_per_host : float
        g, GPUs whose states one host's CPUs update. [-]
    activation_bytes : float
        A, that one micro-batch sends out and takes back. [B]

    Source
    ------
    Ren et al., "ZeRO-Offload", ATC 2021, arXiv:2101.06840, sections 3 and 5: gradients out, updated weights in, in 16
    bits; the update on the CPUs.
    """
    if what == "none" or host_link_bytes_per_second <= 0:
        return OffloadSeconds()
    if what == "optimizer":
        moved = 2 * _HALF * own_parameters
        update = gpus_per_host * own_parameters / _HOST_UPDATES_PER_SECOND
        return OffloadSeconds(moved / host_link_bytes_per_second + update, 0.0, moved)
    size = _HALF * parameters if what == "parameters" else activation_bytes
    way = size / host_link_bytes_per_second
    exposed = max(0.0, way - forward_seconds) + max(0.0, way - backward_seconds)
    return OffloadSeconds(0.0, exposed, 2 * size)
