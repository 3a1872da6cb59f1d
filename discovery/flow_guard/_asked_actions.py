"""Actions that a message asks for: to change something, to end something, to pay, to open access.

A message is read by its words, without a model. Where the language is unknown and no question is
asked, it counts as asking to change something.
"""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from catalog.effects.verbs import CLEAR, find_base, find_inside, find_verb, is_noun_too
from catalog.words.names import singular, tool_words
from discovery.flow_guard._spellings import words_of
from discovery.flow_guard.tool_facts import (
    ToolFacts,
    is_ending,
    property_words,
    word_set,
)

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
        self.ends = any(is_ending(word) for word in self._words) or _ends_inside(text)

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


def _ends_inside(text: str) -> bool:
    return bool(_WORDLESS.search(text)) and any(
        effect == "delete" for effect, _ in find_inside(text)
    )


def _moves_money(name_words: Sequence[str], tool: ToolFacts) -> bool:
    words = {singular(word) for word in name_words}
    if words & _MONEY:
        return True
    return bool(words & _MAYBE_MONEY) and bool(property_words(tool.schema) & _AMOUNTS)
