"""Categories: the declared one, or one inferred from the name and description.

Only whole words count: `read` does not match `thread`. A word in the name weighs more than one in
the description, and the first sentence more than the rest.
"""

import re
import unicodedata
from functools import lru_cache

from catalog.words.names import split_words

# Words that indicate a category, and the ambiguous ones among them, which count less.

CATEGORY_WORDS: dict[str, str] = {
    "database": """
        database databases db sql sqlite postgres postgresql mysql mariadb mongodb mongo redis
        table tables row rows column columns collection collections schema schemas snowflake
        bigquery clickhouse elasticsearch dynamodb supabase neo4j cypher warehouse query queries
        record records index indexes prisma weaviate qdrant pinecone vector vectors
    """,
    "filesystem": """
        file files filesystem directory directories folder folders disk upload download
        attachment attachments zip archive path paths drive pdf
    """,
    "search": """
        search searches searching google bing brave tavily duckduckgo serp crawl crawler scrape
        scraping web internet website websites results find
    """,
    "api": """
        api apis rest graphql endpoint endpoints http https webhook webhooks openapi swagger
        curl url urls
    """,
    "ai": """
        ai llm gpt openai claude gemini anthropic embedding embeddings prompt prompts model
        models neural huggingface diffusion inference generative completion reasoning agent
        agents training classifier prediction chatbot
    """,
    "transform": """
        convert converts conversion converter transform transforms translate translation format
        formatter encode decode parse parser extract render compress resize merge split base64
    """,
    "auth": """
        auth authenticate authentication authorization authorize login logout oauth password
        passwords credential credentials permission permissions role roles token tokens sso jwt
    """,
    "messaging": """
        message messages messaging chat chats sms whatsapp telegram discord slack teams signal
        imessage notification notifications notify
    """,
    "communication": """
        email emails mail gmail inbox outlook smtp reply call calls voice phone meeting meetings
        zoom contact contacts newsletter comment comments conversation conversations letter
    """,
    "planning": """
        task tasks todo todos plan plans planning calendar event events schedule schedules
        reminder reminders project projects milestone milestones sprint kanban ticket tickets
        board boards jira trello asana agenda appointment appointments cron deadline deadlines
    """,
    "memory": """
        memory memories remember recall forget knowledge note notes graph entity entities
        observation observations context bookmark bookmarks thought thoughts thinking journal
    """,
    "information": """
        weather forecast news wikipedia encyclopedia article articles documentation docs library
        libraries lookup dictionary definition facts fact time timezone timezones information
        paper papers arxiv research
    """,
    "developer-tools": """
        code coding repository repositories repo repos git github gitlab commit commits branch
        branches pull issue issues build builds compile debug debugging test tests testing unit
        lint deploy deployment docker kubernetes ci cd pipeline pipelines refactor package
        packages sdk script scripts terminal shell command commands developer developers
        programming typescript javascript python react dotnet rust bash xunit framework
        frameworks bug bugs function functions component components variable variables class
        classes config configuration k8s simulator npm pip compiler regex diff changelog skill
        skills agent agents mcp
    """,
    "browser": """
        browser browsers page pages click screenshot screenshots playwright puppeteer selenium
        tab tabs navigate dom selector webpage
    """,
    "finance": """
        stock stocks price prices market markets trading trade trades portfolio crypto
        cryptocurrency bitcoin ethereum blockchain wallet wallets token swap invoice invoices
        payment payments bank banking currency currencies exchange transaction transactions nft
        defi financial finance revenue tax loan mortgage balance balances ticker tickers coin
        coins rate rates taxes budget budgets fund funds investment investments asset assets
        mint tokens erc20 gas fee fees salary insurance account accounts
    """,
    "media": """
        image images photo photos picture pictures video videos audio music song songs playlist
        playlists youtube spotify movie movies film films podcast podcasts art artwork gif
        animation draw drawing design diagram diagrams chart charts color colors canvas avatar
        style font fonts icon icons figma scene render layout camera voice speech
    """,
    "data-analysis": """
        analyze analysis analytics statistics statistical dataset datasets csv dataframe metric
        metrics report reports dashboard dashboards trend trends correlation regression plot
        calculate calculator math average mean median sum spreadsheet excel number numbers
        matrix tensor multiply divide subtract compute computes percentage ratio probability
        sheet sheets cell cells visualization graph graphs
    """,
    "cloud": """
        aws azure gcp cloud lambda s3 ec2 bucket buckets cluster clusters instance instances
        server servers container containers deployment terraform infrastructure vm monitoring
        logs cloudflare
    """,
    "security": """
        security vulnerability vulnerabilities cve malware threat threats encrypt encryption
        decrypt scan audit firewall phishing exploit forensics risk risks compliance safety
        backup certificate
    """,
    "travel": """
        flight flights hotel hotels travel trip trips map maps location locations geocode
        directions route routes airport airports restaurant restaurants place places coordinates
        latitude longitude vehicle address addresses car ride transport train trains bus country
        countries city cities region
    """,
    "shopping": """
        product products cart order orders shop shopping store ecommerce shipping amazon
        inventory customer price prices sale sales discount vendor supplier customers
    """,
    "health": """
        health medical patient patients drug drugs disease doctor fitness workout nutrition
        calories recipe food exercise diet symptoms hospital clinic healthcare medicine mental
    """,
    "gaming": """
        game games player players gaming steam pokemon minecraft chess dice quest score scores
        team teams match matches tournament league standings athlete sports sport character
        characters
    """,
    "social-media": """
        tweet tweets twitter reddit post posts instagram facebook linkedin tiktok followers
        hashtag subreddit mastodon bluesky likes shares feed influencer engagement hashtags
    """,
    "writing": """
        write writing document documents markdown text essay blog content copywriting word words
        pdf template
    """,
    "education": """
        learn learning course courses student students lesson quiz exam teach tutor school
        university teacher teachers lessons grade grades curriculum classroom
    """,
    "marketing": """
        campaign campaigns marketing crm lead leads advertisement advertising ads ad seo brand
        audience promotion keyword keywords donor donations fundraising
    """,
    "system": """
        process processes cpu ram battery device devices app apps application applications
        window windows network port ports hardware clipboard screen volume brightness os setting
        settings desktop mouse keyboard robot sensor sensors
    """,
    "science": """
        chemical chemistry physics biology species gene genes protein molecule planet astronomy
        animal animals plant plants experiment laboratory spacecraft energy
    """,
    "legal": """
        law legal contract contracts court lawyer regulation regulations patent policy policies
    """,
    "hiring": """
        job jobs employee employees candidate candidates resume recruitment hiring payroll
    """,
}

