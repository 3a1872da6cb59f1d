"""Categories of a server's tools, from its words, its tools together, and each tool's own words.

Pure: the same texts give the same categories, whoever asks. Only whole words count. All tools of
the server count, not only those that a caller may use: a category must not tell who sees what.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from catalog.formats.categories import CATEGORY_WORDS, OTHER, WEAK_WORDS
from catalog.words.names import split_words

# Words of servers and tools that indicate a category, besides those that formats read by.
#
# Formats keep their own list: the category that they infer is part of a definition's digest.

MORE_WORDS: dict[str, str] = {
    "database": """
        airtable cassandra chroma chromadb cockroachdb couchdb databricks datalake datastore
        duckdb dynamo faiss hbase hive influxdb jdbc kusto milvus mssql neon nocodb nosql odbc
        oracle orm planetscale pocketbase presto psql sparql sqlserver surrealdb tidb
        timescaledb trino triplestore
    """,
    "search": """
        crawling exa fetch firecrawl kagi perplexity searcher searxng serper yahoo yandex
    """,
    "api": """
        dig dns domain domains ip ips jsonrpc latency odata ping postman rpc soap subdomain
        subdomains whois
    """,
    "ai": """
        comfyui deepseek elevenlabs finetune finetuning grok hallucination langchain llama
        lmstudio metacognitive mistral mlflow multimodal ollama perceptron pollinations rag
        replicate stable thinking tokenizer transformer transformers
    """,
    "auth": """
        auth0 biometric identity keycloak ldap mfa okta otp saml session signin signup totp
    """,
    "messaging": """
        bot bots broadcast chatroom dingtalk feishu lark matrix mattermost ntfy pushover sound
        twilio wechat xmpp
    """,
    "planning": """
        asana basecamp checkin checklist checklists clickup deliverables gantt habit habits
        itinerary linear pomodoro roadmap scrum timer timesheet todoist workflow workflows
        worklog
    """,
    "memory": """
        journaling mem0 mindmap notebook notebooks obsidian recall zettelkasten
    """,
    "information": """
        bible breed breeds census clock country datetime definitions demographic encyclopedic
        facts feed fruit geography hacker hackernews headlines holiday holidays horoscope
        hotspots mediawiki nationality population postal quote quotes quran rss stories
        temperature trivia uv wiki zodiac
    """,
    "developer-tools": """
        android angular arduino assembly bytecode cargo circuit codebase codebases codegen
        copilot debugger debugging decompile devcontainer devcontainers disassemble elixir
        engineering error errors eslint exception exceptions expo firmware flutter fpga gdb
        ghidra golang gradle homebrew ide intellij ios java jupyter kicad kotlin kubernetes
        laravel leetcode lgtm lldb llms log logging maven mcps monorepo n8n nextjs nix nixos
        notebook nuget openrouter pcb php pypi rails reverse sbom scaffold schematic sentry
        servers snippet snippets stack svelte swagger swift tailwind trace traces verilog vite
        vscode vue vulnerability webpack worktree xcode
    """,
    "finance": """
        accounting aptos arbitrage binance bond bonds bookkeeping broker brokerage candlestick
        coinbase coingecko dex dividend dividends earnings etf etfs evm exchanges expense
        expenses forex futures hedge holdings interest ledger nasdaq ohlcv onchain options
        payout paypal polygon quickbooks refund remittance sec solana stablecoin staking
        starknet stripe sui tvl uniswap web3 xero yfinance yield yields
    """,
    "media": """
        album albums anime artist artists avatar blender camera clip clips comics emoji emojis
        ffmpeg flux geometric ghibli joke jokes lyrics manga meme memes mermaid midjourney mp3
        mp4 photoshop pixel png premiere singer soundtrack subtitle subtitles svg television
        thumbnail thumbnails tmdb transcript transcription transcripts tts tv wallpaper whisper
    """,
    "data-analysis": """
        addition aggregate algebra analytical anova arithmetic calculation calculations
        calculators calculus derivative determinant eda eigenvalues equation equations factorial
        fibonacci geometry histogram integral logarithm mathematics modulo multiplication
        numeric numpy pandas pivot polynomial power powerbi prime quotient remainder root sqrt
        subtract subtraction superset symbolic tableau trigonometry visualise visualize vizro
    """,
    "cloud": """
        ansible autoscaling cdn cloudformation datadog digitalocean ecs eks fargate gcs gke
        grafana helm heroku hosting iam ingress k8s kubernetes namespace namespaces netlify
        observability openshift pod pods pricing prometheus proxmox pulumi replicas serverless
        tunnel tunnels vercel vmware
    """,
    "travel": """
        airbnb airline airlines amap attractions booking commute cruise dining ferry geocoding
        geolocation gps itineraries landmarks lodging metro municipalities municipality museum
        museums navigation nearby openstreetmap osm parking province provinces railway
        sightseeing subway taxi tour tourism tourist tours traffic transit uber visa
    """,
    "health": """
        allergy anatomy blood bmi calorie cancer cardiac clinical clinicaltrials cocktail
        cocktails cooking diabetes diagnosis dosage epidemiology fda fhir fruit genetics gym
        heart icd ingredient ingredients meal meals medication medications medicinal nurse
        nutrition pain pharmacy recipes sleep snomed surgery symptom therapy trials vaccine
        vaccines vitamins weight yoga
    """,
    "gaming": """
        avatar baseball basketball cricket deck dungeon esport esports fantasy fifa football
        formula godot hockey lottery lotto mod mods nba nfl nintendo playstation poker puzzle
        roblox roll rpg runescape soccer sudoku tabletop tennis unity unreal vr vrchat warcraft
        wordle xbox
    """,
    "writing": """
        author authors blogging docx editing editor frontmatter grammar hugo latex manuscript
        newsletter novel paragraph proofreading rewrite stories story summarize wordpress
    """,
    "education": """
        academic assignment assignments classes college education educational flashcard
        flashcards gradescope homework kids mooc moodle professor pupils scholarship study
        submission submissions syllabus teaching textbook tuition tutoring vocabulary
    """,
    "marketing": """
        adset adwords businesses conversions ctr hubspot landing mailchimp outreach pipedrive
        positioning prospect prospects publicity referral salesforce sponsor utm zoho
    """,
    "system": """
        applescript automation bash bluetooth cmd daemon driver env gpu homeassistant hostname
        iot kernel light lights linux macos modbus mqtt operating pid plc powershell printer
        raspberry remote restart scada shell smart ssh systemd terminal thermostat uptime usb
        wifi
    """,
    "science": """
        academic animal astronomical atom atoms biodiversity bioinformatics biology biomedical
        biorxiv bird birds celestial cell chembl chemicals citation citations climate
        clinicaltrials compound compounds crystal dataset earthquake ecology electron ensembl
        epics fluid genome genomic genomics geology insect magnetic materials mechanics medrxiv
        meteorology microscopy molecular mutation nasa nih nuclear ocean optics orbital
        paleontology particle pathway pharmacology pubchem publications pubmed quantum rdkit
        research scholar science scientific seismic simulate simulation taxonomy telescope
        thermodynamics uniprot wavelength zoo
    """,
    "hiring": """
        applicant applicants career careers cv hire hr interview interviewee interviews
        occupation onboarding recruit recruiter recruiting skillset staffing talent vacancies
        vacancy
    """,
    "filesystem": """
        csvs dropbox ebook epub folder ftp gdrive glob onedrive sftp sharepoint txt webdav
        workspace
    """,
    "transform": """
        barcode barcodes beautify converting ocr pandoc transcode unicode units uuid xml yaml
    """,
    "communication": """
        imap mailbox sendgrid telephony voicemail
    """,
    "browser": """
        chromium headless webdriver webpages
    """,
    "security": """
        burp ciphertext crowdstrike ctf dfir exploits forensic fuzz hashcat honeypot injection
        intrusion ioc iocs malicious metasploit nmap nuclei owasp pentest pentesting phish
        ransomware sbom semgrep shodan siem snyk sonarqube splunk spoofing trivy urlhaus
        virustotal volatility vulnerable xss yara
    """,
    "shopping": """
        aliexpress buyer checkout cosmetics coupon coupons deals delivery ebay etsy grocery menu
        merchant retail seller shopify wishlist woocommerce
    """,
    "social-media": """
        bilibili blogger discourse douyin follower influence karma moderation repost subreddits
        threads trends tweeting upvote viral weibo xiaohongshu zhihu
    """,
    "legal": """
        act agreement attorney bills congress gdpr judge judges jurisdiction lawsuit legislation
        legislative litigation notary ordinance parliament precedent privacy senate statute
        statutes trademark trademarks treaty
    """,
}

# Ambiguous here, besides the weak words of formats.
MORE_WEAK_WORDS = """
    academic act aggregate album artist assembly author authors automation bills bond bonds bot
    bots broadcast businesses calculation cell chain chroma clip clips clock collections crystal
    dataset deals deck delivery driver editing editor env error errors exchanges fantasy fetch
    flux formula fruit google heart hire hive influence interest interview ip ips kids light
    lights linear log logging materials matrix menu mod mods navigation nearby neon ocean
    options pain particle pathway ping polygon population positioning power premiere presto
    prime privacy project projects publications puzzle quantum quote quotes recall refund
    remainder remote render replicate research restart roll root rpc servers session simulate
    simulation sleep smart sound stable stack stories story study sum summarize symbolic talent
    threads timer trace traces trends trials tunnel units uptime weight workspace yahoo yield
    yields
