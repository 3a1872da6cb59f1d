"""Detection of vague messages: those that point at something which no word of theirs names.

"Can you look into it?" may mean anything. A message is vague if it has a pointer ("it", "the
thing") and otherwise only words that fit every task. Independent of the catalogue.
"""

import re

from discovery.select import _glossary

MOST_WORDS = 12  # longer messages name something

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_POINTERS = """
it this that these those them thing things thingy stuff one ones something same usual there
das dies diese dieser dieses es ihn sie darum damit davon ding dings sache sachen etwas gleiche
selbe übliche ça cela ceci truc trucs chose choses même
eso esto ello aquello cosa cosas mismo mirarlo verlo hacerlo revisarlo isso isto aquilo coisa coisas
mesmo questo quello cosa cose stesso dat dit het daar ding dingen zaak hetzelfde
tym tego rzecz rzeczy samo
"""
# Words that fit every task.
_ANYTHING = """
a an the is are was were be been do does did done doing can could would will should shall may
might must have has had need needs want wants like please kindly just also too now then again
still already yet before earlier later soon recently ago i you we they he she me us my your our
his her who what which how when where why if so and or but not no to of in on at for with from
about into up out over by as off last next previous other another past few some any all more
week weeks month months year time yesterday today tomorrow morning night monday friday
look looking check see take care handle deal sort figure make get let go try help know think
remember mean mentioned said told talked talk discussed spoke happen happened finish continue
kannst könntest würdest bitte du dir dich mir mich ich wir uns mal nochmal noch wieder schon
jetzt die der dem den ein eine einen von vom letzte letzten letzter letztes nächste woche
monat jahr gestern heute morgen was wie wann mach mache machen machst gemacht getan schau schauen
ansehen anschauen kümmern kümmere kümmerst erledige erledigen hilf helfen weißt erinnerst
haben hatten hast habe besprochen gesagt über an um zu mit auf
peux pourrais tu vous nous je on me te de du des un une les s'il plaît te moi faire fait fais
regarde regarder occupe occuper t'en voir semaine dernière dernier mois hier aujourd'hui
encore avons avait dit parlé qu'on que est-ce au sujet peux-tu
puedes podrías tú yo me te nos se por favor el los las un una de del que hacer hiciste hicimos
hecho haz mira mirar ver revisar encárgate semana pasada pasado mes ayer hoy otra vez dijimos
pode podes poderia você eu nos o a os as um uma do da que fazer fez fizemos faz vê ver olhar
semana passada passado mês ontem hoje novo outra vez dissemos cuidar trata
puoi potresti tu io mi ti si il i gli un una di del che fare fatto facciamo fai guarda guardare
vedere occuparti occupati settimana scorsa scorso mese ieri oggi ancora detto abbiamo
kun kunt je jij u ik we wij mij me de een van die wat doen deed deden gedaan doe kijk kijken naar
regel regelen week vorige maand gisteren vandaag weer nog even eens hebben had gezegd over
możesz możecie proszę ty ja my mi nam się z w na o co zrobić zrobiliśmy zrób zobacz zająć
tydzień tygodniu zeszłym temu wczoraj dziś znowu jeszcze mówiliśmy sprawdzić
"""
_POINTER_WORDS = frozenset(_POINTERS.split())
_WORDS_OF_ANYTHING = _POINTER_WORDS | frozenset(_ANYTHING.split())


def is_vague(message: str) -> bool:
    """Return True if the message points at something and names nothing."""
    words = [word.replace("\u2019", "'") for word in _WORD.findall(message.lower())]
    if not 1 < len(words) <= MOST_WORDS or _DIGIT.search(message):
        return False
    empty_words = _WORDS_OF_ANYTHING | _glossary.function_words().keys()
    return _POINTER_WORDS.intersection(words) != set() and all(
        word in empty_words for word in words
    )


_DIGIT = re.compile(r"\d")
