"""Prices are those of genai-prices or the user's own, to the last digit, and never guessed."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import genai_prices
import pytest
from genai_prices.data import providers as listed_providers
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_session_player.errors import BadPrices
from claude_session_player.insight import listed, price_data
from claude_session_player.insight.own_prices import NAME
from claude_session_player.insight.prices import Prices
from claude_session_player.insight.rates import Period, Rates, Step, Tariff, TokenCount, flat
from claude_session_player.names import PROGRAM

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


def told_by_the_package(model: str, tokens: TokenCount, time: str) -> Decimal:
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
    return Prices.load(None)


@pytest.mark.parametrize("model", MODELS)
def test_a_cost_is_that_of_the_package_around_every_limit(prices: Prices, model: str) -> None:
    for time in TIMES:
        for size in SIZES:
            for tokens in (
                TokenCount(size, 7, 0, 0, 0),
                TokenCount(0, 3, size, 0, 0),
                TokenCount(0, 0, 0, size, 0),
                TokenCount(5, 11, 13, 17, size),
            ):
                assert prices.cost(model, tokens, time) == told_by_the_package(model, tokens, time)


@given(
    st.sampled_from(MODELS),
    st.builds(TokenCount, *[st.integers(0, 400_000)] * 5),
    st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)),
)
@settings(max_examples=200)
def test_a_cost_is_that_of_the_package_for_any_tokens_at_any_time(
    prices: Prices, model: str, tokens: TokenCount, moment: datetime
) -> None:
    time = moment.replace(second=0, microsecond=0, tzinfo=UTC).isoformat()
    assert prices.cost(model, tokens, time) == told_by_the_package(model, tokens, time)


def test_an_hour_in_the_cache_has_a_rate_of_its_own(prices: Prices) -> None:
    short, hour = (
        prices.cost("claude-opus-4-5", tokens, None) for tokens in (TokenCount(0, 0, 1000), TokenCount(0, 0, 0, 1000))
    )
    assert (short, hour) == (Decimal("0.00625"), Decimal("0.01"))


def test_an_hour_that_the_data_does_not_price_is_twice_the_input() -> None:
    price = price_data.Record(input_mtok=Decimal(3), output_mtok=Decimal(15), cache_write_mtok=Decimal("3.75"))
    (step,) = listed._steps(price, "claude-next")
    assert step.rates == Rates(*map(Decimal, ("3", "15", "3.75", "6", "3")))


@pytest.mark.parametrize("model", ["claude-opus-99", "tea-1", "", "glm-0.1", "\ud83d"])
def test_a_model_that_nobody_knows_has_no_price(prices: Prices, model: str) -> None:
    assert prices.cost(model, TokenCount(1), None) is None


def test_a_model_named_as_aws_does_is_priced_as_aws_does(prices: Prices) -> None:
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    wanted = genai_prices.calc_price(genai_prices.Usage(input_tokens=1000), model, provider_id="aws").total_price
    assert prices.cost(model, TokenCount(1000), None) == wanted


# --- the data without its package -------------------------------------------------------------------


def test_the_data_alone_says_what_the_package_says() -> None:
    plain = price_data.providers()
    names = [model.id for provider in listed_providers for model in provider.models]
    alone = listed._tariffs(lambda model: price_data.find_model(plain, model), names)
    known = {model: tariff for model, tariff in alone.items() if tariff}
    assert len(known) > 300
    assert {model: str(tariff) for model, tariff in known.items()} == {
        model: str(tariff) for model, tariff in listed._asked(list(known)).tariffs.items()
    }


def test_the_package_is_not_imported_for_a_model_that_the_data_knows() -> None:
    code = (
        "import sys; from claude_session_player.insight.prices import Prices\n"
        "assert Prices.load(None).tariff('claude-opus-4-5'); print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["providers", "version", "find_model"])
def test_data_of_another_make_is_left_to_the_package(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def refuse(*_: Any) -> Any:
        raise KeyError(name)

    wanted = listed.look_up(["claude-opus-4-5"])
    monkeypatch.setattr(price_data, name, refuse)
    answer = listed.look_up(["claude-opus-4-5"])
    assert str(answer.tariffs) == str(wanted.tariffs)
    assert (answer.version, answer.date) == (genai_prices.__version__, wanted.date)


def test_a_broken_package_leaves_every_model_without_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_data, "providers", list)
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    prices = Prices.load(None)
    assert prices.tariff("claude-opus-4-5") is None
    assert "not usable" in prices.source


def test_a_rule_of_an_unknown_kind_makes_a_price_unknown() -> None:
    price = price_data.Record(input_mtok=Decimal(3), output_mtok=Decimal(15))
    odd = price_data.Record(prices=price, constraint=price_data.Record(moon="full"))
    info = price_data.Record(prices=[price_data.Record(prices=price), odd])
    assert listed._tariff(lambda model: info, "m") is None
    assert (
        listed._tariff(lambda model: price_data.Record(prices=price_data.Record(output_mtok=Decimal(1))), "m") is None
    )
    by_request = price_data.Record(prices=price_data.Record(**vars(price), requests_kcount=Decimal(5)))
    assert listed._tariff(lambda model: by_request, "m") is None


# --- what is kept -----------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The models that the data was asked for."""
    asked: list[list[str]] = []
    look_up = listed.look_up

    def noted(models: Any) -> listed.Listed:
        asked.append(list(models))
        return look_up(asked[-1])

    monkeypatch.setattr(listed, "look_up", noted)
    return asked


