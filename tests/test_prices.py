"""Prices are those of genai-prices or the user's own, exact to the last digit, never estimated."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import genai_prices
import pytest
from genai_prices.data import providers as listed_providers
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings, strategies as st

from claude_session_player.errors import BadPrices
from claude_session_player.stats import prices as price_module
from claude_session_player.stats.prices import (
    FILE_NAME,
    Prices,
    RatePeriod,
    Rates,
    RateTier,
    Tariff,
    TokenCount,
    flat_tariff,
    tariff_record,
)
from claude_session_player.util.dirs import PROGRAM
from scripts import price_table

ANTHROPIC = next(provider for provider in listed_providers if provider.id == "anthropic")
MODELS = sorted(
    {model.id for model in ANTHROPIC.models}
    | {
        "claude-opus-4-5-20251101",
        "claude-sonnet-4-5-20250929",
        "claude-haiku-4-5-20251001",
        "claude-sonnet-4@20250514",
    }
    | {"deepseek-chat", "gpt-5", "kimi-k2"}
)
TIMES = (
    "2025-01-01T00:00:00Z",
    "2026-03-12T23:59:59Z",
    "2026-03-13T00:00:00Z",
    "2026-03-13T01:30:00+02:00",
    "2026-11-01T05:00:00Z",
)
SIZES = (0, 1, 99_999, 100_000, 100_001, 199_999, 200_000, 200_001, 1_000_000)
RATES = Rates(*map(Decimal, ("3", "15", "3.75", "6", "0.3")))


def package_cost(model: str, tokens: TokenCount, time: str) -> Decimal:
    usage = genai_prices.Usage(
        input_tokens=tokens.context,
        output_tokens=tokens.output,
        cache_write_tokens=tokens.cache_write_5m + tokens.cache_write_1h,
        cache_write_1h_tokens=tokens.cache_write_1h,
        cache_read_tokens=tokens.cache_read,
    )
    moment = datetime.fromisoformat(time)
    return genai_prices.calc_price(usage, model, genai_request_timestamp=moment).total_price


@pytest.fixture(scope="module")
def prices() -> Prices:
    return Prices.load()


@pytest.mark.parametrize("model", MODELS)
def test_costs_equal_those_of_genai_prices_around_every_limit(prices: Prices, model: str) -> None:
    for time in TIMES:
        for size in SIZES:
            for tokens in (
                TokenCount(size, 7, 0, 0, 0),
                TokenCount(0, 3, size, 0, 0),
                TokenCount(0, 0, 0, size, 0),
                TokenCount(5, 11, 13, 17, size),
            ):
                assert prices.cost(model, tokens, time) == package_cost(model, tokens, time)


@given(
    st.sampled_from(MODELS),
    st.builds(TokenCount, *[st.integers(0, 400_000)] * 5),
    st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)),
)
@settings(max_examples=200)
def test_costs_equal_those_of_genai_prices_for_any_tokens_at_any_time(
    prices: Prices, model: str, tokens: TokenCount, moment: datetime
) -> None:
    time = moment.replace(second=0, microsecond=0, tzinfo=UTC).isoformat()
    assert prices.cost(model, tokens, time) == package_cost(model, tokens, time)


def test_an_hour_in_the_cache_has_its_own_rate(prices: Prices) -> None:
    short, hour = (
        prices.cost("claude-opus-4-5", tokens, None) for tokens in (TokenCount(0, 0, 1000), TokenCount(0, 0, 0, 1000))
    )
    assert (short, hour) == (Decimal("0.00625"), Decimal("0.01"))


@pytest.mark.parametrize("model", ["claude-opus-99", "tea-1", "", "glm-0.1", "\ud83d"])
def test_an_unknown_model_has_no_price(prices: Prices, model: str) -> None:
    assert prices.cost(model, TokenCount(1), None) is None


def test_a_model_with_an_aws_name_has_the_aws_price(prices: Prices) -> None:
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    wanted = genai_prices.calc_price(genai_prices.Usage(input_tokens=1000), model, provider_id="aws").total_price
    assert prices.cost(model, TokenCount(1000), None) == wanted


# --- the table made from genai-prices ---------------------------------------------------------------


def test_the_table_is_that_of_the_installed_genai_prices() -> None:
    kept = price_table.PATH.read_text(encoding="utf-8")
    head = json.loads(kept.partition("\n")[0])
    is_current = kept == price_table.price_table(date.fromisoformat(head["made_on"]))
    assert is_current, f"the table is from genai-prices {head['version']}: run 'make prices' and commit it"


def names_in(logic: Any) -> Iterator[str]:
    """The words that a name clause asks for."""
    for value in vars(logic).values():
        if isinstance(value, list):
            for inner in value:
                yield from names_in(inner)
        else:
            yield value


def test_every_name_leads_to_the_rates_of_genai_prices() -> None:
    snapshot = get_snapshot()
    names = {name for provider in listed_providers for model in provider.models for name in names_in(model.match)}
    names |= {model.id for provider in listed_providers for model in provider.models}
    names |= (
        {f"{name}-20251211" for name in names} | {f"{name}-20251311" for name in names} | set(map(str.upper, names))
    )
    found = price_module.look_up_prices(names).tariffs
    known = 0
    for name in names:
        try:
            wanted = price_table.tariff(snapshot.find_provider_model(name, None, None, None)[1])
        except LookupError:
            wanted = None
        if wanted is None and "anthropic." in name.lower():
            continue
        tariff = found[name]
        known += wanted is not None
        assert (tariff and tariff_record(tariff)) == (wanted and json.loads(json.dumps(tariff_record(wanted)))), name
    assert known > 1000


def test_aws_names_lead_to_the_rates_of_aws() -> None:
    snapshot = get_snapshot()
    aws = next(provider for provider in listed_providers if provider.id == "aws")
    names = [name for model in aws.models for name in (model.id, f"us.{model.id}") if "anthropic." in name]
    assert len(names) > 20
    for name in names:
        try:
            wanted = price_table.tariff(snapshot.find_provider_model(name, None, "aws", None)[1])
        except LookupError:
            wanted = None
        tariff = price_module.look_up_prices([name]).tariffs[name]
        assert (tariff and tariff_record(tariff)) == (wanted and tariff_record(wanted)), name


def test_neither_genai_prices_nor_pydantic_is_imported_for_a_price() -> None:
    code = (
        "import sys; from claude_session_player.stats.prices import Prices\n"
        "assert Prices.load().tariff('claude-opus-4-5'); print({'pydantic', 'genai_prices'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_an_hour_in_the_cache_without_a_price_costs_twice_the_input() -> None:
    price = SimpleNamespace(input_mtok=Decimal(3), output_mtok=Decimal(15), cache_write_mtok=Decimal("3.75"))
    (tier,) = price_table._tiers(price, "claude-next")
    assert tier.rates == Rates(*map(Decimal, ("3", "15", "3.75", "6", "3")))


def test_a_constraint_of_an_unknown_kind_makes_a_price_unknown() -> None:
    price = SimpleNamespace(input_mtok=Decimal(3), output_mtok=Decimal(15))
    odd = SimpleNamespace(prices=price, constraint=SimpleNamespace(moon="full"))
    by_request = SimpleNamespace(**vars(price), requests_kcount=Decimal(5))
    for prices in ([SimpleNamespace(prices=price), odd], SimpleNamespace(output_mtok=Decimal(1)), by_request):
        assert price_table.tariff(SimpleNamespace(id="m", prices=prices)) is None
    assert price_table.tariff(SimpleNamespace(id="m", prices=price)) is not None


def test_a_price_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[list[str]] = []
    look_up = price_module.look_up_prices

    def spy(models: Any) -> price_module.ListedPrices:
        requested.append(list(models))
        return look_up(requested[-1])

    monkeypatch.setattr(price_module, "look_up_prices", spy)
    prices = Prices.load()
    prices.tariffs(["claude-opus-4-6", "tea-1"])
    prices.tariffs(["tea-1", "deepseek-chat", "claude-opus-4-6"])
    assert requested == [["claude-opus-4-6", "tea-1"], ["deepseek-chat"]]


def test_the_source_names_the_version_and_the_day_of_the_newest_price(prices: Prices) -> None:
    prices.tariff("claude-opus-4-5")
    assert prices.date is not None
    assert prices.source == f"genai-prices {genai_prices.__version__}, newest price of {prices.date}"
    assert "2025-01-01" < prices.date <= datetime.now(UTC).date().isoformat()


# --- the user's own prices --------------------------------------------------------------------------


def own_prices(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "own.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_own_prices_come_first_by_the_longest_prefix_of_a_name(tmp_path: Path) -> None:
    path = own_prices(
        tmp_path,
        {
            "claude": {"input": 1, "output": 2},
            "claude-opus": {"input": 3, "output": 15, "cache_write_5m": 3.75, "cache_write_1h": 6, "cache_read": 0.3},
            "tea-1": {"input": 0.1, "output": 0, "cache_read": 0},
        },
    )
    prices = Prices.load(own=path)
    tokens = TokenCount(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000)
    assert prices.cost("claude-haiku-4-5", tokens, None) == Decimal("6")
    assert prices.cost("claude-opus-4-5", tokens, None) == Decimal("28.05")
    assert prices.cost("tea-1", tokens, None) == Decimal("0.3")
    assert prices.source == path
    assert prices.cost("gpt-5", tokens, None) is not None
    assert prices.source.startswith(f"{path}; else genai-prices ")
    assert prices.own_models == {"claude-haiku-4-5", "claude-opus-4-5", "tea-1"}


def test_a_file_in_the_settings_directory_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert Prices.load().own_path is None
    path = tmp_path / PROGRAM / FILE_NAME
    path.parent.mkdir()
    path.write_text('{"tea": {"input": 1, "output": 1}}')
    if sys.platform == "linux":
        assert Prices.load().cost("tea-1", TokenCount(1_000_000), None) == 1
    path.write_text("{")
    assert Prices.load(own=own_prices(tmp_path, {})).tariff("tea-1") is None


@pytest.mark.skipif(sys.platform != "linux", reason="settings are elsewhere")
def test_a_directory_instead_of_the_price_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / PROGRAM / FILE_NAME).mkdir(parents=True)
    with pytest.raises(BadPrices, match="not a regular file"):
        Prices.load()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ([], "is not an object of models"),
        ({"tea": 3}, "'tea' is not an object of rates"),
        ({"tea": {"input": 1}}, "'tea' has no 'output'"),
        ({"tea": {"input": 1, "output": 1, "cache": 1}}, "'tea' has an unknown rate 'cache'"),
        ({"tea": {"input": "1", "output": 1}}, "input is not a price"),
        ({"tea": {"input": True, "output": 1}}, "input is not a price"),
        ({"tea": {"input": 1, "output": -1}}, "output is not a price"),
        ('{"tea": {"input": NaN, "output": 1}}', "input is not a price"),
        ('{"tea": {"input": 1e999999999, "output": 1}}', "input is not a price"),
        ('{"tea": {"input": 1e-999999999, "output": 1}}', "input is not a price"),
    ],
)
def test_an_error_in_own_prices_is_one_line_with_its_path(tmp_path: Path, content: Any, words: str) -> None:
    path = own_prices(tmp_path, content)
    with pytest.raises(BadPrices) as error:
        Prices.load(own=path)
    assert words in str(error.value)
    assert path in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_price_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadPrices, match="No such file"):
        Prices.load(own=str(tmp_path / "none.json"))


# --- rates ------------------------------------------------------------------------------------------


def test_a_period_may_span_midnight() -> None:
    night = RatePeriod((RateTier(-1, RATES),), between=("22:00:00", "06:00:00"))
    hours = [hour for hour in range(24) if night.applies(datetime(2026, 1, 1, hour, tzinfo=UTC))]
    assert hours == [0, 1, 2, 3, 4, 5, 22, 23]


def test_the_last_period_that_applies_counts_or_else_the_first() -> None:
    double = Rates(*(rate * 2 for rate in RATES))
    late = RatePeriod((RateTier(-1, double),), since="2026-03-13")
    tariff = Tariff((RatePeriod((RateTier(-1, RATES),), since="2026-01-01"), late))
    assert tariff.rates(0, "2026-03-13T00:00:00Z") is double
    assert tariff.rates(0, "2026-03-13T00:00:00+01:00") is RATES
    assert tariff.rates(0, "2020-01-01") is RATES
    assert tariff.rates(0, "nonsense") is tariff.rates(0, None) is double


def test_a_cost_is_exact() -> None:
    assert flat_tariff(RATES).rates(0, None).cost(TokenCount(1, 1, 1, 1, 1)) == Decimal("0.00002805")
    assert TokenCount(1, 2, 3, 4, 5).add(TokenCount(5, 4, 3, 2, 1)) == TokenCount(6, 6, 6, 6, 6)
