"""Parameters of all shipped models: by hand for some, by an independent count for every one of them.

`parameter_counts.csv` was computed outside of this code, from the same configurations.
"""

import csv
from pathlib import Path

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.transformer.parameters import (
    active_parameters,
    active_parameters_without_input_embedding,
    mtp_parameters,
    total_parameters,
)

COUNTS = list(csv.DictReader((Path(__file__).parent / "parameter_counts.csv").read_text().splitlines()))
PUBLISHED_TOLERANCE = 0.005


@pytest.fixture(scope="module")
def catalog():
    return load_shipped_catalog()


def test_every_shipped_model_is_counted(catalog):
    assert sorted(row["model"] for row in COUNTS) == [entry.id for entry in catalog.entries("models")]
    assert len(COUNTS) == 122


@pytest.mark.parametrize("row", COUNTS, ids=lambda row: row["model"])
def test_the_count_is_exact(catalog, row):
    shape = catalog.model(row["model"]).architecture
    assert total_parameters(shape) == int(row["total"])
    if row["active"]:
        assert active_parameters(shape) == int(row["active"])
        assert active_parameters_without_input_embedding(shape) == int(row["active_without_input_embedding"])
    else:
        assert active_parameters(shape) == total_parameters(shape)


@pytest.mark.parametrize("row", COUNTS, ids=lambda row: row["model"])
def test_the_published_count_is_near_or_the_file_says_why_not(catalog, row):
    document = catalog.entry("models", row["model"]).document
    off = int(row["total"]) / document["parameters_published"] - 1
    assert (abs(off) > PUBLISHED_TOLERANCE) == ("published_is_label" in document)


def test_llama3_70b(catalog):
    """
    tables    2 x 128256 x 8192                                      = 2,101,346,304
    a layer   8192 x (64 + 2 x 8) x 128 + 64 x 128 x 8192            =   150,994,944  attention
              3 x 8192 x 28672                                       =   704,643,072  MLP
              2 x 8192                                               =        16,384  norms
    total     2,101,346,304 + 80 x 855,654,400 + 8192                = 70,553,706,496
    """
    assert total_parameters(catalog.model("llama3-70b").architecture) == 70_553_706_496


def test_gpt2(catalog):
    """
    tables    50257 x 768 + 1024 x 768                               = 39,383,808  (the head is tied)
    a layer   4 x 768^2 + 4 x 768                                    =  2,362,368  attention and its biases
              2 x 768 x 3072 + 3072 + 768                            =  4,722,432  MLP and its biases
              2 x 2 x 768                                            =      3,072  norms, weight and bias
    total     39,383,808 + 12 x 7,087,872 + 2 x 768                  = 124,439,808
    """
    assert total_parameters(catalog.model("gpt2").architecture) == 124_439_808


def test_mixtral_8x7b(catalog):
    """
    tables    2 x 32000 x 4096                                       =    262,144,000
    a layer   4096 x (32 + 2 x 8) x 128 + 32 x 128 x 4096            =     41,943,040  attention
              8 x 3 x 4096 x 14336                                   =  1,409,286,144  experts
              4096 x 8 + 2 x 4096                                    =         40,960  router and norms
    total     262,144,000 + 32 x 1,451,270,144 + 4096                = 46,702,792,704
    active    total - 32 x 6 x 176,160,768                           = 12,879,925,248
    """
    shape = catalog.model("mixtral-8x7b").architecture
    assert total_parameters(shape) == 46_702_792_704
    assert active_parameters(shape) == 12_879_925_248


def test_deepseek_v3(catalog):
    """
    tables    2 x 129280 x 7168                                      =   1,853,358,080
    attention 7168 x 1536 + 1536 + 1536 x 128 x 192                  =      48,760,320  queries
              7168 x (512 + 64) + 512 + 512 x 128 x (128 + 128)      =      20,906,496  keys and values
              128 x 128 x 7168                                       =     117,440,512  output: 187,107,328 in all
    dense MLP 3 x 7168 x 18432                                       =     396,361,728  x 3 layers
    MoE layer 257 x 3 x 7168 x 2048                                  =  11,318,329,344  x 58 layers
              7168 x 256 + 256                                       =       1,835,264  router and its bias
    norms     61 x 2 x 7168 + 7168                                   =         881,664
    total     1,853,358,080 + 61 x 187,107,328 + 3 x 396,361,728
              + 58 x 11,320,164,608 + 881,664                        = 671,026,419,200
    """
    shape = catalog.model("deepseek-v3").architecture
    assert 1_853_358_080 + 61 * 187_107_328 + 3 * 396_361_728 + 58 * 11_320_164_608 + 881_664 == 671_026_419_200
    assert total_parameters(shape) == 671_026_419_200
    # The repository's 685B: main model, module, and the module's own copies of both tables.
    assert total_parameters(shape) + mtp_parameters(shape) + 1_853_358_080 == pytest.approx(685e9, rel=0.001)