def test_what_is_kept_is_not_asked_for_again(tmp_path: Path, asked: list[list[str]]) -> None:
    models = ["claude-opus-4-6", "deepseek-chat", "tea-1"]
    first = Prices.load(str(tmp_path))
    wanted = {model: str(tariff) for model, tariff in first.tariffs(models).items()}
    again = Prices.load(str(tmp_path))
    for time in (*TIMES, None):
        tokens = TokenCount(300_000, 1, 2, 3, 4)
        assert [again.cost(m, tokens, time) for m in models] == [first.cost(m, tokens, time) for m in models]
    assert asked == [models]
    assert again.source == first.source
    assert wanted["tea-1"] == "None"
    again.tariff("claude-opus-4-5")
    assert Prices.load(str(tmp_path)).tariffs([*models, "claude-opus-4-5"])["tea-1"] is None
    assert asked == [models, ["claude-opus-4-5"]]


def test_without_a_cache_nothing_is_kept_or_taken(tmp_path: Path, asked: list[list[str]]) -> None:
    Prices.load(None).tariff("claude-opus-4-6")
    Prices.load(None).tariff("claude-opus-4-6")
    assert len(asked) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "{",
        '{"stamp": 1}',
        "null",
        '{"models": {"claude-opus-4-6": []}}',
        '{"models": {"claude-opus-4-6": [[[], null, null]]}}',
    ],
)
def test_what_is_kept_may_be_damaged(tmp_path: Path, asked: list[list[str]], damage: str) -> None:
    Prices.load(str(tmp_path)).tariff("claude-opus-4-6")
    (kept,) = tmp_path.iterdir()
    told = json.loads(kept.read_text())
    kept.write_text(json.dumps({**told, **json.loads(damage)}) if damage.startswith('{"') else damage)
    assert Prices.load(str(tmp_path)).tariff("claude-opus-4-6") is not None
    assert len(asked) == 2