"""

# Words in the texts of many servers, whatever they do.
GENERIC_WORDS = """
    agent agents ai api apis app archive assistant assistants box bridge builder client context
    control controller data detection fetcher hub integration listing listings llm llms manager
    mcp model node parser project projects protocol reader score scores server servers service
    services source time tool tools
"""

# Verbs that name a category, but of tools of every other category as well.
VERBS = """
    convert extract find list lookup parse queries query render results search searches searching
"""


_TITLE, _SLUG, _ABOUT, _REST_OF_ABOUT = 3.0, 1.5, 1.5, 0.3
_NEIGHBOURS, _NEIGHBOURS_DESCRIPTION = 6.0, 0.5
_WHOLE_VOTE = 0.8  # a tool with one ambiguous word has no whole vote
_NAME, _DESCRIPTION, _REST = 1.5, 0.5, 0.1
_WEAK_STRENGTH, _GENERIC_STRENGTH, _VERB_STRENGTH = 0.4, 0.15, 0.2
_MIN_SCORE = 0.6
_MAX_REPEATS = 2
_MOST_NEIGHBOURS = 50
_MOST_TEXT = 2_000

_WEAK = frozenset((WEAK_WORDS + MORE_WEAK_WORDS).split())
_GENERIC = frozenset(GENERIC_WORDS.split())
_VERBS = frozenset(VERBS.split())
_Scores = dict[str, float]


class ServerTexts(NamedTuple):
    """The words of an integration."""

    slug: str
    title: str
    description: str


class ToolTexts(NamedTuple):
    """The words of one of its tools."""

    name: str
    description: str


def categorize(server: ServerTexts, tools: Sequence[ToolTexts]) -> list[str]:
    """Return the category of each tool, in their order."""
    common = _server_scores(server, tools)
    return [_best({**common}, tool) for tool in tools]


def _best(scores: _Scores, tool: ToolTexts) -> str:
    """Add the tool's own words to its server's, and return the first of the best categories."""
    first, rest = _split(tool.description)
    for text, weight in ((tool.name, _NAME), (first, _DESCRIPTION), (rest, _REST)):
        _add(scores, text, weight)
    best = max(CATEGORY_WORDS, key=lambda category: scores.get(category, 0.0))
    return best if scores.get(best, 0.0) >= _MIN_SCORE else OTHER


def _server_scores(server: ServerTexts, tools: Iterable[ToolTexts]) -> _Scores:
    first, rest = _split(server.description)
    scores: _Scores = {}
    _add(scores, server.title, _TITLE, is_server=True)
    if not set(split_words(server.slug)) <= set(split_words(server.title)):
        _add(scores, server.slug, _SLUG, is_server=True)
    _add(scores, first, _ABOUT, is_server=True)
    _add(scores, rest, _REST_OF_ABOUT, is_server=True)
    # The alphabet decides which of many count, so that the order of a list does not.
    neighbours = sorted(tools)[:_MOST_NEIGHBOURS]
    for tool in neighbours:
        for category, share in _shares(tool).items():
            scores[category] = scores.get(category, 0.0) + _NEIGHBOURS * share / len(neighbours)
    return scores


def _shares(tool: ToolTexts) -> Mapping[str, float]:
    """Return a tool's vote for each category; the votes of one tool sum up to 1 at most."""
    scores: _Scores = {}
    _add(scores, tool.name, 1.0)
    _add(scores, _split(tool.description)[0], _NEIGHBOURS_DESCRIPTION)
    whole = max(_WHOLE_VOTE, sum(scores.values()))
    return {category: score / whole for category, score in scores.items()}


