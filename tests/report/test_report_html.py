"""The certificate as a document and as a page: complete, valid, self-contained, accessible."""

import copy
import html.parser
import itertools
import json
import re
from dataclasses import replace

import jsonschema
import pytest

import wane
from wane import report
from wane.certificates import (
    Certificate,
    Circumstances,
    NoiseSource,
    Particulars,
    certificate_document,
    certificate_fields,
    certificate_schema,
    certify,
    configuration_hash,
    stated_release,
    together,
)
from wane.cli.commands import bundled
from wane.describe import Adjacency
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, WithFailure

DELTA = 1e-5
RUN = bundled("logistic")
NONSMOOTH = wane.NoisyDescent(
    objective=wane.Objective(gradient_bound=1.0, holder_exponent=0.5, holder_constant=1.0),
    records=1000,
    steps=50,
    step_size=0.1,
    noise=wane.NoiseMultiplier(3.0),
    domain=wane.Ball(radius=1.0),
)
RUNS = {
    "cyclic": RUN,
    "every": replace(RUN, release=wane.EveryIterate()),
    "some": replace(RUN, steps=50, release=wane.Iterates((10, 50))),
    "poisson": replace(RUN, batches=wane.Poisson(1500), steps=50),
    "shuffled": replace(RUN, batches=wane.ShuffledOnce(1500), steps=400),
    "nonsmooth": NONSMOOTH,
    "no noise": replace(RUN, noise=wane.NoiseMultiplier(0.0)),
    "schedule": replace(
        RUN,
        steps=None,
        step_size=None,
        noise=None,
        schedule=(
            wane.Phase(10, 0.01, wane.NoiseMultiplier(3.0)),
            wane.Phase(10, 0.02, wane.NoiseMultiplier(4.0)),
        ),
    ),
}
VOID = Circumstances(noise=NoiseSource.SEED, voids=("a <seed> was used",))


def document(run=RUN, **options):
    return certificate_document(certify(run), delta=DELTA, **options)


def valid(made: dict) -> None:
    jsonschema.Draft202012Validator(certificate_schema()).validate(
        json.loads(json.dumps(made, allow_nan=False))
    )


def joint() -> Certificate:
    side = certify(
        stated_release(
            "a bound on the curvature",
            WithFailure(GaussianDP(0.1), 1e-7),
            "docs/x.md",
            Adjacency.REPLACE_ONE,
        )
    )
    return together((side, certify(RUN)))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(certificate_schema())


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_certificate_is_valid(run):
    made = document(run)
    valid(made)
    assert Page.of(made)


def test_the_document_says_what_the_certificate_says():
    certificate = certify(RUN)
    made = document()
    assert made["epsilon"] == certificate.epsilon(DELTA)
    assert made["mu"] == certificate.mu
    assert made["zcdp"] == pytest.approx(certificate.mu**2 / 2, rel=1e-12)
    assert made["zcdp"] >= certificate.mu**2 / 2 * (1 - 1e-16)
    assert [row["false_positive_rate"] for row in made["attack"]] == [1e-4, 1e-3, 1e-2]
    for row in made["attack"]:
        best = certificate.best(DELTA).guarantee
        assert row["true_positive_rate"] == best.true_positive_rate(row["false_positive_rate"])
    epsilons = [row["epsilon"] for row in made["curve"]]
    assert epsilons == sorted(epsilons, reverse=True)
    at_delta = next(row for row in made["curve"] if row["delta"] == DELTA)
    assert at_delta["epsilon"] == made["epsilon"]
    assert made["lower_bound_epsilon"] <= made["epsilon"] <= made["composition_epsilon"]
    assert certify(report_run(made)).epsilon(DELTA) == made["epsilon"]


def report_run(made: dict) -> wane.NoisyDescent:
    from wane.describe.fields import run_from_fields

    return run_from_fields(made["description"])


def test_plain_fields_are_part_of_the_document():
    certificate = certify(RUN)
    fields = certificate_fields(certificate, delta=DELTA)
    made = certificate_document(certificate, delta=DELTA)
    assert {name: made[name] for name in fields} == fields


def test_at_an_epsilon():
    made = certificate_document(certify(RUN), epsilon=5.0)
    valid(made)
    assert made["delta"] == pytest.approx(certify(RUN).delta(5.0), rel=1e-9)
    assert made["delta"] >= certify(RUN).delta(5.0)
    assert made == certificate_document(certify(RUN), delta=made["delta"])
    assert made["epsilon"] == pytest.approx(5.0, rel=1e-9)
    assert made["epsilon"] <= 5.0