def test_what_is_kept_holds_for_the_same_data_alone(
    tmp_path: Path, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Prices.load(str(tmp_path)).tariff("claude-opus-4-6")
    monkeypatch.setattr(price_data, "stamp", lambda: "other")
    Prices.load(str(tmp_path)).tariff("claude-opus-4-6")
    assert len(asked) == 2


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert Prices.load(str(tmp_path / "file" / "below")).tariff("claude-opus-4-6") is not None


def test_the_source_names_the_version_and_the_day_of_the_newest_price(prices: Prices) -> None:
    prices.tariff("claude-opus-4-5")
    assert prices.date is not None
    assert prices.source == f"genai-prices {genai_prices.__version__}, newest price of {prices.date}"
    assert "2025-01-01" < prices.date <= datetime.now(UTC).date().isoformat()


# --- prices of the user's own -----------------------------------------------------------------------


def own_prices(tmp_path: Path, told: Any) -> str:
    path = tmp_path / "own.json"
    path.write_text(told if isinstance(told, str) else json.dumps(told))
    return str(path)


def test_own_prices_go_first_by_name_or_by_the_longest_beginning(tmp_path: Path) -> None:
    path = own_prices(
        tmp_path,
        {
            "claude": {"input": 1, "output": 2},
            "claude-opus": {"input": 3, "output": 15, "cache_write_5m": 3.75, "cache_write_1h": 6, "cache_read": 0.3},
            "tea-1": {"input": 0.1, "output": 0, "cache_read": 0},
        },
    )
    prices = Prices.load(None, path)
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
    assert Prices.load(None).own_path is None
    path = tmp_path / PROGRAM / NAME
    path.parent.mkdir()
    path.write_text('{"tea": {"input": 1, "output": 1}}')
    if sys.platform == "linux":
        assert Prices.load(None).cost("tea-1", TokenCount(1_000_000), None) == 1
    path.write_text("{")
    assert Prices.load(None, own_prices(tmp_path, {})).tariff("tea-1") is None


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ([], "no object of models"),
        ({"tea": 3}, "'tea' is no object of rates"),
        ({"tea": {"input": 1}}, "'tea' has no 'output'"),
        ({"tea": {"input": 1, "output": 1, "cache": 1}}, "'tea' has 'cache'"),
        ({"tea": {"input": "1", "output": 1}}, "input is no number"),
        ({"tea": {"input": True, "output": 1}}, "input is no number"),
        ({"tea": {"input": 1, "output": -1}}, "output is no number"),
        ('{"tea": {"input": NaN, "output": 1}}', "input is no number"),
        ('{"tea": {"input": 1e999999999, "output": 1}}', "input is no number"),
        ('{"tea": {"input": 1e-999999999, "output": 1}}', "input is no number"),
    ],
)
def test_a_mistake_in_own_prices_is_told_in_one_line(tmp_path: Path, told: Any, words: str) -> None:
    path = own_prices(tmp_path, told)
    with pytest.raises(BadPrices) as error:
        Prices.load(None, path)
    assert words in str(error.value)
    assert path in str(error.value)
    assert "\n" not in str(error.value)


def test_own_prices_that_are_missing_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(BadPrices, match="No such file"):
        Prices.load(None, str(tmp_path / "none.json"))


# --- rates ------------------------------------------------------------------------------------------


def test_a_period_may_go_over_midnight() -> None:
    night = Period((Step(-1, RATES),), between=("22:00:00", "06:00:00"))
    hours = [hour for hour in range(24) if night.holds(datetime(2026, 1, 1, hour, tzinfo=UTC))]
    assert hours == [0, 1, 2, 3, 4, 5, 22, 23]


def test_of_several_periods_the_last_that_holds_counts_and_else_the_first() -> None:
    double = Rates(*(rate * 2 for rate in RATES))
    late = Period((Step(-1, double),), since="2026-03-13")
    tariff = Tariff((Period((Step(-1, RATES),), since="2026-01-01"), late))
    assert tariff.rates(0, "2026-03-13T00:00:00Z") is double
    assert tariff.rates(0, "2026-03-13T00:00:00+01:00") is RATES
    assert tariff.rates(0, "2020-01-01") is RATES
    assert tariff.rates(0, "nonsense") is tariff.rates(0, None) is double


def test_a_cost_is_exact() -> None:
    assert flat(RATES).rates(0, None).cost(TokenCount(1, 1, 1, 1, 1)) == Decimal("0.00002805")
    assert TokenCount(1, 2, 3, 4, 5).add(TokenCount(5, 4, 3, 2, 1)) == TokenCount(6, 6, 6, 6, 6)
