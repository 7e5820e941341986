"""Activation memory of a layer against the table of Korthikanti et al. and by hand."""

import pytest

from service.core.transformer.activations import (
    ActivationLayout,
    Recompute,
    SelectivePolicy,
    activation_bytes_per_token,
)

H, HEADS, S = 12288, 96, 2048


def kept(catalog, layout, recompute=Recompute.NONE):
    return activation_bytes_per_token(catalog.model("megatron-175b").architecture, S, layout, recompute)


@pytest.mark.parametrize(
    ("t", "sequence", "recompute", "expected"),
    [
        (1, False, Recompute.NONE, 34 * H + 5 * HEADS * S),
        (8, False, Recompute.NONE, 10 * H + 24 * H / 8 + 5 * HEADS * S / 8),
        (8, True, Recompute.NONE, (34 * H + 5 * HEADS * S) / 8),
        (8, True, Recompute.SELECTIVE, 34 * H / 8),
        (1, False, Recompute.FULL, 2 * H),
        (8, True, Recompute.FULL, 2 * H / 8),
    ],
)
def test_table_2(catalog, t, sequence, recompute, expected):
    """arXiv:2205.05198, table 2, per token: 34 h + 5 a s, divided as the rows say."""
    layout = ActivationLayout(t, sequence, fused_attention=False, dropout=True)
    assert kept(catalog, layout, recompute) == pytest.approx(expected)


def test_llama_3_8b_keeps_34_copies_of_its_hidden_state_at_most(catalog):
    """12 h + 4 k d + 6 f bytes: 12 × 4096 + 4 × 8 × 128 + 6 × 14336 = 139264; flash attention keeps no scores."""
    shape = catalog.model("llama3.1-8b").architecture
    assert activation_bytes_per_token(shape, 8192, ActivationLayout()) == 12 * 4096 + 4 * 8 * 128 + 6 * 14336


def test_recomputing_norms_and_activations_spares_their_outputs(catalog):
    """4 h of the two norms, 2 f of the activation."""
    shape = catalog.model("llama3.1-8b").architecture
    policy = SelectivePolicy.NORMS_AND_ACTIVATIONS
    spared = activation_bytes_per_token(shape, 8192, ActivationLayout()) - activation_bytes_per_token(
        shape, 8192, ActivationLayout(), Recompute.SELECTIVE, policy
    )
    assert spared == 4 * 4096 + 2 * 14336


def test_every_other_product_keeps_less(catalog):
    shape = catalog.model("llama3.1-8b").architecture
    policies = [
        activation_bytes_per_token(shape, 8192, ActivationLayout(), Recompute.SELECTIVE, each)
        for each in (SelectivePolicy.NORMS_AND_ACTIVATIONS, SelectivePolicy.EVERY_OTHER_PRODUCT)
    ]
    assert policies[0] > policies[1] > 0


def test_experts_keep_a_copy_for_each_expert(catalog):
    """Mixtral: 2 experts: 2 × (6 × 14336 + 2 × 2 × 4096) in the MLP's place."""
    shape = catalog.model("mixtral-8x7b").architecture
    found = activation_bytes_per_token(shape, 4096, ActivationLayout(), has_experts=True)
    assert found == 12 * 4096 + 4 * 8 * 128 + 2 * (6 * 14336 + 4 * 4096)
