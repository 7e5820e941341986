"""What is shown beside the facts."""


def test_a_models_parameters_term_by_term(shipped):
    derived = shipped.entry("models", "mixtral-8x7b").document["derived"]
    assert derived["parameters"] == sum(derived["parameter_terms"].values()) == 46_702_792_704
    assert derived["active_parameters"] == 12_879_925_248


def test_what_estimates_use_of_a_system(shipped):
    derived = shipped.entry("systems", "dgx-h100").document["derived"]
    assert derived["askable"] is True
    assert derived["scale_up_bandwidth_per_direction_bytes_per_second"] == 450e9
    assert derived["max_gpus"] == 65_536


def test_networks_have_nothing_derived(shipped):
    assert "derived" not in shipped.entry("networks", "nvlink4").document
