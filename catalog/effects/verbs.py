"""Verbs: recognised in any form, with the effect that each suggests and how strongly."""

import re
from dataclasses import dataclass
from functools import cache

from catalog.effects.assessment import Effect

# Verbs of descriptions that are not in English: the commonest ones that tools open with.
# Words of languages with spaces are looked up as they are. Chinese, Japanese and Korean ones are
# looked for inside a text.

_MOST_TEXT = 200

WORDS: dict[Effect, str] = {
    "read": """
        abfragen abrufen analisa analizar analysiert anzeigen auflisten berechnet buscar busca
        calcola calcula calculer cerca chercher consulta consultar consulter devuelve elenca
        encontrar holt lista listar lister liest mostra mostrar muestra obtener
        obtenir obtiene obter obtém ottiene pesquisa pesquisar recupera recuperar récupère
        récupérer rechercher restituisce retorna retornar renvoie sucht trouver verifica
        verificar vérifier zeigt
    """,
    "write": """
        actualiza actualizar adicionar agrega agregar aggiorna aggiungi ajouter aktualisiert
        añadir atualiza atualizar crea crear creare créer cria criar déplacer enregistrer enviar
        envia envía envoyer erstellen erstellt guardar hinzufügen inviare invia modifica modificar
        salva salvar sendet senden speichert
    """,
    "delete": """
        apagar borra borrar effacer elimina eliminar eliminare entfernt excluir löscht löschen
        supprime supprimer
    """,
}
_INSIDE: dict[Effect, str] = {
    "read": """
        获取 查询 搜索 列出 查看 检索 返回 计算 分析 检查 读取 獲取 查詢 搜尋 取得 検索 一覧 確認
        조회 검색 확인 가져
    """,
    "write": """
        创建 添加 更新 修改 设置 发送 上传 保存 执行 启动 停止 编辑 写入 发布 建立 發送 設定 作成
        追加 送信 変更 생성 추가 수정 전송 설정 실행
    """,
    "delete": """
        删除 移除 清空 清除 刪除 削除 삭제 제거
    """,
}


def find_inside(description: str) -> list[tuple[Effect, str]]:
    """Return the effects that an East Asian text speaks of, each with its first word."""
    start = description[:_MOST_TEXT]
    effects = (
        min((start.index(word), effect, word) for word in words.split() if word in start)
        for effect, words in _INSIDE.items()
        if any(word in start for word in words.split())
    )
    return [(effect, word) for _, effect, word in sorted(effects)]


# Weights are in log-odds: 2.5 means twelve to one.
CLEAR, VAGUE, HARDLY = 1.0, 0.45, 0.35

