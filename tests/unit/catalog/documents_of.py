"""Documents that hold together, for tests to spoil."""

CARD = {
    "vendor": "acme",
    "architecture": "one",
    "dense_peaks_flops_per_second": {"bf16": 1e15, "fp8": 2e15},
    "memory_marketed_bytes": 80_000_000_000,
    "memory_bandwidth_bytes_per_second": 3e12,
}
MODEL = {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "ffn_hidden_size": 128, "vocab_size": 1000}
MOE = {"num_experts": 8, "top_k": 2, "expert_ffn_hidden_size": 32, "num_moe_layers": 2}