def _split(text: str) -> tuple[str, str]:
    first, _, rest = text.strip().replace("\n", ". ").partition(". ")
    return first, rest


def _add(scores: _Scores, text: str, weight: float, *, is_server: bool = False) -> None:
    counts: dict[str, int] = {}
    for word in split_words(text[:_MOST_TEXT]):
        counts[word] = counts.get(word, 0) + 1
        categories = _categories().get(word, ())
        if counts[word] > _MAX_REPEATS or not categories:
            continue
        # A word of several categories says less about each.
        strength = weight * _strength(word, is_server=is_server) / len(categories) ** 0.5
        for category in categories:
            scores[category] = scores.get(category, 0.0) + strength


def _strength(word: str, *, is_server: bool) -> float:
    strength = _WEAK_STRENGTH if word in _WEAK else 1.0
    if is_server:
        return strength * (_GENERIC_STRENGTH if word in _GENERIC else 1.0)
    return _VERB_STRENGTH if word in _VERBS else strength


@cache
def _categories() -> Mapping[str, tuple[str, ...]]:
    """Return the categories that each word indicates."""
    by_word: dict[str, list[str]] = {}
    for category, words in CATEGORY_WORDS.items():
        for word in dict.fromkeys(f"{words} {MORE_WORDS.get(category, '')}".split()):
            by_word.setdefault(word, []).append(category)
    return {word: tuple(categories) for word, categories in by_word.items()}
