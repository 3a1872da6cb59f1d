"""Verbs of descriptions that are not in English: the commonest ones that tools open with.

Words of languages with spaces are looked up as they are. Chinese, Japanese and Korean ones are
looked for inside a text.
"""

from catalog.effects.assessment import Effect

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
    found = (
        min((start.index(word), effect, word) for word in words.split() if word in start)
        for effect, words in _INSIDE.items()
        if any(word in start for word in words.split())
    )
    return [(effect, word) for _, effect, word in sorted(found)]
