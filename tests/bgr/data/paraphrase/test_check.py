"""What is accepted as a paraphrase, and the reasons of what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.data.reasongraphqa.paraphrase.check import CHECKS, find_problem
from bgr.data.reasongraphqa.paraphrase.wording import program_names

LOST, NEW, ANSWER = "a name is lost", "a new name", "the answer is in it"
NUMBER, NEW_NUMBER = "a number, date or unit is lost", "a new number, date or unit"
COMPARISON, DIRECTION, NEGATION = "another comparison", "another direction", "another negation"
REVERSED = "a relation is reversed"
BROKEN, TWICE = "not grammatical", "says something twice"
FORM, TYPE = "not one question", "asks for something else"
LOST_WORDS, NEW_WORDS = "words are lost", "new words"
BESIDE, JOINED = "a name is beside another relation", "conditions are joined otherwise"
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
    "Which country has the ISO 3166-1 alpha-2 code NX?",
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

BY_TWO = (
    "Which film with Ada Berg was written by the director of Persona?",
    ("Find", "Ada Berg"),
    ("Relate", "cast member", "backward"),
    ("Find", "Persona"),
    ("Relate", "director", "forward"),
    ("Relate", "screenwriter", "backward"),
    ("And", [1, 4]),
    ("What",),
)
EITHER = (
    "How many films have Ada Berg as writer or were directed by Bo Lind?",
    *WROTE[1:3],
    *FILM[1:3],
    ("Or", [1, 3]),
    ("Count",),
)
OLDER_OR = (
    "How many films were written by Ada Berg after 1963 or were directed by Bo Lind?",
    *WROTE[1:3],
    ("FilterYear", "release date", "1963", ">"),
    *FILM[1:3],
    ("Or", [2, 4]),
    ("Count",),
)
PLACES = (
    "Which airport in Nordia serves Stad?",
    ("Find", "Nordia"),
    ("Relate", "country", "backward"),
    ("Find", "Stad"),
    ("Relate", "place served", "backward"),
    ("And", [1, 3]),
    ("What",),
)
DATED = (
    "Which 1963 film written by Ada Berg was directed by Bo Lind?",
    *WROTE[1:3],
    *FILM[1:3],
    ("And", [1, 3]),
    ("FilterYear", "release date", "1963", "="),
    ("What",),
)
GROUP = ("How many elements have the group number 12?", ("FindAll",), ("FilterNum", "group", "12", "="), ("Count",))
LEAST = (
    "Which of the films directed by Bo Lind made the least money?",
    *FILM[1:3],
    ("SelectAmong", "box office", "smallest"),
)
SMALLEST = (
    "Of the countries with 98 percent literacy, which has the smallest area?",
    ("FindAll",),
    ("FilterConcept", "country"),
    ("FilterNum", "literacy rate", "98 percent", "="),
    ("SelectAmong", "area", "smallest"),
)
BELOW = (
    "Does the horror film by Bo Lind that came out in 1963 have a runtime below 90 minutes?",
    *FILM[1:4],
    ("FilterYear", "release date", "1963", "="),
    ("QueryAttr", "runtime"),
    ("VerifyNum", "90 minute", "<"),
)
CONTINENT = (
    "Which continent has the country that uses the gold crown?",
    *PAYS[1:3],
    ("Relate", "continent", "forward"),
    ("What",),
)
RATED = (
    "According to which review site did Persona get 5 reviews?",
    ("Find", "Persona"),
    ("QueryAttrQualifier", "number of reviews", "5", "review score by"),
)
MEETS = (
    "How many countries bordering Nordia have over 4,000 people?",
    ("Find", "Nordia"),
    ("Relate", "shares border with", "backward"),
    ("FilterNum", "population", "4000", ">"),
    ("Count",),
)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (SAME_MAKER, "What movie by the director of Persona was written by its writer?"),
        (WHO, "Who was the director that made Persona?"),
        (CODE, "What country has NX as ISO 3166-1 alpha-2 code?"),
        (PAYS, "What is the population of the country that uses the gold crown?"),
        (FILM, "What is the horror movie by Bo Lind that was released later than 1963 and is shorter than 90 min?"),
        (FILM, "Name the horror film under 1.5 hours that Bo Lind made and that came out after the year 1963."),
        (LONGER, "Do you know which of Hamlet 2 and Persona lasts longer?"),
        (LONGER, "Of Persona and Hamlet 2, which has the higher running time?"),
        (GROSS, "Is it true that Persona grossed over 2,000,000 US dollars?"),
        (GROSS, "Was the box office of Persona above two million dollars?"),
        (COUNT, "What is the number of movies directed by Ada Berg?"),
        (COUNT, "Count the films that were made by Ada Berg."),
        (WROTE, "For how many films is Ada Berg the author of the script?"),
        (NOT, "How many movies that are not in Danish were made by Ada Berg?"),
        (BORN, "When did Ada Berg come into the world?"),
        (BORN, "Can you tell me the year and day when Ada Berg was born?"),
        (SHORTEST, "Which film that Bo Lind made is the shortest?"),
        (PERIOD, "Of gold and lead, which one sits lower in the table?"),
        (WHO, "What is the name of Persona's maker?"),
        (TIED, "How is gold connected with Bo Lind?"),
        (DATE, "Did Persona come out on 1963-05-05?"),
        (DATE, "Was Persona released on May 5, 1963?"),
        (SOLID, "What element that was found in Nordia is still solid at 90 kelvins?"),
        (SOLID, "What is the element that was found in Nordia and is still solid at 90 K?"),
        (SPEAKS, "What is the number of countries whose official language is Danish?"),
        (SOLID, "Which element discovered in Nordia melts above 90 K?"),
        (BY_TWO, "Which film starring Ada Berg was written by the director of Persona?"),
        (BY_TWO, "What is the film with Ada Berg that the director of Persona wrote?"),
        (EITHER, "What is the number of films that Ada Berg wrote or Bo Lind directed?"),
        (LEAST, "What is the film directed by Bo Lind that earned the least money?"),
        (SMALLEST, "Which country with 98 percent literacy has the smallest area?"),
        (BELOW, "Is the runtime of the horror film by Bo Lind that was released in 1963 below 90 minutes?"),
        (BELOW, "Is the 1963 horror film directed by Bo Lind shorter than 90 minutes?"),
        (CONTINENT, "What continent has the country using the gold crown?"),
        (RATED, "Which review site says that Persona got 5 reviews?"),
        (MEETS, "How many countries border Nordia and have a population over 4,000?"),
        (OLDER_OR, "What is the number of movies that Ada Berg wrote after 1963 or that were directed by Bo Lind?"),
        (GROUP, "What is the number of elements with the group number 12?"),
        (PLACES, "Which airport that serves Stad is located in Nordia?"),
        (DATED, "Which film released in 1963 was written by Ada Berg and directed by Bo Lind?"),
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
        (SAME_MAKER, "Which film by the writer of Persona did its writer write?", LOST_WORDS),
        (FILM, "Which person made the horror film by Bo Lind later than 1963 that is shorter than 90 minutes?", TYPE),
        (FILM, "Who is in the horror film by Bo Lind later than 1963 that is shorter than 90 minutes?", TYPE),
        (SAME_MAKER, "What film that its writer wrote is by the producer and director of Persona?", REVERSED),
        (SAME_MAKER, "What film did its director direct that is by the writer of Persona?", BESIDE),
        (FILM, "When did a horror film by Bo Lind that came out after 1963 run for less than 90 minutes?", TYPE),
        (LONGER, "Which film is longer than Persona, Hamlet 2?", TYPE),
        (GROSS, "Is the box office of Persona the same as more than $2 million?", NEW_WORDS),
        (VERIFY_CITY, "Does Nordia have as capital a city with 300,000 inhabitants?", TYPE),
        (SAME_MAKER, "Which film by the maker of the film that Persona was directed by did its writer write?", BROKEN),
        (COUNT, "How many films Ada Berg directed?", BROKEN),
        (FILM, "What is the first horror film by Bo Lind from after 1963 with less than 90 minutes?", LOST_WORDS),
        (FILM, "Which horror film by Bo Lind later than 1963 is over in by less than 90 minutes?", BROKEN),
        (SOLID, "What was found in Nordia and is still solid at 90 K?", BROKEN),
        (SPEAKS, "How many countries with Danish as official language have Danish as official language?", TWICE),
        (WROTE, "How many films did Ada Berg write and direct?", REVERSED),
        (COUNT, "How many famous films did Ada Berg make?", NEW_WORDS),
        (COUNT, "How many films did did Ada Berg direct?", BROKEN),
        # what belongs together
        (BY_TWO, "Which film starring the director of Persona was written by Ada Berg?", BESIDE),
        (BY_TWO, "Which film with Ada Berg was written by the director who directed Persona?", JOINED),
        (EITHER, "How many films have Ada Berg as writer and were directed by Bo Lind?", JOINED),
        (SAME_MAKER, "Which film directed by the director of Persona did its writer write?", JOINED),
        (BY_TWO, "Which film by Ada Berg stars the director of Persona as its writer?", BESIDE),
        (PLACES, "Which airport that serves Nordia is in Stad?", BESIDE),
        (DATED, "Which released film written by Ada Berg in 1963 was directed by Bo Lind?", JOINED),
        (OLDER_OR, "How many films after 1963 did Bo Lind direct or Ada Berg write?", JOINED),
        (BELOW, "Does the 1963 horror film have from Bo Lind, its director, a runtime below 90 minutes?", JOINED),
        (MEETS, "How many countries border Nordia with over 4,000 people?", JOINED),
        (SMALLEST, "Which country has the smallest literacy of 98 percent in its area?", DIRECTION),
        # what is asked for
        (LEAST, "What is the least money of the films directed by Bo Lind?", TYPE),
        (CONTINENT, "What country uses the gold crown?", TYPE),
        (PAYS, "Which country with the gold crown as currency has how many people?", TYPE),
        (BELOW, "Is the 1963 horror film directed by Bo Lind that has a runtime below 90 minutes?", TYPE),
        (BELOW, "Was the horror film by Bo Lind that came out in 1963 and has a runtime below 90 minutes?", TYPE),
        (BELOW, "Was the horror film by Bo Lind released in 1963 that has a runtime below 90 minutes?", TYPE),
        (RATED, "Which review site gave 5 reviews to Persona?", BROKEN),
        (GROUP, "How many elements are in the group 12?", BROKEN),
        (GROUP, "What the number of elements with the group number 12?", BROKEN),
        (LEAST, "What is the film that was directed Bo Lind that made the least money?", BROKEN),
        (RATED, "According which review site did Persona get 5 reviews?", BROKEN),
        (PLACES, "Which airport in Nordia Stad serves?", BROKEN),
        (MEETS, "How many countries border Nordia in with over 4,000 people?", BROKEN),
        (LONG, "What is the length of Persona has?", BROKEN),
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
        # words
        (FILM, "Which film by Bo Lind that came out after 1963 runs for less than 90 minutes?", LOST_WORDS),
        # form
        (LONG, "Tell me of Persona. How long is it?", FORM),
        (LONG, "Persona is a long film.", FORM),
        (LONG, "How long is Persona? And why?", FORM),
        (GROSS, "How much more than $2 million did Persona take in?", TYPE),
        (LONG, "Is Persona long?", TYPE),
        (COUNT, "Which films did Ada Berg make?", TYPE),
        (LONG, "How many hours is Persona?", TYPE),
        (WHO, "What is the maker of Persona?", TYPE),
        (COUNT, "What number of films are Ada Berg's films?", REVERSED),
        (COUNT, "How many films did Ada Berg produce?", LOST_WORDS),
        (COUNT, "How many films did Ada Berg have and released before the others?", BROKEN),
        (WROTE, "How many films by Ada Berg are there?", LOST_WORDS),
        (WROTE, "How many films did Ada Berg star in?", LOST_WORDS),
        (GROSS, "Did more than $2 million go to Persona?", LOST_WORDS),
        (GROSS, "Did Persona earn more than $2 million from critics?", NEW_WORDS),
        (TIED, "What does Bo Lind do with gold?", TYPE),
        (COUNT, "How many films that made by Ada Berg are there?", BROKEN),
        (SPEAKS, "How many countries that speak Danish are there?", LOST_WORDS),
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
    assert find_problem(asked, "Who made Persona in that category?") == NEW_WORDS
    told = question("Was the cat in Persona?", *LONG[1:], ("VerifyStr", "cat"), answer="cat")
    assert find_problem(told, "Is it true that the cat was in Persona?") is None


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
    assert find_problem(wrong, "What film by Bo Lind came out after 1963?") is None
    assert find_problem(wrong, "What film by Bo Lind came out prior to 1963?") == COMPARISON


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