WEAK_WORDS = """
    account accounts address addresses agent agents analyze api apis app application
    applications apps asset assets board branch call calls character characters cities city
    class classes code coding collection column command commands completion config configuration
    content context contract contracts countries country customer design device devices
    directions document documents download drive energy entities entity event events exercise
    extract fact facts fee feed fees find food format function functions graph graphs http https
    index information instance instances issue job jobs knowledge layout lead leads learn
    learning library likes location logs lookup match matches mcp merge message messages model
    models network note notes number numbers order orders package page pages parse path paths
    place places policies policy port post posts price prices process processes product products
    project projects prompt prompts pull queries query rate rates record records region report
    reports results risk risks role route routes row rows sale sales scan score scores screen
    search searches searching server servers setting settings shares signal skill skills split
    store style tab table tables tabs team teams template test text time token tokens
    transaction unit upload url urls variable vehicle voice web website window windows word
    words write writing
"""


COMMUNICATION = "communication"
OTHER = "other"
_LENGTH = 60

_WEAK = frozenset(WEAK_WORDS.split())
_NAME_WEIGHT = 3.0
_FIRST_SENTENCE_WEIGHT = 1.5
_REST_WEIGHT = 0.25
_WEAK_WEIGHT = 0.4
_MIN_SCORE = 0.6
_MAX_REPEATS = 2

_CATEGORIES_OF: dict[str, list[str]] = {}
for _category, _words in CATEGORY_WORDS.items():
    for _word in _words.split():
        _CATEGORIES_OF.setdefault(_word, []).append(_category)


def resolve_category(declared: str, *, name: str, description: str) -> tuple[str, bool]:
    """Return the category, and True if it was inferred."""
    canonical = canonical_category(declared)
    if canonical:
        return canonical, False
    return infer_category(name, description), True


@lru_cache(maxsize=1024)
def canonical_category(declared: str) -> str:
    """Normalize a declared category: "Web Search & Research" becomes `web-search-research`."""
    folded = unicodedata.normalize("NFKC", declared).casefold()
    return re.sub(r"[^\w]+|_+", "-", folded).strip("-")[:_LENGTH].strip("-")


def infer_category(name: str, description: str) -> str:
    """Return the category with the highest word score, or `other`."""
    first, _, rest = description.strip().replace("\n", ". ").partition(". ")
    scores: dict[str, float] = {}
    for text, weight in (
        (name, _NAME_WEIGHT),
        (first, _FIRST_SENTENCE_WEIGHT),
        (rest, _REST_WEIGHT),
    ):
        _add_scores(scores, split_words(text[:2000]), weight)
    # max() keeps the first of equals, so a tie goes to the category listed first.
    best = max(CATEGORY_WORDS, key=lambda category: scores.get(category, 0.0))
    return best if scores.get(best, 0.0) >= _MIN_SCORE else OTHER


def _add_scores(scores: dict[str, float], words: list[str], weight: float) -> None:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
        # A word repeated many times must not decide the category alone.
        if counts[word] > _MAX_REPEATS or word not in _CATEGORIES_OF:
            continue
        strength = weight * (_WEAK_WEIGHT if word in _WEAK else 1.0)
        for category in _CATEGORIES_OF[word]:
            scores[category] = scores.get(category, 0.0) + strength
