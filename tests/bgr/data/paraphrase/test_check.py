"""What is accepted as a paraphrase, and the reasons of what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.data.reasongraphqa.paraphrase.check import CHECKS, find_problem, program_names

LOST, NEW, ANSWER = "a name is lost", "a new name", "the answer is in it"
NUMBER, NEW_NUMBER = "a number, date or unit is lost", "a new number, date or unit"
COMPARISON, DIRECTION, NEGATION = "another comparison", "another direction", "another negation"
REVERSED = "a relation is reversed"
RELATION, NEW_RELATION, BROKEN = "a relation is lost", "a new relation", "not grammatical"
KIND, FORM, TYPE = "a kind is lost", "not one question", "asks for something else"
CONDITION, TWICE = "a new condition", "says something twice"
LENGTH, LEAK = "too short or too long", "an identifier or a step"

FILM = (
    "Which horror film by Bo Lind that came out after 1963 runs for less than 90 minutes?",
    ("Find", "Bo Lind"),
    ("Relate", "director", "backward"),
    ("FilterConcept", "horror film"),
    ("FilterYear", "release date", "1963", ">"),
    ("FilterNum", "runtime", "90 minute", "<"),
    ("What",),
)
LONGER = (
    "Which one is longer, Persona or Hamlet 2?",
    ("Find", "Persona"),
    ("Find", "Hamlet 2"),
    ("SelectBetween", "runtime", "greater", [0, 1]),
)
GROSS = (
    "Did Persona take in more than $2 million?",
    ("Find", "Persona"),
    ("QueryAttr", "box office"),
    ("VerifyNum", "2000000 United States dollar", ">"),
)
COUNT = ("How many films did Ada Berg make?", ("Find", "Ada Berg"), ("Relate", "director", "backward"), ("Count",))
NOT = (
    "How many films that are not in Danish did Ada Berg make?",
    *COUNT[1:3],
    ("FilterStr", "language", "Danish"),
    ("Count",),
)
WROTE = ("How many films did Ada Berg write?", COUNT[1], ("Relate", "screenwriter", "backward"), ("Count",))
BORN = ("On what date was Ada Berg born?", ("Find", "Ada Berg"), ("QueryAttr", "date of birth"))
SPEAKS = (
    "How many countries have Danish as official language?",
    ("Find", "Danish"),
    ("Relate", "official language", "backward"),
    ("Count",),
)
TIED = ("What does Bo Lind have to do with gold?", ("Find", "gold"), ("Find", "Bo Lind"), ("QueryRelation", [0, 1]))
WHO = ("By whom was Persona made?", ("Find", "Persona"), ("Relate", "director", "forward"), ("What",))
LONG = ("How long is Persona?", ("Find", "Persona"), ("QueryAttr", "runtime"))
SHORTEST = (
    "Of the films by Bo Lind, which one is over the soonest?",
    *FILM[1:3],
    ("SelectAmong", "runtime", "smallest"),
)
PERIOD = (
    "Which sits lower in the table, gold or lead?",
    ("Find", "gold"),
    ("Find", "lead"),
    ("SelectBetween", "period", "greater", [0, 1]),
)
DATE = (
    "Was Persona first shown on 5 May 1963?",
    ("Find", "Persona"),
    ("QueryAttr", "release date"),
    ("VerifyDate", "1963-05-05", "="),
)
SOLID = (
    "Which element found in Nordia is still solid at 90 K?",
    ("Find", "Nordia"),
    ("Relate", "country of discovery", "backward"),
    ("FilterNum", "melting point", "90 kelvin", ">"),
    ("What",),
)


CODE = (
    "Which country is NX in ISO codes?",
    ("FindAll",),
    ("FilterStr", "ISO 3166-1 alpha-2 code", "NX"),
    ("FilterConcept", "country"),
    ("What",),
)
PAYS = (
    "How many people live in the country whose currency is the gold crown?",
    ("Find", "gold crown"),
    ("Relate", "currency", "backward"),
    ("QueryAttr", "population"),
)
VERIFY_CITY = (
    "Does the capital of Nordia have 300,000 inhabitants?",
    ("Find", "Nordia"),
    ("Relate", "capital", "forward"),
    ("QueryAttr", "population"),
    ("VerifyNum", "300000", "="),
)
SAME_MAKER = (
    "Which film by the director of Persona did its writer write?",
    ("Find", "Persona"),
    ("Relate", "director", "forward"),
    ("Relate", "director", "backward"),
    ("What",),
)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (SAME_MAKER, "What film is from the person who made Persona and was written by its writer?"),
        (WHO, "Who was the director that made Persona?"),
        (CODE, "What country has the ISO 3166-1 alpha-2 code NX?"),
        (PAYS, "What is the population of the country that uses the gold crown?"),
        (FILM, "What is the horror movie that Bo Lind directed later than 1963 that is shorter than 90 min?"),
        (FILM, "Name the horror film under 1.5 hours made by Bo Lind after the year 1963."),
        (LONGER, "Do you know which of Hamlet 2 and Persona lasts longer?"),
        (LONGER, "Of Persona and Hamlet 2, which has the higher running time?"),
        (GROSS, "Is it true that Persona grossed over 2,000,000 US dollars?"),
        (GROSS, "Was the box office of Persona above two million dollars?"),
        (COUNT, "What is the number of movies directed by Ada Berg?"),
        (COUNT, "Count the films that were made by Ada Berg."),
        (WROTE, "For how many films is Ada Berg the author of the script?"),
        (COUNT, "How many films are directed by Ada Berg and released in cinemas?"),
        (NOT, "What is the number of movies by Ada Berg without Danish in them?"),
        (BORN, "When did Ada Berg come into the world?"),
        (BORN, "Can you tell me the year and day when Ada Berg was born?"),
        (SHORTEST, "Which film that Bo Lind made is the shortest?"),
        (PERIOD, "Of gold and lead, which one is found lower in the table?"),
        (WHO, "What is the name of Persona's maker?"),
        (TIED, "How is gold connected with Bo Lind?"),
        (DATE, "Did Persona come out on 1963-05-05?"),
        (DATE, "Is May 5, 1963 the day that Persona was shown for the first time?"),
        (SOLID, "What element that was found in Nordia is still solid at 90 kelvins?"),
        (SOLID, "What is the element that was found in Nordia and is still solid at 90 K?"),
        (SPEAKS, "What is the number of countries whose official language is Danish?"),
        (SOLID, "Which element discovered in Nordia melts above 90 K?"),
    ],
)
def test_accepted(question, asked, text):
    assert find_problem(question(*asked), text) is None


@pytest.mark.parametrize(
    ("asked", "text", "reason"),
    [
        # names
        (FILM, "Which horror film by Bo that came out after 1963 runs for less than 90 minutes?", LOST),
        (FILM, "Which horror movie by bo lind that came out after 1963 runs for less than 90 minutes?", LOST),
        (LONGER, "Which one of the two is longer, Persona or Hamlet?", LOST),
        (LONGER, "Which one of the two is longer, Persona or it?", LOST),
        (COUNT, "How many films did Ada Bergman make in all?", LOST),
        (COUNT, "How many films did Ada Berg make in Sweden?", NEW),
        (LONG, "How long is Persona by Ingmar Bergman?", NEW),
        (LONG, "How long are the 84 minutes of Persona?", NEW_NUMBER),
        (SAME_MAKER, "Which film by the writer of Persona did its writer write?", RELATION),
        (FILM, "Which person made the horror film by Bo Lind later than 1963 that is shorter than 90 minutes?", TYPE),
        (FILM, "Who is in the horror film by Bo Lind later than 1963 that is shorter than 90 minutes?", TYPE),
        (SAME_MAKER, "What film that its writer wrote is by the producer and director of Persona?", NEW_RELATION),
        (SAME_MAKER, "What film did its director direct that is by the writer of Persona?", REVERSED),
        (FILM, "When did a horror film by Bo Lind that came out after 1963 run for less than 90 minutes?", TYPE),
        (LONGER, "Which film is longer than Persona, Hamlet 2?", TYPE),
        (GROSS, "Is the box office of Persona the same as more than $2 million?", CONDITION),
        (VERIFY_CITY, "Does Nordia have as capital a city with 300,000 inhabitants?", TYPE),
        (SAME_MAKER, "Which film by the maker of the film that Persona was directed by did its writer write?", BROKEN),
        (COUNT, "How many films Ada Berg directed?", BROKEN),
        (FILM, "What is the first horror film by Bo Lind from after 1963 with less than 90 minutes?", CONDITION),
        (FILM, "Which horror film by Bo Lind later than 1963 is over in by less than 90 minutes?", BROKEN),
        (SOLID, "What was found in Nordia and is still solid at 90 K?", KIND),
        (SPEAKS, "How many countries with Danish as official language have Danish as official language?", TWICE),
        (WROTE, "How many films did Ada Berg write and direct?", NEW_RELATION),
        (COUNT, "How many famous films did Ada Berg make?", CONDITION),
        (COUNT, "How many films did did Ada Berg direct?", BROKEN),
        # numbers, dates, units
        (FILM, "Which horror film by Bo Lind that came out after 1963 runs for less than 80 minutes?", NUMBER),
        (FILM, "Which horror film by Bo Lind that came out after 1963 runs for less than 90 hours?", NUMBER),
        (FILM, "Which horror film by Bo Lind that came out after 1963 is the short one?", NUMBER),
        (FILM, "Which horror film by Bo Lind from after the sixties runs for less than 90 minutes?", NUMBER),
        (GROSS, "Did Persona take in more than $2 billion?", NUMBER),
        (GROSS, "Did Persona take in more than 2 million euros?", NUMBER),
        (DATE, "Was Persona first shown in May 1963?", NUMBER),
        (DATE, "Was Persona first shown on 5 June 1963?", NUMBER),
        (DATE, "Was Persona, of 1962, first shown on 5 May 1963?", NEW_NUMBER),
        # comparisons
        (FILM, "Which horror film by Bo Lind that came out before 1963 runs for less than 90 minutes?", COMPARISON),
        (FILM, "Which horror film by Bo Lind that came out in 1963 runs for less than 90 minutes?", COMPARISON),
        (FILM, "Which horror film by Bo Lind from after 1963 runs for more than 90 minutes?", COMPARISON),
        (FILM, "Which horror film by Bo Lind from after 1963 runs for at most 90 minutes?", COMPARISON),
        (FILM, "Which horror film by Bo Lind from after 1963 runs for no more than 90 minutes?", COMPARISON),
        (FILM, "Which horror film by Bo Lind from 1963 or later runs for less than 90 minutes?", COMPARISON),
        (FILM, "Which horror film by Bo Lind from after 1963 runs for about 90 minutes?", COMPARISON),
        (FILM, "Which horror film by Bo Lind from after 1963 runs for not less than 90 minutes?", COMPARISON),
        (GROSS, "Did Persona take in $2 million?", COMPARISON),
        (SOLID, "Which element found in Nordia melts below 90 K?", COMPARISON),
        # directions
        (LONGER, "Which one is shorter, Persona or Hamlet 2?", DIRECTION),
        (LONGER, "Which one is the right one, Persona or Hamlet 2?", DIRECTION),
        (SHORTEST, "Which film that Bo Lind made is the longest?", DIRECTION),
        (SHORTEST, "Which of the most known films by Bo Lind is the shortest?", DIRECTION),
        (COUNT, "How many of the best films did Ada Berg make?", DIRECTION),
        (PERIOD, "Of gold and lead, which one is higher in the table?", DIRECTION),
        # negations
        (NOT, "How many films that are in Danish did Ada Berg make?", NEGATION),
        (COUNT, "How many films did Ada Berg not make?", NEGATION),
        (GROSS, "Didn't Persona take in more than $2 million?", NEGATION),
        # kinds
        (FILM, "Which film by Bo Lind that came out after 1963 runs for less than 90 minutes?", KIND),
        # form
        (LONG, "Tell me of Persona. How long is it?", FORM),
        (LONG, "Persona is a long film.", FORM),
        (LONG, "How long is Persona? And why?", FORM),
        (GROSS, "How much more than $2 million did Persona take in?", TYPE),
        (LONG, "Is Persona long?", TYPE),
        (COUNT, "Which films did Ada Berg make?", TYPE),
        (LONG, "How many hours is Persona?", TYPE),
        (WHO, "What is the maker of Persona?", TYPE),
        (COUNT, "What number of films are Ada Berg's films?", RELATION),
        (COUNT, "How many films did Ada Berg produce?", NEW_RELATION),
        (COUNT, "How many films did Ada Berg have and released before the others?", BROKEN),
        (WROTE, "How many films by Ada Berg are there?", RELATION),
        (WROTE, "How many films did Ada Berg star in?", RELATION),
        (GROSS, "Did more than $2 million go to Persona?", RELATION),
        (GROSS, "Did Persona earn more than $2 million from critics?", NEW_RELATION),
        (TIED, "What does Bo Lind do with gold?", TYPE),
        (COUNT, "How many films that made by Ada Berg are there?", BROKEN),
        (SPEAKS, "How many countries that speak Danish are there?", KIND),
        (SOLID, "What is the element found in Nordia and is still solid at 90 K?", BROKEN),
        (COUNT, "How many films have the director of Ada Berg?", REVERSED),
        (WHO, "Who is the person that was directed by Persona?", REVERSED),
        (BORN, "When Ada Berg was born?", BROKEN),
        (BORN, "When was Ada Berg born??", FORM),
        (LONG, "Persona?", LENGTH),
        (LONG, "How long is it to the end of the film that has the name that is given here as Persona?", LENGTH),
        (COUNT, "How many films in (2) did Ada Berg make?", LEAK),
        (COUNT, "How many films of step two did Ada Berg make?", LEAK),
        (COUNT, "How many films does the statement say that Ada Berg made?", LEAK),
        (COUNT, "How many things with 'director' as Ada Berg are there?", LEAK),
        (COUNT, "How many films did Ada Berg make (Q4321)?", LEAK),
        (COUNT, "   ", "empty"),
        (COUNT, "how many films did the Ada Berg make", "a copy"),
    ],
)
def test_rejected(question, asked, text, reason):
    assert find_problem(question(*asked), text) == reason


def test_a_wording_is_accepted_once(question):
    asked, text = question(*COUNT), "What is the number of movies directed by Ada Berg?"
    assert find_problem(asked, text, ["Count the films by Ada Berg."]) is None
    assert find_problem(asked, f" {text.upper()} ", [text]) == "a copy"


def test_the_answer_must_not_be_told(question):
    asked = question(
        "Who made Persona?", ("Find", "Persona"), ("Relate", "director", "forward"), ("What",), answer="cat"
    )
    assert find_problem(asked, "Who is the cat that made Persona?") == ANSWER
    assert find_problem(asked, "Who directed Persona in that category?") is None
    told = question("Was the cat in Persona?", *LONG[1:], ("VerifyStr", "cat"), answer="cat")
    assert find_problem(told, "Does Persona have the cat?") is None


def test_a_date_is_asked_for_as_a_date(question):
    asked = question(*BORN, answer="1963-05-05")
    assert find_problem(asked, "Where was Ada Berg born?") == TYPE
    assert find_problem(asked, "When was Ada Berg born?") is None


def test_the_program_decides_what_a_wrong_wording_compares(question):
    """The question says "before" where the program says "after"."""
    wrong = question(
        "Which film by Bo Lind came out before 1963?",
        *FILM[1:3],
        ("FilterYear", "release date", "1963", ">"),
        ("What",),
    )
    assert find_problem(wrong, "What film did Bo Lind make after 1963?") is None
    assert find_problem(wrong, "What film did Bo Lind make prior to 1963?") == COMPARISON


def test_words_inside_names_are_no_words_of_the_question(question):
    steps = [
        ("Find", "No Country for Old Men"),
        ("Find", "28 Days Later"),
        ("SelectBetween", "runtime", "less", [0, 1]),
    ]
    asked = question("Which is shorter, No Country for Old Men or 28 Days Later?", *steps)
    assert find_problem(asked, "Does it take less time to watch 28 Days Later or No Country for Old Men?") == TYPE
    assert find_problem(asked, "Which takes less time, 28 Days Later or No Country for Old Men?") is None
    assert find_problem(asked, "Which takes more time, 28 Days Later or No Country for Old Men?") == DIRECTION


def test_names_of_a_program(question):
    program = question(
        "?",
        ("Find", "28 Days"),
        ("FilterStr", "rating", "PG-13"),
        ("QFilterStr", "source", "Meter"),
        ("FilterNum", "score", "57 percent", "="),
        ("QueryAttrQualifier", "population", "22400", "source"),
    ).program
    assert program_names(program) == {"28 Days", "PG-13", "Meter"}


@given(st.text(max_size=60))
def test_no_text_breaks_the_checks(question, text):
    reason = find_problem(question(*FILM), text)
    assert reason in {*CHECKS, "empty", "a copy"}  # too much is missing in any short text


@given(st.sampled_from([FILM, LONGER, GROSS, COUNT, NOT, BORN, DATE, SHORTEST]), st.data())
def test_a_lost_word_of_a_name_is_seen(question, asked, data):
    one = question(*asked)
    words = sorted({word for name in program_names(one.program) for word in name.split()})
    word = data.draw(st.sampled_from(words))
    assert find_problem(one, "Tell me, " + one.text.replace(word, "X" * len(word))) is not None
