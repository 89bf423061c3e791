"""Edges and evidence that are inferred from shared names."""

from itertools import permutations

from bgr.data.own.links import (
    NO_CHAIN,
    NO_PLACE,
    YES_OR_NO,
    Chain,
    Linker,
    covered,
    guess_chain,
    holds,
    linked,
    words_of,
)
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from tests.bgr.data.own.conftest import BORN, FACTS

LINKER = Linker(FACTS)


def test_names_have_a_capital_or_a_digit_but_not_for_their_place():
    found = words_of("Born in 1918, the Émigré met Ö2.")
    assert found.all == {"born", "1918", "emigre", "met", "o2"}
    assert found.names == {"1918", "emigre", "o2"}


def test_rare_words_weigh_more_and_words_of_the_question_do_not_link_facts():
    assert LINKER.rarity("persona") > LINKER.rarity("born") > 0
    assert LINKER.weight(FACTS[0], FACTS[1]) > 0
    assert LINKER.weight(FACTS[0], FACTS[1], "Who is Ingmar Bergman?") == 0


def test_a_chain_is_found_in_any_order_of_the_facts():
    for order in permutations((0, 1, 2)):
        found = linked(
            "Where lies the town where the maker of Persona was born?", [FACTS[n] for n in order], "Sweden", LINKER
        )
        graph = found.graph.relabel(dict(enumerate(order)))
        assert graph == EvidenceGraph([(ROOT, 0), (0, 1), (1, 2)])


def test_what_the_question_names_is_found_from_it():
    question = "Was the maker of Persona or that of Vertigo born first?"
    assert linked(question, [FACTS[0], FACTS[3]], "", LINKER).graph == EvidenceGraph([(ROOT, 0), (ROOT, 1)])


def test_nothing_is_found_from_the_only_fact_that_holds_the_answer():
    facts = ["Bergman was born in Uppsala.", "Persona and Bergman are known."]
    question = "Where was the maker of Persona born?"
    assert linked(question, facts, "Uppsala", Linker(facts)).graph.successors(0) == ()


def test_the_fact_with_the_answer_is_found_from_another_one_even_if_the_question_is_nearer():
    facts = ["Sheeran made Songs with Amy.", "Thinking Out Loud by Sheeran was for Athina."]
    question = "For whom did the maker of Songs with Amy write Thinking Out Loud?"
    linker = Linker(facts)
    assert linker.weight(question, facts[1]) > linker.weight(facts[0], facts[1], question) > 0
    assert linked(question, facts, "Athina", linker).graph == EvidenceGraph([(ROOT, 0), (0, 1)])
    assert linked(question, facts, "", linker).graph == EvidenceGraph([(ROOT, 0), (ROOT, 1)])
    # no other fact shares a word with it
    facts[0] = "Amy sings."
    assert linked(question, facts, "Athina", Linker(facts)).graph == EvidenceGraph([(ROOT, 0), (ROOT, 1)])


def test_of_equal_links_the_deepest_counts():
    facts = ["Cuba has Ana.", "Cuba lasts.", "Cuba drew reviews."]
    found = linked("How many reviewed that film with Ana?", facts, "", Linker(facts))
    assert found.graph == EvidenceGraph([(ROOT, 0), (0, 1), (1, 2)])
    assert found.ties == 1


def test_equal_links_and_facts_that_share_nothing_are_counted():
    facts = ["Alpha met Gamma.", "Beta met Gamma.", "Gamma sleeps."]
    found = linked("Where do Alpha and Beta go?", facts, "", Linker(facts))
    assert (found.graph.predecessors(2), found.ties, found.unlinked) == ((0,), 1, 0)
    found = linked("Who?", ["Alpha.", "Beta."], "", Linker(["Alpha.", "Beta."]))
    assert (found.graph, found.unlinked) == (EvidenceGraph([(ROOT, 0), (ROOT, 1)]), 2)


def test_an_answer_stands_in_whole_words():
    assert holds("He was born in New York.", "new york")
    assert not holds("He was born in Newark.", "New")
    assert not holds("He was born.", "")


def test_coverage():
    assert covered("Persona Vertigo", [FACTS[0], FACTS[3]], LINKER) == 1
    assert 0 < covered("Persona Vertigo", [FACTS[0]], LINKER) < 1
    assert covered("of the", FACTS, LINKER) == 0


def test_an_answer_alone_gives_the_chain_that_leads_to_it():
    assert guess_chain(BORN, FACTS, "Uppsala", LINKER) == Chain((0, 1), tied=False)
    assert guess_chain("Who made Persona?", FACTS, "Ingmar Bergman", LINKER).facts == (0,)


def test_three_facts_are_the_longest_chain():
    facts = ["Film Persona has maker Bergman.", "Bergman went to Uppsala.", "Uppsala is known for Linnaeus."]
    assert guess_chain("What is film Persona maker went known for?", facts, "Linnaeus", Linker(facts)).facts == (
        0,
        1,
        2,
    )


def test_why_there_is_no_chain():
    assert guess_chain(BORN, FACTS, "Paris", LINKER) == NO_PLACE
    assert guess_chain(BORN, FACTS, "Yes", LINKER) == YES_OR_NO
    assert guess_chain("Why?", FACTS, "Sweden", LINKER) == NO_CHAIN


def test_equal_chains_are_told():
    facts = ["Persona won Oscar.", "Persona got Oscar."]
    assert guess_chain("What did Persona receive?", facts, "Oscar", Linker(facts)) == Chain((0,), tied=True)
