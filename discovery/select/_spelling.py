"""Correction of typing errors in common words of requests: "emial", "wether", "remnd".

The words are a fixed list, never the catalogue's: a corrected word would reveal what is hidden.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

_WORD = re.compile(r"(?<![\w@#./:'-])[a-z]{5,}(?![\w@./:'-])")
# "reminders" is not a misspelt "reminder".
_ENDINGS = ("s", "d")
_REQUESTS = """
account accounts address agenda airport alarm analyze analyse anniversary announce answer
appointment appointments article articles assistant attachment attachments available background
balance birthday board bookmark booking browser budget calculate calculator calendar camera cancel
change channel check colleague comment company compare complete conference contact contacts
contract convert country create currency customer daily database deadline delete describe dentist
details dictionary directory discount discord doctor document documents download draft email emails
error event events every exchange expense expenses explain export family favourite favorite
finished flight flights folder folders forecast forget forward friday function generate grocery
headline headlines history holiday hotel hotels image images insurance interest invitation invite
invoice invoices language latest letter library location meeting meetings member members memory
message messages minutes monday money month monthly morning mortgage movie movies music newsletter
notification notifications number office online option options order orders overdue overview
package parcel password payment percent percentage phone photo photos picture pictures playlist
please policy postpone presentation price prices priority product products profile program project
projects purchase question questions receipt receipts recipe recipes recommend recommendation
record recording redirect refund register reminder remember remind rename report reports request
reschedule reservation reserve restaurant restaurants result results review saturday schedule
script search security select server service settings share shopping slack spreadsheet status stock
store subject subscription summarize summarise summary sunday telegram temperature thursday ticket
tickets timezone today tomorrow tonight traffic train transcribe transfer translate translation
transport travel tuesday unread update upload vacation verify video videos voice wednesday weather
website weekend weekly whatsapp write yesterday
"""
# Common words one edit away from a word above.
_LOOKALIKES = """
airports alarms analyses analyst analyzed analyzes announced announcer announces answers archers
archery assistants backgrounds balanced beard boards booming browse budge budgets calculated
cameras cancer chance chang changed changes channels charge checks cheek chick chuck colleagues
comments compared compares compete completed completes concert conferences contrast convent
converts county covert crate created creates crete customers dairy daisy databases deleted
described describes detail director directors doctors downloads drafts drift emery errors exchanged
exchanger exchanges expanse expert explains exports favorites favourites feather fight fights
finishes folded forge forged forgot forwards fridays fright functions generated generates holidays
hostel interests invitations invited invites languages lather latter leather lester letters litter
locations massage massages melting minute moaning mondays monkey monte months mornings mourning
mouth moves musica musik numbers officer offices older packaged packages parcels payments phones
pleas pleased police postponed presentations prick pride prime prince princes prize prizes produce
produces profiles programs prone protect protects proto purchased purchases recommendations
recommends recordings records registers remainder remembers reminded reminds renamed requests
reservations reserved reserves resort resorts reviews saturdays scare scheduled schedules score
scripts searcher selects serve served servers serves serviced services setting shack shade shake
shale shame shane shape shared shares shark sharp sharpe shave shipping shire shock slacks slick
smack snack spare states stats statue statues stick stocks stoke stole stone stopping stored stores
storey storm story stove stuck subjects summaries summarized sundays swore temperatures tether
ticked ticker trail trains trait transcribed transfers translated translates translations
transports travels twain undead updated updates verity voiced voices weakly websites weekends
whether white wither writer writes wrote
"""
_KNOWN = frozenset(_REQUESTS.split())
# Longer words cannot match; checking them would take quadratic time.
_LONGEST = max(map(len, _KNOWN)) + 1
_OTHERS = frozenset(_LOOKALIKES.split())


def correct(text: str) -> str:
    """Correct the text's misspelt words."""
    return _WORD.sub(
        lambda match: match[0] if len(match[0]) > _LONGEST else _correct_word(match[0]), text
    )


@lru_cache(maxsize=4096)
def _correct_word(word: str) -> str:
    if word in _KNOWN or word in _OTHERS:
        return word
    near = {
        candidate
        for key in (word, *_deletions(word))
        for candidate in _deletion_index().get(key, ())
    }
    corrections = [candidate for candidate in near if _is_one_edit_apart(word, candidate)]
    return corrections[0] if len(corrections) == 1 else word


def _is_one_edit_apart(word: str, candidate: str) -> bool:
    """Return True for one inserted, missing, wrong or swapped letter after a correct first one."""
    if word[0] != candidate[0]:
        return False
    if len(word) < len(candidate):
        return word in _deletions(candidate)
    if len(word) > len(candidate):
        return candidate in _deletions(word) and not word.endswith(_ENDINGS)
    wrong = [place for place in range(len(word)) if word[place] != candidate[place]]
    if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
        first, second = wrong
        return word[first] == candidate[second] and word[second] == candidate[first]
    return len(wrong) == 1


def _deletions(word: str) -> Iterator[str]:
    return (word[:place] + word[place + 1 :] for place in range(len(word)))


@lru_cache(maxsize=1)
def _deletion_index() -> dict[str, tuple[str, ...]]:
    """Index the known words by themselves and with each letter removed."""
    index: dict[str, tuple[str, ...]] = {}
    for word in sorted(_KNOWN):
        for key in {word, *_deletions(word)}:
            index[key] = (*index.get(key, ()), word)
    return index