def test_several_releases_are_charged_together():
    whole = joint()
    made = certificate_document(whole, delta=DELTA)
    valid(made)
    assert made["epsilon"] == whole.epsilon(DELTA) > certify(RUN).epsilon(DELTA)
    assert made["mu"] is None
    assert made["releases"][0]["what"] == "a bound on the curvature"
    assert made["composition_epsilon"] > made["epsilon"]
    assert "a bound on the curvature" in report.html_page(made)
    assert made["configuration_sha256"] != document()["configuration_sha256"]


def test_a_void_certificate_claims_nothing():
    made = document(circumstances=VOID)
    valid(made)
    assert made["epsilon"] == "infinity"
    assert {v["epsilon"] for v in made["verdicts"]} == {None}
    page = report.html_page(made)
    assert "Void: no privacy is claimed" in page
    assert "a &lt;seed&gt; was used" in page
    rows = table_rows(page)
    assert not {"epsilon", "mu", "1 in 1,000"} & set(rows)
    for absent in ("<svg", "Approval", "Signature", "<ol", "<em>at most", "Annex A"):
        assert absent not in page


def test_the_advantage_is_the_largest_difference_of_the_two_rates():
    """Its own definition, held against the curve of the same guarantee on a fine grid."""
    for run in (RUN, RUNS["poisson"], RUNS["shuffled"]):
        certificate = certify(run)
        made = certificate_document(certificate, delta=DELTA)
        best = certificate.best(DELTA).guarantee
        rates = [place / 400 for place in range(401)]
        found = max(best.true_positive_rate(rate) - rate for rate in rates)
        assert found == pytest.approx(made["advantage"], abs=2e-3)
        assert made["advantage"] >= found - 1e-9
    assert document(circumstances=VOID)["advantage"] == 1.0


def test_a_document_holds_what_its_holder_said():
    said = Particulars(product="a mean", dataset="Adult", responsible="A. B.", date="2026-11-18")
    made = document(circumstances=Circumstances(particulars=said))
    valid(made)
    assert made["particulars"]["dataset"] == "Adult"
    assert "organisation" not in made["particulars"]
    assert "particulars" not in document()
    assert made["configuration_sha256"] == document()["configuration_sha256"]
    assert made["document_sha256"] != document()["document_sha256"]


@pytest.mark.parametrize(
    "wrong", [{"date": "18.11.2026"}, {"dataset": "x" * 201}, {"responsible": 7}]
)
def test_particulars_are_checked(wrong):
    with pytest.raises(InvalidDescription, match="must be"):
        Particulars(**wrong)


BREAK = {
    "a lower version": ("version", 0),
    "epsilon negative": ("epsilon", -1.0),
    "epsilon a word": ("epsilon", "small"),
    "epsilon gone": ("epsilon", None),
    "adjacency": ("adjacency", "neighbour"),
    "hash": ("configuration_sha256", "abc"),
    "void without epsilon infinity": ("status", "void"),
    "unknown key": ("colour", "blue"),
    "seeded noise": ("noise", {"source": "seed", "meaning": "x"}),
    "nothing secret": ("secret", []),
}


@pytest.mark.parametrize("name, value", BREAK.values(), ids=BREAK)
def test_the_schema_refuses(name, value):
    with pytest.raises(jsonschema.ValidationError):
        valid(copy.deepcopy(document()) | {name: value})


def test_a_document_is_at_one_delta_or_epsilon():
    with pytest.raises(InvalidDescription, match="delta must be given"):
        certificate_document(certify(RUN))


def test_the_hash_is_of_the_configuration():
    same = document()["configuration_sha256"]
    assert same == configuration_hash(certify(RUN))
    assert same != document(replace(RUN, steps=8001))["configuration_sha256"]
    assert same == document(circumstances=Circumstances(tuning="other"))["configuration_sha256"]


def table_rows(page: str) -> dict[str, str]:
    whole = page.replace("<wbr>", "")
    return dict(re.findall(r'<th scope="row">([^<]+)</th><td[^>]*>([^<]+)</td>', whole))


