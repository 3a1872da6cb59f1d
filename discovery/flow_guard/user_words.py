"""The user's own words, and whether they name a value."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import pairwise

from catalog.effects.verbs import CLEAR, find_base, find_inside, find_verb, is_noun_too
from catalog.words.names import singular, tool_words
from discovery.flow_guard._spellings import (
    as_written,
    bare,
    compact,
    dates_in,
    first_word_of,
    folded_words,
    is_disguised,
    normalize,
    words_of,
)
from discovery.flow_guard.tool_facts import ToolFacts, is_ending, property_words, word_set

# Actions that a message asks for: to change something, to end something, to pay, to open access.
#
# A message is read by its words, without a model. Where the language is unknown and no question is
# asked, it counts as asking to change something.

# What people say for sending and changing that no tool is named after.
_ASKING = word_set("""
    adjust answer arrange compose correct design dm draft draw email fix forward give hand inform
    let mail make message need note notify plan put remind reply text tell transfer turn want wire
    ajoute ajouter antworte bestelle buche cambia dile dis écris envoie erstelle escribe
    lege mande manda mets plane pon répondre réponds réserve reserva reserviere responde rispondi
    sag schick schicke schreib schreibe scrivi trage verschiebe
    """)
# Of these, what is asked for is an answer: "tell me", "give us", "let me know".
_TELLING = word_set("answer give hand inform let tell want need sag dis dile")
_ONESELF = word_set("me us mir uns moi nous nos")
# Before a word that is a verb or a noun, they say that it is a noun.
_BEFORE_NOUNS = word_set("""
    a about all an any at by each every for from her his in its many more most much my no of on our
    some that the their these this those what which whose with your
    das dem den der die ein eine im mein meine
    el la las les le los mi mon un una une
    """)
_BEFORE_VERBS = word_set("""
    also and bitte can could finally first just kindly lets next now or please should then to will
    would you
    """)
_QUESTION_WORDS = word_set("""
    am are did do does has have how is was were what when where which who whom whose why
    gibt hat ist sind wann warum was welche welcher welches wer wie wieso wo
    combien comment où pourquoi quand que quel quelle quels quelles qui
    come cosa cuándo cuál cuáles cuánto cuántos cómo dónde perché quale quando quanto quem
    qué quién
    """)
_QUESTION_MARKS = re.compile("[?\u00bf\uff1f\u061f]")
_CLAUSE_ENDS = re.compile(
    '[.!?,;:()"\n\u00bf\u00a1\u2026\u3002\uff01\uff0c\uff1f\u2014\u201c\u201d]'
)
_WORDLESS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")

_MONEY = word_set("""
    bid charge checkout deposit donate donation fund invoice money pay payment payout purchase buy
    refund remit tip transaction withdraw withdrawal
    """)
_MAYBE_MONEY = word_set("order schedule sell send trade transfer wire")
_AMOUNTS = word_set("amount currency price sum total")
_SAYS_MONEY = _MONEY | word_set("""
    balance bill bought bucks budget chf cost debt dollar eur euro fee franc gbp order owe owed
    paid paying pound price rent salary spend subscription transfer transferred usd wage wire yen
    betale bezahl bezahle bezahlen bestelle geld kaufe kaufen miete rechnung überweise überweisen
    überweisung zahl zahle zahlen
    achète acheter argent facture loyer paie paye payer vire virement virer
    alquiler compra comprar dinero factura paga pagar transferencia transferir transfiere
    affitto bonifico comprare fattura pagare soldi
    aluguel conta dinheiro pague
    """)
_CURRENCY = re.compile("[$\u20ac\u00a3\u00a5\u20b9\u20a9]")
_MONEY_INSIDE = re.compile(
    "[\u4ed8\u6c47\u532f\u4e70\u8cb7\u8d2d\u8cfc\u6255\u9322]|\u8f6c\u8d26|\u8f49\u5e33|\u9001\u91d1|"
    "\u632f\u8fbc|\uacb0\uc81c|\uc1a1\uae08|\uc9c0\ubd88|\uad6c\ub9e4"
)

_ACCESS = word_set("""
    admin allow authorize collaborator delegate delegation elevate grant key password permission
    promote publish role secret ssh token unlock visibility webhook
    """)
_SAYS_ACCESS = _ACCESS | word_set("""
    access account add change give hook invite join let member open owner post public release right
    rights set share team update upload
    ajoute ajouter changer partage partager publie publier
    ändere ändern freigeben gib teile veröffentliche
    cambia cambiar comparte compartir publica publicar
    """)


class AskedActions:
    """Actions that a normalised message asks for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._clauses = [words_of(clause) for clause in _CLAUSE_ENDS.split(text)]
        self._words = {word for clause in self._clauses for word in clause}
        self.changes = any(self._acting_words()) or self._is_wish()
        self.ends = any(is_ending(word) for word in self._words) or (
            bool(_WORDLESS.search(text))
            and any(effect == "delete" for effect, _ in find_inside(text))
        )

    def covers(self, tool: ToolFacts) -> bool:
        """Return True if the message asks for what the tool does, as far as words can tell."""
        name_words = tool_words(tool.name)
        if tool.ends_something:
            return self.ends
        if _moves_money(name_words, tool):
            return self._says(_SAYS_MONEY, set(name_words)) or bool(
                _CURRENCY.search(self._text) or _MONEY_INSIDE.search(self._text)
            )
        if {singular(word) for word in name_words} & _ACCESS:
            return self.changes and self._says(_SAYS_ACCESS, set(name_words))
        return self.changes or self._commands(name_words)

    def _says(self, words: Set[str], name_words: Set[str]) -> bool:
        verbs = {word for word in name_words if find_base(word)}
        return any(word in words or singular(word) in words | verbs for word in self._words)

    def _commands(self, name_words: Sequence[str]) -> bool:
        """Return True if a word of the tool's name opens a clause, as in "Comment on it"."""
        return any(clause and clause[0] in name_words for clause in self._clauses)

    def _acting_words(self) -> Iterator[str]:
        for clause in self._clauses:
            asks = bool(clause) and clause[0] in _QUESTION_WORDS
            for at, word in enumerate(clause):
                before = clause[at - 1] if at else ""
                after = clause[at + 1] if at + 1 < len(clause) else ""
                if _acts(word, before, after, in_question=asks):
                    yield word

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for clause in self._clauses:
            yield from pairwise(clause)

    def _is_wish(self) -> bool:
        """Return True for a message of unknown words that asks nothing."""
        if not self._words:
            return False
        if _WORDLESS.search(self._text) and (actions := find_inside(self._text)):
            return any(effect != "read" for effect, _ in actions)
        if _QUESTION_MARKS.search(self._text):
            return False
        if any(earlier_word in _TELLING and two in _ONESELF for earlier_word, two in self._pairs()):
            return False
        first = [clause[0] for clause in self._clauses if clause]
        if any(word in _QUESTION_WORDS or find_verb(word) for word in first):
            return False
        verbs = (verb for word in self._words if (verb := find_verb(word)))
        return all(is_noun_too(verb) or verb.strength < CLEAR for verb in verbs)