_CLEAR: dict[Effect, str] = {
    "read": """
        access advise aggregate analyse analyze answer assess audit autocomplete browse calc
        calculate capture categorise categorize check classify compare compress compute
        conjugate contrast convert correlate count crawl debug decode decompile decrypt
        deduce demonstrate derive describe detect determine diagnose diff disassemble
        discover discuss display divide elaborate encode enrich enumerate estimate evaluate
        examine explain explore extract factor factorize fetch filter find forecast format
        gauge geocode get give greet grep guess guide hash head identify illustrate infer
        inspect interpolate interpret introspect investigate learn list locate look lookup
        measure minify monitor multiply normalize obtain paraphrase parse peek ping plot
        predict preview profile proofread prove provide quantify query rank read recognise
        recognize recommend reformat rephrase research resolve retrieve return review
        rewrite round sample scan score scrape screenshot search see segment show shuffle
        simulate solve sort subtract suggest sum summarise summarize tail teach tell
        tokenize trace transcribe translate transliterate unscramble validate verify view
        visualise visualize watch whoami whois
    """,
    "write": """
        accept acquire activate add adjust administer adopt allocate annotate append apply
        approve archive assign attach authenticate authorize ban block book broadcast buy
        calibrate cancel change checkin checkout click clone close commit compile configure
        confirm connect copy create customize deactivate declare decrease define deliver
        demote deploy disable disconnect dispatch dispense donate drag drain duplicate edit
        enable enforce enqueue enrol enroll equip escalate establish exec execute exit
        export fill finish follow fork forward grant hire hover implement import increase
        ingest initialise initialize initiate insert install invite invoke irrigate join
        kick launch lock login logout manage mark merge migrate mint modify move mute
        navigate optimise optimize organise organize override overwrite partition patch
        pause pay perform pin place post preheat press promote provision publish purchase
        purify push put reassign rebase rebook reboot rebuild reconnect record redeem
        refresh refund register reindex reload rename renew rent reopen reorder
        repair replace reply repost reschedule reserve respond restart restore restrict
        resume retry rollback rotate save scale schedule scroll sell send set share shutdown
        sign signup sleep spawn stage start stop store submit subscribe suspend swap swipe
        switch sync synchronise synchronize tag tap toggle trade train transfer trigger tune
        tweet type unarchive unassign unblock unfollow unlock unmute unpause unpin
        unsubscribe untag update upgrade upload upsert vote wake withdraw write
    """,
    "delete": """
        clean cleanup clear del delete demolish destroy discard dispose drop eliminate empty
        erase evict excise expunge flush forget hdel kill prune purge remove reset revoke rm
        rmdir srem terminate trash truncate uninstall unlink unregister wipe zrem
    """,
}
# Words that are as often nouns, or that say little about what changes.
_VAGUE: dict[Effect, str] = {
    "read": """
        access ask collect combine compose design draw dump echo encrypt format help info is load
        log plan profile report reverse review roll say score select sniff sort split stat
        stats
        status summary synthesize test think time track type view wait watch
    """,
    "write": """
        align build call change choose click complete control copy download draft
        end eval exit export follow force handle interact introduce leave log make mark open
        operate order patch perform place play post prepare print process record refresh
        resolve respond run scroll secure share sign sleep switch tag trade train
        transfer turn type use vote water work
    """,
    "delete": """
        abort clean clear drop empty expire flush
    """,
}
# An answer made up on the spot, or something made to stay: the word does not say.
_HARDLY: dict[Effect, str] = {"read": "gen generate render"}
# As a name's first word, a vague word is a verb more often than not; these are not even then.
_NOUNS = """
    access answer archive audit balance block book broadcast build call change charge check
    click comment commit confirm contact copy count cover debug decrease design dispatch display
    draft draw drop dump end estimate exit export fill filter find follow force forecast fork
    format hash head help import increase index info invite issue label leave list load lock log
    look mark match measure message move name note number open order patch pause pay pin place
    plan play plot post press print process profile project query rank rate read record refund
    report request research reserve reset restrict resume return reverse review round run sample
    scan schedule score search see select sell send set share show sign sort split stage start
    state status stop store sum support swap switch sync tag tap test time trace track trade
    train transfer transform trash trigger tune turn type update upgrade use view visit vote
    wait wake watch water withdraw work
"""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb's base form, its likely effect, and how much of a verb's full weight it has."""

    base: str
    effect: Effect
    strength: float


@cache
def _forms() -> dict[str, Verb]:
    """Return every form of every verb; a clear meaning wins over a vague one."""
    forms: dict[str, Verb] = {}
    vague = {word for words in _VAGUE.values() for word in words.split()}
    for table, strength in ((_HARDLY, HARDLY), (_VAGUE, VAGUE), (_CLEAR, CLEAR)):
        for effect, words in table.items():
            for base in words.split():
                if strength == CLEAR and base in vague:
                    continue
                for form in _inflect(base):
                    forms[form] = Verb(base, effect, strength)
    for effect, words in WORDS.items():
        forms |= {word: Verb(word, effect, CLEAR) for word in words.split() if word not in forms}
    return forms


def _inflect(base: str) -> tuple[str, ...]:
    """Return the forms that open a description: `delete`, `deletes`, `deleting`."""
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base, f"{base[:-1]}ies", f"{base}ing"
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return base, f"{base}es", f"{base}ing"
    if base.endswith("e"):
        return base, f"{base}s", f"{base[:-1]}ing"
    if re.search(r"[^aeiou][aeiou][bdgklmnprt]$", base):
        return base, f"{base}s", f"{base}ing", f"{base}{base[-1]}ing"
    return base, f"{base}s", f"{base}ing"


@cache
def _nouns() -> frozenset[str]:
    return frozenset(_NOUNS.split())


def find_verb(word: str) -> Verb | None:
    """Return the verb that a lower-case word is a form of, or None."""
    return _forms().get(word)


def find_base(word: str) -> Verb | None:
    """Return the verb whose base form this is: in names, "trades" and "closing" are no verbs."""
    verb = _forms().get(word)
    return verb if verb and verb.base == word else None


def is_noun_too(verb: Verb) -> bool:
    """Return True if the word is a noun as often, as in "a list" or "the order"."""
    return verb.base in _nouns()