class Page(html.parser.HTMLParser):
    """Checks that tags nest, and remembers what matters."""

    EMPTY = frozenset({"meta", "line", "circle", "polyline", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text: list[str] = []

    @classmethod
    def of(cls, made: dict) -> "Page":
        page = cls()
        page.feed(report.html_page(made))
        assert page.open == []
        return page

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def every(self, tag: str) -> list[dict]:
        return [attrs for name, attrs in self.tags if name == tag]


def test_the_page_holds_everything():
    made = document()
    text = " ".join("".join(Page.of(made).text).split())
    for said in (
        *made["secret"],
        made["released"],
        made["unit"],
        made["adjacency_meaning"],
        made["statement"]["claim"],
        made["statement"]["translation"],
        made["statement"]["citation"],
        made["statement"]["reference"],
        made["numerics"],
        made["noise"]["meaning"],
        made["tuning"],
        made["configuration_sha256"],
        *made["versions"].values(),
        *(v["theorem"] for v in made["verdicts"]),
        *(c["origin"] for c in made["constants"]),
        *(s["meaning"] for s in made["symbols"]),
    ):
        assert said in text
    for number in ("epsilon", "mu", "zcdp", "composition_epsilon"):
        assert report.shown(made[number]) in text
    for hypothesis in next(v for v in made["verdicts"] if v["theorem"] == "last_iterate")[
        "hypotheses"
    ]:
        assert hypothesis["statement"] in text
        assert made["bases"][hypothesis["basis"]] in text


def test_numbers_on_the_page_err_on_one_side():
    made = document()
    page = report.html_page(made)
    rows = table_rows(page)
    assert float(rows["epsilon"]) >= made["epsilon"]
    assert float(rows["lower bound on epsilon"]) <= made["lower_bound_epsilon"]
    powers = {row["false_positive_rate"]: row["true_positive_rate"] for row in made["roc"]}
    for rate, name in ((0.5, "50 in 100"), (1e-4, "1 in 10,000"), (1e-3, "1 in 1,000")):
        few, base = rows[name].replace(",", "").split(" in ")
        assert 0.0 <= float(few) / float(base) - powers[rate] <= 0.11 / float(base)
    right = float(re.search(r"<strong>([0-9.]+) in 100</strong>", page)[1]) / 100
    assert 0.0 <= right - (1 + made["advantage"]) / 2 <= 0.0011
    assert float(re.search(r"<strong>ε = ([0-9.]+)</strong>", page)[1]) >= made["epsilon"]


def test_the_page_is_self_contained_and_accessible():
    page = Page.of(document())
    assert page.every("html")[0]["lang"] == "en"
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "form"}
    assert not any({"src", "href", "onclick"} & set(attrs) for _, attrs in page.tags)
    assert "url(" not in "".join(page.text)
    assert "@import" not in "".join(page.text)
    assert len(page.every("h1")) == 1
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert len(page.every("caption")) == len(page.every("table")) > 5
    assert all(attrs.get("scope") in {"row", "col"} for attrs in page.every("th"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    pictures = page.every("svg")
    assert len(pictures) == 2
    for attrs in pictures:
        assert attrs["role"] == "img"
        assert set(attrs["aria-labelledby"].split()) <= set(ids)
    assert any("width=device-width" in attrs.get("content", "") for attrs in page.every("meta"))


def test_what_comes_from_outside_is_escaped():
    circumstances = Circumstances(
        released='<script>alert("x")</script>', context=(("<b>", "&amp;<i>"),), tuning="<u>"
    )
    page = Page.of(document(circumstances=circumstances))
    assert not {tag for tag, _ in page.tags} & {"script", "b", "i", "u"}


def test_colours_have_contrast():
    """Every theme, screen, dark and print, as WCAG 2 asks; 7 to 1 for the text itself."""
    from importlib.resources import files

    style = (files("wane.report") / "certificate.css").read_text()
    themes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(themes) == 3
    for theme in themes:
        colour = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", theme))
        for ground in ("paper", "panel"):
            assert contrast(colour["ink"], colour[ground]) >= 7.0
            assert contrast(colour["soft"], colour[ground]) >= 7.0
            assert contrast(colour["accent"], colour[ground]) >= 4.5
        for ink, ground in (("accent-ink", "accent"), ("paper", "warn"), ("ink", "warn-panel")):
            assert contrast(colour[ink], colour[ground]) >= 4.5
        assert contrast(colour["ink"], colour.get("blank", "#ffffff")) >= 7.0
    named = re.sub(r":root \{.*?\}|@page \{.*?\} \}", "", style, flags=re.DOTALL)
    assert "#" not in named, "a colour outside the themes has no dark twin"


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG 2 defines it."""

    def linear(channel: int) -> float:
        c = channel / 255
        return c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4

    def luminance(colour: str) -> float:
        r, g, b = (linear(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05

    dark, light = sorted((luminance(one), luminance(other)))
    return light / dark


def test_every_theorem_is_named_in_words_beside_its_identifier():
    made = document()
    last = report.html_page(made).partition("Annex F</p>")[2].partition("<h3>Description")[0]
    said = re.sub("<[^>]+>", "", last)
    for verdict in made["verdicts"]:
        name = verdict["theorem"]
        assert f"{name.replace('_', ' ').capitalize()} ({name})" in said
        assert len(re.findall(rf"\b{name}\b", said)) == said.count(f"({name})")


# the page to sign


def front(made: dict) -> str:
    return report.html_page(made).partition("Annex A</p>")[0]


SAID = Particulars(
    product="logistic regression",
    dataset="Adult <b>",
    organisation="Office",
    responsible="A. B.",
    date="2026-11-18",
)
RAN = Circumstances(noise=NoiseSource.OPERATING_SYSTEM, particulars=SAID)


def test_page_one_names_what_its_holder_said_and_leaves_the_rest_blank():
    page = front(document(circumstances=RAN))
    assert "Logistic regression from Adult &lt;b&gt;</h1>" in page
    for said in ("Office", "A. B.", "2026-11-18", "60,000", "Must stay secret", "Signature"):
        assert said in page
    assert page.count('class="blank"') == 2  # rows of a person, and earlier releases
    assert front(document()).count('class="blank"') > 5


def test_page_one_of_a_calculation_says_that_nothing_ran():
    page = front(document())
    assert "Calculation only" in page
    assert "Not by wane" in page
    assert "enforced" not in page
    assert "Calculation only" not in front(document(circumstances=RAN))


@pytest.mark.parametrize(
    ("epsilon", "delta", "band"),
    [
        (1.0, 1e-6, "strong"),
        (1.0000001, 1e-6, "moderate"),
        (10.0, 1e-6, "moderate"),
        (10.1, 1e-6, "weak"),
        ("infinity", 1e-6, "weak"),
        (0.1, 1 / 60_000, "weak"),
    ],
)
def test_the_band_follows_epsilon_and_a_large_delta_is_weak(epsilon, delta, band):
    made = document(circumstances=RAN) | {"epsilon": epsilon, "delta": delta}
    page = front(made)
    assert re.findall(r'<li aria-current="true"><span>([a-z]+)</span>', page) == [band]
    assert band.capitalize() in re.search(r"<h2>(.*?)</h2>", page)[1]


def test_words_fit_the_neighbours_and_the_unit():
    assert "which of two records was used" in front(document())
    out = document(replace(RUN, adjacency=Adjacency.ZERO_OUT))
    assert "whether a given record was used" in front(out)
    quiet = replace(RUN, noise=wane.NoiseMultiplier(30.0))
    several = certificate_document(certify(quiet).for_persons(3), delta=DELTA)
    assert "every person with at most 3 rows" in front(several)


def test_page_one_of_a_joint_certificate_lists_the_parts():
    page = front(certificate_document(joint(), delta=DELTA))
    assert "Charged together: a bound on the curvature (alone ε = " in page


def test_the_annex_says_which_line_answers_the_opinion():
    page = report.html_page(document())
    note = re.search(r'<p class="note">.*?</p>', page, re.DOTALL)[0]
    table = re.search(r"“(.*?)”", note)[1]
    assert "EDPB Opinion 28/2024" in note
    assert f"<caption>{table}" in page


def test_documents_without_the_new_fields_still_make_a_page():
    made = document()
    roc = [row for row in made["roc"] if row in made["attack"]]
    old = {k: v for k, v in made.items() if k not in {"advantage", "title", "files"}}
    old |= {"roc": roc}
    old.pop("earlier_releases")
    page = Page.of(old)
    assert len(page.every("svg")) == 2
    assert "guesses about" not in " ".join(page.text)


def test_the_figure_keeps_its_words_below_blind_guessing():
    """Whatever the bound is, it is drawn above the diagonal, and the words below it."""
    from wane.report import annexes

    for run in (RUN, RUNS["no noise"], replace(RUN, noise=wane.NoiseMultiplier(1e5))):
        picture = report.html_page(document(run))
        for x, y in re.findall(r'<text class="lab" x="([0-9.]+)" y="([0-9.]+)">', picture):
            along = (float(x) - annexes.LEFT) / (annexes.RIGHT - annexes.LEFT)
            diagonal = annexes.FLOOR - along * (annexes.FLOOR - annexes.TOP)
            assert float(y) - 14 > diagonal