def _acts(word: str, before: str, after: str, *, in_question: bool) -> bool:
    if word in _TELLING and after in _ONESELF:
        return False
    verb = find_verb(word)
    if word in _ASKING:
        noun = verb is not None and (is_noun_too(verb) or verb.strength < CLEAR)
    elif verb is None or verb.effect == "read":
        return False
    else:
        noun = is_noun_too(verb) or verb.strength < CLEAR
    if not before or before in _BEFORE_VERBS:
        return True
    return before not in _BEFORE_NOUNS and not (noun and in_question)


def _moves_money(name_words: Sequence[str], tool: ToolFacts) -> bool:
    words = {singular(word) for word in name_words}
    if words & _MONEY:
        return True
    return bool(words & _MAYBE_MONEY) and bool(property_words(tool.schema) & _AMOUNTS)


# A number says which one it is only beside one of these; elsewhere it is a day, a time, a price.
_COUNTING = word_set("id ids no nr number num nummer ref reference")
_SHORT_ID = 5
_LONGEST_WORD_RUN = 40
# An address goes on beside these, and is another one then.
_JOINED_BEFORE = re.compile(r"[\w@%+\-]$|\w[./:'&!#$*=?^`{|}~]$")
_JOINED_AFTER = re.compile(r"[\w@%+\-]|[./:?#=&]\w")
# These scripts write no blanks around words, and no address of Latin letters goes on in them.
_BLANKLESS = re.compile("[\u0e00-\u0e7f\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
_MARKS = re.compile(r"[@/:.\\]")
# Without blanks, only these marks are left out of a comparison; `draft*` is more than `draft`.
_PLAIN = re.compile(r"(?:\+?\(?(?=\d))?[^\W_](?:[-_,'+()]{0,2}[^\W_]){0,400}")
# Marks that steer a command, a query or a pattern: the user must have written them so.
_STEERING = re.compile(r"[&|<>$`*=~^\\{}]")
_BETWEEN = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")


class UserWords:
    """Words of the user in this turn, with the values that an admin trusts beside them."""

    def __init__(self, messages: Iterable[str], trusted: Iterable[str] = ()) -> None:
        message = html.unescape("\n".join(messages))
        self._written, self._text = as_written(message), bare(normalize(message))
        self._trusted = [as_written(value).strip() for value in trusted if value.strip()]

    @cached_property
    def _words(self) -> list[str]:
        return words_of(self._text)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Return where each word stands."""
        places: dict[str, list[int]] = {}
        for at, word in enumerate(self._words):
            places.setdefault(word, []).append(at)
        return places

    @cached_property
    def _initials(self) -> set[str]:
        return {word[0] for word in self._words}

    @cached_property
    def actions(self) -> AskedActions:
        """Return what the message asks for."""
        return AskedActions(self._text)

    def trusts(self, value: str) -> bool:
        """Return True if an admin trusts the value, or all addresses of its domain ("@x.org")."""
        text = bare(as_written(value).strip())
        return any(
            text == entry or (entry.startswith("@") and text.endswith(entry) and "/" not in text)
            for entry in self._trusted
        )

    def name(self, value: str) -> bool:
        """Return True if the user wrote the value; an address must stand there as a whole."""
        text = bare(normalize(value).strip()).strip("\"'<>").rstrip("/").lstrip("@#")
        if not text or not self._may_mean(value):
            return False
        if not re.search(r"\s", text):
            if _MARKS.search(text):
                return self._has_address(text) or text in dates_in(self._text)
            if not _PLAIN.fullmatch(text):
                return self._has_address(text)
        elif _STEERING.search(text):
            return text in self._text
        words = words_of(text)
        if not words or len("".join(words)) < 2:
            return False
        return self._has_run(words) or (len(words) <= _LONGEST_WORD_RUN and self._has_joined(text))

    def _may_mean(self, value: str) -> bool:
        """Return False for what reads as the user's words and has other letters or marks."""
        if is_disguised(value):
            return as_written(value) in self._written
        words = words_of(as_written(value))
        if value.isascii():
            return self._folded_words.isdisjoint(words)
        return self._written_words.issuperset(words)

    @cached_property
    def _written_words(self) -> frozenset[str]:
        return frozenset(words_of(self._written))

    @cached_property
    def _folded_words(self) -> frozenset[str]:
        return folded_words(self._written)

    def may_name(self, name: str) -> bool:
        """Return False if the user cannot have written a name; quicker than `name`."""
        if ":" in name or "www." in name or not self._text.isascii():
            return True
        if name.isascii() and name[:1].isalnum() and name[0].lower() not in self._initials:
            return False
        first = first_word_of(normalize(name))
        if first[:1] not in self._initials:
            return False
        return any(first[:length] in self._places for length in range(1, len(first) + 1))

    def name_id(self, value: str, nouns: Set[str]) -> bool:
        """Return True if the user wrote this id. A short number must be called one."""
        text = normalize(value).strip().lstrip("#")
        if not self._may_mean(value):
            return False
        if len(compact(text)) >= _SHORT_ID and not text.isalpha():
            return self.name(text)
        called = _COUNTING | nouns
        for at, word in enumerate(self._words):
            if word == text and (
                f"#{text}" in self._text
                or any(
                    singular(previous) in called for previous in self._words[max(0, at - 2) : at]
                )
            ):
                return True
        return False

    def unsaid(self, words: Iterable[str], *, most: int) -> set[str]:
        """Return those normalised words that the user did not write, as many as are asked for."""
        unknown: set[str] = set()
        for word in words:
            if word not in self._places:
                unknown.add(word)
                if len(unknown) == most:
                    break
        return unknown

    def _has_address(self, text: str) -> bool:
        at = self._text.find(text)
        while at >= 0:
            end = at + len(text)
            before = _without_scripts(self._text[max(0, at - 2) : at])
            after = _without_scripts(self._text[end : end + 2])
            if not (_JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after)):
                return True
            at = self._text.find(text, at + 1)
        return False

    def _has_run(self, words: list[str]) -> bool:
        length = len(words)
        places = self._places.get(words[0], ())
        return any(self._words[at : at + length] == words for at in places)

    def _has_joined(self, text: str) -> bool:
        """Return True if neighbouring words make up the value, as the groups of an IBAN do."""
        compact_text, breaks = compact(text), _breaks_in(text)
        beginnings = (compact_text[:length] for length in range(1, len(compact_text) + 1))
        starts = (at for beginning in beginnings for at in self._places.get(beginning, ()))
        return any(self._joins(compact_text, breaks, at) for at in starts)

    def _joins(self, compact_text: str, breaks: set[int], at: int) -> bool:
        joined, end = self._words[at], at + 1
        ends = {len(joined)}
        while (
            compact_text.startswith(joined)
            and len(joined) < len(compact_text)
            and end < len(self._words)
        ):
            joined, end = joined + self._words[end], end + 1
            ends.add(len(joined))
        return joined == compact_text and breaks <= ends


def _breaks_in(text: str) -> set[int]:
    """Return after how many letters a value has marks that may not part a word of the user.

    `al_ice` is not `alice`, but digits are the same in any groups.
    """
    breaks: set[int] = set()
    for mark in _BETWEEN.finditer(text):
        before, after = text[mark.start() - 1], text[mark.end()]
        if not (mark[0].isspace() or (before.isdigit() and after.isdigit())):
            breaks.add(len(compact(text[: mark.start()])))
    return breaks


def _without_scripts(text: str) -> str:
    return text if text.isascii() else _BLANKLESS.sub(" ", text)
